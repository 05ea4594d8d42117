//! A statement as a packet.

/// The command COM_QUERY.
const QUERY: u8 = 3;
/// The command COM_QUIT.
pub const QUIT: u8 = 1;

/// A COM_QUERY packet in the place of what was there.
pub fn query_packet(packet: &mut Vec<u8>, question: &str) {
    packet.clear();
    put_command(packet, QUERY, question);
}

/// Appends a packet of any command; questions here are far below the size that would split it.
pub fn put_command(packet: &mut Vec<u8>, command: u8, text: &str) {
    let [a, b, c, ..] = (text.len() + 1).to_le_bytes();
    packet.extend([a, b, c, 0, command]);
    packet.extend(text.as_bytes());
}
