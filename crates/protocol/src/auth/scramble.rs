//! Challenges.

use aws_lc_rs::rand;

use crate::handshake::SCRAMBLE_LEN;

/// Returns a challenge from the system's randomness: seven-bit, without NUL, which
/// would end it, and without `$`, which MySQL's own tools take for the end of
/// a salt.
#[must_use]
pub fn random_scramble() -> [u8; SCRAMBLE_LEN] {
    let mut scramble = [0; SCRAMBLE_LEN];
    // A predictable challenge must not be sent, so without randomness this can only ask for it again.
    while rand::fill(&mut scramble).is_err() {
        std::thread::yield_now();
    }
    scramble.map(printable)
}

/// Maps any byte to an allowed one.
const fn printable(byte: u8) -> u8 {
    match byte & 0x7F {
        byte @ (0 | b'$') => byte + 1,
        byte => byte,
    }
}
