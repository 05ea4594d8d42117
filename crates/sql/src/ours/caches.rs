//! Statements about caches that are made for one query each: CREATE CACHE and its kin, in Readyset's words.

use crate::cursor::Cursor;
use crate::string::unquote_string;
use crate::token::Kind;

/// A statement about caches.
#[derive(Clone, Debug, PartialEq)]
pub enum CacheStatement {
    /// SHOW PROXIED QUERIES.
    ShowProxied {
        /// SUPPORTED: those alone that can be cached.
        supported: bool,
        /// DEEP: those alone that can be maintained; SHALLOW: those that cannot.
        method: Option<Method>,
        /// WHERE query_id = …
        id: Option<String>,
        /// LIMIT.
        limit: Option<u64>,
    },
    /// SHOW CACHES.
    ShowCaches {
        /// DEEP or SHALLOW alone.
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
    /// DROP ALL CACHES; DEEP or SHALLOW alone.
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
    /// Asked for again.
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

/// Reads one; `None` if it is anything else, or is not understood: the server says what is wrong with it.
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
        let id = query_id(&mut cursor)?;
        let limit = if cursor.word("LIMIT") { Some(number(&mut cursor)?) } else { None };
        return cursor.at_end().then_some(CacheStatement::ShowProxied { supported, method, id, limit });
    }
    let method = method(&mut cursor);
    cursor.word("CACHES").then_some(())?;
    let id = query_id(&mut cursor)?;
    cursor.at_end().then_some(CacheStatement::ShowCaches { method, id })
}

/// WHERE query_id = 'q_…', if it stands here; `None` if something else does behind WHERE.
fn query_id(cursor: &mut Cursor<'_>) -> Option<Option<String>> {
    if !cursor.word("WHERE") {
        return Some(None);
    }
    cursor.identifier().filter(|name| name.eq_ignore_ascii_case("query_id"))?;
    cursor.punct(b'=').then_some(())?;
    let token = cursor.next()?;
    match token.kind {
        Kind::Str => unquote_string(cursor.bytes(token), cursor.modes).map(Some),
        Kind::Word => Some(Some(String::from_utf8_lossy(cursor.bytes(token)).into_owned())),
        _ => None,
    }
}

fn number(cursor: &mut Cursor<'_>) -> Option<u64> {
    let token = cursor.next().filter(|token| token.kind == Kind::Int)?;
    std::str::from_utf8(cursor.bytes(token)).ok()?.parse().ok()
}

/// Behind CREATE.
fn create(mut cursor: Cursor<'_>) -> Option<CreateCache> {
    let mut made = CreateCache { method: method(&mut cursor), ..CreateCache::default() };
    cursor.word("CACHE").then_some(())?;
    made.if_not_exists = cursor.words(&["IF", "NOT", "EXISTS"]);
    loop {
        if cursor.words(&["POLICY", "TTL"]) {
            let ttl = seconds(&mut cursor)?;
            let refresh = if cursor.word("REFRESH") {
                let _ = cursor.word("EVERY");
                Some(seconds(&mut cursor)?)
            } else {
                None
            };
            made.policy = Some((ttl, refresh));
        } else if cursor.word("COALESCE") {
            number(&mut cursor)?;
            let _ = cursor.word("MS");
        } else if cursor.word("ALWAYS") {
            made.always = true;
        } else if cursor.word("CONCURRENTLY") {
            made.concurrently = true;
        } else {
            break;
        }
    }
    if !cursor.at_word("FROM") {
        made.name = Some(cursor.identifier()?);
    }
    cursor.word("FROM").then_some(())?;
    made.from = source(cursor)?;
    Some(made)
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

/// Behind DROP.
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
