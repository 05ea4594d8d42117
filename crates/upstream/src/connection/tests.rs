use super::*;
use crate::address::Address;
use crate::config::UpstreamConfig;
use crate::control;
use crate::password::Password;
use crate::secret::Secret;
use freshet_protocol::{Column, ErrPacket, StatusFlags, auth_more, auth_switch};
use std::path::{Path, PathBuf};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;

/// What a server of the tests says and hears.
enum Step {
    Say(Vec<u8>),
    /// Said as the first packet of an answer, whatever was heard since.
    SayFirst(Vec<u8>),
    Hear,
}

use Step::{Hear, Say, SayFirst};

fn greeting() -> Vec<u8> {
    Greeting {
        server_version: b"8.0.99-imagined".to_vec(),
        connection_id: 77,
        scramble: *b"abcdefghijklmnopqrst",
        capabilities: Capabilities::PROTOCOL_41
            | Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH
            | Capabilities::CONNECT_WITH_DB,
        collation: 45,
        status: StatusFlags::AUTOCOMMIT,
        auth_plugin: "caching_sha2_password".into(),
    }
    .encode()
}

fn ok() -> Vec<u8> {
    vec![0, 0, 0, 2, 0, 0, 0]
}

fn socket_path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("freshet-upstream-{}-{name}", std::process::id()))
}

/// Plays a script to one client; each thing said continues the sequence of what was heard before.
async fn play(path: &Path, script: Vec<Step>) -> Vec<Vec<u8>> {
    let listener = UnixListener::bind(path).unwrap();
    let (mut stream, _) = listener.accept().await.unwrap();
    std::fs::remove_file(path).unwrap();
    let (mut buffer, mut seq, mut heard) = (BytesMut::new(), 0, Vec::new());
    for step in script {
        if let SayFirst(_) = step {
            seq = 1;
        }
        match step {
            Say(payload) | SayFirst(payload) => {
                let mut out = BytesMut::new();
                put_packet(&mut out, &mut seq, &payload);
                stream.write_all(&out).await.unwrap();
            }
            Hear => {
                let packet = hear(&mut stream, &mut buffer).await;
                seq = packet.last_seq.wrapping_add(1);
                heard.push(packet.payload.to_vec());
            }
        }
    }
    heard
}

async fn hear(stream: &mut UnixStream, buffer: &mut BytesMut) -> Packet {
    loop {
        if let Some(packet) = take_packet(buffer, 1 << 20).unwrap() {
            return packet;
        }
        assert!(stream.read_buf(buffer).await.unwrap() > 0, "the client hung up");
    }
}

fn config(path: &Path) -> UpstreamConfig {
    UpstreamConfig {
        connect_timeout: Duration::from_secs(2),
        ..UpstreamConfig::new(Address::Unix(path.into()), "u", Secret::new("pw"))
    }
}

async fn log_in(config: &UpstreamConfig) -> Result<Connection, Error> {
    let dialled = Connection::dial(config, Capabilities::empty(), control::UTF8MB4).await?;
    let mut password = Password::new(config.password.clone());
    Ok(dialled.login(control::login(config), &mut password).await?.0)
}

/// Returns what it has heard.
type Player = JoinHandle<Vec<Vec<u8>>>;

/// Plays a script on a socket of this name. Returns the player, and how a client reaches it.
async fn played(name: &str, script: Vec<Step>) -> (Player, UpstreamConfig) {
    let path = socket_path(name);
    let config = config(&path);
    let player = tokio::spawn({
        let path = path.clone();
        async move { play(&path, script).await }
    });
    while !path.exists() {
        tokio::task::yield_now().await;
    }
    (player, config)
}

/// Logs in to a server that plays this script. Returns what the server has heard too.
async fn log_in_to(name: &str, script: Vec<Step>) -> (Result<Connection, Error>, Vec<Vec<u8>>) {
    let (player, config) = played(name, script).await;
    (log_in(&config).await, player.await.unwrap())
}

/// Logs in to a server that plays this script after the login.
async fn logged_in(name: &str, script: Vec<Step>) -> (Player, Connection) {
    let login = [Say(greeting()), Hear, Say(ok())];
    let (player, config) = played(name, login.into_iter().chain(script).collect()).await;
    (player, log_in(&config).await.unwrap())
}

#[tokio::test]
async fn a_login_follows_the_server_through_a_switch() {
    let script = vec![
        Say(greeting()),
        Hear,
        Say(auth_switch("mysql_native_password", b"ABCDEFGHIJKLMNOPQRST")),
        Hear,
        Say(ok()),
    ];
    let (connection, heard) = log_in_to("switch", script).await;
    assert_eq!(connection.unwrap().thread_id(), 77);
    assert_eq!(heard[1], freshet_protocol::native::token(b"pw", b"ABCDEFGHIJKLMNOPQRST"));
}

#[tokio::test]
async fn a_full_authentication_over_a_socket_sends_the_password() {
    let script = vec![Say(greeting()), Hear, Say(auth_more(&[4])), Hear, Say(ok())];
    let (connection, heard) = log_in_to("full", script).await;
    assert!(connection.unwrap().is_secure());
    assert_eq!(heard[1], b"pw\0");
    let script = vec![Say(greeting()), Hear, Say(auth_more(&[3])), Say(ok())];
    assert!(log_in_to("fast", script).await.0.is_ok());
}

#[tokio::test]
async fn a_refusal_instead_of_a_greeting_is_passed_on() {
    // Before the handshake no SQLSTATE is sent.
    let mut refusal = vec![0xFF];
    refusal.extend(1040_u16.to_le_bytes());
    refusal.extend(b"Too many connections");
    let (result, _) = log_in_to("1040", vec![Say(refusal)]).await;
    let error = result.unwrap_err();
    assert_eq!(error.to_err_packet().code, 1040, "{error}");
    let refusal = ErrPacket::new(1045, "28000", "Access denied").encode();
    let (result, _) = log_in_to("1045", vec![Say(greeting()), Hear, Say(refusal)]).await;
    assert_eq!(result.unwrap_err().to_err_packet().code, 1045);
}

#[tokio::test]
async fn servers_that_make_no_sense_are_left() {
    for (name, script) in [
        ("random", vec![Say(b"\x05\xfe\xfe".to_vec())]),
        ("empty", vec![Say(Vec::new())]),
        ("old", vec![Say(greeting()), Hear, Say(vec![0xFE])]),
        ("plugin", vec![Say(greeting()), Hear, Say(auth_switch("parsec", b""))]),
        ("gone", vec![Say(greeting()), Hear]),
        ("silent", vec![]),
    ] {
        let (result, _) = log_in_to(name, script).await;
        let error = result.map(|_| ()).unwrap_err();
        assert!(!error.leaves_connection_usable(), "{name}: {error}");
    }
    let endless =
        std::iter::repeat_with(|| [Say(auth_switch("mysql_native_password", b"")), Hear]).take(32).flatten();
    let script = [Say(greeting()), Hear].into_iter().chain(endless).collect();
    assert!(log_in_to("endless", script).await.0.is_err());
}

#[tokio::test]
async fn a_server_that_says_nothing_is_not_waited_for_without_end() {
    let path = socket_path("mute");
    let _listener = UnixListener::bind(&path).unwrap();
    let config = UpstreamConfig { connect_timeout: Duration::from_millis(50), ..config(&path) };
    let error = log_in(&config).await.unwrap_err();
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(error, Error::TimedOut { .. }), "{error}");
    let missing = log_in(&config).await.unwrap_err();
    assert!(matches!(missing, Error::Connect { .. }) && missing.to_err_packet().code == 2003, "{missing}");
}

fn column(name: &str) -> Vec<u8> {
    Column {
        schema: Vec::new(),
        table: Vec::new(),
        org_table: Vec::new(),
        name: name.into(),
        org_name: Vec::new(),
        collation: 45,
        length: 0,
        kind: 253,
        flags: 0,
        decimals: 0,
    }
    .encode(Capabilities::PROTOCOL_41)
}

fn eof(status: u8) -> Vec<u8> {
    vec![0xFE, 0, 0, status, 0]
}

#[tokio::test]
async fn results_are_read_to_the_last_of_several() {
    let script = vec![
        Hear,
        Say(vec![0, 0, 0, 0x0A, 0, 0, 0]),
        Say(vec![2]),
        Say(column("A")),
        Say(column("b")),
        Say(eof(2)),
        Say(b"\x01x\xfb".to_vec()),
        Say(b"\x00\x02yz".to_vec()),
        Say(eof(2)),
        Hear,
        Say(ErrPacket::new(1064, "42000", "syntax").encode()),
        Hear,
        Say(vec![1]),
        Say(column("a")),
        Say(eof(2)),
        Say(ErrPacket::new(1317, "70100", "interrupted").encode()),
    ];
    let (server, mut connection) = logged_in("rows", script).await;
    let rows = connection.query("SELECT 1; SELECT 2").await.unwrap();
    assert_eq!((rows.first("a"), rows.first("B"), rows.text(1, 1)), (Some("x"), None, Some("yz")));
    assert_eq!((rows.text(1, 0), rows.text(2, 0), rows.column("c")), (Some(""), None, None));
    let error = connection.query("SELEKT").await.unwrap_err();
    assert!(error.leaves_connection_usable() && error.to_err_packet().code == 1064);
    assert_eq!(connection.query("SELECT SLEEP(1)").await.unwrap_err().to_err_packet().code, 1317);
    let heard = server.await.unwrap();
    assert_eq!(heard[1], b"\x03SELECT 1; SELECT 2");
}

#[tokio::test]
async fn several_questions_are_sent_before_the_first_answer() {
    let script = vec![
        Hear,
        Hear,
        Hear,
        SayFirst(vec![1]),
        Say(column("a")),
        Say(eof(2)),
        Say(b"\x01x".to_vec()),
        Say(eof(2)),
        SayFirst(ErrPacket::new(1142, "42000", "denied").encode()),
        SayFirst(ok()),
    ];
    let (server, mut connection) = logged_in("several", script).await;
    let answers = connection.query_each(&["SELECT a", "SELECT b", "DO 1"]).await.unwrap();
    let told: Vec<_> = answers
        .iter()
        .map(|answer| answer.as_ref().map(|rows| rows.text(0, 0)).map_err(|refusal| refusal.code))
        .collect();
    assert_eq!(told, [Ok(Some("x")), Err(1142), Ok(None)]);
    assert_eq!(server.await.unwrap()[1..], [&b"\x03SELECT a"[..], b"\x03SELECT b", b"\x03DO 1"]);
}
