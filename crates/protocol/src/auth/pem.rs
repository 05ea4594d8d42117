//! The one PEM block that is exchanged: a public key.

const BEGIN: &str = "-----BEGIN PUBLIC KEY-----";
const END: &str = "-----END PUBLIC KEY-----";
const LINE_LEN: usize = 64;
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns the key's PEM block, lines of 64 characters as OpenSSL writes them.
pub(super) fn encode(der: &[u8]) -> String {
    let text: Vec<char> = der.chunks(3).flat_map(encode_group).collect();
    let mut out = String::from(BEGIN);
    for line in text.chunks(LINE_LEN) {
        out.push('\n');
        out.extend(line);
    }
    out.push('\n');
    out.push_str(END);
    out.push('\n');
    out
}

/// Encodes up to three bytes as four characters.
fn encode_group(group: &[u8]) -> [char; 4] {
    let bits = group.iter().enumerate().fold(0u32, |bits, (i, &byte)| bits | u32::from(byte) << (16 - 8 * i));
    std::array::from_fn(|i| {
        let sextet = (bits >> (18 - 6 * i)) as usize & 0x3F;
        if i <= group.len() { char::from(ALPHABET[sextet]) } else { '=' }
    })
}

/// Returns the bytes of the first public key in a PEM text; None if there is none.
pub(super) fn decode(pem: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(pem).ok()?;
    let (_, after) = text.split_once(BEGIN)?;
    let (body, _) = after.split_once(END)?;
    let mut out = Vec::with_capacity(body.len() / 4 * 3);
    let (mut bits, mut held) = (0u32, 0);
    for byte in body.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=') {
        bits = bits << 6 | sextet(byte)?;
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    Some(out)
}

/// Returns a character's six bits.
fn sextet(byte: u8) -> Option<u32> {
    ALPHABET.iter().position(|&known| known == byte).and_then(|at| u32::try_from(at).ok())
}
