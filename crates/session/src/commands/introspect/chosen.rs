//! `USE freshet`: tables that are named without a schema are Freshet's until the client chooses another schema.
//!
//! The server does not know of this choice, and has another default schema, or none. So a statement whose names would be resolved in the
//! server's default schema is neither sent nor answered from memory. A statement that goes to the server names the schemas of all its
//! tables, or names no tables. Any other statement is refused.

use freshet_protocol::ErrPacket;
use freshet_sql::{Effects, Ours, Reads, Request, contains_ignoring_case};

use super::{NOT_SUPPORTED, RowFormat, handle, is_absent, put, show};
use crate::commands::plain;
use crate::commands::refusals::unavailable;
use crate::commands::text::TextQuery;
use crate::introspection::{IntrospectionValue, Rowset, SCHEMA};
use crate::relay::Lost;
use crate::session::{Flow, Forward, Session};

/// Statements that concern the session or show facts of the server, by their first words.
const OF_SESSION: [&str; 11] = [
    "begin",
    "commit",
    "deallocate",
    "drop prepare",
    "kill",
    "release",
    "rollback",
    "savepoint",
    "set",
    "start",
    "xa",
];
/// What SHOW may show: nothing of the default schema.
const SHOWN: [&str; 16] = [
    "character",
    "charset",
    "collation",
    "count(*)",
    "databases",
    "engines",
    "errors",
    "global",
    "grants",
    "plugins",
    "privileges",
    "processlist",
    "schemas",
    "session",
    "status",
    "variables",
];

/// COM_INIT_DB.
pub(in crate::commands) async fn init_db(session: &mut Session, packet: &[u8]) -> Result<Flow, Lost> {
    let name = packet.get(1..).unwrap_or_default();
    if name.eq_ignore_ascii_case(SCHEMA.as_bytes()) && may_be_chosen(session).await {
        return show::choose(session);
    }
    // If the server refuses the name, the earlier choice stays. The server may report its own default schema in that case.
    let (flow, is_refused) = plain::init_db(session, packet).await?;
    session.state.reads_ours &= is_refused;
    Ok(flow)
}

/// Begins the session of a login that names the schema `freshet`. If the client can see a schema of that name on the server, the session
/// begins in the server's schema. If the server cannot be asked, the next statement reports that.
pub(crate) async fn begin_in(session: &mut Session) {
    if session.connect().await.is_err() {
        return;
    }
    // The session does not begin like a login without a schema.
    session.lease.note_no_longer_new();
    if is_absent(session).await {
        session.state.reads_ours = session.shared.options.engine.is_some();
    } else if session.ask(&format!("USE `{SCHEMA}`")).await.is_ok() {
        session.state.environment.note_schema(Some(SCHEMA.to_owned()));
    }
}

/// Whether the schema `freshet` can be chosen: the server has no schema of this name.
async fn may_be_chosen(session: &mut Session) -> bool {
    session.shared.options.engine.is_some() && session.connect().await.is_ok() && is_absent(session).await
}

/// Carries out a statement of a session that has said `USE freshet`; `None` if the statement means the same with any default schema.
pub(in crate::commands) async fn inside(
    session: &mut Session,
    query: TextQuery<'_>,
) -> Option<Result<Flow, Lost>> {
    let text = query.text();
    let typed = String::from_utf8_lossy(text).into_owned();
    if let Some(shown) = show::shown_inside(session, &typed) {
        return Some(shown);
    }
    let words: Vec<String> =
        typed.trim().trim_end_matches(';').split_ascii_whitespace().map(str::to_ascii_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["select", what @ ("database()" | "schema()")] => {
            let found = Rowset {
                columns: vec![what.to_uppercase()],
                rows: vec![vec![IntrospectionValue::from(SCHEMA)]],
            };
            return Some(put(session, &found, RowFormat::Text));
        }
        ["select", "database(),", "user()", "limit", "1"] => return Some(put_status(session).await),
        ["use", _] => return Some(leave(session, query).await),
        _ => {}
    }
    match freshet_sql::read(text, session.modes()) {
        Request::Select { .. } if asks_for_schema(text) => Some(refuse(session)),
        Request::Select { .. } => match selected(&freshet_sql::effects(text, session.modes())) {
            Selected::Ours => Some(handle(session, query).await),
            Selected::Elsewhere => None,
            Selected::Unclear => Some(refuse(session)),
        },
        Request::Other(effects)
            if is_of_session(&words) && reads_nothing(&effects) && !asks_for_schema(text) =>
        {
            None
        }
        Request::Ours(
            Ours::Caches(_) | Ours::FlushTables(_) | Ours::AmongOthers { .. } | Ours::SetMixed { .. },
        )
        | Request::Other(_) => Some(refuse(session)),
        Request::Ours(_) | Request::Kill(_) => None,
    }
}

/// Answers the question that command-line clients ask for their `status` command.
async fn put_status(session: &mut Session) -> Result<Flow, Lost> {
    let user = match session.ask("SELECT USER()").await {
        Ok(found) => found.text(0, 0).map_or(IntrospectionValue::Null, IntrospectionValue::from),
        Err(error) => return unavailable(session, &error),
    };
    let columns = vec!["DATABASE()".to_owned(), "USER()".to_owned()];
    put(
        session,
        &Rowset { columns, rows: vec![vec![IntrospectionValue::from(SCHEMA), user]] },
        RowFormat::Text,
    )
}

/// Whether a text that is to be prepared means the same whatever the default schema is.
pub(in crate::commands) fn names_schemas(session: &Session, text: &[u8]) -> bool {
    let effects = freshet_sql::effects(text, session.modes());
    matches!(freshet_sql::read(text, session.modes()), Request::Select { .. })
        && !asks_for_schema(text)
        && !matches!(effects.reads, Reads::Unknown)
        && unqualified(&effects) == Some(false)
}

/// Refuses a statement.
pub(in crate::commands) fn refuse(session: &mut Session) -> Result<Flow, Lost> {
    session.refuse(&ErrPacket::new(
        NOT_SUPPORTED,
        "42000",
        "After USE freshet, Freshet answers SELECTs from its tables, and what names the schemas of all tables: USE another schema",
    ))
}

/// Where a SELECT reads.
enum Selected {
    Ours,
    Elsewhere,
    Unclear,
}

fn selected(effects: &Effects) -> Selected {
    match (&effects.reads, unqualified(effects)) {
        (Reads::Tables(_), Some(true)) => Selected::Ours,
        (Reads::Tables(_), Some(false)) => Selected::Elsewhere,
        _ => Selected::Unclear,
    }
}

/// Whether a table is named without a schema; `None` if a routine may be, which the server would look for in its default schema.
fn unqualified(effects: &Effects) -> Option<bool> {
    let Reads::Tables(tables) = &effects.reads else { return None };
    let is_any = tables.iter().any(|table| table.schema.is_none());
    (is_any || effects.calls.is_nothing()).then_some(is_any)
}

fn reads_nothing(effects: &Effects) -> bool {
    !effects.several && effects.reads_nothing()
}

fn asks_for_schema(text: &[u8]) -> bool {
    contains_ignoring_case(text, b"database") || contains_ignoring_case(text, b"schema(")
}

fn is_of_session(words: &[&str]) -> bool {
    match words {
        ["show", "full", "processlist"] | ["show", "warnings", ..] => true,
        ["show", what, ..] => SHOWN.contains(what),
        [first, second, ..] if OF_SESSION.contains(&format!("{first} {second}").as_str()) => true,
        [first, ..] => OF_SESSION.contains(first),
        [] => false,
    }
}

/// Carries out `USE` of another schema: if the server accepts it, that schema is the default.
async fn leave(session: &mut Session, query: TextQuery<'_>) -> Result<Flow, Lost> {
    let effects = freshet_sql::effects(query.text(), session.modes());
    let relayed = session.forward(Forward::new(query.message(), &effects)).await?;
    session.state.reads_ours &= relayed.error.is_some();
    Ok(Flow::Continue)
}
