//! The common beginning of stored answers to statements of one form, which is stored once.

use freshet_cache::Key;
use freshet_protocol::{FrameHeader, HEADER_LEN};

use crate::environment::is_of_executions;

/// Marks an answer without status flags.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// Returns the first packet with its header.
pub(crate) fn packet(bytes: &[u8]) -> Option<&[u8]> {
    bytes.get(..HEADER_LEN + FrameHeader::parse(bytes)?.len)
}

/// Returns how many bytes of a key's text come before the first value in it. An execution's key begins with the prepared text, and ends
/// with the text's length.
pub(crate) fn text_prefix(key: Key<'_>) -> usize {
    if !is_of_executions(key.environment) {
        return freshet_sql::before_first_value(key.text);
    }
    let length = key.text.last_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)) as usize;
    if length <= key.text.len() { length } else { 0 }
}

/// Returns how many bytes of an answer's packets come before its rows; 0 if the answer has an unusual form.
pub(crate) fn body_prefix(body: &[u8], status_at: [u32; 2]) -> usize {
    head(body, status_at).map_or(0, |head| head.bytes)
}

/// The packets before the rows of an answer.
pub(crate) struct Head {
    pub(crate) bytes: usize,
    pub(crate) columns: usize,
    /// The number of the first row's packet.
    pub(crate) sequence: u8,
}

/// Returns the packets before the rows; `None` if the answer has an unusual form.
pub(crate) fn head(body: &[u8], status_at: [u32; 2]) -> Option<Head> {
    let first = packet(body)?;
    // A count of columns is one byte, up to 250.
    let &[count @ ..=250] = first.get(HEADER_LEN..)? else { return None };
    let columns = usize::from(count);
    let packets = columns + usize::from(status_at[0] != NOWHERE);
    let mut bytes = first.len();
    for _ in 0..packets {
        bytes += packet(body.get(bytes..)?)?.len();
    }
    let sequence = FrameHeader::parse(first)?.seq.wrapping_add(u8::try_from((1 + packets) % 256).ok()?);
    Some(Head { bytes, columns, sequence })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of these payloads.
    fn packets(payloads: &[&[u8]]) -> Vec<u8> {
        let packet =
            |(at, payload): (usize, &&[u8])| [&[payload.len() as u8, 0, 0, 1 + at as u8], *payload].concat();
        payloads.iter().enumerate().flat_map(packet).collect()
    }

    #[test]
    fn an_answer_has_its_columns_before_its_rows() {
        let body = packets(&[&[2], b"first", b"second", b"row", b"row", b"end"]);
        assert_eq!(body_prefix(&body, [NOWHERE, 40]), 5 + 9 + 10);
        let body = packets(&[&[1], b"first", b"EOF", b"row", b"end"]);
        assert_eq!(body_prefix(&body, [17, 40]), 5 + 9 + 7);
        let [head] = [head(&body, [17, 40]).unwrap()];
        assert_eq!((head.columns, head.sequence), (1, 4));
        for not_one in [&packets(&[b"OK"])[..], &packets(&[&[3], b"first"]), &[], &[9]] {
            assert_eq!(body_prefix(not_one, [NOWHERE; 2]), 0, "{not_one:?}");
        }
    }
}
