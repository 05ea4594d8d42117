use std::sync::Arc;

use freshet_protocol::{Column, OkPacket, text_result_set};

use super::*;
use crate::bounds::Bounds;

const CAPABILITIES: Capabilities = Capabilities::PROTOCOL_41.union(Capabilities::SESSION_TRACK);

/// A result of some rows, with EOF packets or without.
fn result_set(capabilities: Capabilities) -> BytesMut {
    let (mut frames, mut seq) = (BytesMut::new(), 1);
    let columns = [Column { name: b"a".to_vec(), ..Column::default() }];
    let rows = (0..20_usize).map(|row| [Some(vec![b'x'; row * 10])]);
    text_result_set(&mut frames, &mut seq, capabilities, StatusFlags::AUTOCOMMIT, &columns, rows);
    frames
}

/// Follows the answer as it arrives in pieces of this many bytes. Returns the bytes that passed, and the facts of the answer.
fn followed(frames: &[u8], piece: usize, capabilities: Capabilities) -> (BytesMut, Relayed) {
    let filter = Filter { capabilities, begun: None, told: None, schema: "" };
    let capture = Capture::new(1 << 20, &Arc::clone(&Bounds::default().fill));
    let mut relay = Relay::new(&filter, Command::Query, capabilities);
    relay.capture(Some(capture));
    let (mut buffer, mut out) = (BytesMut::new(), BytesMut::new());
    let mut pieces = frames.chunks(piece);
    loop {
        match relay.follow(&mut buffer, Some(&mut out)).unwrap() {
            RelayStep::Last => return (out, relay.finish()),
            RelayStep::NeedMore => {
                buffer.extend_from_slice(pieces.next().expect("it ends with its last byte"))
            }
            RelayStep::Infile { .. } => panic!("no file is asked for"),
        }
    }
}

#[test]
fn an_answer_passes_as_it_is_in_whatever_pieces_it_arrives() {
    for capabilities in [CAPABILITIES, CAPABILITIES | Capabilities::DEPRECATE_EOF] {
        let frames = result_set(capabilities);
        for piece in [1, 2, 3, 7, 64, 1000, frames.len()] {
            let (out, relayed) = followed(&frames, piece, capabilities);
            assert_eq!(out, frames, "in pieces of {piece}");
            let captured = relayed.captured.expect("it may be stored");
            assert_eq!((&captured.body[..], captured.rows), (&frames[..], 20));
            assert_eq!((relayed.status, relayed.results), (Some(StatusFlags::AUTOCOMMIT), 1));
        }
    }
}

#[test]
fn nothing_passes_where_nobody_waits_for_it_and_what_follows_stays() {
    let ok = OkPacket { status: StatusFlags::AUTOCOMMIT, ..OkPacket::default() };
    let mut buffer = BytesMut::new();
    put_packet(&mut buffer, &mut 1, &ok.encode(CAPABILITIES, 0));
    let next = result_set(CAPABILITIES);
    buffer.extend_from_slice(&next);
    let filter = Filter { capabilities: CAPABILITIES, begun: None, told: None, schema: "" };
    let mut relay = Relay::new(&filter, Command::Query, CAPABILITIES);
    assert!(matches!(relay.follow(&mut buffer, None), Ok(RelayStep::Last)));
    assert_eq!(buffer, next, "the answer to another command");
    assert!(relay.finish().captured.is_none());
}
