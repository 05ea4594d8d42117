//! ENUM and SET: values that have names.
//!
//! Their keys are the names, folded as texts are. A number in a statement stands for a place in the list of names, or for bits. A text
//! that reads as a number may be a name or such a number, and is undecided.

use std::sync::Arc;

use freshet_sql::{Collation, Datum};

use super::text;

/// The names of an ENUM or a SET.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Labels {
    /// The collation in which the names are compared.
    collation: Arc<str>,
    /// The names in the order of the definition.
    names: Arc<[Vec<u8>]>,
    /// The same names, folded.
    folded: Arc<[Vec<u8>]>,
}

impl Labels {
    /// Reads the names from a column's type, `enum('a','b')`, as `information_schema` shows it. `None` if a name holds more than
    /// printable ASCII, or if the collation has rules of its own for printable ASCII.
    #[must_use]
    pub fn parse(column_type: &str, collation: &str) -> Option<Self> {
        let collation = collation.to_ascii_lowercase();
        Collation::of_name(&collation)?;
        let (_, list) = column_type.split_once('(')?;
        let names = names(list.strip_suffix(')')?)?;
        let folded: Option<Arc<[Vec<u8>]>> = names.iter().map(|name| text::plain(name)).collect();
        Some(Self { collation: collation.into(), names: names.into(), folded: folded? })
    }

    /// Returns the names, if the collation tells them apart.
    #[must_use]
    pub fn distinct(&self) -> Option<Arc<[Vec<u8>]>> {
        let are_distinct = self.folded.iter().enumerate().all(|(at, name)| !self.folded[..at].contains(name));
        are_distinct.then(|| Arc::clone(&self.names))
    }

    /// Returns the key of the name with this number, counted from 1; 0 is the empty name, which stands for a refused value.
    pub(super) fn one(&self, number: u64) -> Option<Vec<u8>> {
        let Some(index) = number.checked_sub(1) else { return Some(Vec::new()) };
        self.folded.get(usize::try_from(index).ok()?).cloned()
    }

    /// Returns the key of the names with these bits.
    pub(super) fn set(&self, bits: u64) -> Option<Vec<u8>> {
        let len = u32::try_from(self.folded.len()).ok()?;
        if bits.checked_shr(len).unwrap_or(0) != 0 {
            return None;
        }
        let is_in = |index: &usize| bits >> index & 1 == 1;
        let names: Vec<&[u8]> = (0..self.folded.len())
            .filter(is_in)
            .filter_map(|index| self.folded.get(index).map(Vec::as_slice))
            .collect();
        Some(names.join(&b','))
    }

    /// Returns the key of the ENUM that a literal is equal to.
    pub(super) fn one_of_datum(&self, datum: &Datum) -> Option<Vec<u8>> {
        match datum {
            Datum::Int(number) => self.one(u64::try_from(*number).ok()?),
            Datum::Text(text) | Datum::Shown(text) => self.name(text),
            _ => None,
        }
    }

    /// Returns the key of the SET that a literal is equal to. Names in another order than that of the definition are undecided.
    pub(super) fn set_of_datum(&self, datum: &Datum) -> Option<Vec<u8>> {
        match datum {
            Datum::Int(bits) => self.set(u64::try_from(*bits).ok()?),
            Datum::Text(text) | Datum::Shown(text) if text.is_empty() => Some(Vec::new()),
            Datum::Text(text) | Datum::Shown(text) => {
                let folded = text::plain(text)?;
                let places = text.split(|byte| *byte == b',').map(|name| self.place(name));
                let places: Vec<usize> = places.collect::<Option<_>>()?;
                places.is_sorted_by(|one, next| one < next).then_some(folded)
            }
            _ => None,
        }
    }

    /// Returns a name in its folded form. A text that is no name of the list is undecided: the servers then find refused values.
    fn name(&self, text: &[u8]) -> Option<Vec<u8>> {
        self.folded.get(self.place(text)?).cloned()
    }

    fn place(&self, text: &[u8]) -> Option<usize> {
        if !text.first().is_some_and(u8::is_ascii_alphabetic) {
            return None; // It may be read as a number.
        }
        let ignores_case = self.collation.ends_with("_ci");
        let is_same = |name: &Vec<u8>| name == text || ignores_case && name.eq_ignore_ascii_case(text);
        self.names.iter().position(is_same)
    }
}

/// Reads quoted names between commas, with quotes doubled.
fn names(list: &str) -> Option<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    let mut rest = list.bytes().peekable();
    loop {
        (rest.next()? == b'\'').then_some(())?;
        let mut name = Vec::new();
        loop {
            match rest.next()? {
                b'\'' if rest.peek() != Some(&b'\'') => break,
                b'\'' => name.extend(rest.next()),
                byte => name.push(byte),
            }
        }
        names.push(name);
        match rest.next() {
            None => return Some(names),
            Some(b',') => {}
            Some(_) => return None,
        }
    }
}
