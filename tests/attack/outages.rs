//! Attacks on the server and on its binlog: what was cached must not outlive them.

use std::process::Command;
use std::time::{Duration, Instant};

use freshet_tests::Freshet;
use freshet_tests::cached::{answer, eventually, run};
use rustix::process::{Pid, Signal, kill_process};

use crate::found::{Found, Given};
use crate::ground::{Ground, SCHEMA, attacker, memory_of, prime, timed, within};

const READ: &str = "SELECT v FROM t WHERE id = 1";
/// In this time, the stream is there again, and what it missed is forgotten.
const FRESH_MAX: Duration = Duration::from_secs(20);
/// After so long without a sign of the server, nothing is served.
const SILENT_MAX: Duration = Duration::from_secs(3);

/// Something happens to the server; a write around Freshet behind it must be seen.
fn fresh_after(ground: &Ground, freshet: &Freshet, happens: &dyn Fn()) -> Found {
    let before = memory_of(freshet);
    let mut reader = freshet.target().try_connect(SCHEMA).expect("it lets in");
    prime(freshet, &mut reader, READ);
    happens();
    let mut writer = eventually("the server answers", || ground.server.target.try_connect(SCHEMA).ok());
    run(&mut writer, &["UPDATE t SET v = 77 WHERE id = 1"]);
    let direct = timed(|| format!("{:?}", answer(&mut writer, READ)));
    let through = timed(|| {
        within(FRESH_MAX, &direct.outcome, || match freshet.target().try_connect(SCHEMA) {
            Ok(mut conn) => {
                format!("{:?}", freshet_tests::cached::try_answer(&mut conn, READ).unwrap_or(Err(0)))
            }
            Err(error) => error.to_string(),
        })
    });
    Found::same(direct, through, (before, memory_of(freshet))).at_any_time()
}

/// Statements are logged as texts from now on.
pub fn binlog_format(ground: &Ground, freshet: &Freshet) -> Found {
    let found =
        fresh_after(ground, freshet, &|| run(&mut ground.admin(), &["SET GLOBAL binlog_format = STATEMENT"]));
    run(&mut ground.admin(), &["SET GLOBAL binlog_format = ROW"]);
    found
}

/// Old files of the binlog are gone.
pub fn purged(ground: &Ground, freshet: &Freshet) -> Found {
    let statements = ["FLUSH BINARY LOGS", "PURGE BINARY LOGS BEFORE NOW()"];
    fresh_after(ground, freshet, &|| run(&mut ground.admin(), &statements))
}

/// The binlog begins anew.
pub fn reset(ground: &Ground, freshet: &Freshet) -> Found {
    let statement = if ground.is_mysql() { "RESET BINARY LOGS AND GTIDS" } else { "RESET MASTER" };
    fresh_after(ground, freshet, &|| run(&mut ground.admin(), &[statement]))
}

/// The server dies and comes back.
pub fn killed(ground: &Ground, freshet: &Freshet) -> Found {
    fresh_after(ground, freshet, &|| {
        let crash = Command::new("scripts/servers").arg("crash").arg(&ground.folder).status();
        assert!(crash.is_ok_and(|status| status.success()), "the server can be killed");
    })
}

/// The server's process.
fn pid(ground: &Ground) -> Pid {
    let env = std::fs::read_to_string(ground.folder.join("env")).expect("the server's folder has its data");
    let pid = env.lines().find_map(|line| line.strip_prefix("SERVER_PID=")).expect("its process is named");
    pid.parse().ok().and_then(Pid::from_raw).expect("it is a process")
}

/// The server stands still: soon nothing is served, and afterwards everything again.
pub fn stopped(ground: &Ground, freshet: &Freshet) -> Found {
    let before = memory_of(freshet);
    let mut reader = freshet.target().try_connect(SCHEMA).expect("it lets in");
    prime(freshet, &mut reader, READ);
    let mut raw = attacker(freshet.target());
    raw.query(READ).expect("it is answered");
    raw.stream().set_read_timeout(Some(Duration::from_secs(2))).expect("it can be set");
    let server = pid(ground);
    kill_process(server, Signal::STOP).expect("it can be stopped");
    let through = timed(|| {
        let begun = Instant::now();
        let mut last = Duration::ZERO;
        // The first read that is forwarded gets no answer.
        while raw.query(READ).is_ok() && last < 2 * SILENT_MAX {
            last = begun.elapsed();
        }
        format!("served for {} s at most", last.as_secs() + 1)
    });
    kill_process(server, Signal::CONT).expect("it can go on");
    let again = within(FRESH_MAX, "true", || {
        let conn = freshet.target().try_connect(SCHEMA);
        conn.is_ok_and(|mut conn| answer(&mut conn, READ).is_ok()).to_string()
    });
    let silent = through.took < SILENT_MAX + Duration::from_secs(2);
    let direct = Given { outcome: "silent".to_owned(), took: Duration::ZERO };
    Found::new(direct, through, (before, memory_of(freshet)))
        .at_any_time()
        .expect(silent, "hits go on without a sign of the server")
        .expect(again == "true", "the server is not found again")
}
