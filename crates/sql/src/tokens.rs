//! A text that is cut once, for all its readers.
//!
//! Each reader of a statement answers one question, in a pass over these tokens. The passes are in the modules of the readers (`impl
//! Tokens`). A long text is not cut into a buffer: the readers that must accept texts of any length cut it as they go.

use crate::lex::Lexer;
use crate::modes::Modes;
use crate::token::Token;

/// The first room for tokens: enough for most statements.
const TOKENS_AT_ONCE: usize = 64;

/// A text as tokens.
#[derive(Debug)]
pub struct Tokens<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) modes: Modes,
    all: Vec<Token>,
    hint_sets_variable: bool,
    passed_comment: bool,
}

/// Memory for tokens, which can be used again.
#[derive(Debug, Default)]
pub struct TokenBuffer(Vec<Token>);

impl<'a> Tokens<'a> {
    /// Cuts all of a text. Total: a part that cannot be cut is one token to the end.
    #[must_use]
    pub fn cut(text: &'a [u8], modes: Modes) -> Self {
        Self::cut_into(TokenBuffer::default(), text, modes)
    }

    /// Cuts all of a text, in this memory.
    #[must_use]
    pub fn cut_into(TokenBuffer(mut all): TokenBuffer, text: &'a [u8], modes: Modes) -> Self {
        all.clear();
        all.reserve(TOKENS_AT_ONCE);
        let mut lexer = Lexer::new(text, modes);
        all.extend(lexer.by_ref());
        let (hint_sets_variable, passed_comment) = (lexer.hint_sets_variable(), lexer.passed_comment());
        Self { text, modes, all, hint_sets_variable, passed_comment }
    }

    /// Returns the memory of the tokens.
    #[must_use]
    pub fn into_buffer(self) -> TokenBuffer {
        TokenBuffer(self.all)
    }

    /// Returns the modes in which the text is read.
    #[must_use]
    pub const fn modes(&self) -> Modes {
        self.modes
    }

    /// Returns the text.
    #[must_use]
    pub const fn text(&self) -> &'a [u8] {
        self.text
    }

    /// Returns the tokens.
    pub(crate) fn all(&self) -> &[Token] {
        &self.all
    }

    /// Goes over the tokens as a lexer does over the text.
    pub(crate) fn walk(&self) -> Lexer<'_> {
        Lexer::over(self.text, self.modes, &self.all, self.hint_sets_variable, self.passed_comment)
    }
}

#[cfg(test)]
mod tests;
