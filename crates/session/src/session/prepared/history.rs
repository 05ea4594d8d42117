//! The values of a prepared statement's earlier executions. MySQL resolves the types of a statement's parameters anew when a value does not
//! fit them, and keeps the types for later executions: `v * ?` executed with '1.5' makes a DECIMAL of a later '2', and `s = ?` executed
//! with 1 compares a later '1' as a number. The answer to such an execution differs from the answers of other statements. So only
//! statements whose executions were all alike have answers that may be shared.
//!
//! A statement that MySQL prepares anew because a definition has changed takes its types from the values alone, and not from what they are
//! compared with: `d > ?`, with a DATETIME and 'w', finds other rows then, and `n + ?`, with a DECIMAL and 1, may have fewer digits. Some
//! values mean the same in both cases.

use std::hash::{BuildHasher as _, Hash as _, Hasher as _};
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use ahash::RandomState;
use freshet_catalog::rows::has_time;
use freshet_protocol::{ExecutionParts, Parameter, ParameterType};

use crate::preparations::{ComparedWith, TypedBy};

/// Uses keys of this process: clients cannot make two kinds look alike.
static HASH: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// The most digits of an integer in a string that is certainly taken for a BIGINT.
const DIGITS_MAX: usize = 18;

/// The type DOUBLE, with a sign.
const DOUBLE: [u8; 2] = [5, 0];

/// The types TINYINT, SMALLINT, INT, BIGINT and MEDIUMINT, with and without a sign.
const INTEGERS: [u8; 5] = [1, 2, 3, 8, 9];

/// The types TINYBLOB to BLOB.
const BLOBS: RangeInclusive<u8> = 249..=252;

/// What all executions so far have in common.
#[derive(Debug, Default)]
pub(super) struct History {
    /// The hash of the first execution's types where all integers are one, that of its types, and that of its types and values.
    first: Option<[u64; 3]>,
    classes_differ: bool,
    types_differ: bool,
    values_differ: bool,
    /// The forms of the values so far, for each marker.
    seen: Vec<ValueForms>,
    /// A definition has changed since the statement was prepared.
    is_redefined: bool,
}

/// The forms of some values, a bit for each [`ValueForm`].
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
struct ValueForms(u16);

/// The form of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum ValueForm {
    Null,
    Integer,
    /// A DOUBLE: all values of this type make the server resolve types in the same way.
    Double,
    /// A value of a type of dates or moments.
    Moment,
    /// A text of digits alone.
    Digits,
    /// A text that starts with a letter.
    Word,
    /// A text like `2024-02-29`.
    Date,
    /// A text like `2024-02-29 10:00:00.5`. Next to a DATE, MySQL warns of the time, and keeps that in mind.
    DateWithTime,
    /// Any other text.
    Text,
    Bytes,
    /// A value of another type.
    Other,
}

/// What keeps an execution apart from others, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Apart {
    /// Nothing: all such values are alike, whether a definition has changed or not.
    Nothing,
    /// A definition that has changed.
    Definition,
    /// A definition that has changed, and any other value.
    Values,
}

impl ValueForm {
    fn of(kind: ParameterType, value: &Parameter<'_>) -> Self {
        match value {
            Parameter::Null => Self::Null,
            Parameter::Int(_) | Parameter::UInt(_) => Self::Integer,
            Parameter::Float(_) if kind.bytes() == DOUBLE => Self::Double,
            Parameter::DateTime { .. } => Self::Moment,
            Parameter::Text(text) if is_integer(text) => Self::Digits,
            Parameter::Text(text) if is_word(text) => Self::Word,
            Parameter::Text(text) => match has_time(text) {
                Some(false) => Self::Date,
                Some(true) => Self::DateWithTime,
                None => Self::Text,
            },
            Parameter::Bytes(_) => Self::Bytes,
            Parameter::Other if BLOBS.contains(&kind.bytes()[0]) => Self::Bytes,
            _ => Self::Other,
        }
    }
}

impl ValueForms {
    const fn of(form: ValueForm) -> Self {
        Self(1 << form as u8)
    }

    const TEXTS: Self = Self(
        Self::of(ValueForm::Digits).0
            | Self::of(ValueForm::Word).0
            | Self::of(ValueForm::Date).0
            | Self::of(ValueForm::DateWithTime).0
            | Self::of(ValueForm::Text).0,
    );

    const fn are_within(self, others: Self) -> bool {
        self.0 & !others.0 == 0
    }

    /// Returns these forms as they count beside such a column: all texts are one form beside a column of texts.
    fn beside(self, beside: ComparedWith) -> Self {
        match beside {
            ComparedWith::Text | ComparedWith::Bytes if self.are_within(Self::TEXTS) => Self::TEXTS,
            _ => self,
        }
    }

    /// Returns what keeps an execution apart whose values at one marker have had these forms.
    fn apart(self, beside: ComparedWith) -> Apart {
        let is = |form| self == Self::of(form);
        let is_plain =
            is(ValueForm::Null) || is(ValueForm::Integer) || is(ValueForm::Double) || is(ValueForm::Digits);
        match beside {
            ComparedWith::Timeless if is_plain || is(ValueForm::Word) => Apart::Definition,
            ComparedWith::Number if is_plain => Apart::Nothing,
            ComparedWith::Number if is(ValueForm::Word) => Apart::Definition,
            ComparedWith::Text | ComparedWith::Bytes if is_plain || self.are_within(Self::TEXTS) => {
                Apart::Nothing
            }
            ComparedWith::Bytes if is(ValueForm::Bytes) => Apart::Nothing,
            // Bytes that are no characters are an error from then on.
            ComparedWith::Text if is(ValueForm::Bytes) => Apart::Definition,
            ComparedWith::Moment if is(ValueForm::Null) || is(ValueForm::Moment) => Apart::Nothing,
            ComparedWith::Moment if is(ValueForm::Date) || is(ValueForm::DateWithTime) => Apart::Nothing,
            ComparedWith::Timeless
            | ComparedWith::Number
            | ComparedWith::Text
            | ComparedWith::Bytes
            | ComparedWith::Moment => Apart::Values,
        }
    }
}

impl TypedBy {
    /// Returns what a marker is compared with; `None` if types depend on the values themselves.
    fn beside(&self, marker: usize) -> Option<ComparedWith> {
        match self {
            Self::Values => None,
            Self::Kinds => Some(ComparedWith::Timeless),
            Self::KindsCompared(beside) => beside.get(marker).copied(),
        }
    }
}

impl History {
    /// Notes an execution with parameters of these types.
    pub(super) fn note(&mut self, parts: &ExecutionParts<'_>, types: &[ParameterType]) {
        self.seen.resize(types.len(), ValueForms::default());
        let (mut classes, mut hasher) = (HASH.build_hasher(), HASH.build_hasher());
        for ((kind, value), seen) in types.iter().zip(parts.parameters(types)).zip(&mut self.seen) {
            let Ok(value) = value else { return self.note_unknown() };
            class(*kind).hash(&mut classes);
            kind.bytes().hash(&mut hasher);
            seen.0 |= ValueForms::of(ValueForm::of(*kind, &value)).0;
        }
        let types = hasher.finish();
        (parts.nulls, parts.values).hash(&mut hasher);
        let now = [classes.finish(), types, hasher.finish()];
        let first = *self.first.get_or_insert(now);
        self.classes_differ |= first[0] != now[0];
        self.types_differ |= first[1] != now[1];
        self.values_differ |= first[2] != now[2];
    }

    /// Notes an execution whose values are not all known, or that is not a plain one.
    pub(super) fn note_unknown(&mut self) {
        (self.classes_differ, self.types_differ, self.values_differ) = (true, true, true);
    }

    /// Notes that a definition on which the statement rests has changed.
    pub(super) fn note_redefined(&mut self) {
        self.is_redefined = true;
    }

    /// Whether all executions were alike, in the values or in their forms, whichever the types depend on.
    pub(super) fn is_alike(&self, typed_by: &TypedBy) -> bool {
        let do_types_differ = match typed_by {
            TypedBy::KindsCompared(_) => self.classes_differ,
            TypedBy::Kinds | TypedBy::Values => self.types_differ,
        };
        match self.apart(typed_by) {
            Apart::Nothing => !do_types_differ,
            Apart::Definition => !do_types_differ && !self.is_redefined,
            Apart::Values => !self.values_differ && !self.is_redefined,
        }
    }

    fn apart(&self, typed_by: &TypedBy) -> Apart {
        let apart = |(marker, forms): (usize, &ValueForms)| {
            typed_by.beside(marker).map_or(Apart::Values, |beside| forms.apart(beside))
        };
        self.seen.iter().enumerate().map(apart).max().unwrap_or(Apart::Nothing)
    }
}

/// Returns the types of an execution and the forms of its values, as a number; `None` if statements of any age would not give them the same
/// types.
pub(super) fn kinds(parts: &ExecutionParts<'_>, types: &[ParameterType], typed_by: &TypedBy) -> Option<u64> {
    let mut history = History::default();
    history.note(parts, types);
    if history.classes_differ || history.apart(typed_by) != Apart::Nothing {
        return None;
    }
    let mut hasher = HASH.build_hasher();
    for (marker, (kind, forms)) in types.iter().zip(&history.seen).enumerate() {
        (class(*kind), forms.beside(typed_by.beside(marker)?)).hash(&mut hasher);
    }
    Some(hasher.finish())
}

/// Returns what the server makes of a type beside a column: all integers are alike, however long they are.
fn class(kind: ParameterType) -> [u8; 2] {
    let bytes = kind.bytes();
    if INTEGERS.contains(&bytes[0]) { [INTEGERS[0], 0] } else { bytes }
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
    const BLOB: u8 = 252;
    const DATE: &[u8] = b"\x0a2024-02-29";

    fn compared(beside: ComparedWith) -> TypedBy {
        TypedBy::KindsCompared(Box::new([beside]))
    }

    /// Whether executions with one parameter each, of these types and values, are alike.
    fn are_alike(executions: &[(u8, &[u8])]) -> bool {
        is_alike(executions, &TypedBy::Kinds)
    }

    fn is_alike(executions: &[(u8, &[u8])], typed_by: &TypedBy) -> bool {
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
        let (one, word, date) = ((LONG, &[1, 0, 0, 0][..]), (VAR_STRING, &b"\x01w"[..]), (VAR_STRING, DATE));
        let moment = (DATETIME, &b"\x04\xe8\x07\x02\x1d"[..]);
        for (values, typed_by, is_alike) in [
            (one, TypedBy::Values, false),
            (one, TypedBy::Kinds, false),
            (one, compared(ComparedWith::Number), true),
            (one, compared(ComparedWith::Text), true),
            (one, compared(ComparedWith::Moment), false),
            (word, TypedBy::Kinds, false),
            (word, compared(ComparedWith::Number), false),
            (word, compared(ComparedWith::Text), true),
            (word, compared(ComparedWith::Moment), false),
            (date, compared(ComparedWith::Number), false),
            (date, compared(ComparedWith::Text), true),
            (date, compared(ComparedWith::Moment), true),
            (moment, compared(ComparedWith::Moment), true),
            (moment, compared(ComparedWith::Text), false),
        ] {
            let mut history = history_of(&[values, values]);
            assert!(history.is_alike(&typed_by));
            history.note_redefined();
            assert_eq!(history.is_alike(&typed_by), is_alike, "{values:?} {typed_by:?}");
        }
    }

    #[test]
    fn what_the_server_takes_for_the_same_is_alike() {
        assert!(are_alike(&[(LONG, &[1, 0, 0, 0]), (LONG, &[2, 0, 0, 0])]));
        assert!(!are_alike(&[(VAR_STRING, b"\x011"), (VAR_STRING, b"\x0325 ")]));
        assert!(are_alike(&[(VAR_STRING, b"\x011"), (VAR_STRING, b"\x0223")]));
        assert!(is_alike(&[(LONG, &[1, 0, 0, 0]), (LONG, &[1, 0, 0, 0])], &TypedBy::Values));
        assert!(are_alike(&[(VAR_STRING, b"\x01a"), (VAR_STRING, b"\x03b.1")]));
        assert!(are_alike(&[(VAR_STRING, b"\x031.5"), (VAR_STRING, b"\x031.5")]));
        assert!(are_alike(&[(DOUBLE[0], &1.0_f64.to_le_bytes()), (DOUBLE[0], &2.5_f64.to_le_bytes())]));
    }

    #[test]
    fn moments_are_alike_beside_columns_of_moments() {
        let (day, noon) =
            ((DATETIME, &b"\x04\xe8\x07\x02\x1d"[..]), (DATETIME, &b"\x07\xe8\x07\x02\x1d\x0c\0\0"[..]));
        let [date, other, moment, word] =
            [DATE, b"\x0a2023-12-31", b"\x132024-02-29 12:00:00", b"\x01w"].map(|text| (VAR_STRING, text));
        for (executions, is_like) in [
            ([day, noon], true),
            ([date, other], true),
            ([date, moment], false),
            ([date, day], false),
            ([date, word], false),
            ([date, (VAR_STRING, &b"\x0a2023-02-29"[..])], false),
            ([date, (VAR_STRING, &b"\x08240229.5"[..])], false),
            ([word, (VAR_STRING, b"\x01x")], false),
            ([(LONG, &[1, 0, 0, 0]), (LONG, &[2, 0, 0, 0])], false),
        ] {
            assert_eq!(is_alike(&executions, &compared(ComparedWith::Moment)), is_like, "{executions:?}");
        }
        for elsewhere in [compared(ComparedWith::Number), TypedBy::Kinds, TypedBy::Values] {
            assert!(
                !is_alike(&[day, noon], &elsewhere) && !is_alike(&[date, other], &elsewhere),
                "{elsewhere:?}"
            );
        }
    }

    #[test]
    fn texts_are_alike_beside_columns_of_texts() {
        let texts = [DATE, b"\x01w", b"\x021a", b"\x00", b"\x02-1", b"\x011"];
        for (kind, beside) in [
            (VAR_STRING, ComparedWith::Text),
            (VAR_STRING, ComparedWith::Bytes),
            (BLOB, ComparedWith::Text),
            (BLOB, ComparedWith::Bytes),
        ] {
            let executions = texts.map(|text| (kind, text));
            assert!(is_alike(&executions, &compared(beside)));
            let mut history = history_of(&executions);
            history.note_redefined();
            assert_eq!(history.is_alike(&compared(beside)), (kind, beside) != (BLOB, ComparedWith::Text));
            assert!(
                !is_alike(&executions, &compared(ComparedWith::Number))
                    && !is_alike(&executions, &TypedBy::Kinds)
            );
        }
        assert!(!is_alike(&[(VAR_STRING, b"\x011"), (BLOB, b"\x011")], &compared(ComparedWith::Text)));
        assert!(!is_alike(&[(VAR_STRING, b"\x011"), (LONG, &[1, 0, 0, 0])], &compared(ComparedWith::Text)));
    }

    #[test]
    fn integers_of_any_length_are_alike_beside_a_column() {
        let [one, short, long] = [(1, &[1][..]), (2, &[1, 2]), (8, &[1, 0, 0, 0, 0, 0, 0, 0])];
        for executions in [[one, short], [long, one], [short, (LONG, &[1, 0, 0, 0])]] {
            for beside in [ComparedWith::Number, ComparedWith::Text, ComparedWith::Bytes] {
                let mut history = history_of(&executions);
                assert!(history.is_alike(&compared(beside)), "{executions:?}");
                history.note_redefined();
                assert!(history.is_alike(&compared(beside)), "{executions:?}");
            }
            assert!(!is_alike(&executions, &compared(ComparedWith::Moment)), "{executions:?}");
            assert!(!are_alike(&executions) && !is_alike(&executions, &TypedBy::Values), "{executions:?}");
        }
        assert!(!is_alike(&[one, (DOUBLE[0], &2.5_f64.to_le_bytes())], &compared(ComparedWith::Number)));
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
            !is_alike(&[(LONG, &[1, 0, 0, 0]), (LONG, &[2, 0, 0, 0])], &TypedBy::Values),
            "not told by kinds alone"
        );
        assert!(!are_alike(&[(VAR_STRING, b"\x031.5"), (VAR_STRING, b"\x012")]));
        assert!(!are_alike(&[(VAR_STRING, b"\x031.5"), (VAR_STRING, b"\x032.5")]));
        assert!(!are_alike(&[(VAR_STRING, b"\x011"), (VAR_STRING, b"\x01a")]));
        assert!(!are_alike(&[(VAR_STRING, b"\x011"), (VAR_STRING, b"\x00")]));
    }
}
