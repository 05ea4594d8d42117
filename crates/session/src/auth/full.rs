//! Has a client hand over its whole password, in the two ways that its channel may allow.

use freshet_protocol::{Malformed, auth_more, caching_sha2};
use freshet_upstream::Secret;
use zeroize::Zeroizing;

use super::error::AdmitError;
use super::gate::Gate;
use crate::wire::{Wire, WireError};

/// The byte with which a client of `sha256_password` asks for the public key.
const SHA256_REQUEST_PUBLIC_KEY: u8 = 1;

/// The reply of a client that was asked for its password.
pub(super) enum PasswordReply {
    /// The password.
    Password(Secret),
    /// Bytes encrypted for somebody else: the client has the server's own key.
    Sealed(Vec<u8>),
}

/// Asks a client that has sent its `caching_sha2_password` proof for the whole password.
pub(super) async fn ask(
    wire: &mut Wire,
    gate: &Gate,
    scramble: &[u8; 20],
) -> Result<PasswordReply, AdmitError> {
    wire.put(&auth_more(&[caching_sha2::FULL_AUTH]));
    wire.flush().await?;
    let first = answer(wire).await?;
    read_reply(wire, gate, scramble, first).await
}

/// Reads the password in `first`: in clear where nobody can listen, else encrypted by Freshet's key, which the client may
/// ask for first.
pub(super) async fn read_reply(
    wire: &mut Wire,
    gate: &Gate,
    scramble: &[u8; 20],
    first: Zeroizing<Vec<u8>>,
) -> Result<PasswordReply, AdmitError> {
    if is_key_request(&first) {
        let key = gate.key().await.ok_or_else(no_key)?;
        wire.put(&auth_more(key.public_pem().as_bytes()));
        wire.flush().await?;
        let sealed = answer(wire).await?;
        return Ok(unsealed(gate, scramble, sealed).await);
    }
    if wire.is_secure() {
        return Ok(PasswordReply::Password(without_nul(&first)?));
    }
    Ok(unsealed(gate, scramble, first).await)
}

/// Returns the client's next packet, which is wiped after use.
pub(super) async fn answer(wire: &mut Wire) -> Result<Zeroizing<Vec<u8>>, WireError> {
    let packet = wire.packet().await?;
    Ok(Zeroizing::new(packet.payload.to_vec()))
}

fn is_key_request(bytes: &[u8]) -> bool {
    matches!(bytes, [caching_sha2::REQUEST_PUBLIC_KEY | SHA256_REQUEST_PUBLIC_KEY])
}

/// Decrypts the password with Freshet's key, if it was encrypted with it.
async fn unsealed(gate: &Gate, scramble: &[u8; 20], sealed: Zeroizing<Vec<u8>>) -> PasswordReply {
    let plain = gate.key().await.and_then(|key| key.decrypt(&sealed)).map(Zeroizing::new);
    let password =
        plain.and_then(|masked| without_nul(&Zeroizing::new(caching_sha2::mask(&masked, scramble))).ok());
    match password {
        Some(secret) => PasswordReply::Password(secret),
        None => PasswordReply::Sealed(sealed.to_vec()),
    }
}

/// Removes the NUL that ends a sent password.
fn without_nul(bytes: &[u8]) -> Result<Secret, AdmitError> {
    match bytes.split_last() {
        Some((0, password)) => Ok(Secret::new(password)),
        _ => Err(AdmitError::BadHandshake(Malformed { what: "a password that does not end" })),
    }
}

fn no_key() -> AdmitError {
    AdmitError::refused(1043, "08S01", "Bad handshake: no key to encrypt the password with")
}
