//! The frame of an answer: the columns before its rows, and the packet after them.

use freshet_cache::Entry;
use freshet_protocol::{HEADER_LEN, StatusFlags};

use super::binary::{self, ColumnType};
use crate::prefixes::{Head, head, packet};

/// The packets around the rows of an answer to a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The packets before the rows.
    head: Box<[u8]>,
    /// The packet after the rows.
    tail: Box<[u8]>,
    /// Where the session's status flags stand in the head, and in the tail.
    status_at: [u32; 2],
    /// The number of the first row's packet.
    sequence: u8,
    pub(crate) columns: usize,
    /// The flags that the answer came with.
    pub(crate) status: StatusFlags,
    /// The tag of the digest under which the statement is counted.
    pub(crate) tag: u16,
    /// How long the server took to make the answer, in microseconds.
    pub(crate) cost_us: u32,
}

/// Where the status flags stand in the packet after the rows: after its first byte and two others.
const STATUS_IN_TAIL: usize = HEADER_LEN + 3;

impl Frame {
    /// Returns the frame of an answer; `None` if the answer has an unusual form.
    pub(crate) fn of(
        body: &[u8],
        status_at: [u32; 2],
        status: StatusFlags,
        cost_us: u32,
        tag: u16,
    ) -> Option<Self> {
        let Head { bytes: at, columns, sequence } = head(body, status_at)?;
        let tail_at = usize::try_from(status_at[1]).ok()?.checked_sub(STATUS_IN_TAIL)?;
        let tail = packet(body.get(tail_at..)?)?;
        let is_whole = tail_at >= at && tail_at + tail.len() == body.len();
        let frame = Self {
            head: body.get(..at)?.into(),
            tail: tail.into(),
            status_at: [status_at[0], u32::try_from(STATUS_IN_TAIL).ok()?],
            sequence,
            columns,
            status,
            tag,
            cost_us,
        };
        is_whole.then_some(frame)
    }

    /// Returns the frame of a stored answer; `ours`: a flag of Freshet's own among the server's.
    pub(crate) fn of_entry(entry: &Entry<'_>, ours: StatusFlags) -> Option<Self> {
        let body = entry.body.clone().fold(Vec::new(), |mut body, part| {
            body.extend_from_slice(part);
            body
        });
        let status = StatusFlags::from_bits_retain(entry.status).difference(ours);
        Self::of(&body, entry.status_at, status, entry.cost_us, entry.tag)
    }

    /// Returns the rows of the answer that the frame was made of.
    pub(crate) fn rows_of<'b>(&self, body: &'b [u8]) -> impl Iterator<Item = &'b [u8]> {
        let end = body.len().saturating_sub(self.tail.len());
        let mut rest = body.get(self.head.len()..end).unwrap_or_default();
        std::iter::from_fn(move || {
            let row = packet(rest)?;
            rest = &rest[row.len()..];
            row.get(HEADER_LEN..)
        })
    }

    /// Returns the types of the columns, by their definitions.
    fn types(&self) -> Option<Vec<ColumnType>> {
        let mut rest = self.head.get(packet(&self.head)?.len()..)?;
        let mut next = || {
            let definition = packet(rest)?;
            rest = rest.get(definition.len()..)?;
            ColumnType::of(definition)
        };
        (0..self.columns).map(|_| next()).collect()
    }

    /// Makes an answer to an execution from these rows of the text protocol, if all of their values have a known binary form.
    pub(crate) fn around_binary<'r>(
        &self,
        rows: impl Iterator<Item = &'r [u8]>,
    ) -> Option<(Vec<u8>, [u32; 2])> {
        let types = self.types()?;
        let rows = rows.map(|row| binary::row(&types, row)).collect::<Option<Vec<_>>>()?;
        Some(self.around(rows.iter().map(Vec::as_slice)))
    }

    /// Makes an answer of these rows. Returns also where the session's status flags stand in it.
    pub(crate) fn around<'r>(&self, rows: impl Iterator<Item = &'r [u8]>) -> (Vec<u8>, [u32; 2]) {
        let mut body = self.head.to_vec();
        let mut sequence = self.sequence;
        for row in rows {
            let length = u32::try_from(row.len()).unwrap_or(u32::MAX).to_le_bytes();
            body.extend_from_slice(&length[..3]);
            body.push(sequence);
            body.extend_from_slice(row);
            sequence = sequence.wrapping_add(1);
        }
        let tail_at = body.len();
        body.extend_from_slice(&self.tail);
        body[tail_at + 3] = sequence;
        let tail_at = u32::try_from(tail_at).unwrap_or(u32::MAX);
        (body, [self.status_at[0], tail_at.saturating_add(self.status_at[1])])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(body: &mut Vec<u8>, payload: &[u8]) {
        body.extend_from_slice(&u32::try_from(payload.len()).unwrap().to_le_bytes()[..3]);
        body.push(0);
        body.extend_from_slice(payload);
    }

    fn numbered(mut body: Vec<u8>) -> Vec<u8> {
        let (mut at, mut sequence) = (0, 1_u8);
        while at < body.len() {
            body[at + 3] = sequence;
            sequence = sequence.wrapping_add(1);
            at += packet(&body[at..]).unwrap().len();
        }
        body
    }

    /// Two columns and so many rows, with and without the packet behind the columns.
    fn answer(rows: &[&[u8]], has_end: bool) -> (Vec<u8>, [u32; 2]) {
        let mut body = Vec::new();
        put(&mut body, &[2]);
        put(&mut body, b"first column");
        put(&mut body, b"second");
        let mut status_at = [crate::prefixes::NOWHERE; 2];
        if has_end {
            status_at[0] = u32::try_from(body.len() + 7).unwrap();
            put(&mut body, &[0xFE, 0, 0, 2, 0]);
        }
        rows.iter().for_each(|row| put(&mut body, row));
        status_at[1] = u32::try_from(body.len() + 7).unwrap();
        put(&mut body, if has_end { &[0xFE, 0, 0, 2, 0] } else { &[0xFE, 0, 0, 2, 0, 0, 0] });
        (numbered(body), status_at)
    }

    #[test]
    fn other_rows_take_the_place_of_those_that_were_there() {
        for has_end in [false, true] {
            let many: Vec<&[u8]> = std::iter::repeat_n(&b"\x01a\x01b"[..], 300).collect();
            for (before, after) in [(&[][..], &many[..]), (&many[..], &[][..]), (&many[..3], &many[..7])] {
                let (body, status_at) = answer(before, has_end);
                let frame = Frame::of(&body, status_at, StatusFlags::empty(), 7, 1).unwrap();
                assert_eq!(frame.columns, 2);
                assert_eq!(frame.around(after.iter().copied()), answer(after, has_end));
            }
        }
    }

    #[test]
    fn what_is_not_made_so_has_no_frame() {
        let (body, status_at) = answer(&[b"\x01a\x01b"], true);
        let frame = |body: &[u8], status_at| Frame::of(body, status_at, StatusFlags::empty(), 0, 0);
        for end in 0..body.len() {
            assert_eq!(frame(&body[..end], status_at), None, "{end}");
        }
        assert_eq!(frame(&body, [status_at[0], status_at[1] + 1]), None);
    }
}
