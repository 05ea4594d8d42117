use super::*;

/// The low halves of the hashes of the first so many of the bytes 128, 129, …, as the author has published them.
const PUBLISHED: [(usize, u32); 20] = [
    (0, 0x6bf5_0919),
    (1, 0x70de_1d26),
    (7, 0xf9f1_a233),
    (8, 0xee19_3982),
    (12, 0x5f23_d1da),
    (15, 0x83ec_01f9),
    (16, 0xf274_736c),
    (31, 0x027b_ca7c),
    (32, 0xe5cf_c8b6),
    (33, 0xce01_d9d7),
    (63, 0x09c1_afb4),
    (127, 0x8235_6bf2),
    (128, 0x94e9_48ec),
    (191, 0xe13d_9e19),
    (192, 0x77e0_12bd),
    (193, 0x2d05_114c),
    (255, 0x2f40_ee0b),
    (256, 0x38ce_bf03),
    (288, 0x4788_0140),
    (511, 0xcc1c_8250),
];

#[test]
fn the_published_values() {
    let bytes: Vec<u8> = (0..512_u32).map(|at| (at + 128) as u8).collect();
    for (len, low_half) in PUBLISHED {
        assert_eq!(hash64(&bytes[..len]) as u32, low_half, "{len} bytes");
    }
}
