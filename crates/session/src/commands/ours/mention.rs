//! Statements for the server that mention Freshet's variables or tables: Freshet's values are put in before the statements are sent.

use freshet_protocol::ErrPacket;
use freshet_sql::{ConnectionNumber, Flavor, Lists, Made, Mention, Mentioned, Scope, contains_ignoring_case};
use freshet_upstream::Error;

use super::values::{doubled, quoted, selected};
use super::{list, made};
use crate::local::ShownCell;
use crate::privileges::{self, Privilege};
use crate::relay::Lost;
use crate::session::Session;
use crate::sought::ROW_COUNT;

/// Returns the mentions in a text that is prepared, and may be executed at another time.
pub(in crate::commands) fn lasting(session: &Session, text: &[u8]) -> Vec<Mention> {
    freshet_sql::mentions(text, session.modes(), session.state.environment.schema())
}

/// Returns what a text mentions of Freshet's own.
pub(in crate::commands) fn mentions(session: &Session, text: &[u8]) -> Vec<Mention> {
    let mut mentions = lasting(session, text);
    // The server would give the row count of another statement.
    if session.state.last.row_count().is_some_and(|rows| rows > 0) && contains_ignoring_case(text, ROW_COUNT)
    {
        mentions.extend(freshet_sql::row_counts(text, session.modes()));
        mentions.sort_by_key(|mention| mention.at.start);
        // A column with several values has one title.
        mentions.dedup_by(|one, other| matches!(one.what, Mentioned::Title(_)) && one == other);
    }
    mentions
}

/// Returns the statement with Freshet's values in it.
///
/// # Errors
/// The server's own errors: 1193 (no such variable), 1238 (no session variable).
pub(in crate::commands) fn filled(
    session: &mut Session,
    text: &[u8],
    mentions: &[Mention],
    may_process: bool,
) -> Result<Vec<u8>, ErrPacket> {
    let mut filled = Vec::with_capacity(text.len());
    let mut behind = 0;
    for Mention { at, what } in mentions {
        filled.extend_from_slice(text.get(behind..at.start).unwrap_or_default());
        match what {
            Mentioned::Variable { scope, name } => filled.extend(literal(session, *scope, name)?),
            Mentioned::Connection(ConnectionNumber::Own) => {
                session.lease.note_tells_of_itself();
                filled.extend(format!("CAST({} AS UNSIGNED)", session.admitted.connection_id).into_bytes());
            }
            Mentioned::Connection(ConnectionNumber::Listed(id)) => {
                let of_server = session.shared.registry.find(*id).map_or(0, |handle| handle.thread_id());
                let id = if of_server == 0 { *id } else { of_server };
                filled.extend(id.to_string().into_bytes());
            }
            Mentioned::RowCount => {
                // MariaDB gives a small literal a smaller type than ROW_COUNT() has.
                let rows = session.state.last.row_count().unwrap_or_default();
                filled.extend(format!("CAST({rows}|0 AS SIGNED)").into_bytes());
            }
            Mentioned::Title(title) => filled.extend([b" AS `", &*doubled(title, b'`'), b"`"].concat()),
            Mentioned::Made { table, alias } => {
                let name = text.get(at.clone()).unwrap_or_default();
                filled.extend(made::derived(session, *table, name, may_process));
                if let Some(alias) = alias {
                    filled.extend([b" AS `", &*doubled(alias.as_bytes(), b'`'), b"`"].concat());
                }
            }
            Mentioned::SystemVariables { alias } => {
                let table = text.get(at.clone()).unwrap_or_default();
                filled.extend(system_variables(session, table));
                if let Some(alias) = alias {
                    filled.extend([b" AS `", &*doubled(alias.as_bytes(), b'`'), b"`"].concat());
                }
            }
            Mentioned::Table { lists, scope, alias } => {
                let table = text.get(at.clone()).unwrap_or_default();
                filled.extend(rows_and_ours(session, *lists, *scope, table));
                if let Some(alias) = alias {
                    filled.extend([b" AS `", &*doubled(alias.as_bytes(), b'`'), b"`"].concat());
                }
            }
        }
        behind = at.end;
    }
    filled.extend_from_slice(text.get(behind..).unwrap_or_default());
    Ok(filled)
}

/// Whether the client may see what other clients do, if the statement asks for that.
pub(in crate::commands) async fn may_process(
    session: &mut Session,
    mentions: &[Mention],
) -> Result<bool, Lost> {
    let is_asked =
        |mention: &Mention| matches!(mention.what, Mentioned::Made { table: Made::QueryCacheInfo, .. });
    Ok(mentions.iter().any(is_asked) && privileges::require(session, Privilege::Process).await?.is_ok())
}

/// Returns the error that the server finds before it reaches the variables, if there is one: an unknown column. The server is asked to
/// explain the statement with NULLs in the variables' places.
pub(in crate::commands) async fn error_before(session: &mut Session, text: &[u8]) -> Option<ErrPacket> {
    let mentions = mentions(session, text);
    let variables = mentions.iter().filter(|mention| matches!(mention.what, Mentioned::Variable { .. }));
    let mut asked = b"EXPLAIN ".to_vec();
    let mut behind = 0;
    for Mention { at, .. } in variables {
        asked.extend_from_slice(text.get(behind..at.start)?);
        asked.extend_from_slice(b"NULL");
        behind = at.end;
    }
    asked.extend_from_slice(text.get(behind..)?);
    let is_plain = freshet_sql::effects(&asked, session.modes()).is_plain();
    match session.ask(std::str::from_utf8(&asked).ok().filter(|_| is_plain)?).await {
        Err(Error::Server(error)) => Some(error),
        _ => None,
    }
}

/// Returns a variable's value as the server would write it.
fn literal(session: &mut Session, scope: Scope, name: &str) -> Result<Vec<u8>, ErrPacket> {
    Ok(match selected(session, scope, name)? {
        ShownCell::Number(digits) => digits.into_bytes(),
        ShownCell::Text(text) => quoted(session, text.as_bytes()),
        ShownCell::Null => b"NULL".to_vec(),
    })
}

/// The columns of MariaDB's table of system variables, and which of them hold a value.
const SYSTEM_VARIABLES: [(&str, Option<Scope>); 15] = [
    ("VARIABLE_NAME", None),
    ("SESSION_VALUE", Some(Scope::Session)),
    ("GLOBAL_VALUE", Some(Scope::Global)),
    ("GLOBAL_VALUE_ORIGIN", None),
    ("DEFAULT_VALUE", None),
    ("VARIABLE_SCOPE", None),
    ("VARIABLE_TYPE", None),
    ("VARIABLE_COMMENT", None),
    ("NUMERIC_MIN_VALUE", None),
    ("NUMERIC_MAX_VALUE", None),
    ("NUMERIC_BLOCK_SIZE", None),
    ("ENUM_VALUE_LIST", None),
    ("READ_ONLY", None),
    ("COMMAND_LINE_ARGUMENT", None),
    ("GLOBAL_VALUE_PATH", None),
];

/// Returns `(SELECT VARIABLE_NAME, IF(it is ours and has a value, CASE … END, SESSION_VALUE) AS SESSION_VALUE, … FROM table)`: the server's
/// rows, with Freshet's values.
fn system_variables(session: &mut Session, table: &[u8]) -> Vec<u8> {
    let mut columns: Vec<Vec<u8>> = Vec::new();
    for (column, holds) in SYSTEM_VARIABLES {
        let Some(scope) = holds else {
            columns.push(column.as_bytes().to_vec());
            continue;
        };
        let mut cases = format!("IF({column} IS NULL, NULL, CASE VARIABLE_NAME").into_bytes();
        for (name, value) in list::rows(session, Lists::Variables, scope, |_| true) {
            let (name, value) = (quoted(session, name.as_bytes()), quoted(session, value.as_bytes()));
            cases.extend([b" WHEN ", &*name, b" THEN ", &*value].concat());
        }
        cases.extend(format!(" ELSE {column} END) AS {column}").into_bytes());
        columns.push(cases);
    }
    [b"(SELECT ", &*columns.join(&b", "[..]), b" FROM ", table, b")"].concat()
}

/// Returns `(SELECT … FROM table WHERE it is none of ours UNION ALL SELECT 'Qcache_hits', '7' …)`.
fn rows_and_ours(session: &mut Session, lists: Lists, scope: Scope, table: &[u8]) -> Vec<u8> {
    let rows = list::rows(session, lists, scope, |_| true);
    let names: Vec<Vec<u8>> = rows.iter().map(|(name, _)| quoted(session, name.as_bytes())).collect();
    let mut query = [
        b"(SELECT VARIABLE_NAME, VARIABLE_VALUE FROM ",
        table,
        b" WHERE VARIABLE_NAME NOT IN (",
        &*names.join(&b", "[..]),
        b")",
    ]
    .concat();
    // MariaDB's tables have the names in upper case.
    let upper = session.flavor() == Flavor::MariaDb;
    for (name, value) in rows {
        let name = if upper { name.to_ascii_uppercase() } else { name };
        query.extend(
            [
                b" UNION ALL SELECT ",
                &*quoted(session, name.as_bytes()),
                b", ",
                &*quoted(session, value.as_bytes()),
            ]
            .concat(),
        );
    }
    query.push(b')');
    query
}
