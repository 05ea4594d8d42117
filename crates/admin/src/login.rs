//! The login of clients, with accounts whose passwords are known here.

use freshet_protocol::{
    CACHING_SHA2_PASSWORD, Capabilities, ClientHello, ErrPacket, Greeting, Login, MYSQL_NATIVE_PASSWORD,
    OkPacket, SCRAMBLE_LEN, StatusFlags, auth_more, auth_switch, caching_sha2, native, random_scramble,
};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::accounts::Accounts;
use crate::store::Role;
use crate::wire::{ConnectionOver, Wire};

/// The status of every session: SQLite's texts have no backslash escapes.
const STATUS: StatusFlags = StatusFlags::AUTOCOMMIT.union(StatusFlags::NO_BACKSLASH_ESCAPES);
/// `utf8mb4_general_ci`.
const COLLATION: u8 = 45;
/// The answer of `caching_sha2_password` when it needs nothing more.
const FAST_AUTH_SUCCESS: u8 = 3;

/// A client that has logged in.
pub struct Admitted {
    pub role: Role,
    pub capabilities: Capabilities,
    pub schema: Option<Vec<u8>>,
    /// The client is a program that dumps databases; it takes the first column of SHOW DATABASES for names.
    pub dumps: bool,
}

/// The capabilities that the port offers.
const OFFERED: Capabilities = Capabilities::LONG_PASSWORD
    .union(Capabilities::LONG_FLAG)
    .union(Capabilities::CONNECT_WITH_DB)
    .union(Capabilities::PROTOCOL_41)
    .union(Capabilities::TRANSACTIONS)
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::MULTI_STATEMENTS)
    .union(Capabilities::MULTI_RESULTS)
    .union(Capabilities::PLUGIN_AUTH)
    .union(Capabilities::CONNECT_ATTRS)
    .union(Capabilities::PLUGIN_AUTH_LENENC_DATA)
    .union(Capabilities::DEPRECATE_EOF);

/// Greets a client, and checks its password.
pub async fn admit<S: AsyncRead + AsyncWrite + Unpin>(
    wire: &mut Wire<S>,
    accounts: &Accounts,
    version: &str,
    connection_id: u32,
    from: &str,
) -> Result<Option<Admitted>, ConnectionOver> {
    let greeting = Greeting {
        server_version: version.as_bytes().to_vec(),
        connection_id,
        scramble: random_scramble(),
        capabilities: OFFERED,
        collation: COLLATION,
        status: STATUS,
        auth_plugin: MYSQL_NATIVE_PASSWORD.to_owned(),
    };
    wire.put(&greeting.encode());
    wire.flush().await?;
    let Ok(ClientHello::Login(login)) = ClientHello::parse(&wire.packet().await?) else {
        wire.put(&ErrPacket::new(1043, "08S01", "Bad handshake").encode());
        wire.flush().await?;
        return Ok(None);
    };
    let account = accounts.find(&login.user);
    // An unknown name is asked in the same way as a known one, and fails like a wrong password.
    let password = account.map_or("", |(_, password)| password);
    let proven = proves(wire, &login, greeting.scramble, password.as_bytes()).await?;
    let capabilities = login.capabilities.intersection(OFFERED);
    let Some((role, _)) = account.filter(|_| proven) else {
        let user = String::from_utf8_lossy(&login.user).into_owned();
        let uses = if login.auth_response.is_empty() { "NO" } else { "YES" };
        let denied =
            format!("ProxySQL Error: Access denied for user '{user}'@'{from}' (using password: {uses})");
        wire.put(&ErrPacket::new(1045, "28000", denied).encode());
        wire.flush().await?;
        return Ok(None);
    };
    let ok = OkPacket { status: STATUS, ..OkPacket::default() };
    wire.put(&ok.encode(capabilities, OkPacket::HEADER));
    wire.flush().await?;
    let dumps = login.attributes.as_deref().is_some_and(is_of_dumps);
    Ok(Some(Admitted { role, capabilities, schema: login.database, dumps }))
}

/// Whether attributes of a connection are those of `mysqldump` or `mariadb-dump`: names and values, each behind its length.
fn is_of_dumps(mut attributes: &[u8]) -> bool {
    let mut name: &[u8] = b"";
    while let Some((length, rest)) = attributes.split_first()
        && let Some((text, behind)) = rest.split_at_checked(usize::from(*length))
    {
        if name == b"program_name" && matches!(text, b"mysqldump" | b"mariadb-dump") {
            return true;
        }
        (name, attributes) = (text, behind);
    }
    false
}

/// Whether the client proves the password, with its own plugin if that is one of two.
async fn proves<S: AsyncRead + AsyncWrite + Unpin>(
    wire: &mut Wire<S>,
    login: &Login,
    scramble: [u8; SCRAMBLE_LEN],
    password: &[u8],
) -> Result<bool, ConnectionOver> {
    let plugin = login.auth_plugin.as_deref().unwrap_or(MYSQL_NATIVE_PASSWORD.as_bytes());
    if plugin == MYSQL_NATIVE_PASSWORD.as_bytes() {
        return Ok(native::verify(&login.auth_response, &scramble, password));
    }
    let is_sha2 = plugin == CACHING_SHA2_PASSWORD.as_bytes();
    let plugin = if is_sha2 { CACHING_SHA2_PASSWORD } else { MYSQL_NATIVE_PASSWORD };
    wire.put(&auth_switch(plugin, &scramble));
    wire.flush().await?;
    let token = wire.packet().await?;
    if !is_sha2 {
        return Ok(native::verify(&token, &scramble, password));
    }
    let proven = caching_sha2::verify(&token, &scramble, password);
    if proven && !password.is_empty() {
        wire.put(&auth_more(&[FAST_AUTH_SUCCESS]));
    }
    Ok(proven)
}

#[cfg(test)]
mod tests {
    use super::is_of_dumps;

    #[test]
    fn who_dumps_says_so() {
        assert!(is_of_dumps(b"\x03_os\x05Linux\x0cprogram_name\x09mysqldump"));
        assert!(is_of_dumps(b"\x0cprogram_name\x0cmariadb-dump"));
        for other in [&b"\x0cprogram_name\x05mysql"[..], b"\x09mysqldump\x01x", b"\xffx", b"\x0cprogram", b""]
        {
            assert!(!is_of_dumps(other), "{other:?}");
        }
    }
}
