//! What stored code does: triggers, routines, and functions behind views are followed from body to body, to the tables
//! that they write.
//!
//! Code is settled as tables are. The server logs the creation of a trigger as a definition of its table, the end of a trigger as a
//! definition of its schema, and a change of a routine as a definition of a name that no table has (`code::routine_name`). Each drops
//! everything that was concluded here.

use std::collections::HashSet;
use std::sync::Arc;

use freshet_sql::{BodyEffects, RoutineKind, TableName};
use freshet_upstream::{Connection, ServerInfo};

use super::begun::{ReadingBegun, is_settled};
use super::bodies;
use super::object::{self, CatalogObject};
use crate::catalog::{Catalog, TABLES_MAX};
use crate::code::{Code, Routine, routine_name};
use crate::error::CatalogError;
use crate::name::Name;
use crate::table_info::TableKind;

/// Code that leads to more tables, views and routines than this counts as unknown code.
const FOLLOWED_MAX: usize = 256;

/// An object that is still to be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Lead {
    /// A table or view is read, or written.
    Table { name: Name, written: FollowedWrite },
    /// A routine is run.
    Routine(RoutineKind, Name),
}

/// What is written of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum FollowedWrite {
    Nothing,
    /// Rows that are known.
    Rows,
    Anything,
}

/// Code that is being followed.
#[derive(Debug, Default)]
pub(super) struct Trail {
    code: Code,
    open: Vec<Lead>,
    /// The next routine is the called one, and the values of the call are known.
    is_called: bool,
}

impl Trail {
    /// Adds what one body does. A name without a schema belongs to `schema`.
    pub(super) fn add(&mut self, body: &BodyEffects, schema: &str) {
        let whole = |table: &TableName| {
            (table.schema.clone().unwrap_or_else(|| schema.to_owned()), table.name.clone())
        };
        self.code.any = true;
        self.code.session |= body.session;
        self.code.commits |= body.commits;
        self.code.reads_last_statement |= body.reads_last_statement;
        let table = |table: &TableName, written| Lead::Table { name: whole(table), written };
        let written = body.writes.iter().map(|written| table(written, FollowedWrite::Anything));
        let read = body.reads.iter().map(|read| table(read, FollowedWrite::Nothing));
        let by_rows =
            if std::mem::take(&mut self.is_called) { FollowedWrite::Rows } else { FollowedWrite::Anything };
        let rows = body.rows.iter().map(|write| table(write.what.table(), by_rows));
        if by_rows == FollowedWrite::Rows {
            let told = body.rows.iter().map(|write| (whole(write.what.table()), write.clone()));
            self.code.rows.extend(told);
        }
        let run = body.calls.iter().map(|call| Lead::Routine(call.kind, whole(&call.name)));
        self.open.extend(written.chain(rows).chain(read).chain(run));
    }

    /// Adds the code that runs when this table or view is read.
    pub(super) fn add_reading(&mut self, object: &CatalogObject) {
        self.code.any |= !object.calls.is_empty();
        self.open.extend(object.calls.iter().map(|(kind, name)| Lead::Routine(*kind, name.clone())));
    }

    /// Adds the code that runs when this table is written.
    pub(super) fn add_writing(&mut self, object: &CatalogObject) {
        object.bodies.iter().for_each(|body| self.add(body, &object.name.0));
    }
}

impl Catalog {
    /// Reads what a routine does and keeps it. That this cannot be told is kept as well.
    ///
    /// # Errors
    /// [`CatalogError::Unsettled`] if the routine changed, or may have changed, meanwhile.
    pub async fn load_routine(
        &self,
        connection: &mut Connection,
        server: &ServerInfo,
        kind: RoutineKind,
        name: &Name,
    ) -> Result<Arc<Routine>, CatalogError> {
        let begun = ReadingBegun { version: self.version(), valid_from: self.freshness.valid_from() };
        let start =
            Trail { open: vec![Lead::Routine(kind, name.clone())], is_called: true, ..Trail::default() };
        let code = self.follow(connection, server, start).await?;
        let mut state = self.state();
        let own = routine_name(&state.name(&name.0, &name.1));
        let names: Vec<&Name> = code.iter().flat_map(|code| &code.names).chain([&own]).collect();
        let rests_on = state.basis(names.iter().copied(), begun.basis(true, code.is_none()));
        let is_settled = is_settled(&self.freshness, names.into_iter(), begun.valid_from);
        if !state.versions.is_current(&rests_on) || !is_settled {
            return Err(CatalogError::Unsettled);
        }
        let routine = Arc::new(Routine { code, rests_on });
        if state.routines.len() >= TABLES_MAX {
            state.routines.clear();
        }
        state.routines.insert((kind, own), Arc::clone(&routine));
        Ok(routine)
    }

    /// Follows code to its end; `None` where something on the way is unknown.
    pub(super) async fn follow(
        &self,
        connection: &mut Connection,
        server: &ServerInfo,
        mut followed: Trail,
    ) -> Result<Option<Code>, CatalogError> {
        let mut seen = HashSet::new();
        while let Some(step) = followed.open.pop() {
            if !seen.insert(step.clone()) {
                continue;
            }
            if seen.len() > FOLLOWED_MAX {
                return Ok(None);
            }
            let is_known = match step {
                Lead::Table { name, written } => {
                    let object = object::read(connection, server, &name).await?;
                    add_table(&mut followed, name, object, written)
                }
                Lead::Routine(kind, name) => {
                    let body = bodies::routine(connection, server, kind, &name).await?;
                    let folded = self.state().name(&name.0, &name.1);
                    followed.code.names.push(routine_name(&folded));
                    body.map(|body| followed.add(&body, &name.0)).is_some()
                }
            };
            if !is_known {
                return Ok(None);
            }
        }
        let mut code = followed.code;
        code.writes.sort();
        code.writes.dedup();
        code.engines.sort();
        code.engines.dedup();
        Ok(Some(code))
    }
}

/// Adds what follows from reading or writing a table or view; `false` if that is not known.
fn add_table(followed: &mut Trail, asked: Name, object: CatalogObject, written: FollowedWrite) -> bool {
    let is_open_ended = object.has_triggers || object.writes_elsewhere() || !object.parts.is_empty();
    if object.runs_unknown_code || written != FollowedWrite::Nothing && is_open_ended {
        return false;
    }
    followed.add_reading(&object);
    if let TableKind::View { names, .. } = &object.kind {
        followed.open.extend(names.iter().map(|name| Lead::Table { name: name.clone(), written }));
    }
    if written != FollowedWrite::Nothing {
        followed.add_writing(&object);
        followed.code.engines.push(object.engine);
    }
    if written == FollowedWrite::Anything {
        followed.code.writes.push(object.name.clone());
    }
    followed.code.names.extend([asked, object.name]);
    true
}
