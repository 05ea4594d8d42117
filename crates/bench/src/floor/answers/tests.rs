use freshet_protocol::{FrameHeader, HEADER_LEN, PrepareOk};

use super::*;
use crate::answer::{Step, Walk};

/// Returns the payloads of the packets of an answer.
fn payloads(mut answer: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    while let Some(header) = FrameHeader::parse(answer) {
        let (packet, rest) = answer.split_at(HEADER_LEN + header.len);
        found.push(packet[HEADER_LEN..].to_vec());
        answer = rest;
    }
    assert!(answer.is_empty());
    found
}

fn said(command: Command, text: &[u8]) -> Vec<Vec<u8>> {
    let (answers, mut made) = (Answers::new(), BytesMut::new());
    let answer = answers.to(&[&[command.byte()], text].concat(), &mut made);
    if command != Command::StmtPrepare {
        assert_eq!(Walk::default().step(answer), Step::End(answer.len()));
    }
    payloads(answer)
}

/// Count, definition, EOF and EOF.
const AROUND: usize = 4;

#[test]
fn texts_are_answered_by_their_kind() {
    for (text, packets) in [
        ("SELECT c FROM sbtest1 WHERE id=7", AROUND + 1),
        ("SELECT c FROM sbtest1 WHERE id BETWEEN 7 AND 106", AROUND + RANGE_ROWS),
        ("SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN 7 AND 106", AROUND + 1),
        ("UPDATE sbtest1 SET k=k+1 WHERE id=7", 1),
        ("BEGIN", 1),
    ] {
        assert_eq!(said(Command::Query, text.as_bytes()).len(), packets, "{text}");
    }
}

#[test]
fn what_is_prepared_is_executed_alike() {
    for (text, parameters, columns, packets) in [
        ("SELECT c FROM sbtest1 WHERE id=?", 1, 1, AROUND + 1),
        ("SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?", 2, 1, AROUND + RANGE_ROWS),
        ("DELETE FROM sbtest1 WHERE id=?", 1, 0, 1),
    ] {
        let prepared = said(Command::StmtPrepare, text.as_bytes());
        let head = PrepareOk::parse(&prepared[0], OFFERED).unwrap();
        assert_eq!((head.parameters, head.columns), (parameters, columns), "{text}");
        let definitions = usize::from(parameters) + 1 + if columns > 0 { 2 } else { 0 };
        assert_eq!(prepared.len(), 1 + definitions, "{text}");
        assert_eq!(said(Command::StmtExecute, &head.statement_id.to_le_bytes()).len(), packets, "{text}");
    }
}
