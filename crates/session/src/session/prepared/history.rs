//! What a prepared statement was executed with before. MySQL resolves the types of a statement's parameters anew when a value does
//! not fit them, and keeps them for what follows: `v * ?` executed with '1.5' makes a DECIMAL of a later '2', and `s = ?` executed with
//! 1 compares a later '1' as a number. The answer to such an execution is no other statement's, so only statements whose
//! executions were all alike have answers that may be shared.

use std::hash::{BuildHasher as _, Hash as _, Hasher as _};
use std::sync::LazyLock;

use ahash::RandomState;
use freshet_protocol::{ExecutionParts, Parameter, ParameterType};

/// With keys of this process: clients cannot make two kinds look alike.
static HASH: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// Digits of an integer in a string that is certainly taken for a BIGINT.
const DIGITS_MAX: usize = 18;

/// What all executions so far had in common.
#[derive(Debug, Default)]
pub(super) struct History {
    first: Option<u64>,
    differs: bool,
}

impl History {
    /// Notes an execution with parameters of these types.
    pub(super) fn note(&mut self, parts: &ExecutionParts<'_>, types: &[ParameterType]) {
        match kinds(parts, types) {
            Some(kinds) => self.differs |= *self.first.get_or_insert(kinds) != kinds,
            None => self.differs = true,
        }
    }

    /// Notes an execution whose values are not all known.
    pub(super) fn note_unknown(&mut self) {
        self.differs = true;
    }

    /// Whether all executions were alike.
    pub(super) fn is_alike(&self) -> bool {
        !self.differs
    }
}

/// What of the values the server may resolve types by.
fn kinds(parts: &ExecutionParts<'_>, types: &[ParameterType]) -> Option<u64> {
    let mut hasher = HASH.build_hasher();
    for (kind, parameter) in types.iter().zip(parts.parameters(types)) {
        let parameter = parameter.ok()?;
        kind.bytes().hash(&mut hasher);
        match parameter {
            Parameter::Null => 1u8.hash(&mut hasher),
            Parameter::Int(_) | Parameter::UInt(_) | Parameter::Float(_) => 2u8.hash(&mut hasher),
            Parameter::Text(text) if is_integer(text) => 3u8.hash(&mut hasher),
            Parameter::Text(text) if is_no_number(text) => 4u8.hash(&mut hasher),
            Parameter::DateTime { micros: 0, .. } => 5u8.hash(&mut hasher),
            // Any other value is like itself alone.
            Parameter::Text(_) | Parameter::Decimal(_) | Parameter::DateTime { .. } | Parameter::Other => {
                (6u8, parts.values).hash(&mut hasher);
            }
        }
    }
    Some(hasher.finish())
}

fn is_integer(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    (1..=DIGITS_MAX).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit)
}

/// Whether a string starts like no number in any notation.
fn is_no_number(text: &[u8]) -> bool {
    text.first().is_some_and(|first| first.is_ascii_alphabetic() || !first.is_ascii())
}

#[cfg(test)]
mod tests {
    use freshet_protocol::Capabilities;

    use super::*;

    const LONG: u8 = 3;
    const VAR_STRING: u8 = 253;

    /// A statement's executions with one parameter each, of these types and values.
    fn are_alike(executions: &[(u8, &[u8])]) -> bool {
        let mut history = History::default();
        for (kind, value) in executions {
            let mut packet = vec![0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0, u8::from(value.is_empty()), 1, *kind, 0];
            packet.extend_from_slice(value);
            let parts = ExecutionParts::cut(&packet, 1, Capabilities::empty()).unwrap();
            let types: Vec<ParameterType> = parts.types().unwrap().collect();
            history.note(&parts, &types);
        }
        history.is_alike()
    }

    #[test]
    fn what_the_server_takes_for_the_same_is_alike() {
        assert!(are_alike(&[(LONG, &[1, 0, 0, 0]), (LONG, &[2, 0, 0, 0])]));
        assert!(!are_alike(&[(VAR_STRING, b"\x011"), (VAR_STRING, b"\x0325 ")]));
        assert!(are_alike(&[(VAR_STRING, b"\x011"), (VAR_STRING, b"\x02-2")]));
        assert!(are_alike(&[(VAR_STRING, b"\x01a"), (VAR_STRING, b"\x03b.1")]));
        assert!(are_alike(&[(VAR_STRING, b"\x031.5"), (VAR_STRING, b"\x031.5")]));
    }

    #[test]
    fn what_it_may_resolve_anew_is_not() {
        let one = (LONG, &[1, 0, 0, 0][..]);
        for other in [(VAR_STRING, &b"\x011"[..]), (8, &[1, 0, 0, 0, 0, 0, 0, 0]), (LONG, &[])] {
            assert!(!are_alike(&[one, other]) && !are_alike(&[other, one, other]), "{other:?}");
        }
        assert!(!are_alike(&[(VAR_STRING, b"\x031.5"), (VAR_STRING, b"\x012")]));
        assert!(!are_alike(&[(VAR_STRING, b"\x031.5"), (VAR_STRING, b"\x032.5")]));
        assert!(!are_alike(&[(VAR_STRING, b"\x011"), (VAR_STRING, b"\x01a")]));
        assert!(!are_alike(&[(VAR_STRING, b"\x011"), (VAR_STRING, b"\x00")]));
    }
}
