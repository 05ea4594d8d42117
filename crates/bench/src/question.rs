//! A statement as a packet.

/// The command COM_QUERY.
const QUERY: u8 = 3;
/// The command COM_QUIT.
pub const QUIT: u8 = 1;

/// Writes a COM_QUERY packet in place of the buffer's content.
pub fn query_packet(packet: &mut Vec<u8>, question: &str) {
    packet.clear();
    put_command(packet, QUERY, question);
}

/// Appends a packet of any command. The texts here are far below the size at which a packet is split.
pub fn put_command(packet: &mut Vec<u8>, command: u8, text: &str) {
    let [a, b, c, ..] = (text.len() + 1).to_le_bytes();
    packet.extend([a, b, c, 0, command]);
    packet.extend(text.as_bytes());
}
