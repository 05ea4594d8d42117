mod servers;

use std::sync::Arc;
use std::time::Duration;

use freshet_protocol::{
    CACHING_SHA2_PASSWORD, Capabilities, ErrPacket, Greeting, Login, MYSQL_NATIVE_PASSWORD, OkPacket,
    StatusFlags, caching_sha2, native, put_packet,
};
use freshet_upstream::{
    Address, Channel, Connection, Credential, Error, Preference, Rows, Secret, TlsMode, UpstreamConfig,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::admitted::Scrambles;
use super::asker::LoginAsker;
use super::knowledge::{Epoch, RowsFuture};
use super::local::{self, Verified};
use super::secrets::{Accepted, LoginKind, Secrets};
use super::*;

const EPOCH: Epoch = Epoch { stream: 1, accounts: 1, globals: 1, schemas: 1 };

/// The binlog stream stands still.
struct Still(Option<Epoch>);

impl Knowledge for Still {
    fn epoch(&self) -> Option<Epoch> {
        self.0
    }

    fn ask<'a>(&'a self, _: &'a str) -> RowsFuture<'a> {
        Box::pin(async { Err(freshet_upstream::Error::Closed) })
    }
}

fn login(user: &[u8]) -> Login {
    Login {
        capabilities: Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION | Capabilities::PLUGIN_AUTH,
        max_packet_size: 1 << 24,
        collation: 45,
        user: user.to_vec(),
        auth_response: Vec::new(),
        database: None,
        auth_plugin: Some(CACHING_SHA2_PASSWORD.into()),
        attributes: None,
        zstd_level: None,
    }
}

fn greeting() -> Greeting {
    Greeting {
        server_version: b"8.4.0".to_vec(),
        connection_id: 7,
        scramble: *b"01234567890123456789",
        capabilities: Capabilities::PROTOCOL_41
            | Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH
            | Capabilities::COMPRESS
            | Capabilities::SSL,
        collation: 255,
        status: StatusFlags::AUTOCOMMIT,
        auth_plugin: CACHING_SHA2_PASSWORD.into(),
    }
}

/// A gate to a server that cannot be reached, with some known facts of it.
fn gate(options: LoginOptions) -> Gate {
    let address = Address::Unix("/nonexistent/server.sock".into());
    let config = Arc::new(UpstreamConfig::new(address, "nobody", Secret::default()));
    let gate = Gate::new(config, Arc::new(Still(Some(EPOCH))), None, options);
    gate.remember_greeting(&greeting());
    gate
}

/// Reads one packet's sequence number and payload.
async fn read(client: &mut UnixStream) -> (u8, Vec<u8>) {
    let mut header = [0; 4];
    client.read_exact(&mut header).await.unwrap();
    let mut payload = vec![0; usize::from(header[0]) | usize::from(header[1]) << 8];
    client.read_exact(&mut payload).await.unwrap();
    (header[3], payload)
}

async fn write(client: &mut UnixStream, mut seq: u8, payload: &[u8]) {
    let mut frames = bytes::BytesMut::new();
    put_packet(&mut frames, &mut seq, payload);
    client.write_all(&frames).await.unwrap();
}

fn verify(login: &Login, scrambles: &Scrambles, secret: &Secret) -> Option<Verified> {
    local::verify(login, scrambles, &secret.clone().into())
}

/// Notes that the server has accepted a login with this password.
fn teach(secrets: &Secrets, login: &Login, channel: Channel, password: &[u8], ok: &OkPacket) {
    secrets.meet(&login.user, b"ali@%", true, EPOCH);
    let credential = Secret::new(password).into();
    let accepted = Accepted { user: &login.user, kind: LoginKind::of(login, channel), ok };
    secrets.learn(accepted, credential, EPOCH);
}

#[test]
fn a_proof_holds_for_its_password_and_scramble_only() {
    let scrambles = Scrambles { greeting: [1; 20], switch: Some([2; 20]) };
    let secret = Secret::new(*b"open sesame");
    let mut login = login(b"ali");
    for (scramble, holds) in [([1; 20], true), ([2; 20], true), ([3; 20], false)] {
        login.auth_plugin = Some(CACHING_SHA2_PASSWORD.into());
        login.auth_response = caching_sha2::token(b"open sesame", &scramble);
        assert_eq!(verify(&login, &scrambles, &secret), holds.then_some(Verified::Fast));
        assert_eq!(verify(&login, &scrambles, &Secret::new(*b"open barley")), None);
        login.auth_plugin = Some(MYSQL_NATIVE_PASSWORD.into());
        login.auth_response = native::token(b"open sesame", &scramble);
        assert_eq!(verify(&login, &scrambles, &secret), holds.then_some(Verified::Plain));
    }
}

#[test]
fn no_password_proves_only_no_password() {
    let scrambles = Scrambles { greeting: [1; 20], switch: None };
    let mut login = login(b"ali");
    for empty in [&b""[..], b"\0"] {
        login.auth_response = empty.to_vec();
        assert_eq!(verify(&login, &scrambles, &Secret::default()), Some(Verified::Plain));
        assert_eq!(verify(&login, &scrambles, &Secret::new(*b"x")), None);
    }
    login.auth_response = caching_sha2::token(b"x", &[1; 20]);
    assert_eq!(verify(&login, &scrambles, &Secret::default()), None);
}

#[test]
fn what_proves_less_than_a_password_proves_its_plugin_alone() {
    let scrambles = Scrambles { greeting: [1; 20], switch: None };
    let token = native::token(b"secret", &[1; 20]);
    let stored = b"\x14\xe6\x55\x67\xab\xdb\x51\x35\xd0\xcf\xd9\xa7\x0b\x30\x32\xc1\x79\xa4\x9e\xe7";
    let hash = native::hash_in(&token.clone().try_into().unwrap(), &[1; 20], stored).unwrap();
    let known = Credential::NativeHash(freshet_upstream::NativeHash::new(hash));
    let mut login = login(b"ali");
    login.auth_plugin = Some(MYSQL_NATIVE_PASSWORD.into());
    for (response, proof) in [
        (token, Some(Verified::Plain)),
        (native::token(b"Secret", &[1; 20]), None),
        (native::token(b"secret", &[2; 20]), None),
        (hash.to_vec(), None),
        (Vec::new(), None),
    ] {
        login.auth_response = response;
        assert_eq!(local::verify(&login, &scrambles, &known), proof, "{:?}", login.auth_response);
    }
    login.auth_plugin = Some(CACHING_SHA2_PASSWORD.into());
    login.auth_response = caching_sha2::token(b"secret", &[1; 20]);
    assert_eq!(local::verify(&login, &scrambles, &known), None);
}

#[test]
fn after_a_change_of_accounts_what_was_learned_is_only_a_reason_to_ask() {
    let changes = [
        (Some(EPOCH), true),
        (None, false),
        (Some(Epoch { accounts: 2, ..EPOCH }), false),
        (Some(Epoch { stream: 2, ..EPOCH }), false),
    ];
    for (epoch, is_current) in changes {
        let secrets = Secrets::default();
        teach(&secrets, &login(b"ali"), Channel::Tls, b"x", &OkPacket::default());
        let kind = LoginKind::of(&login(b"ali"), Channel::Tls);
        let known = secrets.remembered(b"ali", &kind, epoch).expect("the password is kept");
        assert_eq!((known.is_current, known.accepted.is_some()), (is_current, is_current), "{epoch:?}");
        assert!(secrets.remembered(b"baba", &kind, epoch).is_none());
        secrets.forget(b"ali");
        assert!(secrets.remembered(b"ali", &kind, epoch).is_none());
    }
}

fn is_accepted(secrets: &Secrets, login: &Login, channel: Channel, epoch: Epoch) -> bool {
    let kind = LoginKind::of(login, channel);
    secrets.remembered(&login.user, &kind, Some(epoch)).is_some_and(|known| known.accepted.is_some())
}

#[test]
fn an_accepted_login_is_repeated_only_in_the_same_words() {
    let secrets = Secrets::default();
    let mut into_shop = login(b"ali");
    into_shop.database = Some(b"shop".to_vec());
    teach(&secrets, &login(b"ali"), Channel::Tls, b"x", &OkPacket::default());
    teach(&secrets, &into_shop, Channel::Tls, b"x", &OkPacket::default());
    let accepted = |login: &Login, epoch| is_accepted(&secrets, login, Channel::Tls, epoch);
    assert!(accepted(&login(b"ali"), EPOCH));
    assert!(accepted(&into_shop, EPOCH));
    assert!(!is_accepted(&secrets, &login(b"ali"), Channel::Clear, EPOCH), "the account may require TLS");
    let redefined = Epoch { schemas: 2, ..EPOCH };
    assert!(accepted(&login(b"ali"), redefined), "no definition matters to a login without a schema");
    assert!(!accepted(&into_shop, redefined), "the schema may be gone");
    assert!(!accepted(&login(b"ali"), Epoch { globals: 2, ..EPOCH }), "the OK packet may differ");
    let mut elsewhere = into_shop.clone();
    elsewhere.database = Some(b"vault".to_vec());
    assert!(!accepted(&elsewhere, EPOCH));
    let mut tolerant = login(b"ali");
    tolerant.capabilities |= Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS;
    assert!(!accepted(&tolerant, EPOCH));
}

#[test]
fn what_proves_a_login_is_kept_where_nothing_else_is() {
    let secrets = Secrets::default();
    secrets.keep(b"ali", b"ali@%", Secret::new(*b"x").into());
    let kind = LoginKind::of(&login(b"ali"), Channel::Tls);
    for epoch in [None, Some(EPOCH)] {
        let known = secrets.remembered(b"ali", &kind, epoch).expect("it is kept");
        assert!(!known.is_current && known.accepted.is_none());
    }
    assert!(!secrets.is_met(b"ali", EPOCH));
    teach(&secrets, &login(b"ali"), Channel::Tls, b"x", &OkPacket::default());
    secrets.keep(b"ali", b"ali@%", Secret::new(*b"y").into());
    assert!(is_accepted(&secrets, &login(b"ali"), Channel::Tls, EPOCH), "nothing else is lost");
}

#[test]
fn a_refused_login_has_the_server_see_the_next() {
    let secrets = Secrets::default();
    teach(&secrets, &login(b"ali"), Channel::Tls, b"x", &OkPacket::default());
    secrets.refused(b"ali");
    assert!(
        !is_accepted(&secrets, &login(b"ali"), Channel::Tls, EPOCH),
        "the server counts failures in a row"
    );
}

#[test]
fn an_account_with_bounds_is_never_repeated() {
    let secrets = Secrets::default();
    secrets.meet(b"ali", b"ali@%", false, EPOCH);
    let kind = LoginKind::of(&login(b"ali"), Channel::Tls);
    let credential = Secret::new(*b"x").into();
    secrets.learn(Accepted { user: b"ali", kind, ok: &OkPacket::default() }, credential, EPOCH);
    assert!(!is_accepted(&secrets, &login(b"ali"), Channel::Tls, EPOCH));
}

#[test]
fn an_account_that_is_defined_as_before_may_be_repeated_and_proves_no_login() {
    let secrets = Secrets::default();
    teach(&secrets, &login(b"ali"), Channel::Tls, b"x", &OkPacket::default());
    secrets.note_definition(b"ali", 7, EPOCH);
    let later = Epoch { accounts: 2, ..EPOCH };
    for (account, definition, is_same) in [(b"ali@%", 8, false), (b"ali@a", 7, false), (b"ali@%", 7, true)] {
        assert_eq!(secrets.repeats(b"ali", later), None);
        secrets.note_defined_still(b"ali", account, definition, later);
        assert_eq!(secrets.repeats(b"ali", later), is_same.then_some(true));
    }
    assert!(!is_accepted(&secrets, &login(b"ali"), Channel::Tls, later), "the password may be another one");
    assert_eq!(secrets.repeats(b"ali", Epoch { accounts: 3, ..EPOCH }), None);
}

#[test]
fn names_push_out_only_names_of_their_account() {
    let secrets = Secrets::default();
    teach(&secrets, &login(b"ali"), Channel::Tls, b"x", &OkPacket::default());
    for number in 0..10_000_u32 {
        secrets.meet(&number.to_le_bytes(), b"@%", true, EPOCH);
    }
    assert_eq!(secrets.len(), 1 + secrets::NAMES_PER_ACCOUNT_MAX);
    assert!(is_accepted(&secrets, &login(b"ali"), Channel::Tls, EPOCH));
    secrets.meet(&[b'x'; 1000], b"@%", true, EPOCH);
    assert!(!secrets.is_met(&[b'x'; 1000], EPOCH), "names are bounded in bytes too");
    // Accounts are the server's, and still bounded.
    for number in 0..secrets::ACCOUNTS_MAX as u32 + 50 {
        secrets.meet(format!("{number}").as_bytes(), &number.to_le_bytes(), true, EPOCH);
    }
    assert_eq!(secrets.len(), secrets::ACCOUNTS_MAX);
    for database in 0..200_u32 {
        let mut login = login(b"4000");
        login.database = Some(database.to_le_bytes().to_vec());
        teach(&secrets, &login, Channel::Tls, b"", &OkPacket::default());
    }
    assert_eq!(secrets.len(), secrets::ACCOUNTS_MAX);
}

#[tokio::test]
async fn the_greeting_is_the_servers_in_our_name() {
    let (client, ours) = UnixStream::pair().unwrap();
    let gate = gate(LoginOptions { login_timeout: Duration::from_millis(50), ..LoginOptions::default() });
    let admitted = tokio::spawn(async move { admit(Stream::Unix(ours), &gate).await.map(|_| ()) });
    let mut client = client;
    let (seq, payload) = read(&mut client).await;
    let seen = Greeting::parse(&payload).unwrap();
    assert_eq!(seq, 0);
    assert_eq!((seen.server_version, seen.collation), (b"8.4.0".to_vec(), 255));
    assert!(seen.connection_id >= CONNECTION_ID_MIN);
    assert_ne!(seen.scramble, greeting().scramble);
    assert!(seen.capabilities.contains(Capabilities::COMPRESS));
    assert!(!seen.capabilities.contains(Capabilities::SSL));
    // A client that says nothing does not hold the test up.
    assert!(matches!(admitted.await.unwrap(), Err(AdmitError::TimedOut)));
    assert_eq!(ErrPacket::parse(&read(&mut client).await.1).unwrap().code, 1159);
}

#[tokio::test]
async fn a_known_client_is_let_in_without_the_server() {
    let gate = Arc::new(gate(LoginOptions::default()));
    let ok = OkPacket { status: StatusFlags::AUTOCOMMIT, ..OkPacket::default() };
    teach(&gate.secrets, &login(b"ali"), Channel::Socket, b"open sesame", &ok);
    let (mut client, ours) = UnixStream::pair().unwrap();
    let theirs = gate.clone();
    let admitted = tokio::spawn(async move { admit(Stream::Unix(ours), &theirs).await });
    let seen = Greeting::parse(&read(&mut client).await.1).unwrap();
    let mut login = login(b"ali");
    login.auth_response = caching_sha2::token(b"open sesame", &seen.scramble);
    write(&mut client, 1, &login.encode()).await;
    assert_eq!(read(&mut client).await, (2, vec![1, 3]));
    let (seq, payload) = read(&mut client).await;
    assert_eq!((seq, OkPacket::parse(&payload, login.capabilities).unwrap().status), (3, ok.status));
    let (_, admitted) = admitted.await.unwrap().unwrap();
    assert!(admitted.upstream.is_none() && admitted.credential.is_some());
    assert_eq!(admitted.connection_id, seen.connection_id);
}

#[tokio::test]
async fn a_wrong_password_is_left_to_the_server() {
    let gate = Arc::new(gate(LoginOptions::default()));
    teach(&gate.secrets, &login(b"ali"), Channel::Socket, b"open sesame", &OkPacket::default());
    let (mut client, ours) = UnixStream::pair().unwrap();
    let admitted = tokio::spawn(async move { admit(Stream::Unix(ours), &gate).await.map(|_| ()) });
    let seen = Greeting::parse(&read(&mut client).await.1).unwrap();
    let mut login = login(b"ali");
    login.auth_response = caching_sha2::token(b"open barley", &seen.scramble);
    write(&mut client, 1, &login.encode()).await;
    // The server cannot be reached, and the client hears that.
    assert_eq!(ErrPacket::parse(&read(&mut client).await.1).unwrap().code, 2003);
    assert!(matches!(admitted.await.unwrap(), Err(AdmitError::Upstream(_))));
}

#[tokio::test]
async fn what_is_no_login_is_a_bad_handshake() {
    let mut hostile: Vec<Vec<u8>> = vec![b"".to_vec(), b"GET / HTTP/1.1\r\n".to_vec(), vec![0xFF; 300]];
    let whole = login(b"ali").encode();
    hostile.extend((0..40).map(|len| whole[..len].to_vec()));
    let mut asks_for_tls = whole[..32].to_vec();
    asks_for_tls[1] |= (Capabilities::SSL.bits() >> 8) as u8;
    hostile.push(asks_for_tls);
    for payload in hostile {
        let gate = gate(LoginOptions { login_timeout: Duration::from_secs(2), ..LoginOptions::default() });
        let (mut client, ours) = UnixStream::pair().unwrap();
        let admitted = tokio::spawn(async move { admit(Stream::Unix(ours), &gate).await.map(|_| ()) });
        read(&mut client).await;
        write(&mut client, 1, &payload).await;
        let told = ErrPacket::parse(&read(&mut client).await.1).unwrap();
        assert!(matches!(told.code, 1043 | 2003), "{payload:?}: {told:?}");
        assert!(!matches!(admitted.await.unwrap(), Ok(()) | Err(AdmitError::TimedOut)));
    }
}

#[tokio::test]
async fn packets_that_break_the_framing_are_named() {
    for (bytes, code) in [(&b"\x01\0\0\x05x"[..], 1156), (b"\xff\xff\x20\x01", 1153)] {
        let gate = gate(LoginOptions::default());
        let (mut client, ours) = UnixStream::pair().unwrap();
        let admitted = tokio::spawn(async move { admit(Stream::Unix(ours), &gate).await.map(|_| ()) });
        read(&mut client).await;
        client.write_all(bytes).await.unwrap();
        assert_eq!(ErrPacket::parse(&read(&mut client).await.1).unwrap().code, code);
        assert!(matches!(admitted.await.unwrap(), Err(AdmitError::Wire(_))));
    }
}

#[tokio::test]
async fn one_client_too_many_is_told_so_before_any_greeting() {
    let (mut client, ours) = UnixStream::pair().unwrap();
    refuse_too_many(Stream::Unix(ours), &Arc::default()).await;
    assert_eq!(read(&mut client).await, (0, b"\xff\x10\x04Too many connections".to_vec()));
}

/// Nobody can be asked at first.
struct Late(std::sync::atomic::AtomicU32);

impl Knowledge for Late {
    fn epoch(&self) -> Option<Epoch> {
        None
    }

    fn ask<'a>(&'a self, _: &'a str) -> RowsFuture<'a> {
        let is_there = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= 3;
        Box::pin(async move { if is_there { Ok(Rows::default()) } else { Err(Error::Closed) } })
    }
}

#[tokio::test]
async fn whether_accounts_can_be_read_is_asked_again_while_there_is_nobody_to_ask() {
    for (tls, asked, preference) in
        [(TlsMode::Required, 4, Preference::Tcp), (TlsMode::Preferred, 1, Preference::Nowhere)]
    {
        // No client counts as on this machine as long as the server's name does not prove it.
        let address = Address::Tcp { host: "server.example".into(), port: 3306 };
        let mut config = UpstreamConfig::new(address, "nobody", Secret::default());
        config.tls = tls;
        let late = Arc::new(Late(0.into()));
        let gate = Gate::new(
            Arc::new(config),
            Arc::clone(&late) as Arc<dyn Knowledge>,
            None,
            LoginOptions::default(),
        );
        let asker = LoginAsker { gate: &gate, channel: Channel::Clear, epoch: None, waits: false };
        assert_eq!(asker.preference().await.unwrap(), preference);
        assert_eq!(late.0.load(std::sync::atomic::Ordering::Relaxed), asked);
    }
}
