//! One statement of a text: its first tokens, and a cursor to walk them.

use crate::calls::Calls;
use crate::cursor::Cursor;
use crate::lex::Lexer;
use crate::modes::Modes;
use crate::reads::{ReadScan, Reads};
use crate::scan::{Facts, Scan};
use crate::token::Token;

/// The most tokens of a statement that are kept; everything that decides about a statement has to stand among them.
const HEAD_TOKENS_MAX: usize = 4096;
/// The most statements of one text that are looked at.
pub(crate) const STATEMENTS_MAX: usize = 1024;

/// One statement: its first tokens, and the findings of a scan of all of them.
pub(crate) struct Statement<'a> {
    pub text: &'a [u8],
    pub modes: Modes,
    pub head: Vec<Token>,
    /// The head is not the whole statement.
    pub cut_short: bool,
    pub facts: Facts,
    /// The functions that it may call and that may be stored ones.
    pub calls: Calls,
    /// The tables and views that it may read, wherever they stand in it.
    pub reads: Reads,
}

impl<'a> Statement<'a> {
    /// Reads the next statement; None at the end of the text. Empty statements are passed over.
    pub fn next(lexer: &mut Lexer<'a>, text: &'a [u8], modes: Modes) -> Option<Self> {
        let mut scan = Scan::new(text, modes);
        let mut reads = ReadScan::new(text);
        let mut head = Vec::new();
        let mut cut_short = false;
        for token in lexer.by_ref() {
            if token.is(b';') {
                if head.is_empty() {
                    continue;
                }
                break;
            }
            scan.see(token);
            reads.see(token);
            if head.len() < HEAD_TOKENS_MAX {
                head.push(token);
            } else {
                cut_short = true;
            }
        }
        if head.is_empty() {
            return None;
        }
        let (facts, reads) = (scan.facts(), reads.reads());
        Some(Statement { text, modes, head, cut_short, facts, calls: scan.calls(), reads })
    }

    pub fn cursor(&self) -> Cursor<'_> {
        Cursor::new(self.text, self.modes, &self.head)
    }
}
