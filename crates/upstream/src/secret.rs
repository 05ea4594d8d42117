//! A password that wipes itself and never shows itself, and the hash that can stand for it.

use std::fmt;

use freshet_protocol::native;
use zeroize::Zeroizing;

/// A password. Its memory is wiped when it is dropped, and no formatting shows it.
#[derive(Clone, Default)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Takes over the bytes of a password.
    pub fn new(password: impl Into<Vec<u8>>) -> Self {
        Self(Zeroizing::new(password.into()))
    }

    /// Returns the bytes. Only for the computation of an answer.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// Whether the password is empty, which the protocol treats as a case of its own.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the bytes with a NUL behind them, for the plugins that send the whole password.
    pub(crate) fn with_nul(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Vec::with_capacity(self.0.len() + 1);
        bytes.extend_from_slice(&self.0);
        bytes.push(0);
        Zeroizing::new(bytes)
    }
}

impl From<Vec<u8>> for Secret {
    fn from(password: Vec<u8>) -> Self {
        Self::new(password)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The proof of a login, by the server's client or towards the server.
#[derive(Clone, Debug)]
pub enum Credential {
    /// The password, which serves every plugin.
    Password(Secret),
    /// SHA1 of the password, which serves `mysql_native_password`.
    NativeHash(NativeHash),
}

impl Credential {
    /// Whether there is no password, which the protocol treats as a case of its own.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Password(password) if password.is_empty())
    }
}

impl From<Secret> for Credential {
    fn from(password: Secret) -> Self {
        Self::Password(password)
    }
}

/// SHA1 of a password. For the plugin `mysql_native_password` it is as good as the password, so it is protected in the same way.
#[derive(Clone)]
pub struct NativeHash(Zeroizing<[u8; native::TOKEN_LEN]>);

impl NativeHash {
    /// Takes over the bytes.
    pub fn new(hash: [u8; native::TOKEN_LEN]) -> Self {
        Self(Zeroizing::new(hash))
    }

    /// Returns the bytes. Only for the computation of an answer.
    pub fn expose(&self) -> &[u8; native::TOKEN_LEN] {
        &self.0
    }
}

impl fmt::Debug for NativeHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
