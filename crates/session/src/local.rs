//! Result sets that Freshet makes itself.

use freshet_protocol::{Column, text_result_set};

use crate::session::Session;

/// One value of a result set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ShownCell {
    /// VARCHAR.
    Text(String),
    /// BIGINT, in digits.
    Number(String),
    Null,
}

impl ShownCell {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    fn bytes(&self) -> Option<Vec<u8>> {
        match self {
            Self::Text(text) | Self::Number(text) => Some(text.clone().into_bytes()),
            Self::Null => None,
        }
    }
}

/// utf8mb4_general_ci and binary, as both servers number them.
const COLLATION_TEXT: u16 = 45;
const COLLATION_NUMBER: u16 = 63;
/// MYSQL_TYPE_VAR_STRING and MYSQL_TYPE_LONGLONG.
const KIND_TEXT: u8 = 0xfd;
const KIND_NUMBER: u8 = 0x08;
/// NOT_NULL, and for numbers BINARY too.
const FLAGS_TEXT: u16 = 1;
const FLAGS_NUMBER: u16 = 1 | 128;

/// Appends a result set with these column titles.
pub(crate) fn put_rows<R: AsRef<[ShownCell]>>(session: &mut Session, titles: &[&str], rows: &[R]) {
    let columns: Vec<Column> = titles
        .iter()
        .enumerate()
        .map(|(at, title)| {
            let has_null = rows.iter().any(|row| row.as_ref().get(at) == Some(&ShownCell::Null));
            let number =
                matches!(rows.first().and_then(|row| row.as_ref().get(at)), Some(ShownCell::Number(_)));
            Column {
                name: title.as_bytes().to_vec(),
                collation: if number { COLLATION_NUMBER } else { COLLATION_TEXT },
                length: if number { 21 } else { 1024 },
                kind: if number { KIND_NUMBER } else { KIND_TEXT },
                flags: match (number, has_null) {
                    (true, _) => FLAGS_NUMBER,
                    (false, true) => 0,
                    (false, false) => FLAGS_TEXT,
                },
                ..Column::default()
            }
        })
        .collect();
    let rows = rows.iter().map(|row| row.as_ref().iter().map(ShownCell::bytes).collect::<Vec<_>>());
    let capabilities = session.capabilities();
    let status = session.state.status_for_answers();
    let (out, seq) = session.wire.out();
    text_result_set(out, seq, capabilities, status, &columns, rows);
}
