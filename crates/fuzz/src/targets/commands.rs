//! What a client sends after its login: command bytes and the parameters of prepared statements.

use freshet_protocol::{Capabilities, Command, Execution, Malformed, Reader};

use crate::input::head;
use crate::target::{Outcome, Target, behaviour, hold};

/// The target.
pub static TARGET: Target = Target {
    name: "commands",
    promise: "parameters are read or refused; bytes behind them change nothing; types that are kept read the same",
    is_text: false,
    seeds,
    check,
};

/// The number of parameters, capabilities in one byte, which are long, then the packet.
fn seeds() -> Vec<Vec<u8>> {
    let fixed = |flags: u8| [0x17, 1, 0, 0, 0, flags, 1, 0, 0, 0];
    let types = [1, 0, 1, 0x80, 3, 0, 8, 0x80, 253, 0, 246, 0, 5, 0, 12, 0];
    let values = [
        &[0xff][..],
        &[0xff],
        &[0xfe, 0xff, 0xff, 0xff],
        &[0xff; 8],
        &[2, b'a', b'b'],
        &[3, b'1', b'.', b'5'],
        &[0; 8],
        &[4, 0xe8, 0x07, 2, 29],
    ]
    .concat();
    let named: Vec<u8> = types.chunks(2).flat_map(|kind| [kind, &[1, b'n']].concat()).collect();
    vec![
        [&[8, 0, 0][..], &fixed(0), &[0], &[1], &types, &values].concat(),
        [&[8, 0, 2][..], &fixed(0), &[0x81], &[1], &types, &values[1..]].concat(),
        [&[8, 1, 0][..], &fixed(8), &[8], &[0], &[1], &named, &values].concat(),
        [&[0, 1, 0][..], &fixed(8), &[1, 0, 1, 253, 0, 1, b'q', 3, b'a', b'b', b'c']].concat(),
        [&[0, 0, 0][..], &fixed(0)].concat(),
        [&[2, 0, 0][..], &fixed(0), &[3, 0]].concat(),
    ]
}

/// Whether two readings are alike; a number that is none is no other number, and like itself.
fn is_same(one: &Execution<'_>, other: &Result<Execution<'_>, Malformed>) -> bool {
    let is_equal = Ok(one) == other.as_ref();
    is_equal || other.as_ref().is_ok_and(|other| format!("{one:?}") == format!("{other:?}"))
}

fn check(input: &[u8]) -> Outcome {
    let ([count, caps, long], packet) = head::<3>(input);
    let caps = if caps & 1 == 1 { Capabilities::QUERY_ATTRIBUTES } else { Capabilities::PROTOCOL_41 };
    let count = usize::from(count);
    let is_long = |at: usize| at < 8 && long >> at & 1 == 1;
    let byte = packet.first().copied().unwrap_or_default();
    hold!(Command::from_byte(byte).byte() == byte, "a command's byte comes back", "{byte}");
    elementary(packet)?;
    let read = Execution::parse(packet, count, caps, None, is_long);
    let Ok(execution) = &read else { return Ok(behaviour(format!("{read:?}"))) };
    hold!(execution.parameters.len() == count, "as many as asked for", "{execution:?} for {count}");
    let longer = [packet, &[0xFB, 1, 2, 3]].concat();
    let again = Execution::parse(&longer, count, caps, None, is_long);
    hold!(
        is_same(execution, &again),
        "bytes behind the last change nothing",
        "{execution:?}, then {again:?}"
    );
    if let Some(types) = &execution.types {
        let kept = Execution::parse(packet, count, caps, Some(types), is_long);
        hold!(is_same(execution, &kept), "types in the packet come first", "{execution:?}, then {kept:?}");
    }
    let kinds: Vec<_> = execution.parameters.iter().map(std::mem::discriminant).collect();
    Ok(behaviour((kinds, execution.types.is_some())))
}

/// The elementary types take no more than there is.
fn elementary(bytes: &[u8]) -> Outcome {
    let mut reader = Reader::new(bytes);
    for step in 0..bytes.len() {
        let before = reader.remaining();
        let ok = match step % 3 {
            0 => reader.lenenc_int().is_ok(),
            1 => reader.lenenc_bytes().is_ok(),
            _ => reader.nul_bytes().is_ok(),
        };
        if !ok {
            break;
        }
        hold!(reader.remaining() < before, "a reader goes on", "at {before}");
    }
    Ok(0)
}
