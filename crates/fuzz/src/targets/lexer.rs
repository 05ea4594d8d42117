//! The lexer: whatever the bytes are, tokens cover them and end.

use freshet_sql::{key_text, shape};

use super::statements;
use crate::modes::Modes as OwnModes;
use crate::sql::lex::Lexer;
use crate::target::{Outcome, Target, behaviour, hold};
use crate::token::{Token, TokenKind};

/// The target.
pub static TARGET: Target = Target {
    name: "lexer",
    promise: "tokens cover every text but for blanks and comments, in order, and nothing follows an unknown one",
    is_text: true,
    seeds: statements::seeds,
    check,
};

fn check(input: &[u8]) -> Outcome {
    let (modes, text) = statements::modes_and_text(input);
    let own = own_modes(input);
    let tokens: Vec<Token> = Lexer::new(text, own).take(text.len() + 2).collect();
    hold!(tokens.len() <= text.len() + 1, "no more tokens than bytes", "{} of {}", tokens.len(), text.len());
    let mut end = 0;
    for token in &tokens {
        hold!(
            token.start >= end && (token.end > token.start || token.kind == TokenKind::Unknown),
            "tokens stand in order",
            "{token:?} after {end}"
        );
        hold!(token.end <= text.len(), "tokens stand in the text", "{token:?} of {}", text.len());
        gap(&text[end..token.start])?;
        end = token.end;
    }
    gap(&text[end..])?;
    let unknown = tokens.iter().position(|token| token.kind == TokenKind::Unknown);
    let last = tokens.len().wrapping_sub(1);
    hold!(
        unknown.is_none_or(|at| at == last),
        "nothing follows an unknown token",
        "{unknown:?}, last {last}"
    );
    hold!(
        unknown.is_none() || end == text.len(),
        "an unknown token takes the rest",
        "{end} of {}",
        text.len()
    );
    let key = key_text(text, modes, true);
    let twice = key_text(&key, modes, true);
    hold!(
        key == twice,
        "a key is its own key",
        "{:?}, then {:?}",
        key.escape_ascii().to_string(),
        twice.escape_ascii().to_string()
    );
    let shape = shape(text, modes);
    hold!(
        shape.text.len() <= text.len().saturating_mul(2) + 16,
        "a shape is no longer",
        "{} of {}",
        shape.text.len(),
        text.len()
    );
    let kinds: Vec<String> = tokens.iter().take(24).map(|token| format!("{:?}", token.kind)).collect();
    Ok(behaviour(kinds))
}

/// Returns the lexer's own modes, as [`statements::modes_and_text`] has them.
fn own_modes(input: &[u8]) -> OwnModes {
    let byte = input.first().copied().unwrap_or_default();
    let flavor = if byte & 1 == 0 { crate::modes::Flavor::MySql } else { crate::modes::Flavor::MariaDb };
    OwnModes { ansi_quotes: byte & 2 != 0, no_backslash_escapes: byte & 4 != 0, ..OwnModes::new(flavor) }
}

/// What stands between tokens are blanks, comments, and the marks of version comments.
fn gap(between: &[u8]) -> Outcome {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let first = between.iter().position(|byte| !blank(byte)).unwrap_or(between.len());
    let rest = &between[first..];
    let opens = [&b"/*"[..], b"--", b"#", b"*/"].iter().any(|mark| rest.starts_with(mark));
    hold!(
        rest.is_empty() || opens,
        "only blanks and comments lie between tokens",
        "\"{}\"",
        between.escape_ascii()
    );
    Ok(0)
}
