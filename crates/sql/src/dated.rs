//! Whether an answer may depend on the current date without naming it. Where a TIME is taken as a date and time, the servers complete it
//! with the day of the question (MySQL, "Conversion Between Date and Time Types"; MariaDB does the same). `t.at = t.day`, `CAST(t.at AS
//! DATETIME)` and `t.at UNION t.day` are such conversions. After midnight the answer is another one, and no binlog tells of that.
//!
//! Names, and the functions that make a TIME, tell where a TIME stands. Each such place is known to be harmless, or the statement is
//! *dated*. Harmless are: a TIME by itself (in a list of columns, ORDER BY, GROUP BY), a TIME that is compared with literals, and a TIME
//! as the argument of a function that reads it as it is.

use std::collections::BTreeSet;

use crate::reserved::is_reserved;
use crate::token::{Token, TokenKind};
use crate::tokens::Tokens;

/// Functions that make a TIME.
const MAKE_TIME: [&str; 7] =
    ["TIME", "MAKETIME", "SEC_TO_TIME", "TIMEDIFF", "ADDTIME", "SUBTIME", "STR_TO_DATE"];
/// Functions that make a TIME if their type is TIME.
const MAKE_IF_SAID: [&str; 2] = ["CAST", "CONVERT"];
/// Functions that make a TIME of a TIME.
const HAND_ON: [&str; 3] = ["MIN", "MAX", "ANY_VALUE"];
/// Functions that read a TIME as it is, and make another value of it.
const READ_TIME: [&str; 17] = [
    "COUNT",
    "SUM",
    "AVG",
    "HOUR",
    "MINUTE",
    "SECOND",
    "MICROSECOND",
    "TIME_TO_SEC",
    "TIME_FORMAT",
    "CONCAT",
    "CONCAT_WS",
    "GROUP_CONCAT",
    "CHAR_LENGTH",
    "LENGTH",
    "JSON_ARRAY",
    "JSON_OBJECT",
    "ISNULL",
];
/// Words that bring the columns of two tables together by their names or places.
const UNITE: [&str; 5] = ["UNION", "EXCEPT", "INTERSECT", "MINUS", "NATURAL"];
/// Words by which columns are used that are not named: those that both tables have, and all of a table.
const NAMELESS: [&str; 2] = ["NATURAL", "TABLE"];
/// What may stand before a TIME by itself.
const BEFORE: [&str; 14] = [
    "SELECT",
    "DISTINCT",
    "ALL",
    "BY",
    "WHERE",
    "AND",
    "OR",
    "XOR",
    "NOT",
    "ON",
    "HAVING",
    "SQL_CACHE",
    "SQL_NO_CACHE",
    "SQL_CALC_FOUND_ROWS",
];
/// Reserved words that may stand behind it.
const BEHIND: [&str; 12] =
    ["FROM", "AS", "ASC", "DESC", "LIMIT", "ORDER", "GROUP", "HAVING", "AND", "OR", "XOR", "WITH"];
/// Words behind a value that continue it, and that are not reserved everywhere.
const GOES_ON: [&str; 5] = ["SOUNDS", "MEMBER", "COLLATE", "DIV", "MOD"];
/// Words before a value that take it up, and that are not reserved everywhere.
const TAKE_UP: [&str; 11] =
    ["OF", "DIV", "MOD", "BINARY", "ESCAPE", "THEN", "ELSE", "WHEN", "DISTINCTROW", "AGAINST", "ROW"];
/// The most TIMEs of a text that are looked at; a text with more is dated.
const ATOMS_MAX: usize = 256;
/// The most nested functions that hand a TIME on.
const AROUND_MAX: usize = 16;

impl Tokens<'_> {
    /// Whether an answer may depend on the current date. `times` are the names, in lower case, of the columns of type TIME that the text
    /// may name. The names that the text gives to such columns are added.
    #[must_use]
    pub fn is_dated(&self, times: &mut BTreeSet<String>) -> bool {
        let tokens = self.all();
        let reader = DatedReader::new(self.text, tokens);
        if !times.is_empty() && reader.is_unreadable() {
            return true;
        }
        let has_star = !times.is_empty() && reader.shows_all();
        loop {
            let known = times.len();
            let atoms: Vec<Atom> =
                (0..tokens.len()).filter_map(|at| reader.atom(at, times)).take(ATOMS_MAX + 1).collect();
            if atoms.len() > ATOMS_MAX || (!atoms.is_empty() || has_star) && !reader.is_one_block(&atoms) {
                return true;
            }
            for atom in atoms {
                match reader.place(atom) {
                    AtomPlace::Dated => return true,
                    AtomPlace::Named(alias) => drop(times.insert(alias)),
                    AtomPlace::Harmless => {}
                }
            }
            if times.len() == known {
                return false;
            }
        }
    }

    /// Whether a TIME stands in the text: one of these, or one that a function makes.
    pub(crate) fn names_any(&self, times: &BTreeSet<String>) -> bool {
        let tokens = self.all();
        let reader = DatedReader::new(self.text, tokens);
        (0..tokens.len()).any(|at| reader.atom(at, times).is_some())
    }

    /// Returns the names behind AS in the list of a SELECT, in lower case.
    pub(crate) fn shown_as(&self) -> Vec<String> {
        let tokens = self.all();
        let reader = DatedReader::new(self.text, tokens);
        let outside = |at: &usize| reader.open.get(*at) == Some(&None);
        let list = (0..tokens.len()).filter(outside).take_while(|at| !reader.is_word(*at, &["FROM"]));
        list.filter(|at| reader.is_word(*at, &["AS"])).filter_map(|at| reader.name(at + 1)).collect()
    }
}

/// A TIME in the text: the tokens from here to there.
#[derive(Clone, Copy)]
struct Atom {
    from: usize,
    to: usize,
}

/// The place of a TIME.
enum AtomPlace {
    /// A place where it may be taken as a date and time.
    Dated,
    Harmless,
    /// A place where it gets this name.
    Named(String),
}

struct DatedReader<'a> {
    text: &'a [u8],
    tokens: &'a [Token],
    /// For each parenthesis, its partner.
    other: Vec<usize>,
    /// For each token, the parenthesis that is open there.
    open: Vec<Option<usize>>,
}

impl<'a> DatedReader<'a> {
    fn new(text: &'a [u8], tokens: &'a [Token]) -> Self {
        let mut other = vec![usize::MAX; tokens.len()];
        let (mut open, mut stack) = (Vec::with_capacity(tokens.len()), Vec::new());
        for (at, token) in tokens.iter().enumerate() {
            if token.is(b')')
                && let Some(begun) = stack.pop()
            {
                other[begun] = at;
            }
            open.push(stack.last().copied());
            if token.is(b'(') {
                stack.push(at);
            }
        }
        Self { text, tokens, other, open }
    }

    fn is(&self, at: usize, punct: u8) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is(punct))
    }

    fn is_word(&self, at: usize, words: &[&str]) -> bool {
        self.tokens.get(at).is_some_and(|token| words.iter().any(|word| token.is_word(self.text, word)))
    }

    fn is_literal(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is_literal() || token.kind == TokenKind::Param)
    }

    /// Returns an identifier in lower case, without its quotes.
    fn name(&self, at: usize) -> Option<String> {
        let token = self.tokens.get(at).filter(|token| token.is_name())?;
        let name = String::from_utf8_lossy(token.of(self.text)).to_ascii_lowercase();
        if token.kind == TokenKind::Word {
            return Some(name);
        }
        let quote = name.get(..1)?.to_owned();
        Some(name.get(1..name.len() - 1)?.replace(&quote.repeat(2), &quote))
    }

    /// Whether the text cannot be read: it cannot be cut, uses columns without naming them, or has names that may be equal to others
    /// without being the same bytes.
    fn is_unreadable(&self) -> bool {
        let is_odd = |token: &Token| token.is_name() && !token.of(self.text).is_ascii();
        self.tokens.iter().any(|token| token.kind == TokenKind::Unknown || is_odd(token))
            || (0..self.tokens.len()).any(|at| self.is_word(at, &NAMELESS))
    }

    /// Whether all columns of a table are shown.
    fn shows_all(&self) -> bool {
        (1..self.tokens.len()).any(|at| self.is_star(at))
    }

    fn is_star(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else { return false };
        let behind = self.is(before, b'.') || self.is(before, b',') || self.is_word(before, &BEFORE);
        behind && self.is(at, b'*')
    }

    /// Whether no TIME of one SELECT is a value of another: an EXISTS has no values, and a SELECT in parentheses hands no TIME out if no
    /// TIME stands in it and it does not show all columns.
    fn is_one_block(&self, atoms: &[Atom]) -> bool {
        let of_exists = |at: usize| at >= 2 && self.is(at - 1, b'(') && self.is_word(at - 2, &["EXISTS"]);
        let has_none = |at: usize| {
            let Some(open) = self.open.get(at).copied().flatten() else { return false };
            let close = self.other.get(open).copied().unwrap_or(usize::MAX);
            let stands_in = |from: usize| open < from && from < close;
            close < self.tokens.len()
                && !atoms.iter().any(|atom| stands_in(atom.from))
                && !(open..close).any(|at| self.is_star(at))
        };
        let all = || 0..self.tokens.len();
        let selects = all().filter(|at| self.is_word(*at, &["SELECT"]) && !of_exists(*at));
        let unites = all().any(|at| self.is_word(at, &UNITE));
        selects.filter(|at| unites || !has_none(*at)).count() <= 1
            && !all().any(|at| self.is_word(at, &["WITH"]) && !self.is_word(at + 1, &["ROLLUP"]))
    }

    /// Returns the TIME whose last name, or whose function, is this token.
    fn atom(&self, at: usize, times: &BTreeSet<String>) -> Option<Atom> {
        let token = self.tokens.get(at).filter(|token| token.is_name())?;
        if self.is(at + 1, b'(') {
            let is_type = at > 0 && self.is_word(at - 1, &["AS"]);
            return (!is_type && self.makes_time(at)).then(|| Atom { from: at, to: self.end_of_call(at) });
        }
        // TIME '10:00' and {t '10:00'}.
        let is_literal = self.tokens.get(at + 1).is_some_and(|next| next.kind == TokenKind::Str)
            && (token.is_word(self.text, "TIME")
                || at > 0 && self.is(at - 1, b'{') && token.is_word(self.text, "T"));
        if is_literal {
            return Some(Atom { from: at, to: at + 1 });
        }
        if self.is(at + 1, b'.') || times.is_empty() || !times.contains(&self.name(at)?) || self.is_naming(at)
        {
            return None;
        }
        let mut from = at;
        while from >= 2 && self.is(from - 1, b'.') && self.name(from - 2).is_some() {
            from -= 2;
        }
        Some(Atom { from, to: at })
    }

    /// Whether a value or a table ends before this name, so that it is an alias.
    fn is_naming(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1).and_then(|before| self.tokens.get(before)) else { return false };
        match before.kind {
            TokenKind::Punct(punct) => punct == b')',
            TokenKind::Word if self.is_word(at - 1, &["AS"]) => true,
            TokenKind::Word => !self.is_word(at - 1, &TAKE_UP) && !is_reserved(before.of(self.text)),
            TokenKind::Name => true,
            _ => before.is_literal(),
        }
    }

    /// Whether this is a call that makes a TIME, whatever its arguments.
    fn makes_time(&self, called: usize) -> bool {
        // As a type: CAST(x AS TIME), CONVERT(x, TIME(3)). TIME'10:00' is a value.
        let says_time = || {
            (called + 3..self.end_of_call(called)).any(|at| {
                self.open.get(at) == Some(&Some(called + 1))
                    && self.is_word(at, &["TIME"])
                    && (self.is_word(at - 1, &["AS"]) || self.is(at - 1, b','))
            })
        };
        self.is_word(called, &MAKE_TIME) || self.is_word(called, &MAKE_IF_SAID) && says_time()
    }

    /// Returns the last token of a call; one that is not closed goes on to the end.
    fn end_of_call(&self, called: usize) -> usize {
        let end = self.other.get(called + 1).copied().unwrap_or(usize::MAX);
        end.min(self.tokens.len().saturating_sub(1))
    }

    fn place(&self, mut atom: Atom) -> AtomPlace {
        for _ in 0..AROUND_MAX {
            if self.is_compared(atom) {
                return AtomPlace::Harmless;
            }
            if !self.is_by_itself(atom) {
                return AtomPlace::Dated;
            }
            let Some(open) = self.open.get(atom.from).copied().flatten() else {
                return self.named(atom.to + 1);
            };
            let Some(called) = open.checked_sub(1) else { return AtomPlace::Dated };
            let adds = self.is_word(called, &["TIMESTAMP"]) && self.is(atom.from.wrapping_sub(1), b',');
            if adds || self.is_word(called, &READ_TIME) || self.is_word(called, &["EXISTS"]) {
                return AtomPlace::Harmless;
            }
            if !self.is_word(called, &HAND_ON) && !self.makes_time(called) {
                return AtomPlace::Dated;
            }
            atom = Atom { from: called, to: self.end_of_call(called) };
        }
        AtomPlace::Dated
    }

    /// Whether the place begins a value: no operator, and no BETWEEN … AND, takes it up from before.
    fn begins(&self, from: usize) -> bool {
        let Some(before) = from.checked_sub(1) else { return true };
        if self.is_word(before, &["AND"]) {
            let open = self.open.get(before);
            let end = |at: &usize| {
                self.open.get(*at) == open
                    && self.is_word(*at, &["BETWEEN", "AND", "OR", "XOR", "WHERE", "ON", "HAVING", "WHEN"])
            };
            return !(0..before).rev().find(end).is_some_and(|at| self.is_word(at, &["BETWEEN"]));
        }
        self.is(before, b'(') || self.is(before, b',') || self.is_word(before, &BEFORE)
    }

    /// Whether the TIME is compared with literals, and with nothing else.
    fn is_compared(&self, atom: Atom) -> bool {
        let begins = self.begins(atom.from)
            || atom.from.checked_sub(1).is_some_and(|before| self.is_word(before, &["WHEN"]));
        begins && self.end_of_test(atom.to + 1).is_some_and(|end| self.is_end(end, false))
    }

    /// Returns where a comparison with literals ends that begins here.
    fn end_of_test(&self, at: usize) -> Option<usize> {
        let compares = self.tokens.get(at).is_some_and(|token| {
            matches!(token.of(self.text), b"=" | b"<" | b">" | b"<=" | b">=" | b"<>" | b"!=" | b"<=>")
        });
        if compares {
            return self.is_literal(at + 1).then_some(at + 2);
        }
        if self.is_word(at, &["IS"]) {
            let null = at + 1 + usize::from(self.is_word(at + 1, &["NOT"]));
            return self.is_word(null, &["NULL"]).then_some(null + 1);
        }
        let at = at + usize::from(self.is_word(at, &["NOT"]));
        if self.is_word(at, &["LIKE"]) {
            return self.is_literal(at + 1).then_some(at + 2);
        }
        if self.is_word(at, &["BETWEEN"]) {
            let is_so = self.is_literal(at + 1) && self.is_word(at + 2, &["AND"]) && self.is_literal(at + 3);
            return is_so.then_some(at + 4);
        }
        let to = (self.is_word(at, &["IN"]) && self.is(at + 1, b'(')).then(|| self.end_of_call(at))?;
        let is_so = (at + 2..to).all(|inner| self.is_literal(inner) || self.is(inner, b','));
        is_so.then_some(to + 1)
    }

    /// Whether no value that ends before this place is continued. `or_named`: it may get a name here.
    fn is_end(&self, at: usize, or_named: bool) -> bool {
        let Some(token) = self.tokens.get(at) else { return true };
        match token.kind {
            TokenKind::Punct(punct) => matches!(punct, b')' | b',' | b';'),
            TokenKind::Word if self.is_word(at, &GOES_ON) => false,
            TokenKind::Word if or_named => self.is_word(at, &BEHIND) || !is_reserved(token.of(self.text)),
            TokenKind::Word | TokenKind::Name => true,
            _ => false,
        }
    }

    fn is_by_itself(&self, atom: Atom) -> bool {
        self.begins(atom.from) && self.is_end(atom.to + 1, true)
    }

    /// Returns the place, with the name that the TIME gets there, if it gets one.
    fn named(&self, at: usize) -> AtomPlace {
        let is_said = self.is_word(at, &["AS"]);
        match self.name(at + usize::from(is_said)) {
            Some(_) if !is_said && self.is_word(at, &BEHIND) => AtomPlace::Harmless,
            Some(alias) => AtomPlace::Named(alias),
            // A name that is written as a string.
            None if is_said => AtomPlace::Dated,
            None => AtomPlace::Harmless,
        }
    }
}

#[cfg(test)]
mod tests;
