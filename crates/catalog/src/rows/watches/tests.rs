use super::*;
use crate::rows::samples::{INT, column, spec, table, table_of, text, watches};

#[test]
fn one_watch_for_one_way_to_read() {
    let (_, watches) = watches();
    let one = watches.watch(&table(), &spec(&[0], None, None)).unwrap();
    assert!(Arc::ptr_eq(&one, &watches.watch(&table(), &spec(&[0], None, None)).unwrap()));
    assert!(!Arc::ptr_eq(&one, &watches.watch(&table(), &spec(&[0], None, Some(&[1]))).unwrap()));
    assert_eq!(watches.on("s", "t").len(), 2);
    assert_eq!(watches.on("s", "other").len(), 0);
}

#[test]
fn a_watch_waits_for_writes_that_do_not_know_it() {
    let (_, watches) = watches();
    let (known, ticket) = watches.writing("s", "t");
    assert!(known.is_empty());
    let watch = watches.watch(&table(), &spec(&[0], None, None)).unwrap();
    let (known, _later) = watches.writing("s", "t");
    assert_eq!(known.len(), 1);
    assert!(!watch.is_usable(Position::new(9)));
    drop(ticket);
    assert!(watch.is_usable(Position::new(9)));
}

#[test]
fn what_rests_on_a_watch_is_not_older_than_its_layout() {
    let (_, watches) = watches();
    let mut table = table();
    table.settled_by = Position::new(5);
    let watch = watches.watch(&table, &spec(&[0], None, None)).unwrap();
    assert!(!watch.is_usable(Position::new(4)) && watch.is_usable(Position::new(5)));
    table.settled_by = Position::new(u64::MAX);
    assert!(watches.watch(&table, &spec(&[1], None, None)).is_none());
}

#[test]
fn the_newest_layout_counts() {
    let (_, watches) = watches();
    let mut old = table();
    let mut new = table_of("t", vec![column("a", text()), column("b", INT)]);
    (old.settled_by, new.settled_by) = (Position::new(5), Position::new(6));
    let of_old = watches.watch(&old, &spec(&[0], None, None)).unwrap();
    let of_new = watches.watch(&new, &spec(&[0], None, None)).unwrap();
    assert!(!Arc::ptr_eq(&of_old, &of_new) && watches.on("s", "t").len() == 1);
    assert!(watches.watch(&old, &spec(&[0], None, None)).is_none());
}

#[test]
fn where_there_are_many_they_are_not_told_apart_by_what_they_read() {
    let (_, watches) = watches();
    let columns = (0..100).map(|number| column(&format!("c{number}"), INT)).collect();
    let table = table_of("t", columns);
    let watch = |key: u16, read: u16| watches.watch(&table, &spec(&[key], None, Some(&[read]))).unwrap();
    for read in 0..100 {
        let expected = (usize::from(read) < NARROW_MAX).then_some(vec![read]);
        assert_eq!(watch(0, read).spec().read, expected);
    }
    assert_eq!(watches.on("s", "t").len(), NARROW_MAX + 1);
    // There is room for other keys still, and those that are there stay as they are.
    assert_eq!(watch(1, 5).spec().read, None);
    assert!(Arc::ptr_eq(&watch(1, 5), &watch(1, 6)));
    assert_eq!(watch(0, 7).spec().read, Some(vec![7]));
}

#[test]
fn watches_are_bounded() {
    let (_, watches) = watches();
    let columns = (0..100).map(|number| column(&format!("c{number}"), INT)).collect();
    let table = table_of("t", columns);
    for number in 0..100 {
        let watch = watches.watch(&table, &spec(&[number], None, None));
        assert_eq!(watch.is_some(), usize::from(number) < WATCHES_MAX);
    }
    watches.changed(Changed::Everything);
    assert!(watches.on("s", "t").is_empty());
    for number in 0..=TABLES_MAX {
        let table = table_of(&format!("t{number}"), vec![column("a", INT)]);
        assert_eq!(watches.watch(&table, &spec(&[0], None, None)).is_some(), number < TABLES_MAX);
    }
    watches.changed(Changed::Tables(&[("s".to_owned(), "t5".to_owned())]));
    assert!(watches.watch(&table_of("new", vec![column("a", INT)]), &spec(&[0], None, None)).is_some());
    watches.changed(Changed::Schema("s"));
    assert!(watches.on("s", "t6").is_empty() && watches.tables.load(Ordering::Relaxed) == 0);
}

#[test]
fn what_is_unused_for_longest_makes_room() {
    let (freshness, watches) = watches();
    let columns: Vec<_> = (0..100).map(|number| column(&format!("c{number}"), INT)).collect();
    let table = table_of("t", columns);
    let watch = |key: u16| watches.watch(&table, &spec(&[key], None, None));
    let all: Vec<_> = (0..64).map(|key| watch(key).unwrap()).collect();
    // More ways than places, all of them in use: whoever came first stays.
    for key in (0..65).cycle().take(20 * 65) {
        assert_eq!(watch(key).is_some(), key < 64);
    }
    // One of them is not asked for any more.
    let mut lookups = 0;
    let new = loop {
        lookups += 1;
        watch((lookups % 63) as u16);
        if let Some(new) = watch(64) {
            break new;
        }
    };
    assert!(u64::from(lookups as u32) >= IDLE_LOOKUPS / 2, "{lookups}");
    let applied = freshness.applied();
    assert!(freshness.stamp_of(all[63].any()) > applied, "what rests on it is ended");
    assert!(freshness.stamp_of(all[0].any()) <= applied && freshness.stamp_of(new.any()) <= applied);
    assert_eq!(watches.on("s", "t").len(), WATCHES_MAX);
    assert!(Arc::ptr_eq(&watch(0).unwrap(), &all[0]) && watch(63).is_none());
}

#[test]
fn columns_without_keys_cannot_be_watched() {
    let (_, watches) = watches();
    let table = table_of("t", vec![column("a", crate::rows::KeyType::None), column("b", INT)]);
    assert!(watches.watch(&table, &spec(&[0], None, None)).is_none());
    assert!(watches.watch(&table, &spec(&[], Some(0), None)).is_none());
    assert!(watches.watch(&table, &spec(&[9], None, None)).is_none());
    assert!(watches.watch(&table_of("v", Vec::new()), &spec(&[], None, None)).is_none());
    assert!(watches.watch(&table, &spec(&[], None, Some(&[0]))).is_some());
}

#[test]
fn names_are_compared_as_the_server_does() {
    let (_, watches) = watches();
    watches.begin(true);
    let table = table_of("T", vec![column("a", INT)]);
    watches.watch(&table, &spec(&[0], None, None)).unwrap();
    assert_eq!(watches.on("s", "t").len(), 1);
    assert_eq!(watches.writing("S", "T").0.len(), 1);
    watches.changed(Changed::Tables(&[("S".to_owned(), "T".to_owned())]));
    assert!(watches.on("s", "t").is_empty());
}
