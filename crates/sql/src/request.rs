//! The first look at a text: what kind of request it is, from its tokens alone.

#[cfg(test)]
mod tests;

use crate::effects::{Effects, effects_from, effects_of};
use crate::hint::{Hint, Hints};
use crate::kill::{self, Kill};
use crate::lex::Lexer;
use crate::modes::Modes;
use crate::ours::{self, Ours};
use crate::statement::Statement;
use crate::token::TokenKind;
use crate::tokens::Tokens;

/// What a text of COM_QUERY asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// One SELECT (or WITH … SELECT), which may be cacheable: `analyse` says.
    Select {
        /// The hint in its first SELECT.
        hint: Option<Hint>,
    },
    /// A statement about our own variables, status or cache.
    Ours(Ours),
    /// KILL with a plain number, alone in its text.
    Kill(Kill),
    /// Everything else.
    Other(Effects),
}

/// Tells the kind of `text`. Total: a text that is not understood is `Other` with the worst effects.
pub fn read(text: &[u8], modes: Modes) -> Request {
    read_from(&Lexer::new(text, modes))
}

impl Tokens<'_> {
    /// Returns the kind of the text: [`read`].
    #[must_use]
    pub fn request(&self) -> Request {
        read_from(&self.walk())
    }
}

fn read_from(begin: &Lexer<'_>) -> Request {
    let (text, modes) = (begin.text(), begin.modes());
    let mut lexer = begin.clone();
    let mut first = lexer.next();
    while first.is_some_and(|token| token.is(b'(')) {
        first = lexer.next();
    }
    let Some(first) = first else {
        return Request::Other(effects_of(begin.clone()));
    };
    let with = first.is_word(text, "WITH");
    let select = first.is_word(text, "SELECT");
    if (with || select) && !lexer.clone().next().is_some_and(|token| token.kind == TokenKind::AtAt) {
        return read_select(begin.clone()).unwrap_or_else(|| Request::Other(effects_of(begin.clone())));
    }
    let mut lexer = begin.clone();
    let statement = Statement::next(&mut lexer, text, modes);
    if let Some(alone) = statement.as_ref().filter(|_| lexer.clone().all(|token| token.is(b';'))) {
        if let Some(ours) = ours::read(alone) {
            return Request::Ours(ours);
        }
        if let Some(kill) = kill::numbered(alone) {
            return Request::Kill(kill);
        }
        if select {
            return Request::Select { hint: None };
        }
    }
    Request::Other(effects_from(statement, lexer))
}

/// Makes one pass over the tokens of a text that starts with SELECT or WITH; None if it is not one SELECT to its end.
fn read_select(lexer: Lexer<'_>) -> Option<Request> {
    let text = lexer.text();
    let mut hints = Hints::default();
    let mut ended = false;
    for token in lexer {
        if token.is(b';') {
            ended = true;
            continue;
        }
        if ended || token.kind == TokenKind::Unknown {
            return None;
        }
        hints.see(text, token);
    }
    hints.is_select().then_some(Request::Select { hint: hints.hint() })
}
