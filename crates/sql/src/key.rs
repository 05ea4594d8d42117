//! The part of a text that is compared when an entry is looked up, and the text that is sent on.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use crate::hint::{Hint, HintError, Hints};
use crate::lex::{Lexer, is_blank};
use crate::modes::Modes;
use crate::token::TokenKind;
use crate::tokens::Tokens;

/// Returns the part of `text` that is compared: without blanks at both ends, without `;` at its end, and without comments if asked.
///
/// Where comments are taken out, the gap between two tokens becomes one blank, or nothing at the ends. A text that cannot be cut into
/// tokens, or that sets a variable in a hint, keeps its comments.
pub fn key_text(text: &[u8], modes: Modes, strip_comments: bool) -> Cow<'_, [u8]> {
    let trimmed = trim(text);
    if !strip_comments || !may_have_comment(trimmed) {
        return Cow::Borrowed(trimmed);
    }
    let mut lexer = Lexer::new(trimmed, modes);
    let mut out = Vec::with_capacity(trimmed.len());
    let mut last_end = 0;
    for token in lexer.by_ref() {
        if token.kind == TokenKind::Unknown {
            return Cow::Borrowed(trimmed);
        }
        if !out.is_empty() && token.start > last_end {
            if out.ends_with(MINUSES) {
                return Cow::Borrowed(trimmed);
            }
            out.push(b' ');
        }
        out.extend_from_slice(token.of(trimmed));
        last_end = token.end;
    }
    let end = trim(&out).len();
    out.truncate(end);
    // A hint that sets a variable may change the result, so it stays part of the key.
    if !lexer.passed_comment() || lexer.hint_sets_variable() || out.ends_with(MINUSES) {
        return Cow::Borrowed(trimmed);
    }
    Cow::Owned(out)
}

/// Two minus signs; a blank behind them would begin a comment.
const MINUSES: &[u8] = b"--";

fn may_have_comment(text: &[u8]) -> bool {
    text.contains(&b'#') || text.windows(2).any(|pair| pair == b"/*" || pair == b"--")
}

/// Returns the text without the parts that the servers themselves cut off: blanks at both ends, and `;` at the end. A `;` in front is an
/// error.
fn trim(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|byte| !is_blank(*byte)).unwrap_or(text.len());
    let rest = text.get(start..).unwrap_or_default();
    let end = rest.iter().rposition(|byte| !is_blank(*byte) && *byte != b';').map_or(0, |last| last + 1);
    rest.get(..end).unwrap_or_default()
}

impl Tokens<'_> {
    /// Whether SQL_CACHE or SQL_NO_CACHE stands in the text as a hint.
    #[must_use]
    pub fn has_hint(&self) -> bool {
        hints(self.walk()).iter().any(|hints| !hints.spans.is_empty())
    }
}

/// Returns `text`, one statement or several, without SQL_CACHE and SQL_NO_CACHE; None if it has neither.
pub fn strip_hint(text: &[u8], modes: Modes) -> Option<Vec<u8>> {
    if !may_be_hinted(text) {
        return None;
    }
    let hints = hints(Lexer::new(text, modes));
    let mut spans = hints.iter().flat_map(|hints| &hints.spans).peekable();
    spans.peek()?;
    let mut out = Vec::with_capacity(text.len());
    let mut from = 0;
    for span in spans {
        out.extend_from_slice(text.get(from..span.start)?);
        from = span.end;
        if out.last().copied().is_some_and(is_blank) && text.get(from).copied().is_some_and(is_blank) {
            from += 1;
        }
    }
    out.extend_from_slice(text.get(from..)?);
    Some(out)
}

/// Whether SQL_CACHE or SQL_NO_CACHE may stand in a text: for most texts a glance is enough.
pub fn may_be_hinted(text: &[u8]) -> bool {
    crate::lex::contains_ignoring_case(text, b"_cache")
}

/// Returns how many bytes of a statement come before the first that looks like a value: a quote, or a digit that does not continue a
/// name. Texts of one form have the same bytes up to there; it does not matter whether it really is a value.
pub fn before_first_value(text: &[u8]) -> usize {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'`' | 0x80..);
    let begins_value = |at: usize| match text[at] {
        b'\'' | b'"' => true,
        b'0'..=b'9' => at == 0 || !is_of_name(&text[at - 1]),
        _ => false,
    };
    (0..text.len()).find(|at| begins_value(*at)).unwrap_or(text.len())
}

/// Whether a text begins like a SELECT, whatever follows, and is no more than one statement.
pub fn is_one_select(text: &[u8], modes: Modes) -> bool {
    let mut lexer = Lexer::new(text, modes);
    let first = lexer.find(|token| !token.is(b'('));
    let is_select = first.is_some_and(|first| first.is_word(text, "SELECT") || first.is_word(text, "WITH"));
    is_select && lexer.skip_while(|token| !token.is(b';')).all(|token| token.is(b';'))
}

/// Returns the error that a misuse of the hints gives.
pub fn hint_error(text: &[u8], modes: Modes) -> Option<HintError> {
    hints(Lexer::new(text, modes)).iter().find_map(Hints::error)
}

/// Returns the hint in the first SELECT of a text: of a view's too.
pub fn hint(text: &[u8], modes: Modes) -> Option<Hint> {
    hints(Lexer::new(text, modes)).first()?.hint()
}

/// Returns the hints of each statement of a text that has any.
fn hints(lexer: Lexer<'_>) -> Vec<Hints> {
    let text = lexer.text();
    if !may_be_hinted(text) {
        return Vec::new();
    }
    let mut all = vec![Hints::default()];
    for token in lexer {
        all.last_mut().into_iter().for_each(|hints| hints.see(text, token));
        if token.is(b';') {
            all.push(Hints::default());
        }
    }
    all
}
