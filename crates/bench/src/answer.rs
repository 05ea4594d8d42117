//! Finds the end of an answer by its packet headers.

use freshet_protocol::HEADER_LEN;

/// EOF packets are shorter than this; a row that begins with the same byte is not.
pub const EOF_BYTES_MAX: usize = 9;

/// How far an answer has been walked. What is expected: OK, ERR, or one result set without DEPRECATE_EOF.
#[derive(Debug, Default)]
pub struct Walk {
    /// Whether the first packet has been seen.
    begun: bool,
    /// EOF packets seen.
    eofs: u8,
}

/// What a walk has come to.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// This many bytes were walked, and more are needed.
    More(usize),
    /// The answer ends after this many bytes.
    End(usize),
    /// The answer is an error, whose packet begins here.
    Err(usize),
}

impl Walk {
    /// Walks the whole packets at the front of what was read.
    pub fn step(&mut self, read: &[u8]) -> Step {
        let mut at = 0;
        while let Some(&[a, b, c, _]) = read.get(at..at + HEADER_LEN) {
            let len = u32::from_le_bytes([a, b, c, 0]) as usize;
            let end = at + HEADER_LEN + len;
            if read.len() < end {
                break;
            }
            match (self.begun, read.get(at + HEADER_LEN).copied().unwrap_or(0)) {
                (_, 0xff) => return Step::Err(at),
                (false, 0x00) => return Step::End(end),
                (true, 0xfe) if len < EOF_BYTES_MAX => self.eofs += 1,
                _ => {}
            }
            self.begun = true;
            at = end;
            if self.eofs == 2 {
                return Step::End(at);
            }
        }
        Step::More(at)
    }
}

#[cfg(test)]
mod tests;
