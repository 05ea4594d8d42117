use freshet_upstream::server::samples::imagined;

use super::*;
use crate::foreign_keys::{Acts, ForeignKey, ForeignKeys};

fn catalog() -> (Arc<Freshness>, Catalog) {
    let freshness = Arc::new(Freshness::new());
    let catalog = Catalog::new(freshness.clone());
    catalog.begin(&imagined("10.11.19-MariaDB", &[]));
    (freshness, catalog)
}

fn name(text: &str) -> Name {
    let (schema, name) = text.split_once('.').unwrap();
    (schema.into(), name.into())
}

fn keys(edges: &[(&str, &str)]) -> ForeignKeys {
    let key = |(parent, child): &(&str, &str)| ForeignKey {
        parent: name(parent),
        child: name(child),
        acts: Acts::ALWAYS,
        columns: Vec::new(),
    };
    ForeignKeys::from_keys(edges.iter().map(key))
}

fn wanted(catalog: &Catalog) -> ForeignKeysTicket {
    catalog.foreign_keys_wanted().unwrap().0
}

fn all(edges: &[(&str, &str)]) -> ReadKeys {
    ReadKeys::All(keys(edges))
}

#[test]
fn everything_is_reached_until_the_foreign_keys_count() {
    let (freshness, catalog) = catalog();
    assert_eq!(catalog.descendants("s", "a"), None);
    let ticket = wanted(&catalog);
    catalog.accept_foreign_keys(ticket, all(&[("s.a", "t.b")]), Position::new(7));
    assert_eq!(catalog.descendants("s", "a"), None);
    freshness.publish_applied(Position::new(7));
    assert_eq!(catalog.descendants("s", "a").unwrap().all, [name("t.b")]);
    assert!(catalog.foreign_keys_wanted().is_none() && !catalog.awaits_foreign_keys());
}

#[test]
fn a_ticket_from_before_a_change_is_refused() {
    let (freshness, catalog) = catalog();
    freshness.publish_applied(Position::new(7));
    let ticket = wanted(&catalog);
    catalog.changed(Changed::Everything);
    catalog.accept_foreign_keys(ticket, all(&[]), Position::new(7));
    assert_eq!(catalog.descendants("s", "a"), None);
    let ticket = wanted(&catalog);
    catalog.accept_foreign_keys(ticket, all(&[]), Position::new(7));
    assert!(catalog.descendants("s", "a").is_some());
}

#[test]
fn a_change_is_visible_when_the_position_above_what_was_applied_before_it_is() {
    let (freshness, catalog) = catalog();
    freshness.publish_applied(Position::new(7));
    freshness.publish_visible(Position::new(7));
    assert!(catalog.changes_are_visible(), "none was told of");
    catalog.changed(Changed::Tables(&[name("s.a")]));
    assert!(!catalog.changes_are_visible());
    freshness.publish_applied(Position::new(9));
    assert!(!catalog.changes_are_visible(), "applied, and not yet in effect");
    freshness.publish_visible(Position::new(9));
    assert!(catalog.changes_are_visible());
}

#[test]
fn every_change_makes_a_new_version() {
    let (_, catalog) = catalog();
    let mut last = catalog.version();
    for what in [Changed::Tables(&[]), Changed::Schema("s"), Changed::Everything] {
        catalog.changed(what);
        assert!(catalog.version() > last);
        last = catalog.version();
    }
    catalog.begin(&imagined("9.7.4", &[]));
    assert!(catalog.version() > last);
}

#[test]
fn names_are_folded_where_the_server_folds_them() {
    let (freshness, catalog) = catalog();
    freshness.publish_applied(Position::new(1));
    catalog.begin(&imagined("9.7.4", &[("lower_case_table_names", "1")]));
    let ticket = wanted(&catalog);
    catalog.accept_foreign_keys(ticket, all(&[("S.Parent", "S.Child")]), Position::new(1));
    assert_eq!(catalog.descendants("s", "PARENT").unwrap().all, [name("s.child")]);
}

#[test]
fn a_definition_that_is_applied_meanwhile_has_foreign_keys_looked_up_again() {
    let (freshness, catalog) = catalog();
    freshness.publish_applied(Position::new(7));
    let ticket = wanted(&catalog);
    catalog.accept_foreign_keys(ticket, all(&[]), Position::new(7));
    let clock = catalog.version();
    let mut told = Told::at(clock);
    told.rest_on(&Arc::new(Basis { names: vec![name("s.a")], read_at: clock, ..Basis::default() }));
    assert_eq!(catalog.beside(&told, clock, None), Beside::Nothing);

    catalog.changed(Changed::Tables(&[name("s.b")]));
    assert_eq!(catalog.beside(&told, clock, None), Beside::Overtaken, "it may have become a child");
    let clock = catalog.version();
    assert_eq!(catalog.descendants("s", "a").unwrap().all, [name("s.b")]);
    assert_eq!(catalog.beside(&told, clock, None), Beside::Nothing);

    catalog.changed(Changed::Tables(&[name("s.a")]));
    for clock in [clock, catalog.version()] {
        assert_eq!(catalog.beside(&told, clock, None), Beside::Everything, "it is another table");
    }
}
