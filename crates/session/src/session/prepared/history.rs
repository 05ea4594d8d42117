//! The values of a prepared statement's earlier executions. MySQL resolves the types of a statement's parameters anew when a value does not
//! fit them, and keeps the types for later executions: `v * ?` executed with '1.5' makes a DECIMAL of a later '2', and `s = ?` executed
//! with 1 compares a later '1' as a number. The answer to such an execution differs from the answers of other statements. So only
//! statements whose executions were all alike have answers that may be shared.
//!
//! A statement that MySQL prepares anew because a definition has changed takes its types from the values alone, and not from what they are
//! compared with: `d > ?`, with a DATETIME and 'w', finds other rows then. Integers and NULL mean the same in both cases.

use std::hash::{BuildHasher as _, Hash as _, Hasher as _};
use std::sync::LazyLock;

use ahash::RandomState;
use freshet_protocol::{ExecutionParts, Parameter, ParameterType};

use crate::preparations::TypedBy;

/// Uses keys of this process: clients cannot make two kinds look alike.
static HASH: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// The most digits of an integer in a string that is certainly taken for a BIGINT.
const DIGITS_MAX: usize = 18;

/// The type DOUBLE, with a sign.
const DOUBLE: [u8; 2] = [5, 0];

/// What all executions so far have in common.
#[derive(Debug, Default)]
pub(super) struct History {
    first: Option<Alike>,
    kinds_differ: bool,
    values_differ: bool,
    /// A definition has changed since the statement was prepared.
    is_redefined: bool,
}

/// What distinguishes one execution from another.
#[derive(Debug, Clone, Copy)]
struct Alike {
    /// A hash of the types and of the kinds of the values.
    kinds: u64,
    /// A hash of the types and of the values.
    values: u64,
    /// Every value has a kind.
    has_kinds_alone: bool,
    /// Every value is an integer or NULL.
    has_integers_alone: bool,
}

impl History {
    /// Notes an execution with parameters of these types.
    pub(super) fn note(&mut self, parts: &ExecutionParts<'_>, types: &[ParameterType]) {
        match Alike::of(parts, types) {
            Some(alike) => {
                let first = *self.first.get_or_insert(alike);
                self.kinds_differ |= first.kinds != alike.kinds;
                self.values_differ |= first.values != alike.values;
            }
            None => self.note_unknown(),
        }
    }

    /// Notes an execution whose values are not all known, or that is not a plain one.
    pub(super) fn note_unknown(&mut self) {
        (self.kinds_differ, self.values_differ) = (true, true);
    }

    /// Notes that a definition on which the statement rests has changed.
    pub(super) fn note_redefined(&mut self) {
        self.is_redefined = true;
    }

    /// Whether all executions were alike, in the values or in their kinds, whichever the types depend on.
    pub(super) fn is_alike(&self, typed_by: TypedBy) -> bool {
        let are_integers = || self.first.is_some_and(|first| first.has_integers_alone);
        let are_alike = if typed_by == TypedBy::Values { !self.values_differ } else { !self.kinds_differ };
        are_alike && (!self.is_redefined || typed_by == TypedBy::KindsCompared || are_integers())
    }
}

/// Returns the kinds of an execution's values, as a number; `None` if statements of any age would not give them the same types.
pub(super) fn kinds(parts: &ExecutionParts<'_>, types: &[ParameterType], typed_by: TypedBy) -> Option<u64> {
    let alike = Alike::of(parts, types).filter(|alike| alike.has_kinds_alone)?;
    let is_ageless = match typed_by {
        TypedBy::Values => false,
        TypedBy::Kinds => alike.has_integers_alone,
        TypedBy::KindsCompared => true,
    };
    is_ageless.then_some(alike.kinds)
}

/// Returns the kind of a value; `None` if the value is only like itself.
fn kind(of: ParameterType, value: &Parameter<'_>) -> Option<u8> {
    match value {
        Parameter::Null => Some(1),
        Parameter::Int(_) | Parameter::UInt(_) => Some(2),
        Parameter::Text(text) if is_integer(text) => Some(3),
        Parameter::Text(text) if is_word(text) => Some(4),
        // All values of this type make the server resolve types in the same way.
        Parameter::Float(_) if of.bytes() == DOUBLE => Some(6),
        _ => None,
    }
}

impl Alike {
    fn of(parts: &ExecutionParts<'_>, types: &[ParameterType]) -> Option<Self> {
        let (mut hasher, mut has_kinds_alone, mut has_integers_alone) = (HASH.build_hasher(), true, true);
        for (of, parameter) in types.iter().zip(parts.parameters(types)) {
            of.bytes().hash(&mut hasher);
            let parameter = parameter.ok()?;
            has_integers_alone &=
                matches!(parameter, Parameter::Null | Parameter::Int(_) | Parameter::UInt(_));
            match kind(*of, &parameter) {
                Some(kind) => kind.hash(&mut hasher),
                None => {
                    has_kinds_alone = false;
                    (5u8, parts.values).hash(&mut hasher);
                }
            }
        }
        let kinds = hasher.finish();
        (parts.nulls, parts.values).hash(&mut hasher);
        Some(Self { kinds, values: hasher.finish(), has_kinds_alone, has_integers_alone })
    }
}

/// Whether a string has only digits: with a sign it may be resolved in other ways.
fn is_integer(text: &[u8]) -> bool {
    (1..=DIGITS_MAX).contains(&text.len()) && text.iter().all(u8::is_ascii_digit)
}

/// Whether a string starts like no number in any notation and character set.
fn is_word(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_alphabetic)
}

#[cfg(test)]
mod tests {
    use freshet_protocol::Capabilities;

    use super::*;

    const LONG: u8 = 3;
    const VAR_STRING: u8 = 253;

    /// Whether executions with one parameter each, of these types and values, are alike.
    fn are_alike(executions: &[(u8, &[u8])]) -> bool {
        is_alike(executions, TypedBy::Kinds)
    }

    fn is_alike(executions: &[(u8, &[u8])], typed_by: TypedBy) -> bool {
        history_of(executions).is_alike(typed_by)
    }

    fn history_of(executions: &[(u8, &[u8])]) -> History {
        let mut history = History::default();
        for (kind, value) in executions {
            let mut packet = vec![0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0, u8::from(value.is_empty()), 1, *kind, 0];
            packet.extend_from_slice(value);
            let parts = ExecutionParts::cut(&packet, 1, Capabilities::empty()).unwrap();
            let types: Vec<ParameterType> = parts.types().unwrap().collect();
            history.note(&parts, &types);
        }
        history
    }

    #[test]
    fn after_a_definition_only_what_has_the_same_types_anyway_is_alike() {
        for (values, typed_by, is_alike) in [
            ((LONG, &[1, 0, 0, 0][..]), TypedBy::Kinds, true),
            ((VAR_STRING, &b"\x01w"[..]), TypedBy::Kinds, false),
            ((VAR_STRING, &b"\x01w"[..]), TypedBy::KindsCompared, true),
            ((VAR_STRING, &b"\x01w"[..]), TypedBy::Values, false),
        ] {
            let mut history = history_of(&[values, values]);
            assert!(history.is_alike(typed_by));
            history.note_redefined();
            assert_eq!(history.is_alike(typed_by), is_alike, "{values:?} {typed_by:?}");
        }
    }

    #[test]
    fn what_the_server_takes_for_the_same_is_alike() {
        assert!(are_alike(&[(LONG, &[1, 0, 0, 0]), (LONG, &[2, 0, 0, 0])]));
        assert!(!are_alike(&[(VAR_STRING, b"\x011"), (VAR_STRING, b"\x0325 ")]));
        assert!(are_alike(&[(VAR_STRING, b"\x011"), (VAR_STRING, b"\x0223")]));
        assert!(is_alike(&[(LONG, &[1, 0, 0, 0]), (LONG, &[1, 0, 0, 0])], TypedBy::Values));
        assert!(are_alike(&[(VAR_STRING, b"\x01a"), (VAR_STRING, b"\x03b.1")]));
        assert!(are_alike(&[(VAR_STRING, b"\x031.5"), (VAR_STRING, b"\x031.5")]));
        assert!(are_alike(&[(DOUBLE[0], &1.0_f64.to_le_bytes()), (DOUBLE[0], &2.5_f64.to_le_bytes())]));
    }

    #[test]
    fn what_it_may_resolve_anew_is_not() {
        let one = (LONG, &[1, 0, 0, 0][..]);
        for other in [(VAR_STRING, &b"\x011"[..]), (8, &[1, 0, 0, 0, 0, 0, 0, 0]), (LONG, &[])] {
            assert!(!are_alike(&[one, other]) && !are_alike(&[other, one, other]), "{other:?}");
        }
        assert!(!are_alike(&[(VAR_STRING, b"\x02-1"), (VAR_STRING, b"\x012")]));
        assert!(!are_alike(&[(VAR_STRING, b"\x02\xa01"), (VAR_STRING, b"\x01a")]));
        assert!(!are_alike(&[(4, &[0, 0, 0, 0]), (4, &[0, 0, 128, 63])]));
        assert!(
            !is_alike(&[(LONG, &[1, 0, 0, 0]), (LONG, &[2, 0, 0, 0])], TypedBy::Values),
            "not told by kinds alone"
        );
        assert!(!are_alike(&[(VAR_STRING, b"\x031.5"), (VAR_STRING, b"\x012")]));
        assert!(!are_alike(&[(VAR_STRING, b"\x031.5"), (VAR_STRING, b"\x032.5")]));
        assert!(!are_alike(&[(VAR_STRING, b"\x011"), (VAR_STRING, b"\x01a")]));
        assert!(!are_alike(&[(VAR_STRING, b"\x011"), (VAR_STRING, b"\x00")]));
    }
}
