use freshet_sql::{Flavor, Modes, effects, prepared_kill, row_write};

use super::*;

const TEXT: &[u8] = b"DELETE FROM t WHERE id = ?";

const NOW: ZoneAt = ZoneAt { zone: Zone::Other, version: 0, are_utf8: false };

fn prepared() -> Prepared {
    let modes = Modes::new(Flavor::MariaDb);
    Prepared::new(1, 1, effects(TEXT, modes)).with_write(row_write(TEXT, modes), None)
}

/// COM_STMT_EXECUTE with one LONG; without its type if that has been sent before.
fn packet(value: u32, with_type: bool) -> Vec<u8> {
    let mut packet = vec![0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, u8::from(with_type)];
    if with_type {
        packet.extend([3, 0]);
    }
    packet.extend(value.to_le_bytes());
    packet
}

fn told(prepared: &Prepared, value: u32, with_type: bool) -> bool {
    prepared.executed(&packet(value, with_type), Capabilities::empty(), NOW).write.is_some()
}

#[test]
fn types_are_those_of_the_execution_before() {
    let prepared = prepared();
    assert!(!told(&prepared, 1, false));
    assert!(told(&prepared, 1, true) && told(&prepared, 2, false));
}

#[test]
fn what_may_have_brought_other_types_leaves_none() {
    let prepared = prepared();
    assert!(told(&prepared, 1, true));
    prepared.executed_in_bulk();
    assert!(!told(&prepared, 2, false), "the types are those of the bulk execution now");
    assert!(told(&prepared, 3, true));
    prepared.ended(Some(1210), false);
    assert!(!told(&prepared, 4, false));
}

#[test]
fn the_id_of_a_kill_comes_in_any_type_of_number() {
    let text = b"KILL ?";
    let modes = Modes::new(Flavor::MariaDb);
    let kill = || Prepared::new(1, 1, effects(text, modes)).with_kill(prepared_kill(text, modes));
    let killed = |kind: u8, value: &[u8]| {
        let packet = [&[0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, kind, 0], value].concat();
        kill().executed(&packet, Capabilities::empty(), NOW).killed.map(|(_, id)| id)
    };
    assert_eq!(killed(3, &7_u32.to_le_bytes()), Some(7));
    assert_eq!(killed(8, &3_000_000_000_u64.to_le_bytes()), Some(3_000_000_000));
    assert_eq!(killed(5, &3e9_f64.to_le_bytes()), Some(3_000_000_000));
    assert_eq!(killed(253, b"\x0242"), Some(42));
    assert_eq!(killed(8, &(-1_i64).to_le_bytes()), None);
    assert_eq!(killed(5, &1.5_f64.to_le_bytes()), None);
    assert_eq!(killed(253, b"\x02x2"), None);
}

#[test]
fn a_statement_that_was_executed_elsewhere_is_not_known_any_more() {
    let select = || PreparedIn::new(Some(7), 1);
    let known = select();
    known.note_executed(Some(7), 5);
    assert!(known.is_of(7, 5) && !known.is_of(8, 6) && known.is_of(7, 9));
    known.note_executed(Some(8), 6);
    assert!(!known.is_of(7, 9));
    // In an environment that is unknown at that time, and turns out to be the same, as long as nothing has changed it since.
    let known = select();
    known.note_executed(None, 5);
    known.note_executed(None, 5);
    assert!(known.is_of(7, 5));
    for (environment, version) in [(8, 5), (7, 6)] {
        let known = select();
        known.note_executed(None, 5);
        assert!(!known.is_of(environment, version) && !known.is_of(7, 5));
    }
    let known = select();
    known.note_executed(None, 5);
    known.note_executed(None, 6);
    assert!(!known.is_of(7, 6));
}
