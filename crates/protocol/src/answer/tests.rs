use super::*;
use crate::{FrameHeader, HEADER_LEN};
use ::bytes::BytesMut;
use proptest::prelude::*;

/// One recorded answer; see `testdata/README.md`.
struct Recorded {
    title: String,
    caps: Capabilities,
    command: Command,
    /// None where the client sent its file.
    frames: Vec<Option<Vec<u8>>>,
}

fn recorded() -> Vec<Recorded> {
    include_str!("testdata/answers.txt").lines().map(recorded_line).collect()
}

fn recorded_line(line: &str) -> Recorded {
    let mut words = line.split(' ');
    let mut word = || words.next().unwrap();
    let (server, caps, command, name) = (word(), word(), word(), word());
    Recorded {
        title: format!("{server} {caps} {name}"),
        caps: Capabilities::from_bits_retain(u64::from_str_radix(caps, 16).unwrap()),
        command: Command::from_byte(u8::from_str_radix(command, 16).unwrap()),
        frames: words.map(|word| (word != "!").then(|| bytes(word))).collect(),
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .map(|two| u8::from_str_radix(str::from_utf8(two).unwrap(), 16).unwrap())
        .collect()
}

/// One letter a part, so that an answer is a word.
fn letter(part: Part) -> char {
    match part {
        Part::Ok => 'O',
        Part::Err => 'E',
        Part::Progress => '%',
        Part::ColumnCount => 'N',
        Part::Column => 'c',
        Part::ColumnsEnd => '|',
        Part::Row => 'r',
        Part::RowsEnd => '.',
        Part::LocalInfile => 'F',
        Part::PrepareOk => 'P',
        Part::Parameter => 'p',
        Part::ParametersEnd => '/',
        Part::Text => 'T',
        Part::Continuation => '+',
    }
}

/// Gives the follower as few bytes as it says it wants.
fn see(answer: &mut Answer, len: usize, payload: &[u8]) -> Result<Seen, Malformed> {
    let whole = answer.wants_whole(len, payload.first().copied().unwrap_or_default());
    answer.see(len, if whole { payload } else { &payload[..payload.len().min(1)] })
}

fn spell(recorded: &Recorded) -> String {
    let mut answer = Answer::to(recorded.command, recorded.caps);
    let mut word = String::new();
    for (at, frame) in recorded.frames.iter().enumerate() {
        let Some(payload) = frame else {
            answer.infile_done();
            continue;
        };
        let seen = see(&mut answer, payload.len(), payload).unwrap_or_else(|error| {
            panic!("{}: frame {at}: {error}, after {word}", recorded.title);
        });
        word.push(letter(seen.part));
        let is_last = at + 1 == recorded.frames.len();
        assert_eq!(seen.last, is_last, "{}: frame {at} ends the answer, after {word}", recorded.title);
        assert_eq!(answer.is_done(), is_last, "{}", recorded.title);
        assert_eq!(seen.status.is_some(), seen.status_at.is_some());
        if let (Some(status), Some(at)) = (seen.status, seen.status_at) {
            let there = u16::from_le_bytes([payload[at], payload[at + 1]]);
            assert_eq!(there, status.bits(), "{}", recorded.title);
        }
    }
    word
}

#[test]
fn recorded_answers_end_where_the_servers_ended_them() {
    let all = recorded();
    assert!(all.len() > 400, "the recordings are there");
    for recorded in &all {
        spell(recorded);
    }
}

/// Returns the frames, each behind its header.
fn framed(frames: &[Option<Vec<u8>>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for payload in frames.iter().map_while(Option::as_ref) {
        bytes.extend(FrameHeader { len: payload.len(), seq: 0 }.encode());
        bytes.extend(payload);
    }
    bytes
}

#[test]
fn rows_at_the_front_are_those_that_would_be_seen() {
    let mut found = 0;
    for Recorded { title, caps, command, frames } in &recorded() {
        let mut answer = Answer::to(*command, *caps);
        for (at, frame) in frames.iter().enumerate() {
            let bytes = framed(&frames[at..]);
            for len in [bytes.len(), bytes.len().saturating_sub(1), bytes.len() / 2] {
                let front = answer.rows_at_front(&bytes[..len]);
                let mut stepped = answer.clone();
                let mut at_front = RowsAtFront::default();
                for payload in frames[at..].iter().map_while(Option::as_ref) {
                    let seen = see(&mut stepped, payload.len(), payload).expect("it is an answer");
                    let end = at_front.bytes + HEADER_LEN + payload.len();
                    if seen.part != Part::Row || end > len {
                        break;
                    }
                    at_front = RowsAtFront { bytes: end, rows: at_front.rows + 1 };
                }
                assert_eq!(front, at_front, "{title}: {len} bytes from frame {at} on");
                found += front.rows;
            }
            match frame {
                Some(payload) => drop(see(&mut answer, payload.len(), payload).expect("it is an answer")),
                None => answer.infile_done(),
            }
        }
    }
    assert!(found > 1000, "only {found} rows: this proves little");
}

#[test]
fn what_may_be_no_row_is_left_to_be_seen() {
    let rows = Answer { state: State::Rows, ..Answer::to(Command::Query, PLAIN) };
    let row = [1, 0, 0, 7, 0xFB];
    for (what, behind) in [
        ("the end", &[5, 0, 0, 8, 0xFE, 0, 0, 2, 0][..]),
        ("an error", &[3, 0, 0, 8, 0xFF, 0, 0]),
        ("an empty packet", &[0, 0, 0, 8, 0xFB]),
        ("a frame that is continued", &[0xFF, 0xFF, 0xFF, 8, 1]),
        ("a part of a row", &[2, 0, 0, 8, 1]),
        ("a part of a header", &[2, 0, 0]),
    ] {
        let front = rows.rows_at_front(&[&row[..], behind].concat());
        assert_eq!(front, RowsAtFront { bytes: row.len(), rows: 1 }, "{what}");
    }
    let continued = Answer { continued: Some(false), ..rows };
    assert_eq!(continued.rows_at_front(&row), RowsAtFront::default());
}

#[test]
fn recorded_answers_are_what_they_are() {
    let expected = [
        ("mariadb 80 execute", "Nc|rr."),
        ("mariadb 1000080 execute", "Ncrr."),
        ("mariadb 80 open_cursor", "Nc|"),
        ("mariadb 1000080 open_cursor", "Nc."),
        ("mysql 80 open_cursor", "Nc|"),
        ("mysql 1000080 open_cursor", "Nc."),
        ("mysql 80 fetch_2", "rr."),
        ("mysql 80 fetch_too_far", "E"),
        ("mysql 80 no_cursor_after_cursor", "NcO"),
        // Known definitions are not sent again, but the EOF packet is.
        ("mariadb 1000000080 execute", "N|rr."),
        ("mariadb 1801000080 execute", "Nrr."),
        ("mariadb 1000000080 columns_changed", "Ncc|."),
        ("mariadb 1000000080 columns_known_again", "N|."),
        ("mysql 2000080 no_metadata_select", "N|r."),
        ("mysql 3000080 no_metadata_select", "Nr."),
        ("mysql 2000080 no_metadata_260_columns", "N|r."),
        ("mysql 2000080 no_metadata_call", "N|rrrr.N|rrrr.O"),
        ("mysql 2000080 no_metadata_open_cursor", "N|"),
        ("mysql 3000080 no_metadata_open_cursor", "N."),
        ("mysql 2000080 no_metadata_field_list", "|"),
        ("mysql 2000080 prepare_do_?", "P/"),
        ("mysql 3000080 prepare_do_?", "P"),
        // MySQL says only behind the columns that more follows.
        ("mysql 80 call_out", "Nc|r.O"),
        ("mysql 1000080 call_out", "Ncr.O"),
        ("mysql 2000080 no_metadata_call_out", "N|r.O"),
        ("mysql 80 call", "Nc|rrrr.Nc|rrrr.O"),
        ("mariadb 80 call_with_cursor", "Nc|rrrr.Nc|rrrr.O"),
        ("mariadb 80 call_pe()", "Nc|rrrr.Nc|E"),
        ("mariadb 1000080 call_pe()", "Ncrrrr.NcE"),
        ("mariadb 80 prepare_select_?", "Pp/c|"),
        ("mariadb 1000080 prepare_select_?", "Ppc"),
        ("mariadb 80 prepare_insert_into_t_values(?,?)", "Ppp/"),
        ("mariadb 80 prepare_do_1", "P"),
        ("mariadb 80 prepare_selec", "E"),
        ("mysql 80 select_1;_do_1;_select_2", "Nc|r.ONc|r."),
        ("mysql 80 load_data_local", "OFONc|r."),
        ("mysql 1000080 load_data_local", "OFONcr."),
        ("mariadb 80 set_option", "O"),
        ("mariadb 1000080 debug", "O"),
        ("mariadb 80 statistics", "T"),
        ("mariadb 80 process_info", "Nccccccccc|r."),
        ("mysql 80 field_list", "cc|"),
        ("mysql 1000080 field_list", "cc|"),
        ("mysql 80 field_list_unknown", "E"),
        ("mariadb 401800080 bulk_insert", "O"),
        ("mariadb 401800080 bulk_insert_duplicate", "E"),
        ("mariadb 401800080 bulk_returning", "Ncrrr."),
        ("mariadb 101000000 progress", "%%O"),
        ("mariadb 0 binlog_dump", "rr."),
    ];
    let all = recorded();
    for (title, word) in expected {
        let found = all.iter().find(|recorded| recorded.title == title);
        let found = found.unwrap_or_else(|| panic!("no recording of {title}"));
        assert_eq!(spell(found), word, "{title}");
    }
}

const DEPRECATE: Capabilities = Capabilities::DEPRECATE_EOF;
const PLAIN: Capabilities = Capabilities::empty();

/// Feeds frames (length, head) and spells what is seen; `!` marks the last.
fn spell_frames(command: Command, caps: Capabilities, frames: &[(usize, &[u8])]) -> String {
    let mut answer = Answer::to(command, caps);
    let mut word = String::new();
    for &(len, head) in frames {
        let seen = see(&mut answer, len, head).unwrap();
        word.push(letter(seen.part));
        if seen.last {
            word.push('!');
        }
    }
    word
}

const COUNT: (usize, &[u8]) = (1, &[1]);
const COLUMN: (usize, &[u8]) = (28, &[3, b'd', b'e', b'f']);
const EOF: (usize, &[u8]) = (5, &[0xFE, 0, 0, 2, 0]);
const OK_AS_EOF: (usize, &[u8]) = (7, &[0xFE, 0, 0, 2, 0, 0, 0]);
const OK: (usize, &[u8]) = (7, &[0, 0, 0, 2, 0, 0, 0]);
const ERR: (usize, &[u8]) = (9, &[0xFF, 0x15, 0x04, b'#', b'H', b'Y', b'0', b'0', b'0']);

#[test]
fn rows_may_start_like_anything() {
    for first in (0..=0xFE).chain([0x00, 0xFB]) {
        let long = if first == 0xFE { FRAME_MAX } else { 300 };
        let row: (usize, &[u8]) = (long, &[first]);
        let rest: (usize, &[u8]) = (0, &[]);
        let mut frames = vec![COUNT, COLUMN, EOF, row];
        let mut expected = String::from("Nc|r");
        if long == FRAME_MAX {
            frames.push(rest);
            expected.push('+');
        }
        frames.push(EOF);
        assert_eq!(spell_frames(Command::Query, PLAIN, &frames), expected.clone() + ".!");
        frames.remove(2);
        *frames.last_mut().unwrap() = OK_AS_EOF;
        assert_eq!(spell_frames(Command::Query, DEPRECATE, &frames), expected.replace('|', "") + ".!");
    }
}

#[test]
fn a_full_frame_is_continued_whatever_its_continuation_looks_like() {
    for continuation in [OK, ERR, EOF, OK_AS_EOF, (0, &[][..])] {
        let full: (usize, &[u8]) = (FRAME_MAX, &[0xFD]);
        let frames = [COUNT, COLUMN, full, full, continuation, OK_AS_EOF];
        assert_eq!(spell_frames(Command::Query, DEPRECATE, &frames), "Ncr++.!");
    }
}

#[test]
fn an_answer_whose_last_packet_is_continued_ends_with_the_continuation() {
    let mut ok = vec![0, 0, 0, 2, 0, 0, 0];
    ok.resize(FRAME_MAX, b'i');
    let frames: [(usize, &[u8]); 3] = [(FRAME_MAX, &ok), (FRAME_MAX, &[0xFF]), (3, &[0xFF])];
    let mut answer = Answer::to(Command::Query, PLAIN);
    assert!(!see(&mut answer, frames[0].0, frames[0].1).unwrap().last);
    assert!(!answer.is_done());
    assert_eq!(spell_frames(Command::Query, PLAIN, &frames), "O++!");
    let mut err = ERR.1.to_vec();
    err.resize(FRAME_MAX, b'e');
    assert_eq!(spell_frames(Command::Query, PLAIN, &[(FRAME_MAX, &err), (0, &[])]), "E+!");
}

#[test]
fn a_long_ok_packet_ends_rows_only_where_eof_packets_are_deprecated() {
    let mut long = OK_AS_EOF.1.to_vec();
    long.resize(400, 1);
    let frames = [COUNT, COLUMN, (long.len(), &long[..])];
    assert_eq!(spell_frames(Command::Query, DEPRECATE, &frames), "Nc.!");
    let frames = [COUNT, COLUMN, EOF, (long.len(), &long[..])];
    assert_eq!(spell_frames(Command::Query, PLAIN, &frames), "Nc|r");
}

#[test]
fn errors_end_the_answer_wherever_they_come() {
    for caps in [PLAIN, DEPRECATE] {
        let head: &[_] =
            if caps == PLAIN { &[COUNT, COLUMN, EOF, (3, &[1])] } else { &[COUNT, COLUMN, (3, &[1])] };
        for upto in 0..=head.len() {
            let frames = [&head[..upto], &[ERR]].concat();
            assert!(spell_frames(Command::Query, caps, &frames).ends_with("E!"), "after {upto}");
        }
    }
    for command in [Command::StmtPrepare, Command::StmtFetch, Command::FieldList, Command::Statistics] {
        assert_eq!(spell_frames(command, PLAIN, &[ERR]), "E!");
    }
}

#[test]
fn reports_of_progress_end_nothing() {
    let progress: (usize, &[u8]) = (27, &[0xFF, 0xFF, 0xFF, 1, 1, 2]);
    let frames = [progress, COUNT, progress, COLUMN, progress, EOF, progress, (2, &[1]), progress, EOF];
    assert_eq!(spell_frames(Command::Query, PLAIN, &frames), "%N%c%|%r%.!");
}

#[test]
fn more_results_follow_ok_packets_and_the_ends_of_rows_but_not_of_columns() {
    let more_ok: (usize, &[u8]) = (7, &[0, 0, 0, 0x0A, 0, 0, 0]);
    let more_eof: (usize, &[u8]) = (5, &[0xFE, 0, 0, 0x0A, 0]);
    let frames = [more_ok, COUNT, COLUMN, more_eof, (2, &[1]), more_eof, COUNT, COLUMN, more_eof, EOF];
    assert_eq!(spell_frames(Command::Query, PLAIN, &frames), "ONc|r.Nc|.!");
}

#[test]
fn a_cursor_is_opened_only_by_executing_a_statement() {
    let cursor: (usize, &[u8]) = (5, &[0xFE, 0, 0, 0x42, 0]);
    assert_eq!(spell_frames(Command::StmtExecute, PLAIN, &[COUNT, COLUMN, cursor]), "Nc|!");
    assert_eq!(spell_frames(Command::Query, PLAIN, &[COUNT, COLUMN, cursor, EOF]), "Nc|.!");
}

#[test]
fn nothing_comes_before_the_file_or_behind_the_answer() {
    let mut answer = Answer::to(Command::Query, PLAIN);
    assert_eq!(see(&mut answer, 2, &[0xFB, b'x']).unwrap().part, Part::LocalInfile);
    assert!(see(&mut answer.clone(), OK.0, OK.1).is_err());
    assert!(see(&mut answer.clone(), ERR.0, ERR.1).unwrap().last);
    answer.infile_done();
    assert!(see(&mut answer, OK.0, OK.1).unwrap().last);
    answer.infile_done();
    assert!(see(&mut answer, OK.0, OK.1).is_err());
    assert!(see(&mut answer, ERR.0, ERR.1).is_err());
}

#[test]
fn some_commands_have_no_answer() {
    for command in [Command::Quit, Command::StmtClose, Command::StmtSendLongData] {
        assert!(!Answer::has_answer(command));
        assert!(Answer::to(command, PLAIN).is_done());
    }
    for command in [Command::Query, Command::StmtReset, Command::BinlogDump, Command::Other(99)] {
        assert!(Answer::has_answer(command));
    }
}

#[test]
fn truncated_packets_are_malformed() {
    for (_, whole) in [OK, EOF] {
        for len in 0..whole.len() {
            assert!(Answer::to(Command::Query, PLAIN).see(len, &whole[..len]).is_err(), "{whole:?} {len}");
        }
    }
    assert!(Answer::to(Command::Query, PLAIN).see(2, &[0xFF, 1]).is_err());
    assert!(Answer::to(Command::Query, PLAIN).see(1, &[0xFC]).is_err());
    assert!(Answer::to(Command::StmtPrepare, PLAIN).see(3, &[0, 1, 2]).is_err());
    assert!(spell_frames(Command::Query, PLAIN, &[COUNT, COLUMN]) == "Nc");
    let mut answer = Answer::to(Command::Query, PLAIN);
    see(&mut answer, 1, &[1]).unwrap();
    see(&mut answer, 4, COLUMN.1).unwrap();
    assert!(see(&mut answer, 4, COLUMN.1).is_err(), "one column too many");
}

/// Follows a stream that arrives in pieces, taking each frame as soon as as
/// much of it is there as the follower wants, as a relay does.
fn spell_stream(recorded: &Recorded, pieces: &[usize]) -> String {
    let mut wire = BytesMut::new();
    for (at, payload) in recorded.frames.iter().flatten().enumerate() {
        crate::put_packet(&mut wire, &mut (at as u8), payload);
    }
    let mut answer = Answer::to(recorded.command, recorded.caps);
    let (mut word, mut at, mut there) = (String::new(), 0, 0);
    for piece in pieces.iter().cycle() {
        there = wire.len().min(there + piece);
        while let Some(header) = FrameHeader::parse(&wire[at..there]) {
            let body = &wire[at + HEADER_LEN..there];
            let Some(&first) = body.first() else { break };
            let wants = if answer.wants_whole(header.len, first) { header.len } else { 1 };
            if body.len() < wants {
                break;
            }
            answer.infile_done();
            word.push(letter(answer.see(header.len, &body[..wants]).unwrap().part));
            at += HEADER_LEN + header.len;
            there = there.max(at);
        }
        if at == wire.len() {
            break;
        }
    }
    word
}

#[test]
fn cutting_the_stream_at_every_byte_changes_nothing() {
    for recorded in &recorded() {
        let word = spell(recorded);
        assert_eq!(spell_stream(recorded, &[1]), word, "{}", recorded.title);
        assert_eq!(spell_stream(recorded, &[usize::MAX >> 1]), word, "{}", recorded.title);
        assert_eq!(spell_stream(recorded, &[3, 1, 7]), word, "{}", recorded.title);
    }
}

fn any_capabilities() -> impl Strategy<Value = Capabilities> {
    any::<u64>().prop_map(Capabilities::from_bits_retain)
}

proptest! {
    #[test]
    fn any_frames_are_followed_without_panic(
        command in any::<u8>(),
        caps in any_capabilities(),
        frames in prop::collection::vec(
            (prop::collection::vec(any::<u8>(), 0..20), any::<bool>(), any::<bool>()), 0..40),
    ) {
        let mut answer = Answer::to(Command::from_byte(command), caps);
        let mut ended = answer.is_done();
        for (payload, full, sends_file) in &frames {
            if *sends_file {
                answer.infile_done();
            }
            let len = if *full { FRAME_MAX } else { payload.len() };
            let Ok(seen) = see(&mut answer, len, payload) else { break };
            prop_assert!(!ended, "a frame was taken behind the end");
            ended = seen.last;
            prop_assert_eq!(ended, answer.is_done());
        }
    }

    #[test]
    fn mutated_recordings_are_followed_without_panic(
        which in any::<prop::sample::Index>(),
        frame in any::<prop::sample::Index>(),
        byte in any::<prop::sample::Index>(),
        to in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let all = recorded();
        let recorded = which.get(&all);
        let mut frames: Vec<_> = recorded.frames.iter().flatten().cloned().collect();
        let payload = &mut frames[frame.index(recorded.frames.iter().flatten().count())];
        let at = byte.index(payload.len().max(1));
        if cut {
            payload.truncate(at);
        } else if let Some(byte) = payload.get_mut(at) {
            *byte = to;
        }
        let mut answer = Answer::to(recorded.command, recorded.caps);
        for payload in &frames {
            answer.infile_done();
            if see(&mut answer, payload.len(), payload).is_err() {
                break;
            }
        }
    }
}
