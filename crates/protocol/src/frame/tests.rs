use super::*;
use proptest::prelude::*;

fn framed(payload: &[u8], first_seq: u8) -> BytesMut {
    let (mut out, mut seq) = (BytesMut::new(), first_seq);
    put_packet(&mut out, &mut seq, payload);
    out
}

#[test]
fn headers_are_three_bytes_of_length_and_a_sequence_number() {
    let header = FrameHeader { len: 0x03_0201, seq: 9 };
    assert_eq!(header.encode(), [1, 2, 3, 9]);
    assert_eq!(FrameHeader::parse(&[1, 2, 3, 9, 77]), Some(header));
    assert_eq!(FrameHeader::parse(&[1, 2, 3]), None);
}

#[test]
fn payloads_are_split_at_the_longest_frame_and_an_empty_one_ends_full_ones() {
    let table = [
        (0, vec![0]),
        (1, vec![1]),
        (FRAME_MAX - 1, vec![FRAME_MAX - 1]),
        (FRAME_MAX, vec![FRAME_MAX, 0]),
        (FRAME_MAX + 1, vec![FRAME_MAX, 1]),
        (2 * FRAME_MAX, vec![FRAME_MAX, FRAME_MAX, 0]),
        (2 * FRAME_MAX + 7, vec![FRAME_MAX, FRAME_MAX, 7]),
    ];
    for (len, frames) in table {
        let payload: Vec<u8> = (0..len).map(|i| (i / 251) as u8).collect();
        let mut buf = framed(&payload, 254);
        let mut at = 0;
        for (i, frame) in frames.iter().enumerate() {
            let header = FrameHeader::parse(&buf[at..]).unwrap();
            assert_eq!((header.len, header.seq), (*frame, 254u8.wrapping_add(i as u8)));
            at += HEADER_LEN + header.len;
        }
        assert_eq!(at, buf.len());
        let packet = take_packet(&mut buf, usize::MAX).unwrap().unwrap();
        assert!(packet.payload == payload, "{len} bytes");
        assert_eq!(packet.first_seq, 254);
        assert_eq!(packet.last_seq, 253u8.wrapping_add(frames.len() as u8));
        assert!(buf.is_empty());
    }
}

#[test]
fn a_packet_too_large_is_refused_from_its_header() {
    let mut buf = BytesMut::from(&[100, 0, 0, 0][..]);
    assert_eq!(take_packet(&mut buf, 99), Err(FrameError::TooLarge { len: 100, max: 99 }));
    assert_eq!(take_packet(&mut buf, 100), Ok(None));
    let mut buf = framed(&vec![0; FRAME_MAX], 0);
    buf.truncate(FRAME_MAX + HEADER_LEN);
    buf.extend_from_slice(&[10, 0, 0, 1]);
    let error = FrameError::TooLarge { len: FRAME_MAX + 10, max: FRAME_MAX };
    assert_eq!(take_packet(&mut buf, FRAME_MAX), Err(error));
}

#[test]
fn continuations_out_of_order_are_refused() {
    let mut buf = framed(&vec![0; FRAME_MAX], 0);
    let at = FRAME_MAX + HEADER_LEN + 3;
    buf[at] = 2;
    assert_eq!(take_packet(&mut buf, usize::MAX), Err(FrameError::OutOfOrder));
}

proptest! {
    #[test]
    fn cutting_anywhere_changes_nothing(
        payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..5),
        step in 1usize..9,
    ) {
        let whole: Vec<u8> = payloads.iter().flat_map(|payload| framed(payload, 3).to_vec()).collect();
        let (mut buf, mut taken) = (BytesMut::new(), Vec::new());
        for piece in whole.chunks(step) {
            buf.extend_from_slice(piece);
            while let Some(packet) = take_packet(&mut buf, 40).unwrap() {
                prop_assert_eq!((packet.first_seq, packet.last_seq), (3, 3));
                taken.push(packet.payload.to_vec());
            }
        }
        prop_assert_eq!(taken, payloads);
    }

    #[test]
    fn any_bytes_are_taken_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), max in 0usize..300) {
        let mut buf = BytesMut::from(&bytes[..]);
        while let Ok(Some(packet)) = take_packet(&mut buf, max) {
            prop_assert!(packet.payload.len() <= max);
        }
    }
}
