//! Attacks by clients with TLS, each of whose handshakes costs a signature.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use freshet_tests::raw::{Raw, capability};
use freshet_tests::{Freshet, Target};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme, StreamOwned};

use crate::found::Found;
use crate::ground::{ATTACKER, Ground};

/// CLIENT_SSL.
const SSL: u32 = 1 << 11;
/// What a client says that it may send in one packet, in bytes.
const PACKET_MAX: u32 = 1 << 24;
/// `utf8mb4_general_ci`.
const COLLATION: u8 = 45;
/// How many clients log in at the same time.
const CROWD: usize = 4;

/// Clients that log in with TLS and leave, four at a time.
pub fn storm(ground: &Ground, freshet: &Freshet) -> Found {
    let each = ground.count(4_000, 160) / CROWD;
    let config = config();
    ground.both(freshet, |target| {
        std::thread::scope(|scope| {
            for _ in 0..CROWD {
                let config = &config;
                scope.spawn(move || (0..each).for_each(|_| log_in(target, config).expect("it is let in")));
            }
        });
        format!("{} logins", each * CROWD)
    })
}

/// Logs the attacker in with TLS and leaves.
fn log_in(target: &Target, config: &Arc<ClientConfig>) -> io::Result<()> {
    let mut raw = Raw::dial(&target.host, target.port)?;
    let mut login = Vec::new();
    login.extend((capability::BASE | SSL).to_le_bytes());
    login.extend(PACKET_MAX.to_le_bytes());
    login.push(COLLATION);
    login.extend([0; 23]);
    raw.put(&login)?;
    let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
    let connection = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
    let mut secure = Secure { stream: StreamOwned::new(connection, raw.stream().try_clone()?), seq: 2 };
    login.extend(ATTACKER.as_bytes());
    login.extend(b"\0\0mysql_native_password\0");
    secure.put(&login)?;
    loop {
        let packet = secure.packet()?;
        match packet.first() {
            Some(0) => return secure.quit(),
            // Another plugin: the password is empty there too.
            Some(0xfe) => secure.put(&[])?,
            Some(1) => {}
            _ => return Err(io::Error::other(String::from_utf8_lossy(&packet).into_owned())),
        }
    }
}

/// Packets within TLS.
struct Secure {
    stream: StreamOwned<ClientConnection, TcpStream>,
    seq: u8,
}

impl Secure {
    fn put(&mut self, payload: &[u8]) -> io::Result<()> {
        let mut frame = u32::try_from(payload.len()).expect("it is short").to_le_bytes().to_vec();
        frame[3] = self.seq;
        self.seq = self.seq.wrapping_add(1);
        frame.extend(payload);
        self.stream.write_all(&frame)?;
        self.stream.flush()
    }

    fn packet(&mut self) -> io::Result<Vec<u8>> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header)?;
        self.seq = header[3].wrapping_add(1);
        let mut payload = vec![0; usize::from(header[0]) | usize::from(header[1]) << 8];
        self.stream.read_exact(&mut payload)?;
        Ok(payload)
    }

    fn quit(&mut self) -> io::Result<()> {
        self.seq = 0;
        self.put(&[1])
    }
}

/// Takes any certificate, and remembers nothing from one connection to the next.
fn config() -> Arc<ClientConfig> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let versions = builder.with_safe_default_protocol_versions().expect("the provider has them");
    let verifier = Arc::new(Any(provider));
    let mut config = versions.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    config.resumption = Resumption::disabled();
    Arc::new(config)
}

/// Takes any certificate whose key signs the handshake.
#[derive(Debug)]
struct Any(Arc<CryptoProvider>);

impl ServerCertVerifier for Any {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
