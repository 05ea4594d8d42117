//! SELECTs whose grammar is not understood, told by their names. The answer is every name in the SELECT that can be a table's, if nothing
//! in it can make the result depend on more than tables.
//!
//! In any grammar, a table is read by a name in the text, and a function is called by a name in front of a parenthesis, or by one of a
//! few words without. So the statement can read only the names of its text, together with what its views read. Most of the names are no
//! tables. Nothing is told of rows. A doubt refuses the statement: then the server answers.

use crate::analysis;
use crate::calls::Calls;
use crate::cursor::unquote_name;
use crate::effects::Writes;
use crate::functions::{self, FunctionClass};
use crate::modes::{Modes, TableName};
use crate::reads::Reads;
use crate::reason::Reason;
use crate::reserved::is_reserved;
use crate::scan::Scan;
use crate::token::{Token, TokenKind};
use crate::tokens::Tokens;
use crate::words::is_in;

/// The most names that are looked up for one statement.
const NAMES_MAX: usize = 32;

/// Words with which a statement does more than read tables, or is no statement for some server. Other readers refuse most of them too.
const REFUSED: &[&str] = &[
    "ANALYZE",
    "CALL",
    "CURRENT_CATALOG",
    "CURRENT_PATH",
    "CURRENT_SCHEMA",
    "DELETE",
    "DESCRIBE",
    "DUMPFILE",
    "EXPLAIN",
    "HANDLER",
    "INFILE",
    "INTO",
    "JSON_TABLE",
    "LASTVAL",
    "LOAD",
    "LOCK",
    "NEXTVAL",
    "OUTFILE",
    "NEXT",
    "PERIOD",
    "PREVIOUS",
    "PROCEDURE",
    "RETURNING",
    "ROWNUM",
    "SESSION_USER",
    "SETVAL",
    "SHARE",
    "SYSTEM_TIME",
    "SYSTEM_USER",
    "TABLESAMPLE",
    // A TIME that may be taken as a date and time.
    "TIME",
    "UPDATE",
    "VERSIONS",
];

/// The names of a SELECT that can be those of tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByNames {
    /// Each name once. Most are no tables.
    pub names: Vec<TableName>,
    /// The names that stand in the place of a table. At least one has to be a table.
    pub read: Vec<TableName>,
}

impl Tokens<'_> {
    /// Returns the names in a SELECT whose [analysis](Tokens::analyse) ended with [`Reason::NotParsed`]: with `not_parsed`.
    ///
    /// # Errors
    /// Why the text rules out that its answers are cached.
    pub fn by_names(&self, not_parsed: Reason) -> Result<ByNames, Reason> {
        read(self).map_err(|doubt| doubt.unwrap_or(not_parsed))
    }
}

/// Returns the names in any SELECT; `Err(None)`: there is a doubt.
fn read(tokens: &Tokens<'_>) -> Result<ByNames, Option<Reason>> {
    let all = analysis::tokens_of_select(tokens.walk())?;
    let (text, modes) = (tokens.text, tokens.modes);
    let mut scan = Scan::new(text, modes);
    all.iter().for_each(|token| scan.see(*token));
    let facts = scan.facts();
    if facts.lost || facts.changes_session || facts.reads_last_statement {
        return Err(None);
    }
    if facts.unknown_call || !scan.calls().is_nothing() {
        return Err(Some(Reason::UnknownFunction("a name in front of a parenthesis".to_owned())));
    }
    let effects = tokens.effects();
    if effects.writes != Writes::Nothing || effects.calls != Calls::NOTHING {
        return Err(None);
    }
    let names = names(text, modes, &all)?;
    // Two readers of one text have to agree.
    let Reads::Tables(read) = effects.reads else { return Err(None) };
    let read: Vec<TableName> = read.into_iter().filter(|name| !is_dual(name)).collect();
    if !read.iter().all(|name| names.contains(name)) {
        return Err(None);
    }
    if read.is_empty() {
        return Err(Some(Reason::NoTable));
    }
    Ok(ByNames { names, read })
}

fn is_dual(name: &TableName) -> bool {
    name.schema.is_none() && name.name.eq_ignore_ascii_case("dual")
}

/// A name, or names joined by dots.
#[derive(Default)]
struct QualifiedName {
    parts: Vec<Token>,
    /// Its last token was a dot.
    is_open: bool,
}

fn names(text: &[u8], modes: Modes, all: &[Token]) -> Result<Vec<TableName>, Option<Reason>> {
    let mut found = TableNames::default();
    let mut chain = QualifiedName::default();
    for (at, token) in all.iter().enumerate() {
        let after = all.get(at + 1);
        match token.kind {
            TokenKind::Param => return Err(None),
            TokenKind::Punct(b'.') if chain.parts.is_empty() || chain.is_open => return Err(None),
            TokenKind::Punct(b'{' | b'}') => return Err(None),
            TokenKind::Punct(b'.') => chain.is_open = true,
            _ if token.is_name() && chain.is_open => {
                chain.parts.push(*token);
                chain.is_open = false;
            }
            // `t.*`
            TokenKind::Punct(b'*') if chain.is_open => found.take(text, &mut chain)?,
            _ if chain.is_open => return Err(None),
            _ if token.is_name() => {
                found.take(text, &mut chain)?;
                let is_chained = after.is_some_and(|after| after.is(b'.'));
                if token.kind == TokenKind::Word && !is_chained {
                    let is_called = after.is_some_and(|after| after.is(b'('));
                    check_word(text, modes, *token, is_called, all.get(at + 2))?;
                    let word = token.of(text);
                    if is_reserved(word) || is_called && is_built_in(word, modes) {
                        continue;
                    }
                }
                chain.parts.push(*token);
            }
            _ => found.take(text, &mut chain)?,
        }
    }
    found.take(text, &mut chain)?;
    Ok(found.all)
}

/// Refuses the meanings that a single word can have by itself.
fn check_word(
    text: &[u8],
    modes: Modes,
    token: Token,
    is_called: bool,
    behind: Option<&Token>,
) -> Result<(), Option<Reason>> {
    let word = token.of(text);
    let upper = || String::from_utf8_lossy(word).to_ascii_uppercase();
    if is_in(word, REFUSED) {
        return Err(None);
    }
    if !is_called {
        return Ok(());
    }
    let arguments = usize::from(!behind.is_some_and(|token| token.is(b')')));
    match functions::class(word, false, modes) {
        FunctionClass::Volatile | FunctionClass::LastStatement | FunctionClass::Session => {
            Err(Some(Reason::Volatile(upper())))
        }
        FunctionClass::Pure if is_in(word, &["UNIX_TIMESTAMP"]) && arguments == 0 => {
            Err(Some(Reason::Volatile(upper())))
        }
        FunctionClass::Unknown if functions::is_of_sequences(word) => Err(Some(Reason::Sequence)),
        // The number of its arguments can make it a stored function's.
        _ if !functions::is_itself_with(upper().as_bytes(), 0) => Err(None),
        FunctionClass::Pure | FunctionClass::Unknown => Ok(()),
    }
}

/// Whether a word in front of a parenthesis is a function's name: a table's name has no parenthesis behind it.
fn is_built_in(word: &[u8], modes: Modes) -> bool {
    functions::class(word, false, modes) == FunctionClass::Pure
}

#[derive(Default)]
struct TableNames {
    all: Vec<TableName>,
}

impl TableNames {
    /// Notes what a complete chain can name: a table, a table with its schema, or a column of such a table.
    fn take(&mut self, text: &[u8], chain: &mut QualifiedName) -> Result<(), Option<Reason>> {
        let QualifiedName { parts, .. } = std::mem::take(chain);
        let mut names = Vec::with_capacity(parts.len());
        for part in parts {
            let name = unquote_name(part.kind, part.of(text)).filter(|name| name.is_ascii());
            names.push(name.ok_or(Some(Reason::NameBeyondAscii))?);
        }
        let table = match names.as_slice() {
            [] => return Ok(()),
            [table] => TableName::bare(table.as_str()),
            [schema, table] | [schema, table, _] => TableName::of(schema.as_str(), table.as_str()),
            _ => return Err(None),
        };
        if table.schema.as_deref().is_some_and(analysis::is_system_schema) {
            return Err(Some(Reason::SystemSchema(table.schema.unwrap_or_default())));
        }
        if self.all.contains(&table) {
            return Ok(());
        }
        if self.all.len() == NAMES_MAX {
            return Err(Some(Reason::TooLarge));
        }
        self.all.push(table);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
