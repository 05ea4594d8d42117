//! What semi-synchronous replication adds to the stream: two bytes before each event, and a packet back.
//!
//! A server that was told before the dump command that this replica is semi-synchronous, and that is able to be, puts a
//! magic byte and a flag between a packet's status byte and its event. The flag asks for an acknowledgement of this
//! event's end; commits wait for it. Sources: the protocol's pages on semi-synchronous replication, both servers' streams.

/// The first of the two bytes, and of an acknowledgement.
const MAGIC: u8 = 0xEF;
/// The flag that asks for an acknowledgement.
const WANTS_ACK: u8 = 0x01;
/// Bytes before an event.
const PREFIX_LEN: usize = 2;

/// Whether `bytes`, what follows the status byte of a stream's *first* packet, begin with the two bytes. That packet is an
/// event which the server makes up, whose time, and so whose first byte, is 0.
pub fn has_semisync_prefix(bytes: &[u8]) -> bool {
    bytes.first() == Some(&MAGIC)
}

/// Takes the two bytes off: whether an acknowledgement is asked for, and the event. `None` if they are not there.
pub fn split_semisync(bytes: &[u8]) -> Option<(bool, &[u8])> {
    match bytes {
        [MAGIC, flag, ..] => Some((*flag & WANTS_ACK != 0, &bytes[PREFIX_LEN..])),
        _ => None,
    }
}

/// Returns the acknowledgement of everything up to `position` in `file`; a packet with the number 0.
pub fn semisync_ack(file: &[u8], position: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(1 + size_of::<u64>() + file.len());
    out.push(MAGIC);
    out.extend_from_slice(&position.to_le_bytes());
    out.extend_from_slice(file);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_bytes_are_taken_off_and_the_answer_names_the_place() {
        assert_eq!(split_semisync(&[0xEF, 1, 7, 8]), Some((true, &[7u8, 8][..])));
        assert_eq!(split_semisync(&[0xEF, 0, 7]), Some((false, &[7u8][..])));
        assert_eq!(split_semisync(&[0xEF]), None);
        assert_eq!(split_semisync(&[0, 0, 7]), None);
        assert!(
            has_semisync_prefix(&[0xEF, 0]) && !has_semisync_prefix(&[0, 0]) && !has_semisync_prefix(&[])
        );
        assert_eq!(semisync_ack(b"b.1", 0x0102), [&[0xEF, 2, 1, 0, 0, 0, 0, 0, 0][..], b"b.1"].concat());
    }
}
