use freshet_sql::TableName;

use super::*;

fn write() -> Effects {
    Effects { writes: Writes::Tables(vec![TableName::of("d", "t")]), ..Effects::none() }
}

fn relayed(gtids: &[&str]) -> Relayed {
    Relayed {
        status: Some(StatusFlags::AUTOCOMMIT),
        results: 1,
        gtids: gtids.iter().map(|gtid| gtid.as_bytes().to_vec()).collect(),
        ..Relayed::default()
    }
}

fn is_exact(effects: &Effects, relayed: &Relayed) -> bool {
    matches!(outcome(effects, relayed, false, Flavor::MariaDb, || true), WriteOutcome::Committed(_))
}

#[test]
fn a_gtid_is_taken_at_its_word_for_one_transaction_alone() {
    assert!(is_exact(&write(), &relayed(&["0-1-7"])));
    let commit = Effects { transaction: TransactionEffect::Ends, ..Effects::none() };
    assert!(is_exact(&commit, &relayed(&["0-1-7"])));

    assert!(!is_exact(&write(), &relayed(&[])), "no GTID was reported");
    assert!(!is_exact(&write(), &relayed(&["0-1-7", "0-1-8"])), "two commits");
    assert!(!is_exact(&write(), &relayed(&["garbage"])));
    let call = Effects { writes: Writes::Everything, ..Effects::none() };
    assert!(!is_exact(&call, &relayed(&["0-1-7"])), "a procedure commits as often as it likes");
    let may = Effects { transaction: TransactionEffect::MayCommit, ..write() };
    assert!(!is_exact(&may, &relayed(&["0-1-7"])), "it may be one of several");
    let ddl = Effects { is_definition: true, ..may };
    assert!(is_exact(&ddl, &relayed(&["0-1-7"])));
    assert!(!is_exact(&Effects { several: true, ..ddl.clone() }, &relayed(&["0-1-7"])));
    let of_several =
        outcome(&ddl, &relayed(&["eb67cfc8-e540-11f1-9ab2-02fc00000001:1-2"]), false, Flavor::MySql, || true);
    assert_eq!(of_several, WriteOutcome::CommittedSomewhere, "a definition may take several");
    let failed = Relayed { error: Some(1062), ..relayed(&["0-1-7"]) };
    assert!(!is_exact(&write(), &failed), "part of it may have stayed");
    let several = Relayed { results: 2, ..relayed(&["0-1-7"]) };
    assert!(!is_exact(&write(), &several));
    assert!(matches!(
        outcome(&write(), &relayed(&["0-1-7"]), true, Flavor::MariaDb, || true),
        WriteOutcome::CommittedSomewhere
    ));
}

#[test]
fn without_a_gtid_nothing_is_committed_by_what_changed_no_row() {
    let of = |effects: &Effects, relayed: &Relayed, reports: bool| {
        outcome(effects, relayed, false, Flavor::MariaDb, || reports)
    };
    assert_eq!(of(&write(), &relayed(&[]), true), WriteOutcome::Nothing);
    assert_eq!(
        of(&write(), &relayed(&[]), false),
        WriteOutcome::CommittedSomewhere,
        "none would be reported"
    );
    let changed = Relayed { affected: 1, ..relayed(&[]) };
    assert_eq!(of(&write(), &changed, true), WriteOutcome::CommittedSomewhere);
    let no_room = Relayed { has_no_room: true, ..relayed(&[]) };
    assert_eq!(of(&write(), &no_room, true), WriteOutcome::CommittedSomewhere);
    let failed = Relayed { error: Some(1062), ..relayed(&[]) };
    assert_eq!(of(&write(), &failed, true), WriteOutcome::CommittedSomewhere);
    let commit = Effects { transaction: TransactionEffect::Ends, ..Effects::none() };
    assert_eq!(of(&commit, &relayed(&[]), true), WriteOutcome::CommittedSomewhere, "it may be of several");
    let several = Effects { several: true, ..write() };
    assert_eq!(of(&several, &relayed(&[]), true), WriteOutcome::CommittedSomewhere);
}

#[test]
fn an_error_leaves_the_transaction_with_what_it_wrote() {
    let mut pending = Pending { deps: vec![Dep::EVERYTHING], ..Pending::default() };
    let settle = |pending: &mut Pending, relayed: &Relayed| {
        let concluded = ConcludedStatement { effects: &write(), relayed, left: Left::Anything };
        settle(pending, None, concluded, Flavor::MySql, || true);
    };
    let failed = Relayed { error: Some(1062), ..Relayed::default() };
    settle(&mut pending, &failed);
    assert!(!pending.is_empty());
    let open = Relayed { status: Some(StatusFlags::IN_TRANS), ..Relayed::default() };
    settle(&mut pending, &open);
    assert!(!pending.is_empty());
    settle(&mut pending, &relayed(&[]));
    assert!(pending.is_empty());
}
