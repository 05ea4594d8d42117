//! A client that comes through TLS.

use std::cell::RefCell;
use std::sync::Arc;

use freshet_upstream::control::connect;
use freshet_upstream::{Address, TlsMode, UpstreamConfig};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::runtime::Builder;

use crate::client::{Client, HITS, Part, SCHEMA, at_most, each};

/// rustls takes memory for each record: one comes in, one goes out.
const HIT: Part = Part::hits("hits through TLS", at_most(HITS, 2));

/// Returns the configuration of the handshake with clients, with a certificate that no client verifies.
pub fn server_config() -> Arc<ServerConfig> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let server = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key);
    Arc::new(server.expect("a certificate and its key"))
}

pub fn ask(client: &Client) {
    client.make_tables();
    let runtime = Builder::new_current_thread().enable_all().build().expect("an event loop");
    let mut through = UpstreamConfig::from_url(&client.url).expect("a server's URL");
    through.address = Address::Tcp { host: "127.0.0.1".to_owned(), port: client.port };
    (through.tls, through.database) = (TlsMode::Required, Some(SCHEMA.to_owned()));
    let connection = client.uncounted(|| runtime.block_on(connect(&through)));
    let connection = RefCell::new(connection.expect("a connection through us"));
    assert!(connection.borrow().is_tls(), "TLS is required");
    let ask_for = |id: u64| {
        let text = format!("SELECT v FROM t WHERE id = {id}");
        runtime.block_on(connection.borrow_mut().query(&text)).expect("an answer");
    };
    client.warm(|| (), |()| (1..20).for_each(ask_for));
    client.part(HIT, None, || each(HITS, |_| ask_for(1)));
}
