use super::*;

fn written() -> Effects {
    Effects { writes: Writes::Everything, ..Effects::none() }
}

#[test]
fn an_id_is_unknown_once_a_statement_may_have_given_one() {
    let facts = StatementFacts::default();
    let mut lease = Lease::default();
    lease.note_ran(&Effects::none(), &facts, &Relayed { rows: 1, ..Relayed::default() });
    lease.note_ran(&written(), &facts, &Relayed::default());
    assert_eq!(lease.insert_id(), Some(0), "no row was written");
    lease.note_ran(&written(), &facts, &Relayed { rows: 1, ..Relayed::default() });
    assert_eq!(lease.insert_id(), None);
    lease.note_insert_id(Some(7));
    lease.note_command(Command::Query, &written(), b" load DATA INFILE 'f' INTO TABLE t");
    assert_eq!(lease.insert_id(), None);
    assert!(lease.traces().writes);
}

#[test]
fn diagnostics_stay_until_a_statement_drops_or_replaces_them() {
    let (mut lease, warned) = (Lease::default(), Relayed { warned: true, ..Relayed::default() });
    lease.note_diagnostics(true, &warned);
    lease.note_diagnostics(false, &Relayed::default());
    assert!(lease.has_diagnostics());
    lease.note_diagnostics(true, &Relayed::default());
    assert!(!lease.has_diagnostics());
    lease.note_refusal();
    assert!(lease.has_diagnostics());
    lease.note_diagnostics_replaced();
    assert!(!lease.has_diagnostics());
}

#[test]
fn a_reset_keeps_what_it_does_not_undo() {
    let mut lease = Lease { rights_from: Position::new(5), ..Lease::default() };
    lease.note_command(Command::SetOption, &Effects::none(), b"");
    lease.note_tells_of_itself();
    lease.note_sends(&["SET @x = 1".to_owned()]);
    lease.note_insert_id(None);
    lease.tracking.note_met();
    lease.note_reset();
    assert!(!lease.can_be_undone() && !lease.is_unknown_to_client());
    assert_eq!((lease.rights_from(), lease.insert_id(), lease.sent()), (Position::new(5), Some(0), 0));
    assert!(lease.is_untouched() && lease.tracking.is_unmet());
    lease.note_beginning_undone();
    assert!(!lease.is_untouched(), "the reset itself was sent");
}

#[test]
fn a_connection_takes_its_facts_to_the_next_session() {
    let (mut first, mut second) = (Lease::default(), Lease::default());
    first.rights_from = Position::new(5);
    first.note_sends(&[]);
    first.note_looked();
    assert!(first.looked_ms() > first.used_ms());
    first.traces.cursor = true;
    first.note_id_moves_here(3);
    let parted = first.note_given_up(1);
    assert_eq!((first.rights_from(), first.sent(), first.is_untouched()), (Position::new(5), 0, true));
    second.note_taken_over(parted);
    assert_eq!((second.sent(), second.looked_ms(), second.traces().cursor), (1, 0, false));
    assert!(second.traces().writes && !second.is_untouched());
}
