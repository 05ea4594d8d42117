//! Looking words up in static sets.

/// The longest word that any set holds, in bytes.
const WORD_LEN_MAX: usize = 48;

/// A word in upper case, without allocating; None if it is longer than any known word, or not ASCII.
pub(crate) struct Upper {
    bytes: [u8; WORD_LEN_MAX],
    len: usize,
}

impl Upper {
    pub fn of(word: &[u8]) -> Option<Self> {
        let mut bytes = [0; WORD_LEN_MAX];
        let target = bytes.get_mut(..word.len())?;
        if !word.is_ascii() {
            return None;
        }
        target.copy_from_slice(word);
        target.make_ascii_uppercase();
        Some(Upper { bytes, len: word.len() })
    }

    pub fn as_str(&self) -> &str {
        self.bytes.get(..self.len).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

/// Whether a text begins with the letters of SELECT, which no other statement begins with.
pub(crate) fn begins_as_select(text: &[u8]) -> bool {
    text.get(..3).is_some_and(|first| first.eq_ignore_ascii_case(b"SEL"))
}

/// Sets up to this size are searched one by one: most words differ from all of them in length, which is one comparison each.
const FEW: usize = 24;

/// Whether `word`, in any case, is in `sorted`, which holds upper-case words in order.
#[inline]
pub(crate) fn is_in(word: &[u8], sorted: &[&str]) -> bool {
    if sorted.len() <= FEW {
        return sorted.iter().any(|it| it.len() == word.len() && word.eq_ignore_ascii_case(it.as_bytes()));
    }
    Upper::of(word).is_some_and(|upper| sorted.binary_search(&upper.as_str()).is_ok())
}
