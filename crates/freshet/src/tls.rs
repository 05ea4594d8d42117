//! The certificate shown to clients: the given one, or one that is made at the start.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::config::Config;

/// The names in a certificate of our own making. No client verifies it: it only gives secrecy, like the servers' own certificates.
const SELF_MADE_NAMES: [&str; 2] = ["localhost", "freshet"];

/// Why there is no TLS towards clients.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file could not be read.
    #[error("{setting}: {path}: {source}")]
    File {
        /// The setting that names it.
        setting: &'static str,
        /// Its path.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file holds no PEM of the needed kind.
    #[error("{setting}: {path}: {source}")]
    Pem {
        /// The setting that names it.
        setting: &'static str,
        /// Its path.
        path: String,
        /// What is wrong with it.
        source: rustls::pki_types::pem::Error,
    },
    /// Certificate and key do not belong together, or are of an unknown kind.
    #[error("tls_cert and tls_key: {0}")]
    Pair(#[from] rustls::Error),
    /// No certificate could be made.
    #[error("no certificate could be made: {0}")]
    Make(#[from] rcgen::Error),
}

/// Returns the configuration of the handshake with clients.
///
/// # Errors
/// See [`TlsError`].
pub fn server_config(config: &Config) -> Result<Arc<ServerConfig>, TlsError> {
    let (chain, key) = match &config.tls {
        Some((cert, key)) => load(cert, key)?,
        None => make()?,
    };
    let provider: Arc<CryptoProvider> = Arc::new(aws_lc_rs::default_provider());
    let mut server = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    // Clients that come again resume their session; the key is ours alone, and changes every few hours.
    server.ticketer = aws_lc_rs::Ticketer::new()?;
    Ok(Arc::new(server))
}

type Pair = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn load(cert: &Path, key: &Path) -> Result<Pair, TlsError> {
    let pem = read("tls_cert", cert)?;
    let chain = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|source| TlsError::Pem {
        setting: "tls_cert",
        path: cert.display().to_string(),
        source,
    })?;
    let pem = read("tls_key", key)?;
    let secret = PrivateKeyDer::from_pem_slice(&pem).map_err(|source| TlsError::Pem {
        setting: "tls_key",
        path: key.display().to_string(),
        source,
    })?;
    Ok((chain, secret))
}

fn read(setting: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|source| TlsError::File { setting, path: path.display().to_string(), source })
}

fn make() -> Result<Pair, TlsError> {
    let made = rcgen::generate_simple_self_signed(SELF_MADE_NAMES.map(str::to_owned))?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    Ok((vec![made.cert.der().clone()], PrivateKeyDer::Pkcs8(key)))
}
