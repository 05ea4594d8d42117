//! The first packets: Freshet's greeting, the client's request for TLS, its login.

use freshet_protocol::{
    Capabilities, ClientHello, Greeting, Login, Malformed, Packet, SslRequest, random_scramble,
};

use tokio::time::{Instant, timeout_at};

use super::admitted::LoginClient;
use super::admitted::{Admitted, Scrambles};
use super::error::AdmitError;
use super::gate::Gate;
use super::login;
use crate::wire::Wire;

/// Capabilities that a client may use without an offer. mysqlnd does not check whether the server compresses, and both servers
/// compress for any client that claims it.
const UNASKED: Capabilities = Capabilities::COMPRESS;

/// Greets, reads the login, and has it judged.
pub(super) async fn greet_and_login(wire: &mut Wire, gate: &Gate) -> Result<Admitted, AdmitError> {
    let deadline = Instant::now() + gate.options.login_timeout;
    let server = gate.greeting().await.map_err(AdmitError::NoServer)?;
    let greeting = ours(gate, &server);
    wire.put(&greeting.encode());
    let said = timeout_at(deadline, said(wire, gate)).await;
    let mut login = said.unwrap_or(Err(AdmitError::TimedOut))?;
    login.capabilities = login.capabilities.intersection(greeting.capabilities.union(UNASKED));
    login.compression().map_err(|_| no_such_level())?;
    if gate.options.require_tls && !wire.is_secure() {
        return Err(insecure());
    }
    let scrambles = Scrambles { greeting: greeting.scramble, switch: None };
    let client = LoginClient { login, scrambles, connection_id: greeting.connection_id, deadline };
    login::login(wire, client, gate).await
}

/// Returns the server's greeting in Freshet's name.
fn ours(gate: &Gate, server: &Greeting) -> Greeting {
    Greeting {
        connection_id: gate.next_id(),
        scramble: random_scramble(),
        capabilities: gate.offer(server.capabilities),
        ..server.clone()
    }
}

/// Reads the client's reply to Freshet's greeting: its login, behind TLS if it asks for it.
async fn said(wire: &mut Wire, gate: &Gate) -> Result<Login, AdmitError> {
    wire.flush().await?;
    match hello(&wire.packet().await?)? {
        ClientHello::Login(login) => Ok(login),
        ClientHello::Ssl(request) => login_behind_tls(wire, gate, &request).await,
    }
}

async fn login_behind_tls(wire: &mut Wire, gate: &Gate, request: &SslRequest) -> Result<Login, AdmitError> {
    let offered = request.capabilities.contains(Capabilities::SSL);
    let Some(config) = gate.tls.clone().filter(|_| offered) else {
        return Err(AdmitError::BadHandshake(Malformed { what: "TLS was asked for but not offered" }));
    };
    wire.start_tls(config).await?;
    match hello(&wire.packet().await?)? {
        ClientHello::Login(login) => Ok(login),
        ClientHello::Ssl(_) => Err(AdmitError::BadHandshake(Malformed { what: "TLS within TLS" })),
    }
}

/// Parses the client's first packet. Like on the server, anything else than a login is a bad handshake.
fn hello(packet: &Packet) -> Result<ClientHello, AdmitError> {
    let hello = ClientHello::parse(&packet.payload).map_err(AdmitError::BadHandshake)?;
    let capabilities = match &hello {
        ClientHello::Ssl(request) => request.capabilities,
        ClientHello::Login(login) => login.capabilities,
    };
    // Clients older than 4.1 have another login packet and another scramble; no server of today supports them.
    if !capabilities.contains(Capabilities::PROTOCOL_41) {
        return Err(AdmitError::BadHandshake(Malformed { what: "a client from before 4.1" }));
    }
    Ok(hello)
}

/// Returns MySQL's error; MariaDB does not offer zstd.
fn no_such_level() -> AdmitError {
    AdmitError::refused(3923, "HY000", "Invalid zstd compression level for algorithm 'zstd'.")
}

fn insecure() -> AdmitError {
    let text = "Connections using insecure transport are prohibited while --require_secure_transport=ON.";
    AdmitError::refused(3159, "HY000", text)
}
