//! Logs in, with the two password plugins that need no RSA.

use freshet_protocol::{
    AuthReply, CACHING_SHA2_PASSWORD, Capabilities, ErrPacket, Login, MYSQL_NATIVE_PASSWORD, ServerHello,
    SslRequest, caching_sha2, native, scramble_in,
};

use crate::target::{Account, Failure, Target};
use crate::wire::Wire;

/// The capabilities that the client asks for. None of them changes the form of answers. Without DEPRECATE_EOF each result has two EOF
/// packets, by which its end is found.
pub const WANTED: Capabilities = Capabilities::LONG_PASSWORD
    .union(Capabilities::PROTOCOL_41)
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::TRANSACTIONS)
    .union(Capabilities::PLUGIN_AUTH);
/// The largest packet that the client accepts, in bytes.
const PACKET_BYTES_MAX: u32 = 1 << 24;
/// utf8mb4_general_ci.
const COLLATION: u8 = 45;

/// Returns a connection that is logged in; `database` may be empty.
pub async fn open(account: &Account, target: &Target, database: &str) -> Result<Wire, Failure> {
    let mut wire = Wire::connect(&target.address).await?;
    let hello = wire.packet().await?;
    let greeting = match ServerHello::parse(&hello.payload)? {
        ServerHello::Greeting(greeting) => greeting,
        ServerHello::Err(error) => return Err(said(&error).into()),
    };
    let mut seq = hello.last_seq.wrapping_add(1);
    let mut capabilities = WANTED;
    // The request for TLS already has to contain the capabilities of the login.
    capabilities.set(Capabilities::CONNECT_WITH_DB, !database.is_empty());
    if account.tls {
        capabilities |= Capabilities::SSL;
        let request = SslRequest { capabilities, max_packet_size: PACKET_BYTES_MAX, collation: COLLATION };
        wire.send(seq, &request.encode()).await?;
        wire = wire.start_tls().await?;
        seq = seq.wrapping_add(1);
    }
    let login = Login {
        capabilities,
        max_packet_size: PACKET_BYTES_MAX,
        collation: COLLATION,
        user: account.user.clone().into(),
        auth_response: token(&greeting.auth_plugin, account, &greeting.scramble)?,
        database: (!database.is_empty()).then(|| database.into()),
        auth_plugin: Some(greeting.auth_plugin.clone().into()),
        attributes: None,
        zstd_level: None,
    };
    wire.send(seq, &login.encode()).await?;
    finish(&mut wire, account).await?;
    Ok(wire)
}

async fn finish(wire: &mut Wire, account: &Account) -> Result<(), Failure> {
    loop {
        let packet = wire.packet().await?;
        let seq = packet.last_seq.wrapping_add(1);
        match AuthReply::parse(&packet.payload)? {
            AuthReply::Ok(_) => return Ok(()),
            AuthReply::Err(payload) => return Err(said(&ErrPacket::parse(payload)?).into()),
            AuthReply::Switch { plugin, data } => {
                let scramble = scramble_in(data).ok_or("the server sent no scramble")?;
                wire.send(seq, &token(&String::from_utf8_lossy(plugin), account, &scramble)?).await?;
            }
            AuthReply::More(data) if data.first() == Some(&caching_sha2::FAST_AUTH_OK) => {}
            AuthReply::More(_) if wire.secure => {
                wire.send(seq, &[account.password.as_bytes(), b"\0"].concat()).await?;
            }
            _ => {
                return Err(
                    "the server wants the whole password; log in once over TLS or its socket before".into()
                );
            }
        }
    }
}

fn token(plugin: &str, account: &Account, scramble: &[u8; 20]) -> Result<Vec<u8>, Failure> {
    match plugin {
        MYSQL_NATIVE_PASSWORD => Ok(native::token(account.password.as_bytes(), scramble)),
        CACHING_SHA2_PASSWORD => Ok(caching_sha2::token(account.password.as_bytes(), scramble)),
        other => Err(format!("the account's plugin {other} is not known here").into()),
    }
}

fn said(error: &ErrPacket) -> String {
    format!("the server said {}: {}", error.code, String::from_utf8_lossy(&error.message))
}
