//! `caching_sha2_password`: the fast proof is SHA256(password) exclusive-or
//! SHA256(SHA256(SHA256(password)), scramble). A server that does not know
//! the password yet asks for the password itself, over TLS or under RSA.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::SHA256;

use super::digest::{digest, xor};
use crate::handshake::SCRAMBLE_LEN;

/// The client asks for the server's RSA key.
pub const REQUEST_PUBLIC_KEY: u8 = 2;
/// The server says that the fast proof was enough; an OK packet follows.
pub const FAST_AUTH_OK: u8 = 3;
/// The server asks for the password itself.
pub const FULL_AUTH: u8 = 4;

/// The proof's length, in bytes.
const TOKEN_LEN: usize = 32;

/// Returns the proof of a password. An empty password has an empty one.
#[must_use]
pub fn token(password: &[u8], scramble: &[u8; SCRAMBLE_LEN]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = sha256(&[password]);
    let mask = sha256(&[&sha256(&[&once]), scramble]);
    xor(once, mask).to_vec()
}

/// Whether `token` proves `password`. The time of the comparison does not tell how close the two are.
#[must_use]
pub fn verify(token: &[u8], scramble: &[u8; SCRAMBLE_LEN], password: &[u8]) -> bool {
    verify_slices_are_equal(token, &self::token(password, scramble)).is_ok()
}

/// Returns the password with its NUL, exclusive-or the repeated scramble: this is encrypted under RSA. Applied twice it gives the
/// password back.
#[must_use]
pub fn mask(password_nul: &[u8], scramble: &[u8; SCRAMBLE_LEN]) -> Vec<u8> {
    password_nul.iter().zip(scramble.iter().cycle()).map(|(a, b)| a ^ b).collect()
}

fn sha256(parts: &[&[u8]]) -> [u8; TOKEN_LEN] {
    digest(&SHA256, parts)
}
