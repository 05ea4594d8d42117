//! The digests that the plugins use.

use aws_lc_rs::digest::{Algorithm, Context};

/// Returns the digest of several parts in a row. `N` is the algorithm's length.
pub(super) fn digest<const N: usize>(algorithm: &'static Algorithm, parts: &[&[u8]]) -> [u8; N] {
    let mut context = Context::new(algorithm);
    for part in parts {
        context.update(part);
    }
    let mut bytes = [0; N];
    for (to, from) in bytes.iter_mut().zip(context.finish().as_ref()) {
        *to = *from;
    }
    bytes
}

/// Returns the exclusive or of two digests.
pub(super) fn xor<const N: usize>(mut a: [u8; N], b: [u8; N]) -> [u8; N] {
    for (to, from) in a.iter_mut().zip(b) {
        *to ^= from;
    }
    a
}
