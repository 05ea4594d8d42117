//! What the triggers of a table do: read from their bodies, and followed to the tables that they write.
//!
//! Triggers are settled as tables are: the server logs their creation as a definition of their table, and their end as
//! one of their schema, and each drops all that was concluded here.

use std::collections::HashSet;

use freshet_sql::{Body, Modes, TableName, body};

use super::object::{self, Object, these};
use crate::catalog::table_info::Triggers;
use crate::catalog::{Catalog, CatalogError, Name, TableKind};
use crate::connection::Connection;
use crate::control::query_definitions;
use crate::error::Error;
use crate::server::ServerInfo;

/// A table with more triggers than this counts as one of whose triggers nothing is known.
const TRIGGERS_MAX: usize = 64;
/// So does one whose triggers lead to more tables and views than this.
const FOLLOWED_MAX: usize = 128;

/// Modes of a session under which a text is cut or read in a way that is not followed here.
const UNUSUAL_MODES: &[&str] = &[
    "ANSI",
    "ANSI_QUOTES",
    "DB2",
    "HIGH_NOT_PRECEDENCE",
    "MAXDB",
    "MSSQL",
    "NO_BACKSLASH_ESCAPES",
    "ORACLE",
    "POSTGRESQL",
];

/// What the triggers of a table do by themselves; `None` if that cannot be told, or if our account cannot see them.
pub(super) async fn read(
    connection: &mut Connection,
    server: &ServerInfo,
    name: &Name,
) -> Result<Option<Vec<Body>>, Error> {
    if !server.privileges.has_in("TRIGGER", &name.0) {
        return Ok(None);
    }
    let question = format!(
        "SELECT SQL_MODE, ACTION_STATEMENT FROM information_schema.TRIGGERS WHERE {} LIMIT {}",
        these("EVENT_OBJECT_SCHEMA", "EVENT_OBJECT_TABLE", name),
        TRIGGERS_MAX + 1
    );
    let rows = query_definitions(connection, &question).await?;
    if rows.rows.len() > TRIGGERS_MAX {
        return Ok(None);
    }
    let understood = rows.rows.iter().map(|row| {
        let [Some(modes), Some(text)] = row.as_slice() else { return None };
        body(text, modes_of(std::str::from_utf8(modes).ok()?, server)?)
    });
    Ok(understood.collect())
}

/// How a body is read that was made under this `sql_mode`.
fn modes_of(sql_mode: &str, server: &ServerInfo) -> Option<Modes> {
    let has = |name: &str| sql_mode.split(',').any(|mode| mode.eq_ignore_ascii_case(name));
    let is_usual = !UNUSUAL_MODES.iter().any(|mode| has(mode));
    is_usual.then(|| Modes { ignore_space: has("IGNORE_SPACE"), ..server.modes() })
}

/// What is still to be looked at: a name, and whether it is written.
type Open = Vec<(Name, bool)>;

impl Catalog {
    /// Follows the triggers of these tables; `None` where nothing is known of one on the way.
    pub(super) async fn follow_triggers(
        &self,
        connection: &mut Connection,
        server: &ServerInfo,
        objects: &[Object],
    ) -> Result<Option<Triggers>, CatalogError> {
        let mut found = Triggers::default();
        let mut open = Open::new();
        for object in objects {
            if object.has_triggers {
                return Ok(None);
            }
            add_bodies(&mut open, &mut found, object);
        }
        let mut seen = HashSet::new();
        while let Some((name, is_written)) = open.pop() {
            if !seen.insert((name.clone(), is_written)) {
                continue;
            }
            if seen.len() > FOLLOWED_MAX {
                return Ok(None);
            }
            let object = object::read(connection, server, &name).await?;
            let is_open_ended = object.has_triggers || super::writes_elsewhere(&object);
            if object.runs_unknown_code || is_written && is_open_ended {
                return Ok(None);
            }
            if let TableKind::View { names, .. } = &object.kind {
                open.extend(names.iter().map(|name| (name.clone(), is_written)));
            }
            if is_written {
                add_bodies(&mut open, &mut found, &object);
                found.engines.push(object.engine);
                found.writes.push(object.name.clone());
            }
            found.names.extend([name, object.name]);
        }
        found.engines.sort();
        found.engines.dedup();
        Ok(Some(found))
    }
}

/// A name without a schema is one in the trigger's, which is its table's.
fn add_bodies(open: &mut Open, found: &mut Triggers, object: &Object) {
    let whole = |table: &TableName| {
        let schema = table.schema.clone().unwrap_or_else(|| object.name.0.clone());
        (schema, table.name.clone())
    };
    found.any |= !object.bodies.is_empty();
    for body in &object.bodies {
        open.extend(body.writes.iter().map(|table| (whole(table), true)));
        open.extend(body.reads.iter().map(|table| (whole(table), false)));
        found.session |= body.session;
    }
}
