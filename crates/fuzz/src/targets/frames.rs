//! Frames: a stream fed whole or in any pieces gives the same packets.

use bytes::BytesMut;
use freshet_protocol::{FrameError, Packet, put_packet, take_packet};

use crate::input::head;
use crate::random::Random;
use crate::target::{Outcome, Target, behaviour, hold};

/// The target.
pub static TARGET: Target = Target {
    name: "frames",
    promise: "whole or in pieces, a stream gives the same packets; what is taken is what was there",
    is_text: false,
    seeds,
    check,
};

/// Two bytes of a limit, two of a seed for the pieces, then the stream.
fn seeds() -> Vec<Vec<u8>> {
    let stream = |payloads: &[&[u8]]| {
        let mut out = BytesMut::new();
        payloads.iter().for_each(|payload| put_packet(&mut out, &mut 0, payload));
        [&[0xFF, 0xFF, 1, 0][..], &out].concat()
    };
    vec![
        stream(&[b"\x03SELECT 1", b"\x0e", b"\x01"]),
        stream(&[b"", b"", b"\x03"]),
        stream(&[&[7; 300], &[8; 5]]),
        [&[16, 0, 1, 0][..], &[0xFF, 0xFF, 0xFF, 0, 1, 2, 3]].concat(),
    ]
}

/// What a stream is cut into.
type Taken = (Vec<Packet>, Option<FrameError>, usize);

fn check(input: &[u8]) -> Outcome {
    let ([a, b, c, d], stream) = head::<4>(input);
    let limit = usize::from(u16::from_le_bytes([a, b]));
    let mut random = Random::new(u64::from(u16::from_le_bytes([c, d])));
    let whole = take(stream, limit, &mut || usize::MAX);
    for most in [1, 7, 100] {
        let pieces = take(stream, limit, &mut || 1 + random.below(most));
        hold!(whole == pieces, "pieces change nothing", "whole {whole:?}, in pieces {pieces:?}");
    }
    let (packets, error, left) = &whole;
    let mut again = BytesMut::new();
    for packet in packets {
        hold!(packet.payload.len() <= limit, "no packet beyond the limit", "{} bytes", packet.payload.len());
        put_packet(&mut again, &mut packet.first_seq.clone(), &packet.payload);
    }
    let taken = &stream[..stream.len() - left];
    hold!(again == taken, "what is taken is what was there", "{again:?} for {taken:?}");
    Ok(behaviour((packets.len().min(20), error.is_some(), left.ilog2_or_zero())))
}

/// A number's size, roughly.
trait Rough {
    fn ilog2_or_zero(&self) -> u32;
}

impl Rough for usize {
    fn ilog2_or_zero(&self) -> u32 {
        self.checked_ilog2().map_or(0, |log| log + 1)
    }
}

/// Feeds a stream in pieces of the sizes given, as far as it goes.
fn take(stream: &[u8], limit: usize, piece: &mut dyn FnMut() -> usize) -> Taken {
    let (mut buffer, mut rest, mut packets) = (BytesMut::new(), stream, Vec::new());
    loop {
        match take_packet(&mut buffer, limit) {
            Ok(Some(packet)) => packets.push(packet),
            Ok(None) if rest.is_empty() => return (packets, None, buffer.len()),
            Ok(None) => {
                let (now, later) = rest.split_at(piece().min(rest.len()));
                buffer.extend_from_slice(now);
                rest = later;
            }
            Err(error) => return (packets, Some(error), buffer.len() + rest.len()),
        }
    }
}
