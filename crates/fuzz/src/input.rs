//! What inputs are made of.

/// Returns the bytes that hexadecimal digits stand for.
pub fn unhex(digits: &str) -> Vec<u8> {
    let nibbles: Vec<u8> = digits.chars().filter_map(|c| c.to_digit(16)).map(|n| n as u8).collect();
    nibbles.chunks_exact(2).map(|two| two[0] << 4 | two[1]).collect()
}

/// Returns the first `N` bytes of an input, zeros where there are none, and the rest.
pub fn head<const N: usize>(input: &[u8]) -> ([u8; N], &[u8]) {
    let (first, rest) = input.split_at(input.len().min(N));
    let mut out = [0; N];
    out[..first.len()].copy_from_slice(first);
    (out, rest)
}
