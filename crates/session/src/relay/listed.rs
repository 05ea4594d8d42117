//! Rows of ours among the rows of SHOW VARIABLES and SHOW STATUS, in the places that their names have, and behind those of SHOW PROCESSLIST.

use freshet_protocol::{Put as _, Reader};

/// Rows of ours that an answer is to have.
#[derive(Debug)]
pub(crate) struct Listed {
    /// All names that are ours, in lower case: the server's rows of these names are left out.
    names: Vec<String>,
    /// Names in lower case and rows, the last first.
    rows: Vec<(String, Vec<u8>)>,
    /// The rows are in the binary form.
    is_binary: bool,
    /// The rows have no places by their names: they come last.
    is_last: bool,
    /// By how much the numbers of the frames behind are larger than the server's; it wraps as these do.
    pub(super) shift: u8,
}

impl Listed {
    /// `names` are all that are ours, `rows` the names and values that are to be listed.
    pub(crate) fn new(names: &[&str], rows: &[(String, String)]) -> Self {
        let encoded = |(name, value): &(String, String)| {
            let mut row = Vec::new();
            row.put_lenenc_bytes(name.as_bytes());
            row.put_lenenc_bytes(value.as_bytes());
            (name.to_ascii_lowercase(), row)
        };
        let mut rows: Vec<_> = rows.iter().map(encoded).collect();
        rows.sort_by(|one, other| other.0.cmp(&one.0));
        Self {
            names: names.iter().map(|name| name.to_ascii_lowercase()).collect(),
            rows,
            is_binary: false,
            is_last: false,
            shift: 0,
        }
    }

    /// Rows that come behind all of the server's.
    pub(crate) fn behind(mut rows: Vec<Vec<u8>>) -> Self {
        rows.reverse();
        let rows = rows.into_iter().map(|row| (String::new(), row)).collect();
        Self { names: Vec::new(), rows, is_binary: false, is_last: true, shift: 0 }
    }

    /// The same for the answer to an execution of a prepared statement.
    pub(crate) fn in_binary(self) -> Self {
        let rows =
            self.rows.into_iter().map(|(name, row)| (name, [&BINARY_HEAD[..], &row].concat())).collect();
        Self { rows, is_binary: true, ..self }
    }

    /// The first column, in lower case.
    fn name_of(&self, row: &[u8]) -> Option<String> {
        name_of(if self.is_binary { row.get(BINARY_HEAD.len()..)? } else { row })
    }

    /// The next row that has its place before `row` of the server's.
    pub(super) fn next_before(&mut self, row: &[u8]) -> Option<Vec<u8>> {
        if self.is_last {
            return None;
        }
        let name = self.name_of(row)?;
        self.rows.pop_if(|(next, _)| *next <= name).map(|(_, row)| row)
    }

    /// The next row of those that are left.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        self.rows.pop().map(|(_, row)| row)
    }

    /// Whether the server's row has a name of ours.
    pub(super) fn is_ours(&self, row: &[u8]) -> bool {
        !self.is_last && self.name_of(row).is_some_and(|name| self.names.contains(&name))
    }
}

/// What is before the values of a row in the binary form: its mark, and which of the two are NULL.
const BINARY_HEAD: [u8; 2] = [0, 0];

/// The first column, in lower case.
fn name_of(row: &[u8]) -> Option<String> {
    let name = Reader::new(row).lenenc_bytes().ok()?;
    Some(String::from_utf8_lossy(name).to_ascii_lowercase())
}
