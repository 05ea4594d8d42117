//! TLS towards the server, with the meanings of MySQL's `--ssl-mode`.

mod verifier;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustls::client::WebPkiServerVerifier;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

use crate::address::Address;
use crate::config::TlsMode;
use crate::error::Error;
use verifier::{AnyCertificate, AuthorityOnly};

/// The client side of TLS, made once per configuration: it holds the parsed authorities, and the tickets with which later connections
/// resume an earlier session without a full handshake.
#[derive(Debug, Clone, Default)]
pub(crate) struct TlsClient(Arc<OnceLock<Made>>);

#[derive(Debug)]
struct Made {
    mode: TlsMode,
    authority: Option<PathBuf>,
    config: Arc<ClientConfig>,
}

impl TlsClient {
    /// Returns the TLS configuration for this mode and authority.
    pub(crate) fn config(&self, mode: TlsMode, authority: Option<&Path>) -> Result<Arc<ClientConfig>, Error> {
        if let Some(made) = self.0.get()
            && made.mode == mode
            && made.authority.as_deref() == authority
        {
            return Ok(made.config.clone());
        }
        let config = make(mode, authority)?;
        // Fails only if another one was made at the same time, or for other settings.
        let _ = self.0.set(Made { mode, authority: authority.map(Into::into), config: config.clone() });
        Ok(config)
    }
}

/// Returns the name that the server's certificate has to carry.
pub(crate) fn server_name(address: &Address) -> Result<ServerName<'static>, Error> {
    let host = address.host().unwrap_or("localhost");
    ServerName::try_from(host.to_owned())
        .map_err(|_| Error::Tls(format!("'{host}' is not a name that a certificate can carry")))
}

fn make(mode: TlsMode, authority: Option<&Path>) -> Result<Arc<ClientConfig>, Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Tls(error.to_string()))?;
    let config = match mode {
        TlsMode::VerifyIdentity => {
            builder.with_webpki_verifier(webpki(authority, provider)?).with_no_client_auth()
        }
        TlsMode::VerifyCa => {
            let verifier = Arc::new(AuthorityOnly::new(webpki(authority, provider)?));
            builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        }
        TlsMode::Disabled | TlsMode::Preferred | TlsMode::Required => {
            let verifier = Arc::new(AnyCertificate::new(&provider));
            builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        }
    };
    Ok(Arc::new(config))
}

fn webpki(
    authority: Option<&Path>,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, Error> {
    let path = authority.ok_or_else(|| Error::Tls("no authority (ssl-ca) is given to verify with".into()))?;
    WebPkiServerVerifier::builder_with_provider(Arc::new(authorities(path)?), provider)
        .build()
        .map_err(|error| Error::Tls(format!("{}: {error}", path.display())))
}

fn authorities(path: &Path) -> Result<RootCertStore, Error> {
    let told = |error: &dyn std::fmt::Display| Error::Tls(format!("{}: {error}", path.display()));
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| told(&error))? {
        let certificate = certificate.map_err(|error| told(&error))?;
        store.add(certificate).map_err(|error| told(&error))?;
    }
    if store.is_empty() {
        return Err(told(&"the file holds no certificate"));
    }
    Ok(store)
}
