use super::*;

fn marked(names: &[&str]) -> Savepoints {
    let mut savepoints = Savepoints::default();
    names.iter().for_each(|name| assert!(savepoints.marks(&Mark::Set(name), true).is_some()));
    savepoints
}

#[test]
fn a_savepoint_that_is_set_anew_comes_last() {
    let mut savepoints = marked(&["a", "b", "A"]);
    assert_eq!(savepoints.here(), ["b", "A"]);
    assert!(savepoints.marks(&Mark::BackTo("c"), false).is_none(), "there is none");
    assert!(savepoints.marks(&Mark::BackTo("B"), false).is_some());
    assert_eq!(savepoints.here(), ["b"]);
    assert!(savepoints.marks(&Mark::Remove("b"), false).is_some());
    assert!(savepoints.here().is_empty() && !savepoints.has_early());
}

#[test]
fn only_so_many_are_remembered() {
    let names: Vec<String> = (0..SAVEPOINTS_MAX).map(|at| at.to_string()).collect();
    let mut savepoints = marked(&names.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(savepoints.marks(&Mark::Set("more"), false).is_none());
}

#[test]
fn those_before_the_first_read_are_early() {
    let mut savepoints = marked(&["a", "b"]);
    assert!(savepoints.marks(&Mark::Set("c"), false).is_some());
    assert!(savepoints.is_early("A") && savepoints.is_early("b") && !savepoints.is_early("c"));
    assert_eq!(savepoints.early_up_to("B"), Some(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(
        (savepoints.early_up_to("a").map(|early| early.len()), savepoints.early_up_to("c")),
        (Some(1), None)
    );
    assert_eq!(savepoints.marks(&Mark::BackTo("c"), false), Some(false));
    assert_eq!(savepoints.marks(&Mark::BackTo("b"), false), Some(true), "nothing has been read again");
    savepoints.note_read();
    assert_eq!((savepoints.has_early(), savepoints.here().len()), (false, 2));
    savepoints.keep(vec!["a".to_owned()]);
    assert_eq!((savepoints.here(), savepoints.is_early("a")), (&["a".to_owned()][..], true));
}

#[test]
fn the_server_moves_removes_or_forgets_early_ones() {
    let after = |control: Option<TransactionControl>| {
        let mut savepoints = marked(&["a", "b", "c"]);
        savepoints.note_at_server(control.as_ref());
        ["a", "b", "c"].map(|name| savepoints.is_early(name))
    };
    assert_eq!(after(Some(TransactionControl::Savepoint("B".to_owned()))), [true, false, true]);
    assert_eq!(after(Some(TransactionControl::Release("b".to_owned()))), [true, false, false]);
    assert_eq!(after(Some(TransactionControl::Release("d".to_owned()))), [true; 3]);
    assert_eq!(after(Some(TransactionControl::RollbackTo("a".to_owned()))), [true; 3]);
    assert_eq!(after(None), [false; 3]);
}
