//! The rows that a statement of a procedure writes, as a function of the procedure's arguments.
//!
//! A name of a parameter or a local variable stands for its value wherever the server reads an expression, also where a column has the
//! same name. Where the server reads the name of a column or table instead, a marker in its place makes no statement, and nothing is
//! told. Only a parameter counts that keeps the caller's integer: no statement of the body may change it.

use super::header::Parameter;
use crate::cursor::Cursor;
use crate::rows::{Datum, RowWrite, row_write};
use crate::token::{Token, TokenKind};

/// A write of a procedure, as a function of its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyWrite {
    /// The write, whose parameters are those of `markers`.
    pub what: RowWrite,
    markers: Vec<Option<Marker>>,
}

/// A parameter of the procedure, by its number, and the integers that it takes over unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Marker {
    parameter: usize,
    least: i128,
    greatest: i128,
}

impl BodyWrite {
    /// Returns the values of the write's parameters when the procedure is called with these; [`Datum::Other`] where a value cannot be
    /// told.
    #[must_use]
    pub fn values(&self, given: &[Datum]) -> Vec<Datum> {
        let value = |marker: &Option<Marker>| match marker.as_ref() {
            Some(marker) => match given.get(marker.parameter) {
                Some(Datum::Int(value)) if (marker.least..=marker.greatest).contains(value) => {
                    Datum::Int(*value)
                }
                _ => Datum::Other,
            },
            None => Datum::Other,
        };
        self.markers.iter().map(value).collect()
    }

    /// Returns the same write for a body that may change these parameters.
    pub(super) fn without(mut self, changed: &[String], parameters: &[Parameter]) -> Self {
        let is_kept = |marker: &Marker| {
            parameters.get(marker.parameter).is_some_and(|parameter| {
                !changed.iter().any(|changed| changed.eq_ignore_ascii_case(&parameter.name))
            })
        };
        for marker in &mut self.markers {
            *marker = marker.take().filter(is_kept);
        }
        self
    }
}

/// Returns the write of the cursor's next statement, up to this token's end; `None` if its rows are not told. The first `locals` are the
/// parameters.
pub(super) fn written(
    mut cursor: Cursor<'_>,
    end: usize,
    parameters: &[Parameter],
    locals: &[String],
) -> Option<BodyWrite> {
    let (mut text, mut markers) = (Vec::new(), Vec::new());
    let mut from = cursor.peek()?.start;
    let mut before: Option<Token> = None;
    while let Some(token) = cursor.peek().filter(|token| token.end <= end) {
        let is_part = before.is_some_and(|before| before.is(b'.'))
            || cursor.peek_at(1).is_some_and(|after| after.is(b'.') || after.is(b'('));
        if token.kind == TokenKind::Param {
            return None;
        }
        if let Some(local) = named(&cursor, token, locals).filter(|_| !is_part) {
            text.extend_from_slice(cursor.range_text(from..token.start));
            text.extend_from_slice(b" ? ");
            from = token.end;
            let takes = parameters.get(local).and_then(|parameter| parameter.takes.clone());
            markers.push(takes.map(|takes| Marker {
                parameter: local,
                least: *takes.start(),
                greatest: *takes.end(),
            }));
        }
        before = cursor.next();
    }
    text.extend_from_slice(cursor.range_text(from..end));
    Some(BodyWrite { what: row_write(&text, cursor.modes)?, markers })
}

/// Returns the innermost variable of this name.
fn named(cursor: &Cursor<'_>, token: Token, locals: &[String]) -> Option<usize> {
    if !token.is_name() {
        return None;
    }
    let mut at = *cursor;
    let name = at.identifier()?;
    locals.iter().rposition(|local| local.eq_ignore_ascii_case(&name))
}
