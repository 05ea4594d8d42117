/// Bytes that a compressed event may unpack to.
pub const UNPACKED_LEN_MAX: usize = 64 << 20;
