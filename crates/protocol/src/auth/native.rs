//! `mysql_native_password`: the proof is SHA1(password) exclusive-or
//! SHA1(scramble, SHA1(SHA1(password))).

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY;

use super::digest::{digest, xor};
use crate::handshake::SCRAMBLE_LEN;

/// The proof's length, in bytes.
const TOKEN_LEN: usize = 20;

/// The proof of a password. An empty password has an empty one.
#[must_use]
pub fn token(password: &[u8], scramble: &[u8; SCRAMBLE_LEN]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = sha1(&[password]);
    let mask = sha1(&[scramble, &sha1(&[&once])]);
    xor(once, mask).to_vec()
}

/// Whether `token` proves `password`, in a time that does not tell how nearly.
#[must_use]
pub fn verify(token: &[u8], scramble: &[u8; SCRAMBLE_LEN], password: &[u8]) -> bool {
    verify_slices_are_equal(token, &self::token(password, scramble)).is_ok()
}

fn sha1(parts: &[&[u8]]) -> [u8; TOKEN_LEN] {
    digest(&SHA1_FOR_LEGACY_USE_ONLY, parts)
}
