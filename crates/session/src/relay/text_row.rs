//! Rows of the text protocol, for the corrections of their values.

use freshet_protocol::{Put as _, Reader};

/// A value that is NULL.
const NULL: u8 = 0xFB;

/// Returns the values of a row; `None` if the row is cut.
pub(super) fn values(payload: &[u8]) -> Option<Vec<Option<&[u8]>>> {
    let mut reader = Reader::new(payload);
    let mut values = Vec::new();
    while reader.remaining() > 0 {
        values.push(if reader.peek() == Some(NULL) {
            reader.u8().ok()?;
            None
        } else {
            Some(reader.lenenc_bytes().ok()?)
        });
    }
    Some(values)
}

/// Makes a row of these values.
pub(super) fn row(values: &[Option<&[u8]>]) -> Vec<u8> {
    let mut row = Vec::new();
    for value in values {
        match value {
            Some(value) => row.put_lenenc_bytes(value),
            None => row.push(NULL),
        }
    }
    row
}
