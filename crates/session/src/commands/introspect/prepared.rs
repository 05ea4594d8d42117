//! SELECTs from tables of the schema `freshet`, prepared by COM_STMT_PREPARE, and EXPLAIN FRESHET.
//!
//! The server prepares a substitute that has the same parameters and columns, so that the statement has a number that no other statement
//! has. Freshet answers the executions.

use std::sync::Arc;

use bytes::BytesMut;
use freshet_protocol::{Command, ErrPacket, Parameter};
use freshet_sql::{CacheStatement, Ours, Request};
use freshet_upstream::Error;

use super::{IntrospectionValue, RowFormat, error, found, is_ours, named, put};
use crate::commands::refusals::unavailable;
use crate::commands::{caches, explain, ours};
use crate::introspection::IntrospectionTable;
use crate::relay::Lost;
use crate::session::{Flow, Prepared, Session};

/// Prepares a statement that Freshet computes; `None` if the text is none.
pub(in crate::commands) async fn prepare(session: &mut Session, packet: &[u8]) -> Option<Result<Flow, Lost>> {
    let text = packet.get(1..)?;
    let (statement, titles) = match freshet_sql::explained(text, session.modes()) {
        Some(statement) => (statement, explain::TITLES.map(str::to_owned).to_vec()),
        None if let Some(shown) = shown(session, text) => {
            (text, caches::titles(&shown).iter().map(|title| (*title).to_owned()).collect())
        }
        None if is_ours(session, text).await => match columns(session, text).await {
            Ok(titles) => (text, titles),
            Err(error) => return Some(session.refuse(&error)),
        },
        None => return None,
    };
    let Some(parameters) = freshet_sql::markers(statement, session.modes()) else {
        return Some(session.refuse(&error("its parameters cannot be told")));
    };
    Some(prepare_substitute(session, text, &titles, parameters).await)
}

/// Returns a statement that shows something of the created caches.
fn shown(session: &Session, text: &[u8]) -> Option<Box<CacheStatement>> {
    match freshet_sql::read(text, session.modes()) {
        Request::Ours(Ours::Caches(statement)) => Some(statement),
        _ => None,
    }
    .filter(|statement| !caches::titles(statement).is_empty())
}

/// Returns the names of a SELECT's columns.
async fn columns(session: &Session, text: &[u8]) -> Result<Vec<String>, ErrPacket> {
    let Some(engine) = session.shared.options.engine.clone() else { return Err(error("it is off")) };
    let text = String::from_utf8_lossy(text).into_owned();
    let computes = Arc::clone(&engine.computes);
    let columns =
        tokio::task::spawn_blocking(move || computes.columns(named(&text, IntrospectionTable::empty), &text))
            .await;
    columns.unwrap_or_else(|_| Err("it was broken off".to_owned())).map_err(|why| error(&why))
}

async fn prepare_substitute(
    session: &mut Session,
    text: &[u8],
    titles: &[String],
    parameters: usize,
) -> Result<Flow, Lost> {
    session.prepare_substitute(text, made(titles, parameters)).await?;
    Ok(Flow::Continue)
}

/// Returns a statement for the server with these columns and this many parameters.
fn made(titles: &[String], parameters: usize) -> Vec<u8> {
    let title = |title: &String| format!("'' AS `{}`", title.replace('`', "``"));
    let titles: Vec<String> = titles.iter().map(title).collect();
    let conditions = vec!["? IS NULL"; parameters].join(" OR ");
    let condition = if parameters == 0 { "1 = 0" } else { &conditions };
    format!("SELECT {} FROM DUAL WHERE {condition}", titles.join(", ")).into_bytes()
}

/// Returns the statement that the server prepares in the place of a SELECT from tables of the schema `freshet`, by PREPARE.
pub(in crate::commands) async fn substitute(session: &Session, text: &[u8]) -> Result<Vec<u8>, ErrPacket> {
    let parameters = freshet_sql::markers(text, session.modes());
    let parameters = parameters.ok_or_else(|| error("its parameters cannot be told"))?;
    Ok(made(&columns(session, text).await?, parameters))
}

/// Carries out EXECUTE of a SELECT from tables of the schema `freshet` that was prepared by PREPARE, and EXECUTE IMMEDIATE of one.
/// `values`: the values after USING; `None` if they cannot be read.
pub(in crate::commands) async fn execute_text(
    session: &mut Session,
    text: &[u8],
    values: Option<Vec<Vec<u8>>>,
) -> Result<Flow, Lost> {
    let wanted = freshet_sql::markers(text, session.modes());
    let Some(values) = values.filter(|values| Some(values.len()) == wanted) else {
        return session.refuse(&ErrPacket::new(1210, "HY000", "Incorrect arguments to EXECUTE"));
    };
    let values = match values_of(session, &values).await {
        Ok(values) => values,
        Err(error) => return unavailable(session, &error),
    };
    match found(session, text, values).await? {
        Ok(found) => put(session, &found, RowFormat::Text),
        Err(error) => session.refuse(&error),
    }
}

/// Returns the values of user variables and numbers, as the server has them.
async fn values_of(session: &mut Session, values: &[Vec<u8>]) -> Result<Vec<IntrospectionValue>, Error> {
    if values.is_empty() {
        return Ok(Vec::new());
    }
    let listed: Vec<_> = values.iter().map(|value| String::from_utf8_lossy(value)).collect();
    let asked = session.ask(&format!("SELECT {}", listed.join(", "))).await?;
    let row = asked.rows.into_iter().next().unwrap_or_default();
    let value = |bytes: Option<Vec<u8>>| {
        let Some(bytes) = bytes else { return IntrospectionValue::Null };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        // A number that is written as SQLite would write it is that number; anything else is compared as a text.
        match text.parse::<i64>() {
            Ok(number) if number.to_string() == text => IntrospectionValue::Integer(number),
            _ => IntrospectionValue::Text(text),
        }
    };
    Ok(row.into_iter().map(value).collect())
}

/// Executes a statement that Freshet computes; `None` if the statement is none.
pub(in crate::commands) async fn execute(
    session: &mut Session,
    packet: &BytesMut,
    command: Command,
    prepared: &Prepared,
) -> Option<Result<Flow, Lost>> {
    let text = prepared.text_of_ours()?.to_vec();
    let explained = freshet_sql::explained(&text, session.modes());
    let shown = if explained.is_none() { shown(session, &text) } else { None };
    if explained.is_none() && shown.is_none() && !super::names_schema(session, &text) {
        return None;
    }
    if command != Command::StmtExecute {
        return Some(ours::refused(session));
    }
    let Some(values) = prepared.values(packet, session.capabilities()) else {
        return Some(session.refuse(&error("its parameters cannot be told")));
    };
    let values: Option<Vec<IntrospectionValue>> = values.iter().map(value).collect();
    let found = match (explained, values) {
        (Some(statement), _) => explain::found(session, statement).await,
        (None, _) if let Some(shown) = &shown => caches::found(session, shown).await,
        (None, Some(values)) => found(session, &text, values).await,
        (None, None) => Ok(Err(error("parameters are NULL, numbers or texts"))),
    };
    Some(match found {
        Ok(Ok(found)) => put(session, &found, RowFormat::Binary),
        Ok(Err(error)) => session.refuse(&error),
        Err(lost) => Err(lost),
    })
}

fn value(parameter: &Parameter<'_>) -> Option<IntrospectionValue> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(match parameter {
        Parameter::Null => IntrospectionValue::Null,
        Parameter::Int(number) => IntrospectionValue::Integer(*number),
        Parameter::UInt(number) => IntrospectionValue::Integer(i64::try_from(*number).unwrap_or(i64::MAX)),
        Parameter::Float(number) => IntrospectionValue::Real(*number),
        Parameter::Text(bytes) => IntrospectionValue::Text(text(bytes)),
        Parameter::Decimal(digits) => IntrospectionValue::Real(text(digits).parse().ok()?),
        Parameter::DateTime { .. } | Parameter::Bytes(_) | Parameter::Other => return None,
    })
}
