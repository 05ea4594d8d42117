use freshet_cache::{Dep, Freshness};

use super::*;

fn name(schema: &str, name: &str) -> Name {
    (schema.into(), name.into())
}

fn basis(names: &[&str]) -> Basis {
    Basis { names: names.iter().map(|it| name("s", it)).collect(), ..Basis::default() }
}

#[test]
fn a_definition_concerns_what_it_names_and_nothing_else() {
    let (t, v) = (basis(&["t"]), basis(&["v", "t", "f()"]));
    let code = Basis { runs_code: true, ..basis(&["u"]) };
    let open = Basis { is_open: true, ..basis(&["x"]) };
    let concerned = |what: Defined| [&t, &v, &code, &open].map(|basis| what.concerns(basis));
    assert_eq!(
        concerned(Defined::Tables(vec![name("s", "other"), name("d", "t")])),
        [false, false, false, true]
    );
    assert_eq!(concerned(Defined::Tables(vec![name("d", "t"), name("S", "T")])), [true, true, false, true]);
    assert_eq!(concerned(Defined::Tables(vec![name("s", "v")])), [false, true, false, true]);
    assert_eq!(concerned(Defined::Schema("d".into())), [false, false, false, true]);
    assert_eq!(concerned(Defined::Schema("S".into())), [true, true, true, true]);
    assert_eq!(concerned(Defined::Routine), [false, false, true, true]);
    assert_eq!(concerned(Defined::Everything), [true; 4]);
}

fn told(names: &[&str]) -> Told {
    let mut told = Told::at(0);
    told.rest_on(&Arc::new(basis(names)));
    told
}

#[test]
fn a_definition_is_under_way_until_it_is_dropped() {
    let under_way = Arc::new(UnderWay::default());
    let one = under_way.define(Defined::Tables(vec![name("s", "t")]));
    let other = under_way.define(Defined::Routine);
    assert!(under_way.definitions(None).concern(&told(&["t"])));
    assert!(!under_way.definitions(Some(&one)).concern(&told(&["t"])), "not its own");
    assert_eq!(under_way.definitions(None).tables().collect::<Vec<_>>(), [&name("s", "t")]);
    drop(one);
    assert!(!under_way.definitions(None).concern(&told(&["t"])));
    drop(other);
    assert!(under_way.definitions(None).is_empty());
}

#[test]
fn a_later_definition_fences_for_a_write_until_that_is_applied() {
    let freshness = Arc::new(Freshness::new());
    let (everything, tables) = (Dep::EVERYTHING, freshness.table("s", "t").definition);
    let stand = || [everything, tables].map(|dep| freshness.is_fenced(dep));
    let under_way = Arc::new(UnderWay::default());
    let (concerned, other) = (under_way.write(told(&["t"])), under_way.write(told(&["u"])));
    let definition = under_way.define(Defined::Tables(vec![name("s", "t")]));
    let later = under_way.write(told(&["t"]));
    assert!(definition.concerns_earlier_writes());
    definition.fence_earlier_writes(|| freshness.fence([everything]), || freshness.fence([tables]));
    drop((definition, later));
    assert_eq!(stand(), [true, true]);
    drop(concerned);
    assert_eq!(stand(), [false, true]);
    drop(other);
    assert_eq!(stand(), [false, false]);
    let definition = under_way.define(Defined::Tables(vec![name("s", "t")]));
    let _later = under_way.write(told(&["t"]));
    assert!(!definition.concerns_earlier_writes(), "a later write sees it itself");
}

#[test]
fn of_a_write_and_a_definition_one_sees_the_other() {
    const ROUNDS: usize = 3_000;
    let under_way = Arc::new(UnderWay::default());
    let met = std::sync::Barrier::new(2);
    let (mut seen_by_definition, mut seen_by_write) = (Vec::new(), Vec::new());
    std::thread::scope(|scope| {
        let defining = scope.spawn(|| {
            let seen = (0..ROUNDS).map(|_| {
                met.wait();
                let definition = under_way.define(Defined::Tables(vec![name("s", "t")]));
                let sees = definition.concerns_earlier_writes();
                met.wait();
                sees
            });
            seen.collect()
        });
        seen_by_write = (0..ROUNDS)
            .map(|_| {
                met.wait();
                let _writing = under_way.write(told(&["t"]));
                let sees = under_way.definitions(None).concern(&told(&["t"]));
                met.wait();
                sees
            })
            .collect();
        seen_by_definition = defining.join().expect("it does not panic");
    });
    let missed =
        seen_by_write.iter().zip(&seen_by_definition).filter(|(write, defined)| !**write && !**defined);
    assert_eq!(missed.count(), 0);
    assert_ne!(
        seen_by_write.iter().filter(|sees| **sees).count(),
        0,
        "the write sees the definition at times"
    );
}
