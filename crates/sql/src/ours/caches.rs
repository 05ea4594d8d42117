//! Statements about caches that are made for one query each: CREATE CACHE and related statements, in Readyset's words.

use crate::cursor::Cursor;
use crate::lex::Lexer;
use crate::modes::Modes;
use crate::string::unquote_string;
use crate::token::{Token, TokenKind};

/// A statement about caches.
#[derive(Clone, Debug, PartialEq)]
pub enum CacheStatement {
    /// SHOW PROXIED QUERIES.
    ShowProxied {
        /// SUPPORTED: only those that can be cached.
        supported: bool,
        /// DEEP: only those that can be maintained; SHALLOW: only those that cannot.
        method: Option<Method>,
        /// WHERE query_id = …
        id: Option<String>,
        /// LIMIT.
        limit: Option<u64>,
    },
    /// SHOW CACHES.
    ShowCaches {
        /// DEEP or SHALLOW: only these.
        method: Option<Method>,
        /// WHERE query_id = …
        id: Option<String>,
    },
    /// CREATE CACHE.
    Create(CreateCache),
    /// DROP CACHE.
    Drop {
        /// Its name or its query's id.
        name: String,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// DROP ALL CACHES; DEEP or SHALLOW: only these.
    DropAll(Option<Method>),
    /// DROP ALL PROXIED QUERIES.
    DropAllProxied,
    /// EXPLAIN CREATE CACHE.
    ExplainCreate(CreateCache),
    /// EXPLAIN LAST STATEMENT.
    ExplainLast,
    /// EXPLAIN CACHES.
    ExplainCaches,
    /// SHOW FRESHET STATUS.
    Status,
    /// SHOW FRESHET TABLES.
    Tables,
    /// SHOW FRESHET VERSION.
    Version,
}

/// CREATE CACHE.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct CreateCache {
    /// DEEP or SHALLOW.
    pub method: Option<Method>,
    /// POLICY TTL n SECONDS, and REFRESH EVERY n SECONDS.
    pub policy: Option<(u64, Option<u64>)>,
    /// ALWAYS: in transactions too.
    pub always: bool,
    /// CONCURRENTLY: it is made while the client goes on.
    pub concurrently: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Its name.
    pub name: Option<String>,
    /// The query.
    pub from: CacheSource,
}

/// How a cache's results are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Maintained: changed with the rows that they rest on.
    Deep,
    /// Refreshed: asked for again.
    Shallow,
}

/// What a cache is made for.
#[derive(Clone, Debug, PartialEq)]
pub enum CacheSource {
    /// A query by its id.
    Id(String),
    /// A SELECT, as it was written.
    Select(Vec<u8>),
}

impl Default for CacheSource {
    fn default() -> Self {
        Self::Id(String::new())
    }
}

/// What a SELECT says about a cache of its own, in a comment behind its first word: `SELECT /*rs+ SKIP CACHE */ …`.
#[derive(Clone, Debug, PartialEq)]
pub enum CacheHint {
    /// CREATE CACHE with its options.
    Create(CreateCache),
    /// SKIP CACHE.
    Skip,
    /// Something else.
    Unknown,
}

/// The most tokens that such a comment may have.
const HINT_TOKENS_MAX: usize = 64;

/// Reads what a statement says about a cache of its own; `None` if it says nothing.
#[must_use]
pub fn cache_hint(text: &[u8], modes: Modes) -> Option<CacheHint> {
    let said = hint_text(text)?;
    let tokens: Vec<Token> = Lexer::new(said, modes).take(HINT_TOKENS_MAX + 1).collect();
    let mut cursor = Cursor::new(said, modes, &tokens);
    if cursor.words(&["SKIP", "CACHE"]) && cursor.at_end() {
        return Some(CacheHint::Skip);
    }
    let mut cursor = Cursor::new(said, modes, &tokens);
    let created = if cursor.word("CREATE") { create_options(&mut cursor) } else { None };
    let is_whole = cursor.at_end() && tokens.len() <= HINT_TOKENS_MAX;
    Some(created.filter(|_| is_whole).map_or(CacheHint::Unknown, CacheHint::Create))
}

/// Whether a statement says `SKIP CACHE`.
#[must_use]
pub fn skips_cache(text: &[u8], modes: Modes) -> bool {
    cache_hint(text, modes) == Some(CacheHint::Skip)
}

/// Returns the content of the comment. For most statements a glance shows that there is none.
fn hint_text(text: &[u8]) -> Option<&[u8]> {
    const SELECT: &[u8] = b"select";
    const OPENS: &[u8] = b"/*rs+";
    let text = text.trim_ascii_start();
    let (word, rest) = text.split_at_checked(SELECT.len())?;
    let (opens, said) = rest.trim_ascii_start().split_at_checked(OPENS.len())?;
    if !word.eq_ignore_ascii_case(SELECT) || !opens.eq_ignore_ascii_case(OPENS) {
        return None;
    }
    let end = said.windows(2).position(|two| two == b"*/")?;
    Some(&said[..end])
}

/// Reads a statement about caches; `None` if it is anything else, or is not understood: the server says what is wrong with it.
pub(super) fn read(mut cursor: Cursor<'_>) -> Option<CacheStatement> {
    if cursor.word("SHOW") {
        return show(cursor);
    }
    if cursor.word("CREATE") {
        return create(cursor).map(CacheStatement::Create);
    }
    if cursor.word("DROP") {
        return drop(cursor);
    }
    if !cursor.word("EXPLAIN") {
        return None;
    }
    let alone = |mut cursor: Cursor<'_>, words: &[&str]| cursor.words(words) && cursor.at_end();
    if alone(cursor, &["LAST", "STATEMENT"]) {
        Some(CacheStatement::ExplainLast)
    } else if alone(cursor, &["CACHES"]) {
        Some(CacheStatement::ExplainCaches)
    } else if cursor.word("CREATE") {
        create(cursor).map(CacheStatement::ExplainCreate)
    } else {
        None
    }
}

fn method(cursor: &mut Cursor<'_>) -> Option<Method> {
    if cursor.word("DEEP") {
        Some(Method::Deep)
    } else if cursor.word("SHALLOW") {
        Some(Method::Shallow)
    } else {
        None
    }
}

fn show(mut cursor: Cursor<'_>) -> Option<CacheStatement> {
    if cursor.any(&["FRESHET", "READYSET"]) {
        let shown = if cursor.word("STATUS") {
            CacheStatement::Status
        } else if cursor.word("TABLES") {
            CacheStatement::Tables
        } else if cursor.word("VERSION") {
            CacheStatement::Version
        } else {
            return None;
        };
        return cursor.at_end().then_some(shown);
    }
    if cursor.word("PROXIED") {
        let supported = cursor.word("SUPPORTED");
        let method = method(&mut cursor);
        cursor.word("QUERIES").then_some(())?;
        let id = if cursor.word("WHERE") { Some(query_id(&mut cursor)?) } else { None };
        let limit = if cursor.word("LIMIT") { Some(number(&mut cursor)?) } else { None };
        return cursor.at_end().then_some(CacheStatement::ShowProxied { supported, method, id, limit });
    }
    let method = method(&mut cursor);
    cursor.word("CACHES").then_some(())?;
    let id = if cursor.word("WHERE") { Some(query_id(&mut cursor)?) } else { None };
    cursor.at_end().then_some(CacheStatement::ShowCaches { method, id })
}

/// Reads `query_id = 'q_…'`, behind WHERE.
fn query_id(cursor: &mut Cursor<'_>) -> Option<String> {
    cursor.identifier().filter(|name| name.eq_ignore_ascii_case("query_id"))?;
    cursor.punct(b'=').then_some(())?;
    let token = cursor.next()?;
    match token.kind {
        TokenKind::Str => unquote_string(cursor.bytes(token), cursor.modes),
        TokenKind::Word => Some(String::from_utf8_lossy(cursor.bytes(token)).into_owned()),
        _ => None,
    }
}

fn number(cursor: &mut Cursor<'_>) -> Option<u64> {
    let token = cursor.next().filter(|token| token.kind == TokenKind::Int)?;
    std::str::from_utf8(cursor.bytes(token)).ok()?.parse().ok()
}

/// Reads what follows CREATE.
fn create(mut cursor: Cursor<'_>) -> Option<CreateCache> {
    let mut made = create_options(&mut cursor)?;
    if !cursor.at_word("FROM") {
        made.name = Some(cursor.identifier()?);
    }
    cursor.word("FROM").then_some(())?;
    made.from = source(cursor)?;
    Some(made)
}

/// Reads what follows CREATE, up to the name.
fn create_options(cursor: &mut Cursor<'_>) -> Option<CreateCache> {
    let mut made = CreateCache { method: method(cursor), ..CreateCache::default() };
    cursor.word("CACHE").then_some(())?;
    made.if_not_exists = cursor.words(&["IF", "NOT", "EXISTS"]);
    loop {
        if cursor.words(&["POLICY", "TTL"]) {
            let ttl = seconds(cursor)?;
            let refresh = if cursor.word("REFRESH") {
                let _ = cursor.word("EVERY");
                Some(seconds(cursor)?)
            } else {
                None
            };
            made.policy = Some((ttl, refresh));
        } else if cursor.word("COALESCE") {
            number(cursor)?;
            let _ = cursor.any(&["MS", "SECONDS", "SECOND"]);
        } else if cursor.word("ALWAYS") {
            made.always = true;
        } else if cursor.word("CONCURRENTLY") {
            made.concurrently = true;
        } else {
            return Some(made);
        }
    }
}

fn seconds(cursor: &mut Cursor<'_>) -> Option<u64> {
    let number = number(cursor)?;
    let _ = cursor.any(&["SECONDS", "SECOND"]);
    Some(number)
}

fn source(mut cursor: Cursor<'_>) -> Option<CacheSource> {
    let first = cursor.peek()?;
    if first.is(b'(') || cursor.at_any(&["SELECT", "WITH"]) {
        return Some(CacheSource::Select(cursor.rest_text().to_vec()));
    }
    let id = cursor.identifier()?;
    cursor.at_end().then_some(CacheSource::Id(id))
}

/// Reads what follows DROP.
fn drop(mut cursor: Cursor<'_>) -> Option<CacheStatement> {
    let dropped = if cursor.word("ALL") {
        if cursor.words(&["PROXIED", "QUERIES"]) {
            CacheStatement::DropAllProxied
        } else {
            let method = method(&mut cursor);
            cursor.word("CACHES").then_some(CacheStatement::DropAll(method))?
        }
    } else {
        cursor.word("CACHE").then_some(())?;
        let if_exists = cursor.words(&["IF", "EXISTS"]);
        CacheStatement::Drop { name: cursor.identifier()?, if_exists }
    };
    cursor.at_end().then_some(dropped)
}
