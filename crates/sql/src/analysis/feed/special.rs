//! Words whose meaning depends on their place.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token as SqlToken;

use super::{Feeder, refused};
use crate::analysis::frame::Frame;
use crate::reason::Reason;
use crate::token::{Token, TokenKind};

impl Feeder<'_> {
    /// Feeds the meaning that the word has here; feeds it as a name if it means nothing special.
    pub(super) fn special(&mut self, token: Token, upper: &str) -> Result<(), Reason> {
        match upper {
            "WITH" => self.with()?,
            "LEFT" | "RIGHT" if self.then(0, "JOIN") || self.then(0, "OUTER") => {}
            "STRAIGHT_JOIN" => self.structure(Keyword::JOIN, "JOIN")?,
            "INTERVAL" => self.interval = Some((self.frames.len(), self.at)),
            "COLLATE" if self.after_operand() && self.collation_follows() => self.at += 1,
            "COLLATE" => return Err(refused(token.of(self.text))),
            "ESCAPE" | "SEPARATOR" if self.after_operand() && self.value_follows() => self.at += 1,
            "MOD" => self.operator(),
            "USE" | "FORCE" | "IGNORE" if self.then(0, "INDEX") || self.then(0, "KEY") => self.skip_list()?,
            "PARTITION" if self.then_punct(0, b'(') => self.skip_list()?,
            "PARTITION" if self.then(0, "BY") => self.keyword(Keyword::PARTITION, upper),
            "LATERAL" if self.then_punct(0, b'(') => self.keyword(Keyword::LATERAL, upper),
            "OVER" if matches!(self.out.last(), Some(SqlToken::RParen)) => self.keyword(Keyword::OVER, upper),
            "WINDOW" if self.then(1, "AS") && self.then_punct(2, b'(') => {
                self.keyword(Keyword::WINDOW, upper);
            }
            "END" if self.cases > 0 => {
                self.cases -= 1;
                self.keyword(Keyword::END, upper);
            }
            "OFFSET" if self.limit_precedes() => self.keyword(Keyword::OFFSET, upper),
            "ANY" | "SOME" | "ROW" if self.then_punct(0, b'(') => {}
            "MEMBER" if self.then(0, "OF") && self.then_punct(1, b'(') => {
                self.at += 1;
                self.operator();
            }
            "SOUNDS" if self.then(0, "LIKE") => {}
            "AGAINST" if self.then_punct(0, b'(') => self.operator(),
            "ROWS" | "RANGE" | "GROUPS" if self.frame() == Frame::Window => return self.skip_window_frame(),
            "COLUMNS" if self.frame() == Frame::JsonTable && self.then_punct(0, b'(') => {
                self.json_columns()?
            }
            "DATE" | "TIME" | "TIMESTAMP" if self.peek(0).is_some_and(|next| next.kind == TokenKind::Str) => {
            }
            "UNKNOWN" if matches!(self.out.last(), Some(SqlToken::Plus)) => self.value(),
            "FOR" if self.frame() == Frame::Substring => self.separate(),
            "BOTH" | "LEADING" | "TRAILING" if self.frame() == Frame::Trim => {}
            "JSON_TABLE" if self.then_punct(0, b'(') && self.table_precedes() => {}
            "DEFAULT" | "FOR" | "WITHIN" | "INSERT" | "REPLACE" | "IF" => {
                return Err(refused(token.of(self.text)));
            }
            _ => return self.name(token),
        }
        Ok(())
    }

    /// Feeds WITH, which opens common table expressions, or ends a GROUP BY or a search.
    fn with(&mut self) -> Result<(), Reason> {
        if self.frame() == Frame::Against {
            self.skip_rest_of_frame()?;
        } else if self.then(0, "ROLLUP") {
            self.at += 1;
        } else {
            self.keyword(Keyword::WITH, "WITH");
        }
        Ok(())
    }

    /// Feeds COLUMNS, which stands behind the path, a literal.
    fn json_columns(&mut self) -> Result<(), Reason> {
        if !matches!(self.out.last(), Some(SqlToken::Number(..))) {
            return Err(Reason::NotParsed("JSON_TABLE with a computed path".to_owned()));
        }
        self.skip_rest_of_frame()?;
        self.json_table_has_columns = true;
        Ok(())
    }

    /// Whether a table can stand here. A comma may belong to a list of columns: then the parser finds no table in it.
    fn table_precedes(&self) -> bool {
        match self.out.last() {
            Some(SqlToken::Word(word)) => matches!(word.keyword, Keyword::FROM | Keyword::JOIN),
            Some(SqlToken::Comma | SqlToken::LParen) => true,
            _ => false,
        }
    }

    /// Whether a literal or a marker is next: only those are left out together with the word before them.
    fn value_follows(&self) -> bool {
        self.peek(0).is_some_and(|next| next.is_literal() || next.kind == TokenKind::Param)
    }

    fn collation_follows(&self) -> bool {
        self.peek(0).is_some_and(|next| match next.kind {
            TokenKind::Word => {
                next.is_word(self.text, "BINARY") || !crate::reserved::is_reserved(next.of(self.text))
            }
            kind => matches!(kind, TokenKind::Name | TokenKind::Str),
        })
    }

    fn limit_precedes(&self) -> bool {
        let mut last = self.out.iter().rev();
        matches!(last.next(), Some(SqlToken::Number(..)))
            && matches!(last.next(), Some(SqlToken::Word(word)) if word.keyword == Keyword::LIMIT)
    }

    /// Leaves out words up to the end of the next list in parentheses, which can hold names only.
    fn skip_list(&mut self) -> Result<(), Reason> {
        while let Some(token) = self.peek(0) {
            self.leave_out(token)?;
            if token.is(b')') {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Leaves out the frame of a window, unless something in it could be a call or a query.
    fn skip_window_frame(&mut self) -> Result<(), Reason> {
        while let Some(token) = self.peek(0).filter(|token| !token.is(b')')) {
            if token.is(b'(') {
                return Err(Reason::NotParsed("an expression in a window's frame".to_owned()));
            }
            self.at += 1;
        }
        Ok(())
    }
}
