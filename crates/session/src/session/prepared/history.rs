//! The values of a prepared statement's earlier executions. MySQL resolves the types of a statement's parameters anew when a value does not
//! fit them, and keeps the types for later executions: `v * ?` executed with '1.5' makes a DECIMAL of a later '2', and `s = ?` executed
//! with 1 compares a later '1' as a number. The answer to such an execution differs from the answers of other statements. So only
//! statements whose executions were all alike have answers that may be shared.
//!
//! A statement that MySQL prepares anew because a definition has changed takes its types from the values alone, and not from what they are
//! compared with: `d > ?`, with a DATETIME and 'w', finds other rows then. Integers and NULL mean the same in both cases, and so do dates
//! and moments that are compared with columns of dates and moments.

use std::hash::{BuildHasher as _, Hash as _, Hasher as _};
use std::sync::LazyLock;

use ahash::{AHasher, RandomState};
use freshet_catalog::rows::has_time;
use freshet_protocol::{ExecutionParts, Parameter, ParameterType};

use crate::preparations::{MarkerSet, TypedBy};

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
    timed_kinds_differ: bool,
    values_differ: bool,
    /// The markers that have had a date or a moment.
    moments: MarkerSet,
    /// The markers that have had something else than a date, a moment, or NULL.
    others: MarkerSet,
    /// A definition has changed since the statement was prepared.
    is_redefined: bool,
}

/// What distinguishes one execution from another.
#[derive(Debug, Clone, Copy)]
struct Alike {
    /// A hash of the types and of the kinds of the values.
    kinds: u64,
    /// The same with kinds for dates and moments too, which mean the same beside columns of dates and moments.
    timed_kinds: u64,
    /// A hash of the types and of the values.
    values: u64,
    /// Every value has a kind.
    has_kinds_alone: bool,
    /// The same with kinds for dates and moments too.
    has_timed_kinds_alone: bool,
    /// Every value is an integer or NULL.
    has_integers_alone: bool,
    /// The markers that have a date or a moment.
    moments: MarkerSet,
    /// The markers that have something else than a date, a moment, or NULL.
    others: MarkerSet,
}

impl History {
    /// Notes an execution with parameters of these types.
    pub(super) fn note(&mut self, parts: &ExecutionParts<'_>, types: &[ParameterType]) {
        match Alike::of(parts, types) {
            Some(alike) => {
                let first = *self.first.get_or_insert(alike);
                self.kinds_differ |= first.kinds != alike.kinds;
                self.timed_kinds_differ |= first.timed_kinds != alike.timed_kinds;
                self.moments.add_all(alike.moments);
                self.others.add_all(alike.others);
                self.values_differ |= first.values != alike.values;
            }
            None => self.note_unknown(),
        }
    }

    /// Notes an execution whose values are not all known, or that is not a plain one.
    pub(super) fn note_unknown(&mut self) {
        (self.kinds_differ, self.timed_kinds_differ, self.values_differ) = (true, true, true);
    }

    /// Notes that a definition on which the statement rests has changed.
    pub(super) fn note_redefined(&mut self) {
        self.is_redefined = true;
    }

    /// Whether all executions were alike, in the values or in their kinds, whichever the types depend on.
    pub(super) fn is_alike(&self, typed_by: TypedBy) -> bool {
        let are_integers = || self.first.is_some_and(|first| first.has_integers_alone);
        let (differ, is_ageless) = match typed_by {
            TypedBy::Values => (self.values_differ, false),
            TypedBy::Kinds => (self.kinds_differ, false),
            TypedBy::KindsCompared { moments } if moments.is_empty() => (self.kinds_differ, true),
            TypedBy::KindsCompared { moments } if are_in_place(self.moments, self.others, moments) => {
                (self.timed_kinds_differ, true)
            }
            TypedBy::KindsCompared { .. } => (self.values_differ, false),
        };
        !differ && (!self.is_redefined || is_ageless || are_integers())
    }
}

/// Whether dates and moments, and they alone, are compared with columns of dates and moments: those at `compared`.
fn are_in_place(moments: MarkerSet, others: MarkerSet, compared: MarkerSet) -> bool {
    moments.is_within(compared) && others.is_apart_from(compared)
}

/// Returns the kinds of an execution's values, as a number; `None` if statements of any age would not give them the same types.
pub(super) fn kinds(parts: &ExecutionParts<'_>, types: &[ParameterType], typed_by: TypedBy) -> Option<u64> {
    let alike = Alike::of(parts, types)?;
    let is_ageless = match typed_by {
        TypedBy::Values => false,
        TypedBy::Kinds => alike.has_integers_alone,
        TypedBy::KindsCompared { moments } if moments.is_empty() => alike.has_kinds_alone,
        TypedBy::KindsCompared { moments } => {
            alike.has_timed_kinds_alone && are_in_place(alike.moments, alike.others, moments)
        }
    };
    is_ageless.then_some(alike.timed_kinds)
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

/// Returns the kind of a date or a moment that is compared with a column of dates or moments; `None` if the value is something else, or is
/// in another form than the canonical one.
fn timed_kind(value: &Parameter<'_>) -> Option<u8> {
    match value {
        Parameter::DateTime { .. } => Some(7),
        // Next to a DATE, MySQL warns of a time, and keeps that in mind.
        Parameter::Text(text) => Some(if has_time(text)? { 9 } else { 8 }),
        _ => None,
    }
}

impl Alike {
    fn of(parts: &ExecutionParts<'_>, types: &[ParameterType]) -> Option<Self> {
        let (mut kinds, mut timed) = (KindsSoFar::new(), None);
        let mut has_integers_alone = true;
        let (mut moments, mut others) = (MarkerSet::default(), MarkerSet::default());
        for (marker, (of, parameter)) in types.iter().zip(parts.parameters(types)).enumerate() {
            let parameter = parameter.ok()?;
            has_integers_alone &=
                matches!(parameter, Parameter::Null | Parameter::Int(_) | Parameter::UInt(_));
            let timed_kind = timed_kind(&parameter).filter(|_| moments.add(marker));
            if timed_kind.is_some() {
                // Up to the first date or moment there is no difference.
                timed.get_or_insert_with(|| kinds.clone());
            } else if parameter != Parameter::Null {
                others.add(marker);
            }
            let plain_kind = kind(*of, &parameter);
            if let Some(timed) = &mut timed {
                timed.add(*of, timed_kind.or(plain_kind), parts.values);
            }
            kinds.add(*of, plain_kind, parts.values);
        }
        let timed = timed.as_ref().unwrap_or(&kinds);
        let (timed_kinds, has_timed_kinds_alone) = (timed.hasher.finish(), timed.are_alone);
        let (has_kinds_alone, mut hasher) = (kinds.are_alone, kinds.hasher);
        let kinds = hasher.finish();
        (parts.nulls, parts.values).hash(&mut hasher);
        let values = hasher.finish();
        Some(Self {
            kinds,
            timed_kinds,
            values,
            has_kinds_alone,
            has_timed_kinds_alone,
            has_integers_alone,
            moments,
            others,
        })
    }
}

/// A hash of types and kinds, and whether each value so far has had a kind.
#[derive(Clone)]
struct KindsSoFar {
    hasher: AHasher,
    are_alone: bool,
}

impl KindsSoFar {
    fn new() -> Self {
        Self { hasher: HASH.build_hasher(), are_alone: true }
    }

    /// Adds a value of this type, and of this kind if it has one; `values` are all values of the execution.
    fn add(&mut self, of: ParameterType, kind: Option<u8>, values: &[u8]) {
        of.bytes().hash(&mut self.hasher);
        match kind {
            Some(kind) => kind.hash(&mut self.hasher),
            None => {
                self.are_alone = false;
                (5u8, values).hash(&mut self.hasher);
            }
        }
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
    const DATETIME: u8 = 12;

    fn beside_plain() -> TypedBy {
        TypedBy::KindsCompared { moments: MarkerSet::default() }
    }

    fn beside_moments() -> TypedBy {
        let mut moments = MarkerSet::default();
        assert!(moments.add(0));
        TypedBy::KindsCompared { moments }
    }

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
            ((VAR_STRING, &b"\x01w"[..]), beside_plain(), true),
            ((VAR_STRING, &b"\x01w"[..]), beside_moments(), false),
            ((VAR_STRING, &b"\x01w"[..]), TypedBy::Values, false),
            ((VAR_STRING, &b"\x0a2024-02-29"[..]), beside_moments(), true),
            ((VAR_STRING, &b"\x0a2024-02-29"[..]), TypedBy::Kinds, false),
            ((DATETIME, &b"\x04\xe8\x07\x02\x1d"[..]), beside_moments(), true),
            ((DATETIME, &b"\x04\xe8\x07\x02\x1d"[..]), TypedBy::Values, false),
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
    fn moments_are_alike_beside_columns_of_moments() {
        let (day, noon) =
            ((DATETIME, &b"\x04\xe8\x07\x02\x1d"[..]), (DATETIME, &b"\x07\xe8\x07\x02\x1d\x0c\0\0"[..]));
        let [date, other, moment, word] =
            [&b"\x0a2024-02-29"[..], b"\x0a2023-12-31", b"\x132024-02-29 12:00:00", b"\x01w"]
                .map(|text| (VAR_STRING, text));
        for (executions, is_like) in [
            ([day, noon], true),
            ([date, other], true),
            ([date, moment], false),
            ([date, day], false),
            ([date, word], false),
            ([date, (VAR_STRING, &b"\x0a2023-02-29"[..])], false),
            ([date, (VAR_STRING, &b"\x08240229.5"[..])], false),
        ] {
            assert_eq!(is_alike(&executions, beside_moments()), is_like, "{executions:?}");
            for elsewhere in [beside_plain(), TypedBy::Kinds, TypedBy::Values] {
                assert!(!is_alike(&executions, elsewhere), "{executions:?} {elsewhere:?}");
            }
        }
        // Beside such a column, nothing else is told by its kind.
        assert!(!is_alike(&[(LONG, &[1, 0, 0, 0]), (LONG, &[2, 0, 0, 0])], beside_moments()));
        assert!(
            is_alike(&[word, word], beside_moments())
                && !is_alike(&[word, (VAR_STRING, b"\x01x")], beside_moments())
        );
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
