//! SHOW VARIABLES and SHOW STATUS: those that can match only our names, and those that can also match the server's.

use super::parts::{LikeFilter, Lists, Ours, ShowFilter, scope};
use crate::cursor::Cursor;
use crate::string::unquote_string;
use crate::token::TokenKind;

/// The beginnings of patterns that can match no variable of the server's. `_` is taken literally: no server has a variable that differs
/// from ours only there.
pub(super) const VARIABLES: &[&str] =
    &["query_cache", "have_query_cache", "fill_wait", "freshness", "max_staleness", "transaction_snapshot"];
/// The beginnings for status variables.
pub(super) const STATUS: &[&str] = &["qcache", "freshet"];

/// Reads what follows SHOW.
pub(super) fn read(mut cursor: Cursor<'_>) -> Option<Ours> {
    let scope = scope(&mut cursor);
    let variables = cursor.word("VARIABLES");
    if !variables && !cursor.word("STATUS") {
        return None;
    }
    let lists = if variables { Lists::Variables } else { Lists::Status };
    if cursor.at_end() {
        return Some(Ours::ShowAll { lists, scope, filter: ShowFilter::All });
    }
    let mut names = cursor;
    let Some(like) = filter(&mut names).filter(|_| names.at_end()) else {
        return cursor.word("WHERE").then(|| Ours::ShowAll {
            lists,
            scope,
            filter: ShowFilter::Where(cursor.rest_text().to_vec()),
        });
    };
    let heads = if variables { VARIABLES } else { STATUS };
    let only_ours = match &like {
        LikeFilter::Like(pattern) => starts_with_any(&literal_head(pattern), heads),
        LikeFilter::Names(names) => {
            names.iter().all(|name| starts_with_any(&name.to_ascii_lowercase(), heads))
        }
    };
    Some(match (only_ours, lists) {
        (false, _) => Ours::ShowAll { lists, scope, filter: ShowFilter::Names(like) },
        (true, Lists::Variables) => Ours::ShowVariables { scope, like },
        (true, Lists::Status) => Ours::ShowStatus { scope, like },
    })
}

fn starts_with_any(text: &str, heads: &[&str]) -> bool {
    heads.iter().any(|head| text.starts_with(head))
}

/// Reads LIKE 'p', or WHERE Variable_name LIKE 'p', = 'a', IN ('a', 'b').
fn filter(cursor: &mut Cursor<'_>) -> Option<LikeFilter> {
    if cursor.word("LIKE") {
        return Some(LikeFilter::Like(string(cursor)?));
    }
    if !cursor.word("WHERE") || !cursor.identifier()?.eq_ignore_ascii_case("variable_name") {
        return None;
    }
    if cursor.word("LIKE") {
        return Some(LikeFilter::Like(string(cursor)?));
    }
    if cursor.punct(b'=') {
        return Some(LikeFilter::Names(vec![string(cursor)?]));
    }
    if !cursor.word("IN") || !cursor.punct(b'(') {
        return None;
    }
    let mut names = vec![string(cursor)?];
    while cursor.punct(b',') {
        names.push(string(cursor)?);
    }
    cursor.punct(b')').then_some(LikeFilter::Names(names))
}

pub(super) fn string(cursor: &mut Cursor<'_>) -> Option<String> {
    let token = cursor.peek().filter(|token| token.kind == TokenKind::Str)?;
    cursor.next();
    unquote_string(cursor.bytes(token), cursor.modes)
}

/// Returns the text with which every match of the pattern starts, in lower case.
pub(super) fn literal_head(pattern: &str) -> String {
    let mut head = String::new();
    let mut chars = pattern.chars();
    while let Some(char) = chars.next() {
        match char {
            '%' => break,
            '\\' => head.extend(chars.next().map(|escaped| escaped.to_ascii_lowercase())),
            _ => head.push(char.to_ascii_lowercase()),
        }
    }
    head
}

/// Whether LIKE matches, over bytes, without regard to ASCII case. It goes back only to the last `%`, so it takes at most |p| × |t|
/// steps.
pub(super) fn like(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() || p < pattern.len() {
        if pattern.get(p) == Some(&b'%') {
            retry = Some((p + 1, t));
            p += 1;
            continue;
        }
        if let Some(len) = text.get(t).and_then(|&byte| one_matches(pattern.get(p..)?, byte)) {
            (p, t) = (p + len, t + 1);
            continue;
        }
        match retry {
            Some((behind, from)) if from < text.len() => {
                retry = Some((behind, from + 1));
                (p, t) = (behind, from + 1);
            }
            _ => return false,
        }
    }
    true
}

/// Returns how many bytes of the pattern match the byte; None if it does not match.
fn one_matches(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern {
        [b'\\', escaped, ..] => escaped.eq_ignore_ascii_case(&byte).then_some(2),
        [b'_', ..] => Some(1),
        [plain, ..] => plain.eq_ignore_ascii_case(&byte).then_some(1),
        [] => None,
    }
}
