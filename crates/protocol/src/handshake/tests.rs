use super::*;
use crate::{Capabilities, StatusFlags};
use proptest::prelude::*;

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .map(|two| u8::from_str_radix(str::from_utf8(two).unwrap(), 16).unwrap())
        .collect()
}

/// As MariaDB 10.11 and MySQL 9.7 sent them.
const MARIADB: &str = "0a352e352e352d31302e31312e31392d4d6172696144422d302b646562313275312d6c6f6700\
    180000006730553d6e355d5200fef7080200ff81150000000000001d000000662b3f3d51617547435b7c2300\
    6d7973716c5f6e61746976655f70617373776f726400";
const MYSQL: &str = "0a392e372e342d320017000000261655567b4e4d2500ffffff0200ffdf15000000000000000000\
    005d69251f385008415c3c4d130063616368696e675f736861325f70617373776f726400";

#[test]
fn greetings_of_both_servers_are_read_and_written_back() {
    let mariadb = Greeting::parse(&bytes(MARIADB)).unwrap();
    assert_eq!(mariadb.server_version, b"5.5.5-10.11.19-MariaDB-0+deb12u1-log");
    assert_eq!(mariadb.connection_id, 24);
    assert_eq!(&mariadb.scramble, b"g0U=n5]Rf+?=QauGC[|#");
    assert_eq!(mariadb.auth_plugin, MYSQL_NATIVE_PASSWORD);
    assert_eq!(mariadb.status, StatusFlags::AUTOCOMMIT);
    assert_eq!(mariadb.capabilities.low(), 0x81FF_F7FE);
    assert_eq!(mariadb.capabilities.extended(), 0x1D);
    assert!(mariadb.capabilities.contains(Capabilities::MARIADB_CACHE_METADATA));
    assert_eq!(mariadb.encode(), bytes(MARIADB));

    let mysql = Greeting::parse(&bytes(MYSQL)).unwrap();
    assert_eq!(mysql.server_version, b"9.7.4-2");
    assert_eq!(mysql.auth_plugin, CACHING_SHA2_PASSWORD);
    assert_eq!(mysql.collation, 255);
    assert_eq!(mysql.capabilities.extended(), 0);
    assert!(mysql.capabilities.contains(Capabilities::OPTIONAL_RESULTSET_METADATA));
    assert_eq!(mysql.encode(), bytes(MYSQL));
}

#[test]
fn a_server_may_refuse_before_it_greets() {
    let refusal = b"\xff\x10\x04Too many connections";
    let Ok(ServerHello::Err(error)) = ServerHello::parse(refusal) else { panic!() };
    assert_eq!((error.code, error.sqlstate, &error.message[..]), (1040, None, &b"Too many connections"[..]));
    assert!(matches!(ServerHello::parse(&bytes(MYSQL)), Ok(ServerHello::Greeting(_))));
    assert!(ServerHello::parse(b"").is_err());
    assert!(ServerHello::parse(b"\x09").is_err());
}

#[test]
fn truncated_greetings_are_malformed() {
    let whole = bytes(MYSQL);
    let needed = whole.len() - CACHING_SHA2_PASSWORD.len() - 1;
    for len in 0..needed {
        assert!(Greeting::parse(&whole[..len]).is_err(), "{len}");
    }
    assert!(Greeting::parse(&whole[..whole.len() - 1]).is_ok(), "old servers forget the last NUL");
}

fn login() -> Login {
    Login {
        capabilities: Capabilities::PROTOCOL_41
            | Capabilities::SECURE_CONNECTION
            | Capabilities::LONG_PASSWORD,
        max_packet_size: 1 << 24,
        collation: 45,
        user: b"me".to_vec(),
        auth_response: b"0123456789abcdef0123".to_vec(),
        database: None,
        auth_plugin: None,
        attributes: None,
        zstd_level: None,
    }
}

#[test]
fn a_login_says_which_fields_it_has() {
    let full = Login {
        database: Some(b"db".to_vec()),
        auth_plugin: Some(b"p".to_vec()),
        attributes: Some(b"\x01a\x01b".to_vec()),
        zstd_level: Some(3),
        ..login()
    };
    let read = Login::parse(&full.encode()).unwrap();
    let fields = Capabilities::CONNECT_WITH_DB
        | Capabilities::PLUGIN_AUTH
        | Capabilities::CONNECT_ATTRS
        | Capabilities::ZSTD_COMPRESSION_ALGORITHM;
    assert_eq!(read, Login { capabilities: full.capabilities | fields, ..full });
    let bare = Login { capabilities: login().capabilities | fields, ..login() };
    assert_eq!(Login::parse(&bare.encode()).unwrap(), login());
}

#[test]
fn a_login_as_a_client_sent_it() {
    let payload = b"\x0d\xa2\x0a\x00\x00\x00\x00\x01\x2d\
        \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0root\0\x03abctest\0mysql_native_password\0";
    let read = Login::parse(payload).unwrap();
    assert_eq!((&read.user[..], &read.auth_response[..]), (&b"root"[..], &b"abc"[..]));
    assert_eq!(read.database.as_deref(), Some(&b"test"[..]));
    assert_eq!(read.auth_plugin.as_deref(), Some(MYSQL_NATIVE_PASSWORD.as_bytes()));
    assert_eq!(read.encode(), payload);
    let unterminated = Login::parse(&payload[..payload.len() - 1]).unwrap();
    assert_eq!(unterminated, read, "the last NUL may be missing");
}

#[test]
fn long_responses_take_the_form_that_holds_them() {
    let long = Login { auth_response: vec![7; 300], ..login() };
    let read = Login::parse(&long.encode()).unwrap();
    assert_eq!(read.auth_response, long.auth_response);
    let response_only = Login { capabilities: Capabilities::PROTOCOL_41, ..login() };
    assert_eq!(Login::parse(&response_only.encode()).unwrap().auth_response, login().auth_response);
}

#[test]
fn extended_capabilities_count_only_without_mysqls_first_flag() {
    let mut mariadb = login();
    mariadb.capabilities = Capabilities::PROTOCOL_41
        | Capabilities::SECURE_CONNECTION
        | Capabilities::MARIADB_CACHE_METADATA
        | Capabilities::MARIADB_PROGRESS;
    assert_eq!(Login::parse(&mariadb.encode()).unwrap(), mariadb);
    mariadb.capabilities |= Capabilities::LONG_PASSWORD;
    assert_eq!(Login::parse(&mariadb.encode()).unwrap().capabilities.extended(), 0);
}

#[test]
fn a_wish_for_tls_is_a_login_without_its_body() {
    let wish = SslRequest {
        capabilities: Capabilities::PROTOCOL_41 | Capabilities::SSL,
        max_packet_size: 1000,
        collation: 8,
    };
    assert_eq!(wish.encode().len(), 32);
    assert_eq!(ClientHello::parse(&wish.encode()), Ok(ClientHello::Ssl(wish.clone())));
    assert_eq!(SslRequest::parse(&wish.encode()), Ok(wish.clone()));
    let no_wish = SslRequest { capabilities: Capabilities::PROTOCOL_41, ..wish };
    assert!(ClientHello::parse(&no_wish.encode()).is_err());
    assert!(ClientHello::parse(&[0; 32]).is_err(), "before 4.1");
    assert_eq!(ClientHello::parse(&login().encode()), Ok(ClientHello::Login(login())));
}

#[test]
fn a_change_of_user_ends_where_its_packet_ends() {
    let caps = Capabilities::SECURE_CONNECTION | Capabilities::PLUGIN_AUTH | Capabilities::CONNECT_ATTRS;
    let full = ChangeUser {
        user: b"me".to_vec(),
        auth_response: b"proof".to_vec(),
        database: b"db".to_vec(),
        collation: Some(255),
        auth_plugin: Some(b"plugin".to_vec()),
        attributes: Some(b"\x01a\x01b".to_vec()),
    };
    let payload = full.encode(caps);
    assert_eq!(payload[0], 17);
    assert_eq!(ChangeUser::parse(&payload[1..], caps), Ok(full.clone()));
    let short = ChangeUser { collation: None, auth_plugin: None, attributes: None, ..full };
    assert_eq!(ChangeUser::parse(&short.encode(caps)[1..], caps), Ok(short));
    assert!(ChangeUser::parse(b"me\0\x09proof", caps).is_err());
}

#[test]
fn answers_to_logins() {
    assert_eq!(AuthReply::parse(b"\0\0\0\x02\0\0\0"), Ok(AuthReply::Ok(b"\0\0\0\x02\0\0\0")));
    assert_eq!(AuthReply::parse(b"\xff\x15\x04#28000no"), Ok(AuthReply::Err(b"\xff\x15\x04#28000no")));
    assert_eq!(AuthReply::parse(&auth_more(&[4])), Ok(AuthReply::More(&[4])));
    assert_eq!(AuthReply::parse(b"\xfe"), Ok(AuthReply::OldSwitch));
    let switch = auth_switch(MYSQL_NATIVE_PASSWORD, b"01234567890123456789");
    let Ok(AuthReply::Switch { plugin, data }) = AuthReply::parse(&switch) else { panic!() };
    assert_eq!(plugin, MYSQL_NATIVE_PASSWORD.as_bytes());
    assert_eq!(data, b"01234567890123456789\0");
    assert_eq!(scramble_in(data).as_ref(), Some(b"01234567890123456789"));
    assert_eq!(scramble_in(&data[..20]).as_ref(), Some(b"01234567890123456789"));
    assert_eq!(scramble_in(&data[..19]), None);
    assert_eq!(scramble_in(b"01234567890123456789x"), None);
    assert!(AuthReply::parse(b"").is_err());
    assert!(AuthReply::parse(b"\x02").is_err());
    assert!(AuthReply::parse(b"\xfeno NUL").is_err());
}

#[test]
fn secrets_stay_out_of_debug_output() {
    let shown = format!("{:?}", Login { auth_response: b"hunter2".to_vec(), ..login() });
    assert!(shown.contains("me") && !shown.contains("hunter2") && !shown.contains("104, 117"));
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(1..=u8::MAX, 0..30)
}

fn any_login() -> impl Strategy<Value = Login> {
    let optional = || prop::option::of(name());
    let head = (any::<u64>(), any::<u32>(), any::<u8>());
    (
        head,
        name(),
        prop::collection::vec(any::<u8>(), 0..300),
        (optional(), optional(), optional()),
        any::<Option<u8>>(),
    )
        .prop_map(
            |(
                (caps, max, collation),
                user,
                auth_response,
                (database, auth_plugin, attributes),
                zstd_level,
            )| Login {
                capabilities: Capabilities::from_bits_retain(caps) | Capabilities::PROTOCOL_41,
                max_packet_size: max,
                collation,
                user,
                auth_response,
                database,
                auth_plugin,
                attributes,
                zstd_level,
            },
        )
}

proptest! {
    #[test]
    fn logins_come_back(login in any_login()) {
        let read = Login::parse(&login.encode()).unwrap();
        let same = Login { capabilities: read.capabilities, ..login.clone() };
        prop_assert_eq!(&read, &same);
        prop_assert_eq!(read.encode(), login.encode());
        prop_assert_eq!(ClientHello::parse(&login.encode()), Ok(ClientHello::Login(read)));
    }

    #[test]
    fn cut_or_random_packets_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        login in any_login(),
        cut in any::<prop::sample::Index>(),
        caps in any::<u64>(),
    ) {
        let encoded = login.encode();
        for bytes in [&bytes[..], &encoded[..cut.index(encoded.len())]] {
            let _ = ServerHello::parse(bytes);
            let _ = Greeting::parse(bytes);
            let _ = ClientHello::parse(bytes);
            let _ = Login::parse(bytes);
            let _ = AuthReply::parse(bytes);
            let _ = ChangeUser::parse(bytes, Capabilities::from_bits_retain(caps));
        }
    }

    #[test]
    fn greetings_mutated_in_one_byte_never_panic(at in any::<prop::sample::Index>(), to in any::<u8>()) {
        for whole in [MARIADB, MYSQL] {
            let mut payload = bytes(whole);
            let at = at.index(payload.len());
            payload[at] = to;
            let _ = ServerHello::parse(&payload);
        }
    }
}
