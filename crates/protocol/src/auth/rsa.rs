//! RSA with OAEP and SHA-1, under which passwords travel where there is no TLS.

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::rsa::{
    KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, OaepPublicEncryptingKey, PrivateDecryptingKey,
    PublicEncryptingKey,
};

use super::pem;

/// The system could not make a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no RSA key could be generated")]
pub struct KeyError;

impl From<Unspecified> for KeyError {
    fn from(_: Unspecified) -> Self {
        Self
    }
}

/// A key that is made at start and never leaves the process.
#[derive(Debug)]
pub struct PrivateKey {
    key: OaepPrivateDecryptingKey,
    public_pem: String,
}

impl PrivateKey {
    /// Makes a key of 2048 bits, which takes a good part of a second.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub fn generate() -> Result<Self, KeyError> {
        let key = PrivateDecryptingKey::generate(KeySize::Rsa2048)?;
        let der: PublicKeyX509Der<'_> = key.public_key().as_der()?;
        let public_pem = pem::encode(der.as_ref());
        Ok(Self { key: OaepPrivateDecryptingKey::new(key)?, public_pem })
    }

    /// Returns the public key as servers send it (SubjectPublicKeyInfo in PEM).
    #[must_use]
    pub fn public_pem(&self) -> &str {
        &self.public_pem
    }

    /// Returns the plain text that was encrypted for this key; None if it was not encrypted for it.
    #[must_use]
    pub fn decrypt(&self, encrypted: &[u8]) -> Option<Vec<u8>> {
        let mut room = vec![0; self.key.min_output_size()];
        let plain = self.key.decrypt(&OAEP_SHA1_MGF1SHA1, encrypted, &mut room, None).ok()?;
        Some(plain.to_vec())
    }
}

/// Encrypts for the key that a server has sent. None if that is no RSA key of
/// 2048 to 8192 bits, or `plain` is too long for it (214 bytes at 2048 bits).
#[must_use]
pub fn encrypt(pem: &[u8], plain: &[u8]) -> Option<Vec<u8>> {
    let key = PublicEncryptingKey::from_der(&pem::decode(pem)?).ok()?;
    let key = OaepPublicEncryptingKey::new(key).ok()?;
    let mut room = vec![0; key.ciphertext_size()];
    let encrypted = key.encrypt(&OAEP_SHA1_MGF1SHA1, plain, &mut room, None).ok()?;
    Some(encrypted.to_vec())
}
