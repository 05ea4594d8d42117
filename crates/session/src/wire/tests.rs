use freshet_protocol::FRAME_MAX;
use tokio::net::UnixStream;

use super::*;

/// A wire, and the other end of it.
fn wire(packet_bytes_max: usize) -> (Wire, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    (Wire::new(Stream::Unix(ours), packet_bytes_max), theirs)
}

#[tokio::test]
async fn packets_are_read_in_sequence_and_answered_in_it() {
    let (mut wire, mut client) = wire(100);
    client.write_all(b"\x02\0\0\0ab\x01\0\0\x01c").await.unwrap();
    assert_eq!(&wire.packet().await.unwrap().payload[..], b"ab");
    assert_eq!(&wire.buffered().unwrap().unwrap().payload[..], b"c");
    wire.put(b"xyz");
    wire.put(b"");
    wire.flush().await.unwrap();
    let mut sent = [0; 11];
    client.read_exact(&mut sent).await.unwrap();
    assert_eq!(&sent, b"\x03\0\0\x02xyz\0\0\0\x03");
}

#[tokio::test]
async fn a_command_starts_the_sequence_anew() {
    let (mut wire, mut client) = wire(100);
    for _ in 0..3 {
        client.write_all(b"\x01\0\0\0\x0e").await.unwrap();
        assert_eq!(&wire.command().await.unwrap().payload[..], b"\x0e");
        assert_eq!(wire.seq(), 1);
    }
}

#[tokio::test]
async fn a_packet_out_of_order_is_refused_before_its_bytes_arrive() {
    let (mut wire, mut client) = wire(100);
    client.write_all(b"\x64\0\0\x07").await.unwrap();
    let error = wire.packet().await.unwrap_err();
    assert!(matches!(error, WireError::OutOfOrder));
    assert_eq!(error.to_err_packet().unwrap().code, 1156);
}

#[tokio::test]
async fn a_packet_too_large_is_refused_from_its_header() {
    let (mut wire, mut client) = wire(100);
    client.write_all(b"\xff\xff\xff\0").await.unwrap();
    let error = wire.packet().await.unwrap_err();
    assert!(matches!(error, WireError::TooLarge { max: 100, .. }));
    assert_eq!(error.to_err_packet().unwrap().code, 1153);
    assert!(wire.memory() < IDLE_BUFFER_BYTES_MAX);
}

#[tokio::test]
async fn the_end_of_the_stream_is_told_from_a_cut_packet() {
    let (mut wire, client) = wire(100);
    drop(client);
    assert!(matches!(wire.packet().await, Err(WireError::Closed)));
    let (mut wire, mut client) = self::wire(100);
    client.write_all(b"\x02\0\0\0a").await.unwrap();
    drop(client);
    assert!(matches!(wire.packet().await, Err(WireError::Truncated)));
}

#[tokio::test]
async fn a_packet_of_several_frames_is_joined_and_its_memory_given_back() {
    let (mut wire, mut client) = wire(2 * FRAME_MAX);
    let sender = tokio::spawn(async move {
        let mut frames = BytesMut::new();
        put_packet(&mut frames, &mut 0, &vec![7; FRAME_MAX + 3]);
        client.write_all(&frames).await.unwrap();
        client
    });
    let packet = wire.packet().await.unwrap();
    assert_eq!((packet.payload.len(), packet.last_seq), (FRAME_MAX + 3, 1));
    let mut client = sender.await.unwrap();
    drop(packet);
    client.write_all(b"\x01\0\0\0\x0e").await.unwrap();
    wire.command().await.unwrap();
    assert!(wire.memory() <= IDLE_BUFFER_BYTES_MAX);
}
