use freshet_protocol::FRAME_MAX;
use tokio::net::UnixStream;

use super::*;
use crate::bounds::Limits;
use crate::registry::{Ending, Registry};

/// A wire, and the other end of it.
fn wire(packet_bytes_max: usize) -> (Wire, UnixStream) {
    bounded(packet_bytes_max, &Limits::default())
}

fn bounded(packet_bytes_max: usize, limits: &Limits) -> (Wire, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    (Wire::new(Stream::Unix(ours), packet_bytes_max, &Arc::new(Bounds::new(limits))), theirs)
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

#[tokio::test]
async fn a_packet_that_is_not_finished_is_given_up_and_one_that_goes_on_is_not() {
    let patience = std::time::Duration::from_secs(1);
    let (mut wire, mut client) = bounded(100, &Limits { net_read_timeout: patience, ..Limits::default() });
    let sender = tokio::spawn(async move {
        for byte in b"\x05\0\0\0abcde\x05\0" {
            tokio::time::sleep(patience / 5).await;
            client.write_all(&[*byte]).await.unwrap();
        }
        client
    });
    assert_eq!(&wire.command().await.unwrap().payload[..], b"abcde");
    let error = wire.command().await.unwrap_err();
    assert_eq!(error.to_err_packet().unwrap().code, 1159);
    sender.await.unwrap();
}

#[tokio::test]
async fn a_client_that_does_not_read_is_given_up_and_so_is_what_it_was_to_read() {
    let patience = std::time::Duration::from_millis(50);
    let (mut wire, client) = bounded(100, &Limits { net_write_timeout: patience, ..Limits::default() });
    assert!(wire.has_room(8 << 20));
    wire.put(&vec![1; 8 << 20]);
    assert!(wire.sending.is_held());
    assert!(matches!(wire.flush().await, Err(WireError::WriteTimeout)));
    assert!(!wire.sending.is_held() && wire.memory() == 0);
    drop(client);
}

#[tokio::test]
async fn a_client_that_does_not_read_is_given_up_at_once_where_its_session_is_ended() {
    let (mut wire, client) = wire(100);
    let handle = Registry::default().handle(b"u".to_vec(), None, 0);
    wire.obey(&handle);
    wire.put(&vec![1; 8 << 20]);
    let (sent, ()) = tokio::join!(wire.flush(), async { handle.end(Ending::Cut) });
    assert!(matches!(sent, Err(WireError::Ended)));
    drop(client);
}

#[tokio::test]
async fn sending_that_is_broken_off_goes_on_where_it_was() {
    let (mut wire, mut client) = wire(100);
    wire.put(&vec![1; 4 << 20]);
    let broken_off = tokio::time::timeout(std::time::Duration::from_millis(20), wire.flush()).await;
    assert!(broken_off.is_err());
    wire.put(b"end");
    let reader = tokio::spawn(async move {
        let mut heard = vec![0; HEADER_LEN + (4 << 20) + HEADER_LEN + 3];
        client.read_exact(&mut heard).await.unwrap();
        heard
    });
    wire.flush().await.unwrap();
    let heard = reader.await.unwrap();
    assert!(heard.ends_with(b"\x03\0\0\x01end"));
}

#[tokio::test]
async fn what_is_sent_ahead_is_kept_and_a_farewell_is_an_end() {
    let (mut wire, mut client) = wire(100);
    client.write_all(b"\x01\0\0\0\x0e").await.unwrap();
    assert_eq!(wire.overhear().await.unwrap(), Heard::More);
    assert_eq!(&wire.command().await.unwrap().payload[..], b"\x0e");
    client.write_all(b"\x01\0\0\0\x01").await.unwrap();
    assert_eq!(wire.overhear().await.unwrap(), Heard::More);
    drop(client);
    assert!(wire.is_listening());
    assert_eq!(wire.overhear().await.unwrap(), Heard::End);
    assert!(!wire.is_listening());
    assert_eq!(&wire.command().await.unwrap().payload[..], b"\x01");
}

#[tokio::test]
async fn packets_come_out_of_one_budget() {
    let limits = Limits { receive_bytes_max: 1 << 20, ..Limits::default() };
    let (mut wire, mut client) = bounded(2 << 20, &limits);
    client.write_all(b"\0\0\x08\0").await.unwrap();
    let sender = tokio::spawn(async move {
        client.write_all(&vec![7; 512 << 10]).await.unwrap();
        client.write_all(b"\x01\0\0\0\x0e").await.unwrap();
        client
    });
    let packet = wire.command().await.unwrap();
    assert_eq!(packet.payload.len(), 512 << 10);
    assert!(wire.bounds.receive.used() >= 512 << 10);
    drop(packet);
    assert_eq!(&wire.command().await.unwrap().payload[..], b"\x0e");
    assert_eq!(wire.bounds.receive.used(), 0);
    drop(sender.await.unwrap());
}

#[tokio::test]
async fn commands_at_hand_are_whole_ones_and_not_taken_behind_many_answers() {
    let (mut wire, mut client) = wire(100);
    client.write_all(b"\x01\0\0\0a\x01\0\0\0b\x01\0\0\0c\x02\0\0\0d").await.unwrap();
    assert_eq!(&wire.command().await.unwrap().payload[..], b"a");
    wire.put(b"answer");
    assert_eq!(&wire.command_at_hand().unwrap().unwrap().payload[..], b"b");
    assert_eq!(wire.seq(), 1);
    wire.put(&vec![1; TOGETHER_BYTES_MAX]);
    assert!(wire.command_at_hand().unwrap().is_none());
    wire.write.clear();
    assert_eq!(&wire.command_at_hand().unwrap().unwrap().payload[..], b"c");
    assert!(wire.command_at_hand().unwrap().is_none());
    client.write_all(b"d\x01\0\0\x07e").await.unwrap();
    assert_eq!(&wire.command().await.unwrap().payload[..], b"dd");
    assert!(matches!(wire.command_at_hand(), Err(WireError::OutOfOrder)));
}

#[tokio::test]
async fn a_command_is_polled_for_until_it_has_begun() {
    let (mut wire, mut client) = wire(100);
    let nothing = poll_fn(|cx| Poll::Ready(wire.poll_command(cx).is_pending())).await;
    assert!(nothing, "nothing has been sent");
    client.write_all(b"\x02\0").await.unwrap();
    assert!(poll_fn(|cx| wire.poll_command(cx)).await.unwrap().is_none(), "it has begun");
    client.write_all(b"\0\0ab\x01\0\0\0c").await.unwrap();
    assert_eq!(&wire.packet().await.unwrap().payload[..], b"ab");
    wire.begins_command();
    let next = poll_fn(|cx| wire.poll_command(cx)).await.unwrap();
    assert_eq!(&next.unwrap().payload[..], b"c", "it has arrived with the one before");
    drop(client);
    wire.begins_command();
    assert!(matches!(poll_fn(|cx| wire.poll_command(cx)).await, Err(WireError::Closed)));
}

#[tokio::test]
async fn what_is_not_taken_at_once_is_sent_later_in_its_order() {
    let (mut wire, mut client) = wire(100);
    let all: Vec<u8> = (0..4_000_000_u32).map(|byte| byte as u8).collect();
    assert!(wire.has_room(all.len()) && wire.sending.is_held());
    wire.put_frames(&all, 0);
    let is_all = poll_fn(|cx| Poll::Ready(wire.sends_at_once(cx))).await.unwrap();
    assert!(!is_all && wire.sending.is_held());
    let reader = tokio::spawn(async move {
        let mut sent = vec![0; 4_000_000];
        client.read_exact(&mut sent).await.map(|_| (sent, client))
    });
    wire.flush().await.unwrap();
    assert!(!wire.sending.is_held() && wire.memory() == 0);
    let (sent, client) = reader.await.unwrap().unwrap();
    assert!(sent == all);
    drop(client);
    wire.put(b"nobody reads this");
    assert!(poll_fn(|cx| Poll::Ready(wire.sends_at_once(cx))).await.is_err());
}
