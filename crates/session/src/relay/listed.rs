//! Freshet's own rows in SHOW VARIABLES and SHOW STATUS, in the order of their names, and after the rows of SHOW PROCESSLIST.

use freshet_protocol::{Put as _, Reader};

/// Freshet's rows for an answer.
#[derive(Debug)]
pub(crate) struct Listed {
    /// All names that are Freshet's own, in lower case: the server's rows of these names are left out.
    names: Vec<String>,
    /// Names in lower case and rows, the last one first.
    rows: Vec<(String, Vec<u8>)>,
    /// The rows are in the binary form.
    is_binary: bool,
    /// The rows have no order by name: they come last.
    is_last: bool,
    /// How much larger the numbers of the frames after Freshet's rows are than the server's numbers; wraps like them.
    pub(super) shift: u8,
}

impl Listed {
    /// `names` are all names of Freshet's own, `rows` the names and values to list.
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

    /// Makes rows that come after all of the server's.
    pub(crate) fn behind(mut rows: Vec<Vec<u8>>) -> Self {
        rows.reverse();
        let rows = rows.into_iter().map(|row| (String::new(), row)).collect();
        Self { names: Vec::new(), rows, is_binary: false, is_last: true, shift: 0 }
    }

    /// Turns the rows into the binary form, for an execution of a prepared statement.
    pub(crate) fn in_binary(self) -> Self {
        let rows =
            self.rows.into_iter().map(|(name, row)| (name, [&BINARY_HEAD[..], &row].concat())).collect();
        Self { rows, is_binary: true, ..self }
    }

    /// Returns the first column, in lower case.
    fn name_of(&self, row: &[u8]) -> Option<String> {
        name_of(if self.is_binary { row.get(BINARY_HEAD.len()..)? } else { row })
    }

    /// Returns the next row that comes before the server's `row`.
    pub(super) fn next_before(&mut self, row: &[u8]) -> Option<Vec<u8>> {
        if self.is_last {
            return None;
        }
        let name = self.name_of(row)?;
        self.rows.pop_if(|(next, _)| *next <= name).map(|(_, row)| row)
    }

    /// Returns the next of the remaining rows.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        self.rows.pop().map(|(_, row)| row)
    }

    /// Whether the server's row has a name of Freshet's own.
    pub(super) fn is_ours(&self, row: &[u8]) -> bool {
        !self.is_last && self.name_of(row).is_some_and(|name| self.names.contains(&name))
    }
}

/// The bytes before the values of a row in the binary form: its mark, and which of the two values are NULL.
const BINARY_HEAD: [u8; 2] = [0, 0];

/// Returns the first column, in lower case.
fn name_of(row: &[u8]) -> Option<String> {
    let name = Reader::new(row).lenenc_bytes().ok()?;
    Some(String::from_utf8_lossy(name).to_ascii_lowercase())
}
