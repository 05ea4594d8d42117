use super::*;

fn packet(payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_le_bytes().to_vec();
    bytes.extend(payload);
    bytes
}

#[test]
fn an_answer_in_pieces_ends_where_it_ends() {
    let eof = packet(b"\xfe\0\0\x02\0");
    let row = packet(&[b"\xfe".as_slice(), &[b'x'; 20]].concat());
    let answer = [packet(b"\x01"), packet(b"\x03def column"), eof.clone(), row, eof].concat();
    for cut in 0..answer.len() {
        let mut walk = Walk::default();
        let Step::More(walked) = walk.step(&answer[..cut]) else { panic!("ended at {cut}") };
        assert_eq!(walk.step(&answer[walked..]), Step::End(answer.len() - walked), "{cut}");
    }
}

#[test]
fn ok_and_errors() {
    assert_eq!(Walk::default().step(&packet(b"\0\x01\0\x02\0\0\0")), Step::End(11));
    assert_eq!(Walk::default().step(&packet(b"\xff\x10\x04")), Step::Err(0));
    assert_eq!(Walk::default().step(b""), Step::More(0));
}
