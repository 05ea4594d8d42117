//! The server's answers: followed whole or cut anywhere, they are the same; our own end where they end.

use bytes::BytesMut;
use freshet_protocol::{
    Answer, Capabilities, Column, Command, EofPacket, ErrPacket, FrameHeader, HEADER_LEN, OkPacket, Part,
    PrepareOk, Seen, StatusFlags, put_packet, text_result_set,
};

use crate::input::{head, unhex};
use crate::target::{Finding, Outcome, Target, behaviour, hold};

/// The target.
pub static TARGET: Target = Target {
    name: "answer",
    promise: "whole or cut anywhere, an answer is followed the same way; our own answers end where they end",
    is_text: false,
    seeds,
    check,
};

const RECORDED: &str = include_str!("../../../protocol/src/answer/testdata/answers.txt");

/// The command, eight bytes of capabilities, then frames.
fn seeds() -> Vec<Vec<u8>> {
    RECORDED.lines().filter_map(recorded).collect()
}

fn recorded(line: &str) -> Option<Vec<u8>> {
    let mut words = line.split(' ');
    let (_server, caps, command, _name) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let caps = u64::from_str_radix(caps, 16).ok()?;
    let mut wire = BytesMut::new();
    for (at, payload) in words.filter(|word| *word != "!").enumerate() {
        put_packet(&mut wire, &mut (at as u8), &unhex(payload));
    }
    let command = u8::from_str_radix(command, 16).ok()?;
    Some([&[command], &caps.to_le_bytes()[..], &wire].concat())
}

fn check(input: &[u8]) -> Outcome {
    let ([command, caps @ ..], wire) = head::<9>(input);
    let caps = Capabilities::from_bits_retain(u64::from_le_bytes(caps));
    let command = Command::from_byte(command);
    let whole = follow(command, caps, wire, usize::MAX, false)?;
    for piece in [1, 3, 64] {
        let cut = follow(command, caps, wire, piece, false)?;
        hold!(cut == whole, "cuts change nothing", "whole {whole:?}, by {piece} {cut:?}");
    }
    let generous = follow(command, caps, wire, usize::MAX, true)?;
    hold!(generous == whole, "bytes that are not wanted change nothing", "{whole:?}, then {generous:?}");
    packets(caps, wire)?;
    ours(caps, wire)?;
    let parts: Vec<Part> = whole.0.iter().map(|seen| seen.part).collect();
    let mut letters: Vec<_> = parts.iter().map(|part| format!("{part:?}")).collect();
    letters.dedup();
    letters.truncate(12);
    Ok(behaviour((letters, whole.1)))
}

/// What was seen, the error if one came, and whether the answer is done.
type Followed = (Vec<Seen>, Option<&'static str>, bool);

/// Follows the frames as a relay does: each as soon as as much of it is there as is wanted, or all of it.
fn follow(
    command: Command,
    caps: Capabilities,
    wire: &[u8],
    piece: usize,
    generous: bool,
) -> Result<Followed, Finding> {
    let mut answer = Answer::to(command, caps);
    let (mut seen, mut at, mut there) = (Vec::new(), 0usize, 0usize);
    loop {
        there = there.saturating_add(piece).min(wire.len());
        while let Some(header) = wire.get(at..there).and_then(FrameHeader::parse) {
            let body = &wire[at + HEADER_LEN..there];
            let whole = at + HEADER_LEN + header.len <= wire.len();
            // Only whole frames count: what the stream's end cuts never comes.
            if !whole {
                return Ok((seen, None, answer.is_done()));
            }
            let first = if header.len == 0 { 0 } else { body.first().copied().unwrap_or_default() };
            if body.is_empty() && header.len > 0 {
                break;
            }
            let wanted = if answer.wants_whole(header.len, first) || generous {
                header.len
            } else {
                header.len.min(1)
            };
            if body.len() < wanted {
                break;
            }
            answer.infile_done();
            let was_done = answer.is_done();
            match answer.see(header.len, &body[..wanted]) {
                Err(error) => return Ok((seen, Some(error.what), answer.is_done())),
                Ok(one) => {
                    hold!(!was_done, "nothing comes behind the end", "{one:?} after {seen:?}");
                    hold!(one.last == answer.is_done(), "the last part is the end", "{one:?} after {seen:?}");
                    status_is_there(&one, body)?;
                    seen.push(one);
                }
            }
            at += HEADER_LEN + header.len;
            there = there.max(at);
        }
        if there == wire.len() {
            return Ok((seen, None, answer.is_done()));
        }
    }
}

fn status_is_there(seen: &Seen, body: &[u8]) -> Result<(), Finding> {
    let (Some(status), Some(at)) = (seen.status, seen.status_at) else { return Ok(()) };
    let there = body.get(at..at + 2).map(|two| u16::from_le_bytes([two[0], two[1]]));
    hold!(there == Some(status.bits()), "the status is where it is said to be", "{seen:?}, there {there:?}");
    Ok(())
}

/// Packets that are read, written and read again are the same.
fn packets(caps: Capabilities, wire: &[u8]) -> Outcome {
    let payload = wire.get(HEADER_LEN..).unwrap_or_default();
    let payload = FrameHeader::parse(wire).and_then(|header| payload.get(..header.len)).unwrap_or(payload);
    if let Ok(read) = ErrPacket::parse(payload) {
        let again = ErrPacket::parse(&read.encode());
        hold!(again.as_ref() == Ok(&read), "an error written again is the same", "{read:?}, then {again:?}");
    }
    if let Ok(read) = EofPacket::parse(payload) {
        hold!(EofPacket::parse(&read.encode()) == Ok(read), "an EOF written again is the same", "{read:?}");
    }
    if let Ok(read) = Column::parse(payload, caps) {
        let again = Column::parse(&read.encode(caps), caps);
        hold!(again.as_ref() == Ok(&read), "a column written again is the same", "{read:?}, then {again:?}");
    }
    if let Ok(mut read) = OkPacket::parse(payload, caps) {
        let header = payload.first().copied().unwrap_or_default();
        let again = OkPacket::parse(&read.encode(caps, header), caps);
        // Whether there are changes follows from them.
        let tracks = caps.contains(Capabilities::SESSION_TRACK);
        read.status.set(StatusFlags::SESSION_STATE_CHANGED, tracks && !read.changes.is_empty());
        hold!(again.as_ref() == Ok(&read), "an OK written again is the same", "{read:?}, then {again:?}");
    }
    let _ = PrepareOk::parse(payload, caps);
    Ok(0)
}

/// A result set of our own, out of the input's bytes, ends exactly at its end.
fn ours(caps: Capabilities, bytes: &[u8]) -> Outcome {
    let width = 1 + bytes.first().map_or(0, |byte| usize::from(byte % 4));
    let column = |at: usize| Column {
        name: vec![b'a' + at as u8],
        ..Column::parse(&COLUMN, Capabilities::empty()).expect("it is one")
    };
    let columns: Vec<Column> = (0..width).map(column).collect();
    let values: Vec<Option<Vec<u8>>> =
        bytes.chunks(9).map(|chunk| (chunk[0] % 5 != 0).then(|| chunk.to_vec())).collect();
    let rows: Vec<&[Option<Vec<u8>>]> = values.chunks_exact(width).collect();
    let mut wire = BytesMut::new();
    // Cached metadata would leave the columns out only where the server does so.
    let caps = caps - Capabilities::MARIADB_CACHE_METADATA - Capabilities::OPTIONAL_RESULTSET_METADATA;
    text_result_set(&mut wire, &mut 1, caps, StatusFlags::AUTOCOMMIT, &columns, rows.iter());
    let (seen, error, done) = follow(Command::Query, caps, &wire, usize::MAX, false)?;
    hold!(error.is_none() && done, "our own answer is one", "{error:?}, done {done}: {seen:?}");
    let found = seen.iter().filter(|seen| seen.part == Part::Row).count();
    hold!(found == rows.len(), "our own rows are rows", "{found} of {}", rows.len());
    Ok(0)
}

/// A column as a server defines it.
const COLUMN: [u8; 26] = [
    3, b'd', b'e', b'f', 1, b's', 1, b't', 1, b't', 1, b'a', 1, b'a', 0x0c, 0x3f, 0, 11, 0, 0, 0, 3, 3, 0x50,
    0, 0,
];
