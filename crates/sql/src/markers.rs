//! The columns with which the markers of a prepared statement are compared.

use crate::lex::Lexer;
use crate::modes::Modes;
use crate::token::{Token, TokenKind};

/// The most tokens of a statement that are looked at.
const TOKENS_MAX: usize = 4096;

/// A marker that stands for a whole value is followed by one of these, or by nothing.
const FOLLOWING: [&str; 15] = [
    "AND", "CROSS", "FOR", "GROUP", "INNER", "JOIN", "LEFT", "LIMIT", "LOCK", "OFFSET", "OR", "ORDER",
    "RIGHT", "UNION", "WHERE",
];
/// A column that is compared by itself is preceded by one of these, or by a parenthesis.
const LEADING: [&str; 5] = ["AND", "NOT", "ON", "OR", "WHERE"];
/// A comparison of more than one character.
const COMPARISONS: [&[u8]; 5] = [b"<=", b">=", b"<>", b"!=", b"<=>"];
/// Words that may give columns and values other names.
const RENAMING: [&str; 6] = ["HAVING", "JSON_TABLE", "LATERAL", "TABLE", "VALUES", "WITH"];
/// What stands behind these may be a column of the result.
const OF_RESULT: [&str; 2] = ["GROUP", "ORDER"];

/// Returns what each marker of `text` is compared with: a column, by its name in lower case, or nothing if it counts rows (`LIMIT ?`).
/// `None` unless every other marker is one whole side of a comparison with a bare column (`a = ?`, `a IN (?, ?)`, `a BETWEEN ? AND ?`).
/// The statement has to be one SELECT, or several that UNION puts together, whose names are those of its tables.
#[must_use]
pub fn compared_markers(text: &[u8], modes: Modes) -> Option<Vec<Option<String>>> {
    let tokens: Vec<Token> = Lexer::new(text, modes).take(TOKENS_MAX + 1).collect();
    let is = |token: &Token, words: &[&str]| words.iter().any(|word| token.is_word(text, word));
    let is_at = |at: Option<usize>, words: &[&str]| at.is_some_and(|at| is(&tokens[at], words));
    let is_in_place = |(at, _): (usize, &Token)| {
        let before = at.checked_sub(1);
        let is_bare = is_at(before, &["UNION"]);
        at == 0 || is_bare || is_at(before, &["ALL", "DISTINCT"]) && is_at(at.checked_sub(2), &["UNION"])
    };
    let selects = tokens.iter().enumerate().filter(|(_, token)| is(token, &["SELECT"]));
    let are_in_place =
        tokens.iter().any(|token| is(token, &["SELECT"])) && selects.into_iter().all(is_in_place);
    let is_plain = tokens.iter().all(|token| token.kind != TokenKind::Unknown && !is(token, &RENAMING));
    if tokens.len() > TOKENS_MAX || !are_in_place || !is_plain || modes.other_syntax {
        return None;
    }
    let reader = Markers { text, tokens: &tokens };
    let markers = (0..tokens.len()).filter(|at| reader.is_marker(*at));
    let of_result = tokens.iter().position(|token| is(token, &OF_RESULT)).unwrap_or(tokens.len());
    let compared = |at| match reader.counts_rows(at) {
        true => Some(None),
        false => reader.compared(at).filter(|_| at < of_result).map(Some),
    };
    markers.map(compared).collect()
}

struct Markers<'a> {
    text: &'a [u8],
    tokens: &'a [Token],
}

impl Markers<'_> {
    fn is_marker(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == TokenKind::Param)
    }

    fn is(&self, at: usize, word: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is_word(self.text, word))
    }

    fn is_punct(&self, at: usize, punct: u8) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is(punct))
    }

    /// Whether the marker at `at` stands for a whole value.
    fn is_whole(&self, at: usize) -> bool {
        self.tokens.get(at + 1).is_none_or(|next| {
            next.is(b')')
                || next.is(b',')
                || next.is(b';')
                || FOLLOWING.iter().any(|word| next.is_word(self.text, word))
        })
    }

    /// Whether the marker at `at` counts rows.
    fn counts_rows(&self, at: usize) -> bool {
        let is_first = |before: usize| self.is(before, "LIMIT") || self.is(before, "OFFSET");
        self.is_whole(at) && (at.checked_sub(1).is_some_and(is_first) || self.is_second_of_limit(at))
    }

    fn is_second_of_limit(&self, at: usize) -> bool {
        let limit = at.checked_sub(3).filter(|limit| self.is(*limit, "LIMIT"));
        limit.is_some() && self.is_punct(at - 1, b',')
    }

    /// Returns the column with which the marker at `at` is compared.
    fn compared(&self, at: usize) -> Option<String> {
        let before = at.checked_sub(1).filter(|_| self.is_whole(at))?;
        let behind_column = self.comparison(before)?;
        let negated = behind_column.checked_sub(1).filter(|not| self.is(*not, "NOT"));
        self.column(negated.unwrap_or(behind_column))
    }

    /// Returns the begin of the comparison whose last token before the marker is at `before`.
    fn comparison(&self, before: usize) -> Option<usize> {
        let token = self.tokens.get(before)?;
        match token.kind {
            TokenKind::Punct(b'=' | b'<' | b'>') => Some(before),
            TokenKind::Op => COMPARISONS.contains(&token.of(self.text)).then_some(before),
            _ if self.is(before, "BETWEEN") => {
                (self.is(before + 2, "AND") && self.is_marker(before + 3)).then_some(before)
            }
            _ if self.is(before, "AND") => {
                let between = before.checked_sub(2)?;
                (self.is_marker(before - 1) && self.is(between, "BETWEEN")).then_some(between)
            }
            TokenKind::Punct(b'(' | b',') => {
                let is_list = |at: &usize| self.is_marker(*at) || self.is_punct(*at, b',');
                let opening = (0..=before).rev().find(|at| !is_list(at))?;
                let closing = (before + 1..self.tokens.len()).find(|at| !is_list(at))?;
                if !self.is_punct(closing, b')') {
                    return None;
                }
                let word = opening.checked_sub(1).filter(|word| self.is(*word, "IN"))?;
                self.is_punct(opening, b'(').then_some(word)
            }
            _ => None,
        }
    }

    /// Whether the token at `at` is the AND of a BETWEEN, to which the comparison belongs then: `x BETWEEN y AND (a = ?)`.
    fn is_of_between(&self, at: usize) -> bool {
        if !self.is(at, "AND") {
            return false;
        }
        let mut depth = 0_usize;
        for before in (0..at).rev() {
            match self.tokens[before].kind {
                TokenKind::Punct(b')') => depth += 1,
                TokenKind::Punct(b'(') if depth == 0 => return false,
                TokenKind::Punct(b'(') => depth -= 1,
                _ if depth > 0 => {}
                _ if self.is(before, "AND") => return false,
                _ if self.is(before, "BETWEEN") => return true,
                _ => {}
            }
        }
        false
    }

    /// Returns the name of the column that ends before `end`, if it stands there by itself.
    fn column(&self, end: usize) -> Option<String> {
        let mut start = end.checked_sub(1)?;
        let name = self.tokens.get(start).filter(|token| token.is_name())?;
        while let Some(qualifier) = start.checked_sub(2).filter(|_| self.is_punct(start - 1, b'.')) {
            self.tokens.get(qualifier).filter(|token| token.is_name())?;
            start = qualifier;
        }
        let before = start.checked_sub(1).filter(|before| !self.is_of_between(*before))?;
        let leading = self.tokens.get(before)?;
        let is_alone = leading.is(b'(') || LEADING.iter().any(|word| leading.is_word(self.text, word));
        let bytes = name.of(self.text);
        let bytes = if name.kind == TokenKind::Name { bytes.get(1..bytes.len() - 1)? } else { bytes };
        let is_plain = bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        let name = std::str::from_utf8(bytes).ok().filter(|_| is_alone && is_plain)?;
        Some(name.to_ascii_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::Flavor;

    /// The columns, with `""` for a marker that counts rows.
    fn compared(text: &str) -> Option<Vec<String>> {
        let markers = compared_markers(text.as_bytes(), Modes::new(Flavor::MySql))?;
        Some(markers.into_iter().map(Option::unwrap_or_default).collect())
    }

    #[test]
    fn markers_beside_a_bare_column() {
        for (text, columns) in [
            ("SELECT d FROM t WHERE id = ?", vec!["id"]),
            ("select d from t where t.Id <=> ? and `v` in (?, ?) limit ?, ?", vec!["id", "v", "v", "", ""]),
            (
                "SELECT d FROM t JOIN u ON u.a = ? WHERE (x >= ? OR y NOT IN (?)) ORDER BY d LIMIT 1 OFFSET ?",
                vec!["a", "x", "y", ""],
            ),
            ("SELECT d FROM t WHERE s.t.v BETWEEN ? AND ? AND NOT w <> ? FOR UPDATE", vec!["v", "v", "w"]),
            ("SELECT DATE(d) FROM t WHERE v NOT BETWEEN ? AND ?;", vec!["v", "v"]),
            ("SELECT d FROM t", vec![]),
            ("SELECT d FROM t WHERE v BETWEEN 1 AND 2 AND w = ?", vec!["w"]),
            (
                "SELECT d FROM t WHERE v BETWEEN (1) AND (2) AND w BETWEEN ? AND ? AND v = ?",
                vec!["w", "w", "v"],
            ),
            ("SELECT d FROM t WHERE v = ? UNION SELECT 1", vec!["v"]),
            (
                "SELECT d FROM t WHERE v = ? UNION ALL SELECT e FROM u WHERE w = ? UNION DISTINCT SELECT 1 LIMIT ?",
                vec!["v", "w", ""],
            ),
        ] {
            assert_eq!(compared(text), Some(columns.into_iter().map(str::to_owned).collect()), "{text}");
        }
    }

    #[test]
    fn markers_elsewhere() {
        for text in [
            "SELECT ? FROM t",
            "SELECT d FROM t WHERE d - v = ?",
            "SELECT d FROM t WHERE v = ? + d",
            "SELECT d FROM t WHERE v = -?",
            "SELECT d FROM t WHERE v = ? IS TRUE",
            "SELECT d FROM t WHERE v = ? COLLATE utf8mb4_bin",
            "SELECT d FROM t WHERE v = ? = d",
            "SELECT d FROM t WHERE v BETWEEN 1 AND ?",
            "SELECT d FROM t WHERE v IN (1, ?)",
            "SELECT d FROM t WHERE v IN (?, 1)",
            "SELECT d FROM t WHERE v BETWEEN ? AND d",
            "SELECT d FROM t WHERE v BETWEEN 0 AND w = ?",
            "SELECT d FROM t WHERE v NOT BETWEEN (w) AND w = ?",
            "SELECT d AS v FROM t ORDER BY (v > ?)",
            "SELECT d AS v FROM t GROUP BY (v > ?)",
            "SELECT v FROM t UNION SELECT d FROM t ORDER BY (v > ?)",
            "SELECT t.v FROM t, JSON_TABLE('[]', '$[*]' COLUMNS(v DATETIME PATH '$')) j WHERE j.v > ?",
            "SELECT q.v FROM (TABLE t) q WHERE v = ?",
            "SELECT d FROM t WHERE v IN (d, ?)",
            "SELECT d FROM t WHERE (v, d) = (?, ?)",
            "SELECT d FROM t WHERE (v, d) IN ((?, ?))",
            "SELECT d FROM t WHERE f(v) = ?",
            "SELECT d FROM t WHERE ABS(?) = v",
            "SELECT d FROM t WHERE ? = v",
            "SELECT d FROM t WHERE v LIKE ?",
            "SELECT d FROM t WHERE CASE v WHEN ? THEN 1 END",
            "SELECT d AS v FROM t HAVING v = ?",
            "SELECT v FROM (SELECT d AS v FROM t) x WHERE v = ?",
            "WITH x (v) AS (SELECT d FROM t) SELECT v FROM x WHERE v = ?",
            "SELECT d FROM t WHERE v = ? UNION SELECT ?",
            "SELECT d FROM t WHERE v = ? AND w IN (SELECT w FROM u)",
            "SELECT d FROM (SELECT d, v FROM t UNION SELECT d, v FROM u) x WHERE v = ?",
            "SELECT d FROM t WHERE v = ? EXCEPT SELECT 1",
            "SELECT d FROM t ORDER BY ?",
            "SELECT d FROM t GROUP BY v, ?",
            "SELECT IF(v = 1, ?, d) FROM t",
            "SELECT d, v = ? FROM t",
            "SELECT INTERVAL(v, ?) FROM t",
        ] {
            assert_eq!(compared(text), None, "{text}");
        }
    }
}
