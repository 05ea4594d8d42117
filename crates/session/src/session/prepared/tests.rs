use freshet_sql::{Flavor, Modes, effects, row_write};

use super::*;

const TEXT: &[u8] = b"DELETE FROM t WHERE id = ?";

fn prepared() -> Prepared {
    let modes = Modes::new(Flavor::MariaDb);
    Prepared::new(effects(TEXT, modes), row_write(TEXT, modes), 1)
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
    prepared.executed(&packet(value, with_type), Capabilities::empty()).is_some()
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
    prepared.ended(Some(1210));
    assert!(!told(&prepared, 4, false));
}
