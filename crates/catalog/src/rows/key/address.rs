//! MariaDB's UUID, INET4 and INET6.

use std::net::{Ipv4Addr, Ipv6Addr};

/// A UUID as it is usually written has so many characters, and hyphens at these places.
const UUID_CHARS: usize = 36;
const UUID_HYPHENS: [usize; 4] = [8, 13, 18, 23];

/// Returns the bytes of a UUID in its usual form. `None`: another form, which is undecided.
pub(super) fn uuid_of_text(text: &[u8]) -> Option<Vec<u8>> {
    let is_hyphen = |at: &usize| UUID_HYPHENS.contains(at);
    let has_form = text.len() == UUID_CHARS && UUID_HYPHENS.iter().all(|at| text.get(*at) == Some(&b'-'));
    let digits: Option<Vec<u8>> = text
        .iter()
        .enumerate()
        .filter(|(at, _)| !is_hyphen(at))
        .map(|(_, byte)| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect();
    let digits = digits.filter(|_| has_form)?;
    let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    Some(uuid_of_field(&bytes))
}

/// Returns the bytes of a UUID that are not 0, in ascending order: some versions of UUIDs are stored with their parts in another order.
pub(super) fn uuid_of_field(bytes: &[u8]) -> Vec<u8> {
    let mut sorted: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
    sorted.sort_unstable();
    sorted
}

/// Returns the bytes of an address of this length.
pub(super) fn address_of_text(bytes: u8, text: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok()?;
    let address = match bytes {
        4 => text.parse::<Ipv4Addr>().ok()?.octets().to_vec(),
        _ => text.parse::<Ipv6Addr>().ok()?.octets().to_vec(),
    };
    Some(without_zeros(&address).to_vec())
}

/// Returns the bytes without the zeros at the end, which the binlog leaves out.
pub(super) fn without_zeros(bytes: &[u8]) -> &[u8] {
    let len = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    &bytes[..len]
}
