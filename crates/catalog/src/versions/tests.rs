use super::*;

fn name(name: &str) -> Name {
    ("s".into(), name.into())
}

fn basis(names: &[&str], runs_code: bool, read_at: u64) -> Arc<Basis> {
    Arc::new(Basis { names: names.iter().map(|it| name(it)).collect(), runs_code, is_open: false, read_at })
}

#[test]
fn a_change_ends_what_rests_on_it_and_nothing_else() {
    let mut versions = Versions::default();
    let (t, v, f) = (basis(&["t"], false, 0), basis(&["v", "t"], false, 0), basis(&["u"], true, 0));
    let holds = |versions: &Versions| [&t, &v, &f].map(|basis| versions.is_current(basis));
    versions.changed(Changed::Tables(&[name("other")]));
    versions.changed(Changed::Schema("elsewhere"));
    assert_eq!(holds(&versions), [true, true, true]);
    versions.changed(Changed::Routine);
    assert_eq!(holds(&versions), [true, true, false]);
    versions.changed(Changed::Tables(&[name("v")]));
    assert_eq!(holds(&versions), [true, false, false]);
    versions.changed(Changed::Schema("s"));
    assert_eq!(holds(&versions), [false, false, false]);
    let t = basis(&["t"], false, versions.clock());
    assert!(versions.is_current(&t));
    versions.changed(Changed::Everything);
    assert!(!versions.is_current(&t));
}

#[test]
fn a_conclusion_holds_until_any_part_of_it_ends() {
    let mut versions = Versions::default();
    let mut told = Told::at(versions.clock());
    told.rest_on(&basis(&["t"], false, 0));
    let mut more = Told::at(versions.clock());
    more.rest_on(&basis(&["u"], false, 0));
    versions.changed(Changed::Tables(&[name("other")]));
    assert!(!told.held_at(versions.clock()) && told.holds_by(&versions) && told.held_at(versions.clock()));
    versions.changed(Changed::Tables(&[name("u")]));
    assert!(told.holds_by(&versions) && !more.holds_by(&versions));
    told.join(&more);
    assert!(!told.holds_by(&versions), "also with what it was joined with");
}

#[test]
fn what_rests_on_everything_ends_with_any_change() {
    let mut versions = Versions::default();
    let mut told = Told::at(versions.clock());
    told.rest_on_everything();
    assert!(told.holds_by(&versions));
    versions.changed(Changed::Routine);
    assert!(!told.holds_by(&versions));
}

#[test]
fn what_led_to_something_unknown_ends_with_any_change() {
    let mut versions = Versions::default();
    let open = Basis { is_open: true, ..Basis::default() };
    assert!(versions.is_current(&open));
    versions.changed(Changed::Tables(&[name("other")]));
    assert!(!versions.is_current(&open));
}

#[test]
fn too_many_names_are_everything() {
    let mut versions = Versions::default();
    let t = basis(&["t"], false, 0);
    for number in 0..NAMES_MAX {
        versions.changed(Changed::Tables(&[name(&number.to_string())]));
    }
    assert!(versions.is_current(&t));
    versions.changed(Changed::Tables(&[name("one more")]));
    assert!(!versions.is_current(&t) && versions.names.is_empty());
    assert_eq!(versions.clock(), NAMES_MAX as u64 + 1);
}
