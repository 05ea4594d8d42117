use std::sync::Arc;

use freshet_protocol::put_packet;
use freshet_upstream::net::Stream;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use super::*;
use crate::wire::Wire;

const ZLIB: Compression = Compression::Zlib;
const ZSTD: Compression = Compression::Zstd { level: 3 };

/// A compressed wire, and the other end of it.
fn wire(compression: Compression, packet_bytes_max: usize) -> (Wire, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut wire = Wire::new(Stream::Unix(ours), packet_bytes_max, &Arc::default());
    wire.start_compression(compression);
    (wire, theirs)
}

/// Packets, as they are inside of frames. Their numbers are wrong on purpose.
fn packets(payloads: &[&[u8]]) -> Vec<u8> {
    let mut bytes = BytesMut::new();
    payloads.iter().for_each(|payload| put_packet(&mut bytes, &mut 77, payload));
    bytes.to_vec()
}

fn frame(compression: Compression, mut seq: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = BytesMut::new();
    assert!(Packer::default().put(&mut out, &mut seq, compression, bytes).is_empty());
    out.to_vec()
}

fn header(len: usize, seq: u8, unpacked_len: usize) -> Vec<u8> {
    CompressedHeader { len, seq, unpacked_len }.encode().to_vec()
}

/// Reads frames until they have given `len` bytes; returns the bytes and the frames' numbers.
async fn answer(client: &mut UnixStream, compression: Compression, len: usize) -> (Vec<u8>, Vec<u8>) {
    let (mut out, mut seqs) = (BytesMut::new(), Vec::new());
    while out.len() < len {
        let mut head = [0; COMPRESSED_HEADER_LEN];
        client.read_exact(&mut head).await.unwrap();
        let header = CompressedHeader::parse(&head).unwrap();
        let mut body = vec![0; header.len];
        client.read_exact(&mut body).await.unwrap();
        match header.unpacked_len {
            0 => out.extend_from_slice(&body),
            len => Unpacker::default().unpack(compression, &body, len, &mut out).unwrap(),
        }
        seqs.push(header.seq);
    }
    (out.to_vec(), seqs)
}

#[tokio::test]
async fn packets_are_read_from_frames_and_answered_in_frames() {
    for compression in [ZLIB, ZSTD] {
        let (mut wire, mut client) = wire(compression, 1000);
        for payload in [&b"short"[..], &[b'a'; 500]] {
            client.write_all(&frame(compression, 0, &packets(&[payload]))).await.unwrap();
            assert_eq!(&wire.command().await.unwrap().payload[..], payload);
            wire.put(&[b'x'; 3]);
            wire.put(&[b'y'; 300]);
            wire.flush().await.unwrap();
            let (said, seqs) = answer(&mut client, compression, 3 + 300 + 2 * HEADER_LEN).await;
            assert_eq!((&said[HEADER_LEN..][..3], seqs), (&b"xxx"[..], vec![1]));
        }
    }
}

#[tokio::test]
async fn every_cut_of_what_arrives_is_waited_for() {
    let payloads: [&[u8]; 3] = [&[b'a'; 200], b"", b"end"];
    let bytes = packets(&payloads);
    let (first, second) = bytes.split_at(150);
    // The first packet goes over two frames, and the second frame holds three of them.
    let sent = [frame(ZLIB, 0, first), header(0, 1, 0), frame(ZLIB, 2, second)].concat();
    for cut in 0..sent.len() {
        let (mut wire, mut client) = wire(ZLIB, 1000);
        client.write_all(&sent[..cut]).await.unwrap();
        if cut > 0 {
            wire.fill().await.unwrap();
        }
        assert!(cut > 150 || wire.buffered().unwrap().is_none(), "{cut}");
        client.write_all(&sent[cut..]).await.unwrap();
        for payload in payloads {
            assert_eq!(&wire.packet().await.unwrap().payload[..], payload, "{cut}");
        }
        drop(client);
        assert!(matches!(wire.packet().await, Err(WireError::Closed)), "{cut}");
    }
}

#[tokio::test]
async fn a_stream_that_ends_within_a_frame_is_told_from_one_that_ends() {
    let sent = frame(ZLIB, 0, &packets(&[&[b'a'; 200]]));
    for cut in 1..sent.len() {
        let (mut wire, mut client) = wire(ZLIB, 1000);
        client.write_all(&sent[..cut]).await.unwrap();
        drop(client);
        assert!(matches!(wire.packet().await, Err(WireError::Truncated)), "{cut}");
    }
}

#[tokio::test]
async fn commands_sent_ahead_are_numbered_each_for_itself() {
    let (mut wire, mut client) = wire(ZLIB, 1000);
    let both = [frame(ZLIB, 0, &packets(&[b"one"])), frame(ZLIB, 0, &packets(&[b"two"]))].concat();
    client.write_all(&both).await.unwrap();
    for payload in [b"one", b"two"] {
        assert_eq!(&wire.command().await.unwrap().payload[..], payload);
        wire.put(payload);
        wire.flush().await.unwrap();
        assert_eq!(answer(&mut client, ZLIB, 7).await.1, [1]);
    }
}

#[tokio::test]
async fn a_frame_out_of_order_is_refused_before_its_bytes_arrive() {
    let (mut wire, mut client) = wire(ZLIB, 1000);
    client.write_all(&header(100, 1, 0)).await.unwrap();
    let error = wire.packet().await.unwrap_err();
    assert_eq!(error.to_err_packet().unwrap().code, 1156);
    // Also for the second frame of one exchange.
    let (mut wire, mut client) = self::wire(ZLIB, 1000);
    client.write_all(&frame(ZLIB, 0, &packets(&[b"one"]))).await.unwrap();
    wire.command().await.unwrap();
    client.write_all(&frame(ZLIB, 0, &packets(&[b"two"]))).await.unwrap();
    assert_eq!(wire.packet().await.unwrap_err().to_err_packet().unwrap().code, 1156);
}

#[tokio::test]
async fn a_frame_that_cannot_be_unpacked_is_named() {
    for compression in [ZLIB, ZSTD] {
        for lie in [1, 50, 999] {
            let (mut wire, mut client) = wire(compression, 1000);
            client.write_all(&[header(60, 0, lie), vec![b'x'; 60]].concat()).await.unwrap();
            assert_eq!(wire.packet().await.unwrap_err().to_err_packet().unwrap().code, 1157);
            // The error is still sent in frames.
            wire.put(b"bye");
            wire.flush().await.unwrap();
            answer(&mut client, compression, 7).await;
        }
    }
}

#[tokio::test]
async fn a_frame_too_large_is_refused_from_its_header() {
    /// The greatest length that a header can tell.
    const LEN_MAX: usize = 0xFF_FFFF;
    for (len, unpacked_len) in [(LEN_MAX, 0), (10, LEN_MAX), (10, 1005), (1005, 10)] {
        let (mut wire, mut client) = wire(ZLIB, 1000);
        client.write_all(&header(len, 0, unpacked_len)).await.unwrap();
        let error = wire.packet().await.unwrap_err();
        assert_eq!(error.to_err_packet().unwrap().code, 1153, "{len} {unpacked_len}");
        assert!(wire.memory() < 64 * 1024);
    }
    // A packet that is too large is refused in small frames too.
    let (mut wire, mut client) = wire(ZLIB, 1000);
    client.write_all(&frame(ZLIB, 0, &packets(&[&[0; 1001]])[..10])).await.unwrap();
    assert_eq!(wire.packet().await.unwrap_err().to_err_packet().unwrap().code, 1153);
}

#[tokio::test]
async fn a_long_answer_goes_over_numbered_frames_and_its_memory_is_given_back() {
    let (mut wire, mut client) = wire(ZSTD, 1 << 20);
    client.write_all(&frame(ZSTD, 0, &packets(&[b"go"]))).await.unwrap();
    wire.command().await.unwrap();
    let payload: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
    wire.put(&payload);
    let reader = tokio::spawn(async move {
        let said = answer(&mut client, ZSTD, 400_000 + HEADER_LEN).await;
        (client, said)
    });
    wire.flush().await.unwrap();
    let (mut client, (said, seqs)) = reader.await.unwrap();
    assert_eq!(said[HEADER_LEN..], payload);
    assert_eq!(seqs, (1..=seqs.len() as u8).collect::<Vec<_>>());
    client.write_all(&frame(ZSTD, 0, &packets(&[b"\x0e"]))).await.unwrap();
    wire.command().await.unwrap();
    assert!(wire.memory() <= 256 * 1024, "{}", wire.memory());
}

#[tokio::test]
async fn what_came_before_compression_began_belongs_to_it() {
    let (ours, mut client) = UnixStream::pair().unwrap();
    let mut wire = Wire::new(Stream::Unix(ours), 1000, &Arc::default());
    client.write_all(&frame(ZLIB, 0, &packets(&[b"early"]))).await.unwrap();
    wire.fill().await.unwrap();
    wire.start_compression(ZLIB);
    assert_eq!(&wire.command().await.unwrap().payload[..], b"early");
}
