//! Character sets of clients whose characters have one to four bytes. Only the first byte of a longer character is certainly beyond
//! ASCII.

/// The rules by which the bytes of a text make characters. UTF-8 needs none of this: each byte of a longer character is beyond ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MultiByte {
    /// `big5`.
    Big5,
    /// `sjis` and `cp932`.
    Sjis,
    /// `gbk`.
    Gbk,
    /// `gb18030`.
    Gb18030,
    /// `euckr`.
    Euckr,
    /// `gb2312`, `ujis` and `eucjpms`: each byte of a longer character is beyond ASCII.
    Euc,
}

impl MultiByte {
    /// Every one of them, with the names that the servers know them by.
    const NAMED: [(&str, MultiByte); 9] = [
        ("big5", MultiByte::Big5),
        ("cp932", MultiByte::Sjis),
        ("eucjpms", MultiByte::Euc),
        ("euckr", MultiByte::Euckr),
        ("gb18030", MultiByte::Gb18030),
        ("gb2312", MultiByte::Euc),
        ("gbk", MultiByte::Gbk),
        ("sjis", MultiByte::Sjis),
        ("ujis", MultiByte::Euc),
    ];

    /// Returns the rules of the character set of this name; `None` for any other character set.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::NAMED.into_iter().find(|(known, _)| *known == name).map(|(_, kind)| kind)
    }

    /// Returns the number of bytes of the character with which `text` begins. As for the servers, it is one if the bytes behind the first
    /// do not belong to it. In [`MultiByte::Euc`] it is always one, since no byte with a meaning in a text can be part of a character.
    #[must_use]
    pub fn len(self, text: &[u8]) -> usize {
        match (self, text) {
            (MultiByte::Gb18030, [0x81..=0xFE, b'0'..=b'9', 0x81..=0xFE, b'0'..=b'9', ..]) => 4,
            (MultiByte::Big5, [0xA1..=0xF9, 0x40..=0x7E | 0xA1..=0xFE, ..])
            | (MultiByte::Sjis, [0x81..=0x9F | 0xE0..=0xFC, 0x40..=0x7E | 0x80..=0xFC, ..])
            | (MultiByte::Gbk | MultiByte::Gb18030, [0x81..=0xFE, 0x40..=0x7E | 0x80..=0xFE, ..])
            | (MultiByte::Euckr, [0x81..=0xFE, b'A'..=b'Z' | b'a'..=b'z' | 0x81..=0xFE, ..]) => 2,
            _ => 1,
        }
    }

    /// Returns a number that only this variant has, above zero.
    pub(crate) const fn tag(self) -> u8 {
        self as u8 + 1
    }
}

#[cfg(test)]
mod tests {
    use super::MultiByte;

    #[test]
    fn a_byte_of_ascii_belongs_to_a_character_where_the_server_says_so() {
        for (name, text, len) in [
            ("gbk", &b"\x81\\'"[..], 2),
            ("gbk", b"\x81'", 1),
            ("gbk", b"\x80\\", 1),
            ("gbk", b"\x81", 1),
            ("gbk", b"a\\", 1),
            ("sjis", b"\x95\\", 2),
            ("cp932", b"\x95\\", 2),
            ("sjis", b"\xb1\\", 1),
            ("big5", b"\xa4\\", 2),
            ("big5", b"\x81\\", 1),
            ("euckr", b"\xb0\\", 1),
            ("euckr", b"\xb0a", 2),
            ("gb18030", b"\x81\\", 2),
            ("gb18030", b"\x810\x810\\", 4),
            ("gb18030", b"\x810\x81\\", 1),
            ("gb2312", b"\xb0\\", 1),
            ("ujis", b"\x8f\\", 1),
        ] {
            assert_eq!(MultiByte::of_name(name).unwrap().len(text), len, "{name} {text:?}");
        }
        for other in ["utf8mb4", "latin1", "swe7", "utf16", ""] {
            assert_eq!(MultiByte::of_name(other), None, "{other}");
        }
    }
}
