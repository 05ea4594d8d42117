//! Letters beyond ASCII, in a form that tells apart no more than any collation does.
//!
//! A collation without a language's own rules compares texts by the weights of their characters. Here each known character becomes one or
//! more characters that stand for all characters with its weights in any of these collations: `É` and `e` are both `e`, and `æ` is `ae`.
//! So texts that are equal to the servers are equal here. A text with any other character has no such form: it may be equal to anything,
//! as a ligature is, or to the text without that character, as with a combining accent.
//!
//! `tests/letters.rs` asks real servers about every character and every pair of letters here.

/// U+00C0 to U+017F.
#[rustfmt::skip]
const LATIN: [&str; 192] = [
    "a", "a", "a", "a", "a", "a", "ae", "c", "e", "e", "e", "e", "i", "i", "i", "i",
    "d", "n", "o", "o", "o", "o", "o", "", "o", "u", "u", "u", "u", "y", "þ", "",
    "a", "a", "a", "a", "a", "a", "ae", "c", "e", "e", "e", "e", "i", "i", "i", "i",
    "d", "n", "o", "o", "o", "o", "o", "", "o", "u", "u", "u", "u", "y", "þ", "y",
    "a", "a", "a", "a", "a", "a", "c", "c", "c", "c", "c", "c", "c", "c", "d", "d",
    "d", "d", "e", "e", "e", "e", "e", "e", "e", "e", "e", "e", "g", "g", "g", "g",
    "g", "g", "g", "g", "h", "h", "h", "h", "i", "i", "i", "i", "i", "i", "i", "i",
    "i", "i", "ij", "ij", "j", "j", "k", "k", "", "l", "l", "l", "l", "l", "l", "",
    "", "l", "l", "n", "n", "n", "n", "n", "n", "", "n", "n", "o", "o", "o", "o",
    "o", "o", "oe", "oe", "r", "r", "r", "r", "r", "r", "s", "s", "s", "s", "s", "s",
    "s", "s", "t", "t", "t", "t", "t", "t", "u", "u", "u", "u", "u", "u", "u", "u",
    "u", "u", "u", "u", "w", "w", "y", "y", "y", "z", "z", "z", "z", "z", "z", "s",
];

/// U+0386 to U+03CE.
#[rustfmt::skip]
const GREEK: [&str; 73] = [
    "α", "", "ε", "η", "ι", "", "ο", "", "υ", "ω", "ι", "α", "β", "γ", "δ", "ε",
    "ζ", "η", "θ", "ι", "κ", "λ", "μ", "ν", "ξ", "ο", "π", "ρ", "", "σ", "τ", "υ",
    "φ", "χ", "ψ", "ω", "ι", "υ", "α", "ε", "η", "ι", "υ", "α", "β", "γ", "δ", "ε",
    "ζ", "η", "θ", "ι", "κ", "λ", "μ", "ν", "ξ", "ο", "π", "ρ", "σ", "σ", "τ", "υ",
    "φ", "χ", "ψ", "ω", "ι", "υ", "ο", "υ", "ω",
];

/// U+0400 to U+045F.
#[rustfmt::skip]
const CYRILLIC: [&str; 96] = [
    "е", "е", "ђ", "г", "є", "ѕ", "і", "і", "ј", "љ", "њ", "ћ", "к", "и", "у", "џ",
    "а", "б", "в", "г", "д", "е", "ж", "з", "и", "и", "к", "л", "м", "н", "о", "п",
    "р", "с", "т", "у", "ф", "х", "ц", "ч", "ш", "щ", "ъ", "ы", "ь", "э", "ю", "я",
    "а", "б", "в", "г", "д", "е", "ж", "з", "и", "и", "к", "л", "м", "н", "о", "п",
    "р", "с", "т", "у", "ф", "х", "ц", "ч", "ш", "щ", "ъ", "ы", "ь", "э", "ю", "я",
    "е", "е", "ђ", "г", "є", "ѕ", "і", "і", "ј", "љ", "њ", "ћ", "к", "и", "у", "џ",
];

/// U+3041 to U+3096; U+30A1 to U+30F6 are the same sounds.
#[rustfmt::skip]
const KANA: [&str; 86] = [
    "あ", "あ", "い", "い", "う", "う", "え", "え", "お", "お", "か", "か", "き", "き", "く", "く",
    "け", "け", "こ", "こ", "さ", "さ", "し", "し", "す", "す", "せ", "せ", "そ", "そ", "た", "た",
    "ち", "ち", "つ", "つ", "つ", "て", "て", "と", "と", "な", "に", "ぬ", "ね", "の", "は", "は",
    "は", "ひ", "ひ", "ひ", "ふ", "ふ", "ふ", "へ", "へ", "へ", "ほ", "ほ", "ほ", "ま", "み", "む",
    "め", "も", "や", "や", "ゆ", "ゆ", "よ", "よ", "ら", "り", "る", "れ", "ろ", "わ", "わ", "ゐ",
    "ゑ", "を", "ん", "う", "か", "け",
];

/// The unified ideographs, each of which is equal to itself alone.
const IDEOGRAPHS: std::ops::RangeInclusive<u32> = 0x4E00..=0x9FFF;

/// The first Hangul syllable and the last: each is made of two or three letters, which have weights of their own.
const SYLLABLES: std::ops::RangeInclusive<u32> = 0xAC00..=0xD7A3;
/// The number of vowels, and of endings, the empty ending included.
const VOWELS: u32 = 21;
const ENDINGS: u32 = 28;

/// Returns the coarser form of a text; `None` if the text has a character that is neither printable ASCII nor in these lists.
pub(in crate::rows) fn coarse(text: &str) -> Option<String> {
    let mut coarse = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            ' '..='~' => coarse.push(char.to_ascii_lowercase()),
            _ => add(u32::from(char), &mut coarse)?,
        }
    }
    Some(coarse)
}

fn add(code: u32, coarse: &mut String) -> Option<()> {
    if IDEOGRAPHS.contains(&code) {
        coarse.push(char::from_u32(code)?);
        return Some(());
    }
    if SYLLABLES.contains(&code) {
        let syllable = code - SYLLABLES.start();
        let (first, vowel) = (syllable / ENDINGS / VOWELS, syllable / ENDINGS % VOWELS);
        coarse.push(char::from_u32(0x1100 + first)?);
        coarse.push(char::from_u32(0x1161 + vowel)?);
        let ending = syllable % ENDINGS;
        coarse.extend((ending > 0).then(|| char::from_u32(0x11A7 + ending)).flatten());
        return Some(());
    }
    let tables: [(u32, &[&str]); 5] =
        [(0xC0, &LATIN), (0x386, &GREEK), (0x400, &CYRILLIC), (0x3041, &KANA), (0x30A1, &KANA)];
    let cell = |(first, table): (u32, &'static [&'static str])| {
        table.get(usize::try_from(code.checked_sub(first)?).ok()?).copied()
    };
    let letters = tables.into_iter().find_map(cell).filter(|letters| !letters.is_empty())?;
    coarse.push_str(letters);
    Some(())
}
