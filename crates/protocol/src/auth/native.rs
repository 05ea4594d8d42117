//! `mysql_native_password`: the proof is SHA1(password) exclusive-or
//! SHA1(scramble, SHA1(SHA1(password))). The server stores SHA1(SHA1(password)), so an observer of a proof who also knows the stored
//! value knows SHA1(password), and that is enough for further proofs.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY;

use super::digest::{digest, xor};
use crate::handshake::SCRAMBLE_LEN;

/// The length of a proof, of SHA1(password) and of the stored value, in bytes.
pub const TOKEN_LEN: usize = 20;

/// Returns the proof of a password. An empty password has an empty one.
#[must_use]
pub fn token(password: &[u8], scramble: &[u8; SCRAMBLE_LEN]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    token_by_hash(&sha1(&[password]), scramble).to_vec()
}

/// Returns the proof of the password whose SHA1 is `hash`.
#[must_use]
pub fn token_by_hash(hash: &[u8; TOKEN_LEN], scramble: &[u8; SCRAMBLE_LEN]) -> [u8; TOKEN_LEN] {
    masked(hash, &sha1(&[hash]), scramble)
}

/// Whether `token` proves `password`. The time of the comparison does not tell how close the two are.
#[must_use]
pub fn verify(token: &[u8], scramble: &[u8; SCRAMBLE_LEN], password: &[u8]) -> bool {
    verify_slices_are_equal(token, &self::token(password, scramble)).is_ok()
}

/// As [`verify`], for the password whose SHA1 is `hash`.
#[must_use]
pub fn verify_by_hash(token: &[u8], scramble: &[u8; SCRAMBLE_LEN], hash: &[u8; TOKEN_LEN]) -> bool {
    verify_slices_are_equal(token, &token_by_hash(hash, scramble)).is_ok()
}

/// Returns SHA1(password), if `token` proves the password for which the server stores `stored`. Nothing is wiped here: the holder of the
/// result has to do that.
#[must_use]
pub fn hash_in(
    token: &[u8; TOKEN_LEN],
    scramble: &[u8; SCRAMBLE_LEN],
    stored: &[u8; TOKEN_LEN],
) -> Option<[u8; TOKEN_LEN]> {
    let hash = masked(token, stored, scramble);
    verify_slices_are_equal(&sha1(&[&hash]), stored).is_ok().then_some(hash)
}

/// Exclusive-or with the scramble. Applied twice it gives `bytes` back.
fn masked(
    bytes: &[u8; TOKEN_LEN],
    stored: &[u8; TOKEN_LEN],
    scramble: &[u8; SCRAMBLE_LEN],
) -> [u8; TOKEN_LEN] {
    xor(*bytes, sha1(&[scramble, stored]))
}

fn sha1(parts: &[&[u8]]) -> [u8; TOKEN_LEN] {
    digest(&SHA1_FOR_LEGACY_USE_ONLY, parts)
}
