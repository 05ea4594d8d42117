//! How far TLS towards the server goes.

use std::fmt;
use std::str::FromStr;

use super::error::ConfigError;

/// How far TLS towards the server goes, with the meanings of MySQL's `--ssl-mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TlsMode {
    /// Never TLS.
    Disabled,
    /// TLS over TCP if the server offers it, with any certificate. This is the default.
    #[default]
    Preferred,
    /// TLS or no connection, with any certificate.
    Required,
    /// As `Required`, and the certificate must be signed by the authority given.
    VerifyCa,
    /// As `VerifyCa`, and the certificate must name the host we connect to.
    VerifyIdentity,
}

impl TlsMode {
    /// The spellings of all modes, as they are shown when another was given.
    pub const NAMES: &'static str = "disabled, preferred, required, verify-ca, verify-identity";

    /// Whether the server's certificate is checked against an authority.
    pub fn verifies(self) -> bool {
        matches!(self, Self::VerifyCa | Self::VerifyIdentity)
    }
}

impl FromStr for TlsMode {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        match text.to_ascii_lowercase().replace('_', "-").as_str() {
            "disabled" => Ok(Self::Disabled),
            "preferred" => Ok(Self::Preferred),
            "required" => Ok(Self::Required),
            "verify-ca" => Ok(Self::VerifyCa),
            "verify-identity" => Ok(Self::VerifyIdentity),
            _ => Err(ConfigError::new(format!("ssl-mode is '{text}'"), Self::NAMES)),
        }
    }
}

impl fmt::Display for TlsMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Disabled => "disabled",
            Self::Preferred => "preferred",
            Self::Required => "required",
            Self::VerifyCa => "verify-ca",
            Self::VerifyIdentity => "verify-identity",
        })
    }
}
