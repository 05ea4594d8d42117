//! Reading the definition of one table, or of a view with everything below it.

mod bodies;
mod columns;
mod begun;
mod follow;
mod naming;
mod object;

use std::collections::HashSet;
use std::sync::Arc;

use freshet_cache::Position;
use freshet_upstream::server::ask_end;
use freshet_upstream::{Connection, Error, ServerInfo};

use super::{Catalog, TABLES_MAX};
use crate::error::CatalogError;
use crate::name::Name;
use crate::rules;
use crate::table_info::{TableInfo, TableKind};
use begun::{ReadingBegun, is_settled};
use follow::Trail;
use object::CatalogObject;

/// The most tables and views below a view, or tables of a MERGE table. A larger one is not cached: one change of any of them would drop
/// it.
pub(super) const VIEW_OBJECTS_MAX: usize = 512;

/// Never: it is not known from which position on the binlog has a layout.
const UNSETTLED: Position = Position::new(u64::MAX);

/// The position of a coordinate that the server reported, if the stream has a place for it.
pub type Locate<'a> = &'a dyn Fn(&[u8], u64) -> Option<Position>;

impl Catalog {
    /// Reads a table's definition and keeps it. A table that our account cannot see is kept as such. Without a stream in which to
    /// `locate` the binlog's end, the layout in the binlog is not known.
    ///
    /// # Errors
    /// [`CatalogError::Unsettled`] if the definition changed, or may have changed, meanwhile.
    pub async fn load(
        &self,
        connection: &mut Connection,
        server: &ServerInfo,
        asked: Name,
        locate: Option<Locate<'_>>,
    ) -> Result<Arc<TableInfo>, CatalogError> {
        let begun = ReadingBegun { version: self.version(), valid_from: self.freshness.valid_from() };
        let objects = self.read_all(connection, server, asked.clone()).await?;
        let mut info = assemble(&objects);
        let is_open = self.add_code(connection, server, &objects, &mut info).await?;
        let above = self.unproven_ancestors(&info)?;
        if let Some(unseen) = first_unseen(connection, server, &above).await?
            && info.cacheable.is_ok()
        {
            info.cacheable = Err(format!(
                "foreign keys lead to it from {}.{}, which our account cannot see (grant it PROCESS)",
                unseen.0, unseen.1
            ));
        }
        if let Some(locate) = locate.filter(|_| !info.columns.is_empty()) {
            info.settled_by = match ask_end(server, connection).await {
                Ok((file, offset)) => locate(&file, offset).unwrap_or(UNSETTLED),
                Err(Error::Server(_)) => UNSETTLED,
                Err(error) => return Err(error.into()),
            };
        }
        self.keep(TableBasis { asked, begun, is_open, above: &above }, info)
    }

    /// Returns the object and, if it is a view or a MERGE table, all objects below it, each once.
    async fn read_all(
        &self,
        connection: &mut Connection,
        server: &ServerInfo,
        asked: Name,
    ) -> Result<Vec<CatalogObject>, CatalogError> {
        let mut seen = HashSet::from([asked.clone()]);
        let mut open = vec![asked];
        let mut objects = Vec::new();
        while let Some(name) = open.pop() {
            let object = object::read(connection, server, &name).await?;
            let below = match &object.kind {
                TableKind::View { names, .. } => names,
                _ => &object.parts,
            };
            if seen.len() <= VIEW_OBJECTS_MAX {
                open.extend(below.iter().filter(|name| seen.insert((*name).clone())).cloned());
            }
            objects.push(object);
        }
        Ok(objects)
    }

    /// Adds the code that runs when the table is read or written. `true` if the code leads to something unknown.
    async fn add_code(
        &self,
        connection: &mut Connection,
        server: &ServerInfo,
        objects: &[CatalogObject],
        info: &mut TableInfo,
    ) -> Result<bool, CatalogError> {
        let before = (info.runs_unknown_code, info.has_triggers);
        if !info.runs_unknown_code {
            let mut reading = Trail::default();
            objects.iter().for_each(|object| reading.add_reading(object));
            info.reading = self.follow(connection, server, reading).await?;
            info.runs_unknown_code = info.reading.is_none();
        }
        if !info.has_triggers {
            let mut writing = Trail::default();
            objects.iter().for_each(|object| writing.add_writing(object));
            info.triggers = self.follow(connection, server, writing).await?;
            info.has_triggers = info.triggers.is_none();
        }
        let is_unseen = |object: &CatalogObject| object.kind == TableKind::Unseen || object.runs_unknown_code;
        Ok(before != (info.runs_unknown_code, info.has_triggers) || objects.iter().any(is_unseen))
    }

    /// Returns the tables above this one through which its rows may change; none if all foreign keys are known, whatever our account
    /// sees. As long as our account sees all tables above, it sees all their keys too, one after another.
    fn unproven_ancestors(&self, info: &TableInfo) -> Result<Vec<Name>, CatalogError> {
        let applied = self.freshness.applied();
        let mut state = self.state();
        let mut above = Vec::new();
        for name in &info.base_tables {
            let name = state.name(&name.0, &name.1);
            above.extend(state.reach.unproven_ancestors(&name, applied).ok_or(CatalogError::Unsettled)?);
        }
        Ok(above)
    }

    fn keep(&self, found: TableBasis<'_>, mut info: TableInfo) -> Result<Arc<TableInfo>, CatalogError> {
        let TableBasis { asked, begun, is_open, above } = found;
        let mut state = self.state();
        // Under the lock: a change that is stamped after this check also calls `changed` after it, which removes the definition that is
        // inserted here.
        let code = info.triggers.iter().chain(&info.reading).flat_map(|code| &code.names);
        let names: Vec<&Name> =
            [&asked].into_iter().chain(&info.base_tables).chain(above).chain(code).collect();
        let runs_code = info.has_triggers
            || info.runs_unknown_code
            || info.triggers.iter().chain(&info.reading).any(|code| code.any);
        let rests_on = state.basis(names.iter().copied(), begun.basis(runs_code, is_open));
        let is_settled = is_settled(&self.freshness, names.into_iter(), begun.valid_from);
        if !state.versions.is_current(&rests_on) || !is_settled {
            return Err(CatalogError::Unsettled);
        }
        info.rests_on = rests_on;
        let info = Arc::new(info);
        if state.tables.len() >= TABLES_MAX {
            state.tables.clear();
        }
        let key = state.name(&asked.0, &asked.1);
        state.tables.insert(key, info.clone());
        Ok(info)
    }
}

/// What a table's definition rests on, beside the names in the definition.
struct TableBasis<'a> {
    /// The name that was asked for.
    asked: Name,
    begun: ReadingBegun,
    /// The code leads to something unknown.
    is_open: bool,
    /// The tables above it through which its rows may change.
    above: &'a [Name],
}

/// Returns the first of these tables that our account cannot see.
async fn first_unseen(
    connection: &mut Connection,
    server: &ServerInfo,
    above: &[Name],
) -> Result<Option<Name>, CatalogError> {
    for name in above {
        if !object::is_seen(connection, server, name).await? {
            return Ok(Some(name.clone()));
        }
    }
    Ok(None)
}

/// Makes one description from those of a view and everything below it; the first is the view's own.
fn assemble(objects: &[CatalogObject]) -> TableInfo {
    let refusal = objects.iter().find_map(|object| {
        let why = object.refusal.as_ref()?;
        Some(format!("{}.{}: {why}", object.name.0, object.name.1))
    });
    let too_many = (objects.len() > VIEW_OBJECTS_MAX)
        .then(|| format!("it is made of more than {VIEW_OBJECTS_MAX} tables and views"));
    // Not all objects below have been looked at.
    let is_cut_off = too_many.is_some();
    let shows_all_alike = !is_cut_off && objects.iter().all(|object| object.shows_all_alike);
    let first = objects.first();
    TableInfo {
        name: first.map(|object| object.name.clone()).unwrap_or_default(),
        kind: first.map_or(TableKind::Unseen, |object| object.kind.clone()),
        engine: first.map(|object| object.engine.clone()).unwrap_or_default(),
        cacheable: too_many.or(refusal).map_or(Ok(()), Err),
        base_tables: objects.iter().map(|object| object.name.clone()).collect(),
        rests_on: Arc::default(),
        shows_all_alike,
        runs_unknown_code: objects.iter().any(|object| object.runs_unknown_code),
        asks_for_cache: objects.iter().any(|object| object.asks_for_cache),
        has_triggers: objects.iter().any(|object| object.has_triggers),
        may_be_merged: objects.iter().any(|object| rules::may_be_merged(&object.engine)),
        writes_elsewhere: is_cut_off || objects.iter().any(CatalogObject::writes_elsewhere),
        columns: first.map_or_else(|| Arc::new([]) as Arc<[_]>, |object| Arc::clone(&object.columns)),
        described: first.map_or_else(|| Arc::new([]) as Arc<[_]>, |object| Arc::clone(&object.described)),
        settled_by: UNSETTLED,
        triggers: None,
        reading: None,
    }
}
