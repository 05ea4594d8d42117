//! Whether a statement's result depends on nothing but the rows of the tables that it names.
//!
//! There are three passes, each of which may refuse. `gate` reads the tokens and refuses what a single word shows: variables, the time,
//! locks. `feed` rewrites the tokens for the parser: it keeps the structure of a query (its SELECTs, its FROMs, its calls), and makes
//! uniform what cannot name a table, so that the parser need not know MySQL's many spellings. `walk` goes over the parsed tree and
//! collects tables; a node that it does not know refuses, and none is skipped.

mod feed;
mod frame;
mod gate;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod vocabulary;
mod walk;

use std::borrow::Cow;

use sqlparser::dialect::MySqlDialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token as SqlToken;

use crate::TableName;
use crate::functions::Admits;
use crate::hint::Hint;
use crate::hint::Hints;
use crate::lex::Lexer;
use crate::modes::Modes;
use crate::reason::Reason;
use crate::token::{Token, TokenKind, without_end};
use crate::tokens::Tokens;

/// The longest text that is analysed, in bytes.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// The most tokens that are analysed. A list of literals counts once when it is fed to the parser.
const TOKENS_MAX: usize = 200_000;
/// How deep the parser may recurse.
const RECURSION_MAX: usize = 64;

/// What `analyse` found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Analysis {
    /// The result is a function of these tables and of the session's environment.
    Cacheable {
        /// Every table and view named anywhere in it, once each; names of common table expressions are left out.
        tables: Vec<TableName>,
        /// How often tables and views are named; a self-join names one twice.
        named: usize,
        /// The hint in its first SELECT.
        hint: Option<Hint>,
    },
    /// The result depends on more, or it could not be proven that it does not.
    Not(Reason),
}

/// Analyses one statement with a full parser.
pub fn analyse(text: &[u8], modes: Modes) -> Analysis {
    analyse_from(Lexer::new(text, modes))
}

impl Tokens<'_> {
    /// Returns the analysis of the text: [`analyse`].
    #[must_use]
    pub fn analyse(&self) -> Analysis {
        analyse_from(self.walk())
    }

    /// Returns the tables and views that a SELECT names; there may be none. Its result depends only on them, on the session's
    /// environment, and on the time, or is made anew at each call as that of UUID(): every connection gives an equally good answer.
    ///
    /// # Errors
    /// Why the result may depend on more.
    pub fn tables_at_this_time(&self) -> Result<Vec<TableName>, Reason> {
        read(self.walk(), Admits::Time).map(|read| read.tables)
    }
}

fn analyse_from(lexer: Lexer<'_>) -> Analysis {
    match read(lexer, Admits::RowsAlone) {
        Ok(TablesRead { tables, .. }) if tables.is_empty() => Analysis::Not(Reason::NoTable),
        Ok(TablesRead { tables, named, hint }) => Analysis::Cacheable { tables, named, hint },
        Err(reason) => Analysis::Not(reason),
    }
}

/// Returns the tables and views of a SELECT that changes nothing, and whose result depends only on them, on the session's environment, on
/// the time and on chance.
///
/// # Errors
/// Why the result may depend on more.
pub fn tables_at_a_moment(text: &[u8], modes: Modes) -> Result<Vec<TableName>, Reason> {
    read(Lexer::new(text, modes), Admits::TimeAndChance).map(|read| read.tables)
}

/// Returns the tables that a view's SELECT reads, which may be none, and how often tables are named in it; or why nothing may depend on
/// the view.
pub(crate) fn view_named(definition: &[u8], modes: Modes) -> Result<(Vec<TableName>, usize), Reason> {
    read(Lexer::new(definition, modes), Admits::RowsAlone).map(|read| (read.tables, read.named))
}

/// Returns the tables of a cacheable statement, once each, and how often tables are named in it.
pub(crate) fn tables_named(text: &[u8], modes: Modes) -> Option<(Vec<TableName>, usize)> {
    let TablesRead { tables, named, .. } = read(Lexer::new(text, modes), Admits::RowsAlone).ok()?;
    (!tables.is_empty()).then_some((tables, named))
}

/// Whether an expression without subqueries, such as a generated column's, is deterministic.
pub fn pure_expression(text: &[u8], modes: Modes) -> bool {
    expression(text, modes).is_ok_and(|tables| tables.is_empty())
}

/// Whether this is the server's own schema; no result may rest on its tables.
pub fn is_system_schema(schema: &str) -> bool {
    walk::is_system_schema(schema)
}

/// The tables that the parser's tree names.
struct TablesRead {
    tables: Vec<TableName>,
    /// How often tables are named; a self-join names one twice.
    named: usize,
    hint: Option<Hint>,
}

fn read(lexer: Lexer<'_>, admits: Admits) -> Result<TablesRead, Reason> {
    let (text, modes) = (lexer.text(), lexer.modes());
    let (tokens, hints) = checked(lexer, admits)?;
    let fed = feed::feed(text, &tokens)?;
    let census = feed::census(&fed);
    let mut parser = parser(fed);
    let query = parser.parse_query().map_err(reason)?;
    at_end(&parser)?;
    let (tables, named) = walk::tables(&query, modes, admits, census)?;
    Ok(TablesRead { tables, named, hint: hints.hint() })
}

/// Returns the tokens of a SELECT. Refuses it if a single word makes its result depend on more than tables.
pub(crate) fn tokens_of_select(lexer: Lexer<'_>) -> Result<Cow<'_, [Token]>, Reason> {
    checked(lexer, Admits::RowsAlone).map(|(tokens, _)| tokens)
}

fn checked(lexer: Lexer<'_>, admits: Admits) -> Result<(Cow<'_, [Token]>, Hints), Reason> {
    let (text, modes) = (lexer.text(), lexer.modes());
    let tokens = cut(lexer)?;
    gate::check_select(text, &tokens)?;
    gate::check_words(text, modes, admits, &tokens)?;
    let mut hints = Hints::default();
    for &token in &*tokens {
        hints.see(text, token);
    }
    if hints.is_select() { Ok((tokens, hints)) } else { Err(Reason::NotSelect) }
}

fn expression(text: &[u8], modes: Modes) -> Result<Vec<TableName>, Reason> {
    let tokens = cut(Lexer::new(text, modes))?;
    gate::check_words(text, modes, Admits::RowsAlone, &tokens)?;
    let fed = feed::feed(text, &tokens)?;
    let census = feed::census(&fed);
    let mut parser = parser(fed);
    let expression = parser.parse_expr().map_err(reason)?;
    at_end(&parser)?;
    walk::expression_tables(&expression, modes, census)
}

const DIALECT: MySqlDialect = MySqlDialect {};

fn parser(tokens: Vec<SqlToken>) -> Parser<'static> {
    Parser::new(&DIALECT).with_recursion_limit(RECURSION_MAX).with_tokens(tokens)
}

fn reason(error: ParserError) -> Reason {
    match error {
        ParserError::RecursionLimitExceeded => Reason::TooLarge,
        ParserError::ParserError(what) | ParserError::TokenizerError(what) => Reason::NotParsed(what),
    }
}

fn at_end(parser: &Parser<'_>) -> Result<(), Reason> {
    match &parser.peek_token_ref().token {
        SqlToken::EOF => Ok(()),
        token => Err(Reason::NotParsed(format!("{token} is not expected there"))),
    }
}

/// Returns all tokens of a text with one statement, without a `;` at its end.
fn cut(mut lexer: Lexer<'_>) -> Result<Cow<'_, [Token]>, Reason> {
    if lexer.modes().other_syntax {
        return Err(Reason::OtherSyntax);
    }
    if lexer.text().len() > TEXT_BYTES_MAX {
        return Err(Reason::TooLarge);
    }
    let tokens = lexer.take_all(TOKENS_MAX + 1);
    if tokens.len() > TOKENS_MAX {
        return Err(Reason::TooLarge);
    }
    if tokens.last().is_some_and(|token| token.kind == TokenKind::Unknown) {
        return Err(Reason::NotReadable);
    }
    if lexer.hint_sets_variable() {
        return Err(Reason::HintSetsVariable);
    }
    let tokens = without_end(tokens);
    if tokens.iter().any(|token| token.is(b';')) {
        return Err(Reason::SeveralStatements);
    }
    Ok(tokens)
}
