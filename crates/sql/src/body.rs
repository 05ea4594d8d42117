//! What the body of a trigger or a routine may do. A body is a statement, or a compound statement.
//!
//! The body is taken from the statement that made it, as the server shows it: on some servers the bodies in information_schema have lost
//! the backslashes and doubled quotes of their strings, so that code can look like a string there.
//!
//! A body is walked by its grammar, statement by statement; each plain statement is read as if it had been sent. If the walk meets
//! something that it does not know (prepared texts, definitions, MariaDB's own loops over cursors), nothing is known of the whole body: a
//! body is either understood to its last word or not at all.

mod header;
mod written;

use crate::TableName;
use crate::calls::{Call, Calls};
use crate::cursor::Cursor;
use crate::effects::{Defines, Temporary, TrackingEffect, TransactionEffect, Writes, effects};
use crate::lex::{Lexer, contains_ignoring_case};
use crate::modes::Modes;
use crate::reads::{ReadScan, Reads};
use crate::scan::Scan;
use crate::token::{Token, TokenKind};
use header::{Header, Parameter};

pub use written::BodyWrite;

/// The longest body that is read, in tokens.
const TOKENS_MAX: usize = 20_000;
/// How deep blocks may stand in each other.
const DEPTH_MAX: usize = 32;
/// The most writes of a body whose rows are told; of further writes only the tables are told.
const WRITES_MAX: usize = 64;
/// The most tables that a body may write or read; a body with more counts as unknown code.
const TABLES_MAX: usize = 256;

/// Everything that a body may do: it makes no temporary tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BodyEffects {
    /// The tables it may write, directly. A table without a schema is in the trigger's schema.
    pub writes: Vec<TableName>,
    /// Its writes to tables whose rows can be told. Such a table is also in `writes` only if the body writes other rows of it too. Empty
    /// for a trigger or a text.
    pub rows: Vec<BodyWrite>,
    /// The tables and views it may read.
    pub reads: Vec<TableName>,
    /// It may set variables of the session.
    pub session: bool,
    /// It may begin and end transactions.
    pub commits: bool,
    /// It may ask about the statement before it, which can be the one before the statement that runs the body: FOUND_ROWS() and the like.
    pub reads_last_statement: bool,
    /// The routines that it may call, directly. A routine without a schema is in the schema of the trigger or routine.
    pub calls: Vec<Call>,
}

/// Returns what the trigger of this text may do; `None` if that cannot be told.
pub fn trigger_body(text: &[u8], modes: Modes) -> Option<BodyEffects> {
    read(text, modes, header::trigger)
}

/// Returns what the procedure or function of this text may do; `None` if that cannot be told. The rows of a function's writes are not
/// told.
pub fn routine_body(text: &[u8], modes: Modes) -> Option<BodyEffects> {
    read(text, modes, header::routine)
}

/// Returns what a compound statement of this text may do; `None` if that cannot be told.
pub(crate) fn block(text: &[u8], modes: Modes) -> Option<BodyEffects> {
    read(text, modes, |_| Some(Header::default()))
}

/// Reads a body behind its header.
fn read(
    text: &[u8],
    modes: Modes,
    header: impl Fn(&mut Cursor<'_>) -> Option<Header>,
) -> Option<BodyEffects> {
    // A piece of the text that is read by itself must not begin or end within a version comment.
    let has_version_comment = [&b"/*!"[..], b"/*M!"].iter().any(|mark| contains_ignoring_case(text, mark));
    if modes.other_syntax || has_version_comment {
        return None;
    }
    let tokens: Vec<Token> = Lexer::new(text, modes).take(TOKENS_MAX + 1).collect();
    if tokens.len() > TOKENS_MAX || tokens.iter().any(|token| token.kind == TokenKind::Unknown) {
        return None;
    }
    let mut cursor = Cursor::new(text, modes, &tokens);
    let Header { is_procedure, parameters } = header(&mut cursor)?;
    let locals = parameters.iter().map(|parameter| parameter.name.clone()).collect();
    let body = BodyEffects::default();
    let changed = Vec::new();
    let mut reader =
        BodyReader { cursor, parameters: &parameters, is_procedure, locals, changed, depth: 0, body };
    reader.statement()?;
    reader.cursor.punct(b';');
    reader.cursor.at_end().then(|| reader.done())
}

/// The reader of a body: every step returns `None` where the body is not understood.
struct BodyReader<'a> {
    cursor: Cursor<'a>,
    parameters: &'a [Parameter],
    /// The body is a procedure's, which is called with values.
    is_procedure: bool,
    /// The parameters, and the variables declared so far in the blocks that are open.
    locals: Vec<String>,
    /// The variables that may be given other values.
    changed: Vec<String>,
    depth: usize,
    body: BodyEffects,
}

/// Statements that are read as if they had been sent.
const PLAIN: &[&str] = &["CALL", "DELETE", "DO", "INSERT", "REPLACE", "SELECT", "UPDATE", "VALUES", "WITH"];

impl BodyReader<'_> {
    fn done(self) -> BodyEffects {
        let Self { mut body, changed, parameters, .. } = self;
        let rows = std::mem::take(&mut body.rows);
        body.rows = rows.into_iter().map(|write| write.without(&changed, parameters)).collect();
        body
    }

    /// Notes that every variable named up to the end of the statement may get another value.
    fn may_change_all(&mut self) {
        let mut ahead = self.cursor;
        while let Some(token) = ahead.peek().filter(|token| !token.is(b';')) {
            if !token.is_name() || ahead.identifier().map(|name| self.changed.push(name)).is_none() {
                ahead.next();
            }
        }
    }

    /// Reads one statement, without the `;` behind it.
    fn statement(&mut self) -> Option<()> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return None;
        }
        self.label();
        if self.cursor.at_any(PLAIN) {
            self.plain()?;
        } else if self.cursor.word("BEGIN") {
            self.cursor.words(&["NOT", "ATOMIC"]);
            let outside = self.locals.len();
            self.block("END")?;
            self.locals.truncate(outside);
            self.end_label();
        } else if self.cursor.word("IF") {
            self.branches("IF")?;
        } else if self.cursor.word("CASE") {
            if !self.cursor.at_word("WHEN") {
                self.expression(&["WHEN"])?;
            }
            self.cursor.word("WHEN").then_some(())?;
            self.branches("CASE")?;
        } else if self.cursor.any(&["LEAVE", "ITERATE"]) {
            self.cursor.identifier()?;
        } else if self.cursor.any(&["RESIGNAL", "RETURN", "SIGNAL"]) {
            self.expression(&[])?;
        } else {
            self.iteration()?;
        }
        self.depth -= 1;
        Some(())
    }

    /// Reads loops, declarations and assignments.
    fn iteration(&mut self) -> Option<()> {
        if self.cursor.word("WHILE") {
            self.expression(&["DO"])?;
            self.cursor.word("DO").then_some(())?;
            self.block("END")?;
            self.cursor.word("WHILE").then_some(())?;
            self.end_label();
        } else if self.cursor.word("LOOP") {
            self.block("END")?;
            self.cursor.word("LOOP").then_some(())?;
            self.end_label();
        } else if self.cursor.word("REPEAT") {
            self.block("UNTIL")?;
            self.expression(&["END"])?;
            self.cursor.words(&["END", "REPEAT"]).then_some(())?;
            self.end_label();
        } else if self.cursor.word("DECLARE") {
            self.declaration()?;
        } else if self.cursor.word("SET") {
            self.assignments()?;
        } else if self.cursor.any(&["OPEN", "CLOSE"]) {
            self.cursor.identifier()?;
        } else if self.cursor.word("FETCH") {
            self.may_change_all();
            self.expression(&[])?;
        } else if self.cursor.word("GET") {
            self.body.session = true;
            self.body.reads_last_statement = true;
            self.may_change_all();
            self.expression(&[])?;
        } else {
            self.transaction()?;
        }
        Some(())
    }

    /// Reads the begin or the end of a transaction. Refuses forms that leave the session in another transaction (`AND CHAIN`) or end the
    /// session (`RELEASE`).
    fn transaction(&mut self) -> Option<()> {
        let is_savepoint = self.cursor.word("SAVEPOINT") || self.cursor.words(&["RELEASE", "SAVEPOINT"]);
        if is_savepoint {
            return self.cursor.identifier().map(|_| ());
        }
        self.body.commits = true;
        if self.cursor.words(&["START", "TRANSACTION"]) {
            return self.expression(&[]);
        }
        let is_rollback = self.cursor.word("ROLLBACK");
        (is_rollback || self.cursor.word("COMMIT")).then_some(())?;
        self.cursor.word("WORK");
        if is_rollback && self.cursor.word("TO") {
            self.cursor.word("SAVEPOINT");
            self.cursor.identifier()?;
        }
        let is_over = self.cursor.peek().is_none_or(|token| token.is(b';'));
        is_over.then_some(())
    }

    /// Reads `label:` in front of a block or loop.
    fn label(&mut self) {
        let is_label = self.cursor.peek().is_some_and(|token| token.is_name())
            && self.cursor.peek_at(1).is_some_and(|token| token.is(b':'));
        if is_label {
            self.cursor.next();
            self.cursor.next();
        }
    }

    /// Reads the label that is repeated behind an END.
    fn end_label(&mut self) {
        if self.cursor.peek().is_some_and(|token| token.is_name())
            && self.cursor.peek_at(1).is_some_and(|token| token.is(b';'))
        {
            self.cursor.next();
        }
    }

    /// Reads statements, each with its `;`, and the word that ends them.
    fn block(&mut self, end: &str) -> Option<()> {
        while !self.cursor.word(end) {
            self.statement()?;
            self.cursor.punct(b';').then_some(())?;
        }
        Some(())
    }

    /// Reads the branches of an IF or a CASE, from the first condition to the END.
    fn branches(&mut self, of: &str) -> Option<()> {
        self.expression(&["THEN"])?;
        loop {
            self.cursor.word("THEN").then_some(())?;
            while !self.cursor.at_any(&["ELSE", "ELSEIF", "END", "WHEN"]) {
                self.statement()?;
                self.cursor.punct(b';').then_some(())?;
            }
            if !self.cursor.any(&["ELSEIF", "WHEN"]) {
                break;
            }
            self.expression(&["THEN"])?;
        }
        if self.cursor.word("ELSE") {
            self.block("END")?;
        } else {
            self.cursor.word("END").then_some(())?;
        }
        self.cursor.word(of).then_some(())
    }

    /// Reads local variables, conditions, cursors and handlers.
    fn declaration(&mut self) -> Option<()> {
        if self.cursor.any(&["CONTINUE", "EXIT", "UNDO"]) {
            self.cursor.words(&["HANDLER", "FOR"]).then_some(())?;
            self.conditions()?;
            return self.statement();
        }
        let declared = self.locals.len();
        loop {
            self.locals.push(self.cursor.identifier()?);
            if !self.cursor.punct(b',') {
                break;
            }
        }
        if self.cursor.at_any(&["CURSOR", "CONDITION"]) {
            // It is no variable: a SET of this name sets the session's.
            self.locals.truncate(declared);
        }
        header::type_of(&mut self.cursor)?;
        // A default behind the type; or a cursor's SELECT, of which only the tables and functions count.
        self.expression(&[])
    }

    /// Reads the conditions of a handler.
    fn conditions(&mut self) -> Option<()> {
        loop {
            if self.cursor.word("SQLSTATE") {
                self.cursor.word("VALUE");
                self.cursor.next()?;
            } else if self.cursor.words(&["NOT", "FOUND"]) {
            } else {
                let token = self.cursor.next()?;
                (token.is_name() || token.kind == TokenKind::Int).then_some(())?;
            }
            if !self.cursor.punct(b',') {
                return Some(());
            }
        }
    }

    /// Reads `SET a = 1, NEW.b = 2, @c = 3, sql_mode = ''`: a name that is neither declared nor a column is a variable of the session.
    fn assignments(&mut self) -> Option<()> {
        loop {
            let is_column =
                self.cursor.at_word("NEW") && self.cursor.peek_at(1).is_some_and(|token| token.is(b'.'));
            if is_column {
                self.cursor.next();
                self.cursor.next();
                self.cursor.identifier()?;
            } else if self.cursor.peek()?.kind == TokenKind::At {
                self.cursor.next();
                self.cursor.next()?;
                self.body.session = true;
            } else {
                let name = self.cursor.identifier()?;
                // A system variable may decide what is logged, or when a transaction ends.
                self.locals.iter().any(|local| local.eq_ignore_ascii_case(&name)).then_some(())?;
                self.changed.push(name);
            }
            let assigns = self.cursor.next()?;
            (assigns.is(b'=') || self.cursor.bytes(assigns) == b":=").then_some(())?;
            self.expression(&[","])?;
            if !self.cursor.punct(b',') {
                return Some(());
            }
        }
    }

    /// Reads an expression: up to `;`, the end, or one of these words. "," stands for the character.
    fn expression(&mut self, until: &[&str]) -> Option<()> {
        let mut scan = Scan::new(self.cursor.text, self.cursor.modes);
        let mut reads = ReadScan::new(self.cursor.text);
        let (mut parentheses, mut cases) = (0usize, 0usize);
        let mut before: Option<Token> = None;
        while let Some(token) = self.cursor.peek() {
            let is_word = !before.is_some_and(|token| token.is(b'.'));
            let is_outside = parentheses == 0 && cases == 0 && is_word;
            let is_end = token.is(b';')
                || is_outside && self.cursor.at_any(until)
                || is_outside && token.is(b',') && until.contains(&",");
            if is_end {
                break;
            }
            match token.kind {
                TokenKind::Punct(b'(') => parentheses += 1,
                TokenKind::Punct(b')') => parentheses = parentheses.checked_sub(1)?,
                TokenKind::Word if is_word && self.cursor.at_word("CASE") => cases += 1,
                TokenKind::Word if is_word && self.cursor.at_word("END") => cases = cases.checked_sub(1)?,
                _ => {}
            }
            scan.see(token);
            reads.see(token);
            before = self.cursor.next();
        }
        let facts = scan.facts();
        (!facts.lost && parentheses == 0 && cases == 0).then_some(())?;
        self.add_calls(scan.calls())?;
        self.body.session |= facts.changes_session;
        self.body.reads_last_statement |= facts.reads_last_statement;
        self.add_reads(reads.reads())
    }

    /// Reads a statement that reads or writes rows, up to its `;`.
    fn plain(&mut self) -> Option<()> {
        let mut ahead = self.cursor;
        let start = ahead.peek()?.start;
        let mut end = start;
        while let Some(token) = ahead.peek().filter(|token| !token.is(b';')) {
            end = token.end;
            ahead.next();
        }
        let found = effects(self.cursor.range_text(start..end), self.cursor.modes);
        let is_plain = found.defines == Defines::Nothing
            && found.temporary == Temporary::None
            && found.transaction == TransactionEffect::None
            && found.locks_tables.is_none()
            && !found.unlogged
            && found.tracking == TrackingEffect::None
            && !found.several
            && !found.refused
            && !found.moves;
        is_plain.then_some(())?;
        // CALL and `SELECT … INTO` give values back.
        if !self.cursor.at_any(&["DELETE", "INSERT", "REPLACE", "UPDATE"]) {
            self.may_change_all();
        }
        match found.writes {
            Writes::Nothing => {}
            Writes::Tables(tables) => match self.written(&tables, end) {
                Some(write) => self.body.rows.push(write),
                None => self.body.writes.extend(tables),
            },
            Writes::Schema(_) | Writes::Accounts(_) | Writes::Everything => return None,
        }
        self.body.session |= found.session;
        self.body.reads_last_statement |= found.reads_last_statement;
        self.add_calls(found.calls)?;
        self.cursor = ahead;
        (self.body.writes.len() <= TABLES_MAX).then_some(())?;
        self.add_reads(found.reads)
    }

    /// Returns the write of the statement up to `end`, if it is to one table and its rows are told.
    fn written(&self, tables: &[TableName], end: usize) -> Option<BodyWrite> {
        let [table] = tables else { return None };
        let has_room = self.is_procedure && self.body.rows.len() < WRITES_MAX;
        has_room.then_some(())?;
        let write = written::written(self.cursor, end, self.parameters, &self.locals)?;
        (write.what.table() == table).then_some(write)
    }

    fn add_calls(&mut self, calls: Calls) -> Option<()> {
        let Calls::Named(calls) = calls else { return None };
        self.body.calls.extend(calls);
        (self.body.calls.len() <= TABLES_MAX).then_some(())
    }

    fn add_reads(&mut self, reads: Reads) -> Option<()> {
        let Reads::Tables(tables) = reads else { return None };
        self.body.reads.extend(tables);
        (self.body.reads.len() <= TABLES_MAX).then_some(())
    }
}

#[cfg(test)]
mod tests;
