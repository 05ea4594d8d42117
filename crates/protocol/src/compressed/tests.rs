use ::bytes::BytesMut;
use proptest::prelude::*;

use super::pack::{PACK_CHUNK, PACKED_MIN};
use super::*;

const BOTH: [Compression; 2] = [Compression::Zlib, Compression::Zstd { level: 3 }];

/// Returns all frames of `data`.
fn packed(compression: Compression, mut data: &[u8]) -> BytesMut {
    let (mut packer, mut out, mut seq) = (Packer::default(), BytesMut::new(), 0);
    while !data.is_empty() {
        data = packer.put(&mut out, &mut seq, compression, data);
    }
    out
}

/// Returns what whole frames hold.
fn unpacked(compression: Compression, mut frames: &[u8]) -> Result<Vec<u8>, NotPacked> {
    let (mut unpacker, mut out) = (Unpacker::default(), BytesMut::new());
    while let Some(header) = CompressedHeader::parse(frames) {
        let body = &frames[COMPRESSED_HEADER_LEN..][..header.len];
        match header.unpacked_len {
            0 => out.extend_from_slice(body),
            len => unpacker.unpack(compression, body, len, &mut out)?,
        }
        frames = &frames[COMPRESSED_HEADER_LEN + header.len..];
    }
    Ok(out.to_vec())
}

/// Bytes that no algorithm makes shorter.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let step = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..len).map(step).collect()
}

#[test]
fn headers_are_read_as_they_are_written() {
    let bytes = [0x03, 0x02, 0x01, 0xff, 0x06, 0x05, 0x04];
    let header = CompressedHeader { len: 0x01_0203, seq: 0xff, unpacked_len: 0x04_0506 };
    assert_eq!(CompressedHeader::parse(&bytes), Some(header));
    assert_eq!(header.encode(), bytes);
    for cut in 0..COMPRESSED_HEADER_LEN {
        assert_eq!(CompressedHeader::parse(&bytes[..cut]), None);
    }
}

#[test]
fn what_is_short_or_does_not_shrink_is_stored_as_it_is() {
    for compression in BOTH {
        for data in [vec![b'a'; PACKED_MIN - 1], noise(PACKED_MIN), noise(PACK_CHUNK)] {
            let frame = packed(compression, &data);
            let header = CompressedHeader::parse(&frame).unwrap();
            assert_eq!((header.len, header.unpacked_len), (data.len(), 0));
            assert_eq!(&frame[COMPRESSED_HEADER_LEN..], data);
        }
        let frame = packed(compression, &[b'a'; PACKED_MIN]);
        assert_eq!(CompressedHeader::parse(&frame).unwrap().unpacked_len, PACKED_MIN);
    }
}

#[test]
fn long_data_goes_over_numbered_frames() {
    for compression in BOTH {
        let data: Vec<u8> = (0..u32::try_from(PACK_CHUNK).unwrap()).flat_map(u32::to_le_bytes).collect();
        let frames = packed(compression, &data);
        let (mut rest, mut seqs) = (&frames[..], Vec::new());
        while let Some(header) = CompressedHeader::parse(rest) {
            seqs.push(header.seq);
            rest = &rest[COMPRESSED_HEADER_LEN + header.len..];
        }
        assert_eq!(seqs, [0, 1, 2, 3]);
        assert_eq!(unpacked(compression, &frames).unwrap(), data);
    }
}

#[test]
fn every_cut_of_a_frame_is_noticed() {
    for compression in BOTH {
        let frame = packed(compression, &b"compressible ".repeat(30));
        let len = CompressedHeader::parse(&frame).unwrap().unpacked_len;
        let body = &frame[COMPRESSED_HEADER_LEN..];
        // The end of zlib's data is its checksum, and the servers want it too.
        for cut in 0..body.len() {
            let (mut unpacker, mut out) = (Unpacker::default(), BytesMut::new());
            assert_eq!(unpacker.unpack(compression, &body[..cut], len, &mut out), Err(NotPacked), "{cut}");
            // And the next frame is not the worse for it.
            out.clear();
            assert_eq!(unpacker.unpack(compression, body, len, &mut out), Ok(()));
            assert_eq!(out.len(), len);
        }
    }
}

#[test]
fn a_frame_may_hold_less_than_announced_but_not_more() {
    for compression in BOTH {
        let data = b"compressible ".repeat(3000);
        let frame = packed(compression, &data);
        let body = &frame[COMPRESSED_HEADER_LEN..];
        for (announced, accepted) in
            [(data.len() - 1, false), (data.len(), true), (COMPRESSED_MAX, true), (1, false)]
        {
            let mut out = BytesMut::new();
            let unpacked = Unpacker::default().unpack(compression, body, announced, &mut out);
            assert_eq!(unpacked.is_ok(), accepted, "{announced}");
            assert!(out.len() <= announced);
        }
        let trailing = [body, b"trailing"].concat();
        let mut out = BytesMut::new();
        assert_eq!(Unpacker::default().unpack(compression, &trailing, data.len(), &mut out), Ok(()));
        assert_eq!(out, data);
    }
}

#[test]
fn memory_is_taken_for_what_is_there_and_not_for_what_is_announced() {
    for compression in BOTH {
        let mut out = BytesMut::new();
        let frame = packed(compression, &[b'a'; 1000]);
        Unpacker::default()
            .unpack(compression, &frame[COMPRESSED_HEADER_LEN..], COMPRESSED_MAX, &mut out)
            .unwrap();
        assert_eq!(out.len(), 1000);
        assert!(out.capacity() < 10_000, "{}", out.capacity());
    }
}

#[test]
fn a_bomb_ends_at_what_its_header_announces() {
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut zlib, &vec![0; 8 << 20]).unwrap();
    let bombs = [
        (Compression::Zlib, zlib.finish().unwrap()),
        (Compression::Zstd { level: 3 }, zstd::bulk::compress(&vec![0; 8 << 20], 19).unwrap()),
    ];
    for (compression, bomb) in bombs {
        let mut out = BytesMut::new();
        assert_eq!(Unpacker::default().unpack(compression, &bomb, 1 << 20, &mut out), Err(NotPacked));
        assert!(out.len() <= 1 << 20 && out.capacity() <= 4 << 20);
    }
}

#[test]
fn zstd_may_not_ask_for_a_larger_window_than_a_frame_can_use() {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
    encoder.set_parameter(zstd::stream::raw::CParameter::WindowLog(26)).unwrap();
    std::io::Write::write_all(&mut encoder, &[0; 4096]).unwrap();
    let frame = encoder.finish().unwrap();
    let unpacked =
        Unpacker::default().unpack(Compression::Zstd { level: 3 }, &frame, 4096, &mut BytesMut::new());
    assert_eq!(unpacked, Err(NotPacked));
}

#[test]
fn a_login_agrees_on_zlib_before_zstd_and_names_a_level_that_there_is() {
    let (zlib, zstd) = (Capabilities::COMPRESS, Capabilities::ZSTD_COMPRESSION_ALGORITHM);
    assert_eq!(Compression::agreed(Capabilities::empty(), Some(3)), Ok(None));
    assert_eq!(Compression::agreed(zlib | zstd, None), Ok(Some(Compression::Zlib)));
    for (level, agreed) in
        [(None, false), (Some(0), false), (Some(1), true), (Some(22), true), (Some(23), false)]
    {
        assert_eq!(Compression::agreed(zstd, level).is_ok(), agreed, "{level:?}");
    }
}

#[test]
fn every_level_of_zstd_packs() {
    let data = b"compressible ".repeat(100);
    for level in 1..=ZSTD_LEVEL_MAX {
        let frames = packed(Compression::Zstd { level }, &data);
        assert!(frames.len() < data.len() / 2);
        assert_eq!(unpacked(Compression::Zstd { level: 1 }, &frames).unwrap(), data);
    }
}

proptest! {
    #[test]
    fn what_is_packed_unpacks_to_itself(data in proptest::collection::vec(0_u8..4, 0..3000), zlib: bool) {
        let compression = BOTH[usize::from(zlib)];
        prop_assert_eq!(unpacked(compression, &packed(compression, &data)).unwrap(), data);
    }

    #[test]
    fn no_bytes_panic_or_unpack_to_more_than_announced(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        announced in 0_usize..2000,
        flip in 0_usize..200,
        zlib: bool,
    ) {
        let compression = BOTH[usize::from(zlib)];
        let mut out = BytesMut::new();
        let _ = Unpacker::default().unpack(compression, &bytes, announced, &mut out);
        prop_assert!(out.len() <= announced);
        // One flipped byte gets further in than noise does.
        let mut frame = packed(compression, &b"0123456789".repeat(40)).split_off(COMPRESSED_HEADER_LEN);
        let at = flip % frame.len();
        frame[at] ^= 1 << (flip % 8);
        out.clear();
        let _ = Unpacker::default().unpack(compression, &frame, announced, &mut out);
        prop_assert!(out.len() <= announced);
    }
}
