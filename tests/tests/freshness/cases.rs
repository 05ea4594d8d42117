//! A directed case: an answer is primed, the data is changed in one way, and the answer must have changed.

use std::time::{Duration, Instant};

use freshet_tests::cached::{Answer, Counted, answer, caught_up, connect, fresh_schema, run};
use freshet_tests::{Flavor, Freshet, Server, with_each};
use mysql::Conn;

/// How long a write around Freshet may stay unseen.
pub const LAG_MAX: Duration = Duration::from_secs(5);

/// One way in which what a SELECT shows can change.
pub struct Case<'a> {
    /// Its name, for the report.
    pub name: &'a str,
    /// Makes the tables; run directly.
    pub setup: &'a [&'a str],
    /// The cacheable SELECT.
    pub read: &'a str,
    /// What changes its answer.
    pub change: &'a [&'a str],
}

/// Where a change is sent.
#[derive(Debug, Clone, Copy)]
enum Way {
    Through,
    Around,
}

/// Runs every case, each with the change through Freshet and around it, on every server.
pub fn run_all(schema: &str, cases: &[Case<'_>]) {
    with_each(|server, freshet| {
        let failures: Vec<String> = cases
            .iter()
            .flat_map(|case| [(case, Way::Through), (case, Way::Around)])
            .filter_map(|(case, way)| failure(server, freshet, schema, case, way))
            .collect();
        assert!(failures.is_empty(), "{:?}:\n{}", server.flavor, failures.join("\n"));
    });
}

/// Runs every case on one flavour only.
pub fn run_on(flavor: Flavor, schema: &str, cases: &[Case<'_>]) {
    with_each(|server, freshet| {
        if server.flavor == flavor {
            for case in cases {
                for way in [Way::Through, Way::Around] {
                    let failed = failure(server, freshet, schema, case, way);
                    assert_eq!(failed, None);
                }
            }
        }
    });
}

/// A case's failure is told and not thrown, so that one run shows all of them.
fn failure(server: &Server, freshet: &Freshet, schema: &str, case: &Case<'_>, way: Way) -> Option<String> {
    let attempt = std::panic::AssertUnwindSafe(|| try_case(server, freshet, schema, case, way));
    let ran = std::panic::catch_unwind(attempt);
    match ran {
        Ok(outcome) => outcome.err().map(|why| format!("{} {way:?}: {why}", case.name)),
        Err(panic) => {
            let why = panic.downcast_ref::<String>().map_or("panicked", |why| why.as_str());
            Some(format!("{} {way:?}: {why}", case.name))
        }
    }
}

fn try_case(
    server: &Server,
    freshet: &Freshet,
    schema: &str,
    case: &Case<'_>,
    way: Way,
) -> Result<(), String> {
    let mut direct = fresh_schema(server, schema);
    run(&mut direct, case.setup);
    // A foreign key or a trigger that was made around Freshet an instant ago is not known to the write's fence.
    caught_up(freshet);
    let mut reader = connect(freshet.target(), schema);
    let mut writer = match way {
        Way::Through => connect(freshet.target(), schema),
        Way::Around => connect(&server.target, schema),
    };
    let mut counted = Counted::of(freshet);
    let before = counted.prime(&mut reader, case.read);
    expect("the primed answer", &before, &answer(&mut direct, case.read))?;
    run(&mut writer, case.change);
    let after = answer(&mut direct, case.read);
    if after == before {
        return Err(format!("the case changes nothing: {after:?}"));
    }
    match way {
        Way::Through => {
            expect("another client", &answer(&mut reader, case.read), &after)?;
            expect("the writer", &answer(&mut writer, case.read), &after)
        }
        Way::Around => seen_in_time(&mut reader, case.read, &after),
    }
}

fn expect(who: &str, got: &Answer, wanted: &Answer) -> Result<(), String> {
    if got == wanted { Ok(()) } else { Err(format!("{who}: {got:?} instead of {wanted:?}")) }
}

/// Repeats a SELECT until it shows what it must, no longer than the lag.
pub fn seen_in_time(reader: &mut Conn, statement: &str, wanted: &Answer) -> Result<(), String> {
    let until = Instant::now() + LAG_MAX;
    loop {
        let got = answer(reader, statement);
        if got == *wanted {
            return Ok(());
        }
        if Instant::now() > until {
            return expect("after the lag", &got, wanted);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
