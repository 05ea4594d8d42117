//! A password that wipes itself and never shows itself.

use std::fmt;

use zeroize::Zeroizing;

/// A password. Its memory is wiped when it is dropped, and no formatting shows it.
#[derive(Clone, Default)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Takes over the bytes of a password.
    pub fn new(password: impl Into<Vec<u8>>) -> Self {
        Self(Zeroizing::new(password.into()))
    }

    /// The bytes, for the computation of an answer and for nothing else.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// Whether the password is empty, which the protocol treats as a case of its own.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes with a NUL behind them, as the plugins that send the whole password want them.
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
