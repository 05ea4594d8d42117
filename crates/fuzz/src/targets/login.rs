//! The handshake, both ways: what is read and written again is read as the same.

use freshet_protocol::{
    AuthReply, Capabilities, ChangeUser, ClientHello, Greeting, Login, ServerHello, rsa, scramble_in,
};

use crate::input::{head, unhex};
use crate::target::{Outcome, Target, behaviour, hold};

/// The target.
pub static TARGET: Target = Target {
    name: "login",
    promise: "greetings, logins and changes of user that are read and written again are read as the same",
    is_text: false,
    seeds,
    check,
};

/// As MariaDB 10.11 and MySQL 9.7 greeted.
const GREETINGS: [&str; 2] = [
    "0a352e352e352d31302e31312e31392d4d6172696144422d302b646562313275312d6c6f6700180000006730553d6e355d5200fef7080200ff\
     81150000000000001d000000662b3f3d51617547435b7c23006d7973716c5f6e61746976655f70617373776f726400",
    "0a392e372e342d320017000000261655567b4e4d2500ffffff0200ffdf15000000000000000000005d69251f385008415c3c4d130063616368\
     696e675f736861325f70617373776f726400",
];

/// Eight bytes of capabilities for the change of user, then the packet.
fn seeds() -> Vec<Vec<u8>> {
    let basic = Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION;
    let rich = basic | Capabilities::PLUGIN_AUTH | Capabilities::CONNECT_ATTRS | Capabilities::LONG_PASSWORD;
    let login = |capabilities: Capabilities| Login {
        capabilities,
        max_packet_size: 1 << 24,
        collation: 45,
        user: b"me".to_vec(),
        auth_response: b"0123456789abcdef0123".to_vec(),
        database: Some(b"shop".to_vec()),
        auth_plugin: Some(b"mysql_native_password".to_vec()),
        attributes: Some(b"\x04_pid\x03123".to_vec()),
        zstd_level: capabilities.contains(Capabilities::ZSTD_COMPRESSION_ALGORITHM).then_some(3),
    };
    let change = ChangeUser {
        user: b"me".to_vec(),
        auth_response: b"0123".to_vec(),
        database: b"shop".to_vec(),
        collation: Some(45),
        auth_plugin: Some(b"caching_sha2_password".to_vec()),
        attributes: Some(b"\x01a\x01b".to_vec()),
    };
    let with = |caps: Capabilities, packet: Vec<u8>| [caps.bits().to_le_bytes().to_vec(), packet].concat();
    let mut all: Vec<Vec<u8>> = GREETINGS.iter().map(|greeting| with(rich, unhex(greeting))).collect();
    for caps in [basic, rich, rich | Capabilities::SSL | Capabilities::ZSTD_COMPRESSION_ALGORITHM] {
        let packet = login(caps).encode();
        all.push(with(caps, packet[..32].to_vec()));
        all.push(with(caps, packet));
        all.push(with(caps, change.encode(caps)[1..].to_vec()));
    }
    all.push(with(rich, b"\xfemysql_native_password\x0001234567890123456789\0".to_vec()));
    all.push(with(rich, b"\xff\x10\x04#08004Too many connections".to_vec()));
    all.push(with(rich, b"-----BEGIN PUBLIC KEY-----\nMIIBIjANBg==\n-----END PUBLIC KEY-----\n".to_vec()));
    all
}

fn check(input: &[u8]) -> Outcome {
    let (caps, packet) = head::<8>(input);
    let caps = Capabilities::from_bits_retain(u64::from_le_bytes(caps));
    let hello = ClientHello::parse(packet);
    login(packet)?;
    change_user(packet, caps)?;
    let greeted = greeting(packet)?;
    let _ = (ServerHello::parse(packet), AuthReply::parse(packet), scramble_in(packet));
    let _ = rsa::encrypt(packet, b"secret");
    let hello = match hello {
        Ok(ClientHello::Ssl(_)) => 1,
        Ok(ClientHello::Login(login)) => 2 + (login.encode().len() % 64) as u64,
        Err(error) => behaviour(error.what),
    };
    Ok(behaviour((hello, greeted, packet.first().copied().unwrap_or_default() & 0x80)))
}

/// The fields without the capabilities, which writing makes agree with them.
fn login(packet: &[u8]) -> Outcome {
    let Ok(read) = Login::parse(packet) else { return Ok(0) };
    let written = read.encode();
    let again = Login::parse(&written);
    let fields = |login: &Login| {
        let mut fields = login.clone();
        fields.capabilities = Capabilities::empty();
        fields
    };
    let same = again.as_ref().is_ok_and(|again| fields(again) == fields(&read));
    hold!(same, "a login that is written again is the same", "{read:?}, then {again:?}");
    let stable = again.as_ref().is_ok_and(|again| again.encode() == written);
    hold!(stable, "a login is written the same twice", "{read:?}");
    Ok(0)
}

fn change_user(packet: &[u8], caps: Capabilities) -> Outcome {
    let Ok(read) = ChangeUser::parse(packet, caps) else { return Ok(0) };
    let written = read.encode(caps);
    hold!(written.first() == Some(&17), "a change of user starts with its command", "{written:?}");
    let again = ChangeUser::parse(&written[1..], caps);
    // What the packet's end cut off may be there and empty afterwards.
    let filled = |field: &Option<Vec<u8>>| field.clone().unwrap_or_default();
    let parts = |it: &ChangeUser| {
        let named =
            it.collation.map(|collation| (collation, filled(&it.auth_plugin), filled(&it.attributes)));
        (it.user.clone(), it.auth_response.clone(), it.database.clone(), named)
    };
    // A name without its NUL, cut by the packet's end, may hold none in the middle: it is compared as it is written.
    let same = again.as_ref().is_ok_and(|again| parts(again) == parts(&read));
    hold!(same, "a change of user that is written again is the same", "{read:?}, then {again:?}");
    Ok(0)
}

fn greeting(packet: &[u8]) -> Outcome {
    let Ok(mut read) = Greeting::parse(packet) else { return Ok(0) };
    // Without the capability, the name is not written.
    if !read.capabilities.contains(Capabilities::PLUGIN_AUTH) {
        read.auth_plugin.clear();
    }
    let again = Greeting::parse(&read.encode());
    hold!(
        again.as_ref() == Ok(&read),
        "a greeting that is written again is the same",
        "{read:?}, then {again:?}"
    );
    Ok(behaviour(read.auth_plugin.len()))
}
