//! What a write may touch.

use std::sync::Arc;

use freshet_cache::sabotage::{self, Sabotage};
use freshet_cache::{Dep, Freshness};
use freshet_sql::{Datum, RowWrite, TableName};
use freshet_upstream::TableInfo;
use freshet_upstream::catalog::Name;
use freshet_upstream::rows::{Ticket, Touched, reached};
use freshet_upstream::upstream::Upstream;

/// A write as it was read, with the values of its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) what: RowWrite,
    pub(crate) parameters: Vec<Datum>,
}

impl Write {
    /// Whether it makes rows, or may.
    pub(crate) const fn is_insert(&self) -> bool {
        matches!(self.what, RowWrite::Insert { .. } | RowWrite::Upsert { .. })
    }

    /// Whether it is a write to this table and no other; a name without schema is one in the default schema.
    pub(crate) fn is_to(&self, table: &TableName) -> bool {
        let (RowWrite::Insert { table: written, .. }
        | RowWrite::Upsert { table: written, .. }
        | RowWrite::Update { table: written, .. }
        | RowWrite::Delete { table: written, .. }) = &self.what;
        written.name == table.name && (written.schema.is_none() || written.schema == table.schema)
    }
}

/// A write to a table whose definition is known, and which does nothing beside but what its foreign keys do.
#[derive(Clone, Debug)]
pub(crate) struct Described {
    table: Arc<TableInfo>,
    write: Write,
}

impl Described {
    pub(crate) const fn new(table: Arc<TableInfo>, write: Write) -> Self {
        Self { table, write }
    }

    /// The table, where its rows are not told apart for want of room to remember them.
    pub(crate) fn table(&self) -> &Name {
        &self.table.name
    }
}

/// What `write` touches of all that is stored, and the ticket to be held as long as that is fenced. To be asked right before
/// the fence is raised: what is stored by watches that are made later waits for the ticket.
pub(crate) fn touched(write: &Described, freshness: &Freshness, upstream: &Upstream) -> (Vec<Dep>, Ticket) {
    let Described { table, write } = write;
    let (schema, name) = &table.name;
    let (watches, ticket) = upstream.watches().writing(schema, name);
    let mut deps = vec![freshness.table(schema, name).rows];
    for watch in watches.iter() {
        match watch.deps_of_write(table, &write.what, &write.parameters) {
            Touched::Nothing => {}
            Touched::Slots(slots) => deps.extend(slots),
            Touched::Absent => deps.push(watch.absent()),
            Touched::Any if sabotage::is(Sabotage::NarrowFences) => {}
            Touched::Any => deps.push(watch.any()),
        }
    }
    match upstream.descendants(schema, name) {
        Some(below) => {
            let reached = reached(table, &below, &write.what).into_iter();
            deps.extend(reached.map(|(schema, name)| freshness.table(schema, name).definition));
        }
        // Nothing refers yet to what is inserted.
        None if matches!(write.what, RowWrite::Insert { .. }) => {}
        None => deps.push(Dep::EVERYTHING),
    }
    (deps, ticket)
}
