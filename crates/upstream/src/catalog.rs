//! What is known of the server's tables and views.
#![allow(clippy::unimplemented)]

use std::sync::Arc;

use freshet_cache::{Freshness, Position};

use crate::connection::Connection;
use crate::error::Error;
use crate::server::ServerInfo;

/// A schema and a name in it, as the server reports them.
pub type Name = (String, String);

/// Why a definition could not be had.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// It changed, or may have changed, while it was read. Ask again later; until then nothing
    /// may rest on it.
    #[error("the definition is being changed")]
    Unsettled,
    /// It could not be read.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableKind {
    /// A table with rows of its own.
    Base,
    /// A view; these are the tables and views that its own text names.
    View {
        /// What its text names.
        names: Vec<Name>,
    },
    /// Nothing that our account can see.
    Unseen,
}

/// What is known of one table or view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableInfo {
    /// Schema and name as the server reports them.
    pub name: Name,
    /// What it is.
    pub kind: TableKind,
    /// The storage engine; empty for a view.
    pub engine: String,
    /// Whether results that read it may be cached, or why not, in words for users.
    pub cacheable: Result<(), String>,
    /// What a result that reads it depends on: itself, and for a view everything below it, views
    /// (for their definitions) and tables.
    pub base_tables: Vec<Name>,
    /// Everything that a change of its rows can change through foreign keys.
    pub reaches: Vec<Name>,
    /// Whether a change of its rows may run triggers. True as well if our account cannot see
    /// whether it has any.
    pub has_triggers: bool,
}

/// What a definition change may have concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed<'a> {
    /// These tables and views, under the names they had and have.
    Tables(&'a [Name]),
    /// Whatever is in this schema.
    Schema(&'a str),
    /// Anything.
    Everything,
}

/// What is known of the server's tables and views. Shared by all threads.
#[derive(Debug)]
pub struct Catalog;

impl Catalog {
    /// A catalog that knows nothing yet.
    pub fn new(freshness: Arc<Freshness>) -> Self {
        let _ = freshness;
        unimplemented!()
    }

    /// Grows with every call of [`Self::changed`]; what was derived from definitions under an
    /// older version is to be derived anew.
    pub fn version(&self) -> u64 {
        unimplemented!()
    }

    /// What is known of a table without asking.
    pub fn known(&self, schema: &str, name: &str) -> Option<Arc<TableInfo>> {
        let _ = (schema, name);
        unimplemented!()
    }

    /// Reads a table's definition and keeps it.
    ///
    /// # Errors
    /// [`CatalogError::Unsettled`] if it changed meanwhile.
    pub async fn load(
        &self,
        connection: &mut Connection,
        server: &ServerInfo,
        schema: &str,
        name: &str,
    ) -> Result<Arc<TableInfo>, CatalogError> {
        let _ = (connection, server, schema, name);
        unimplemented!()
    }

    /// Says that definitions changed. To be called by the applier after it has stamped the change
    /// and before it publishes the change's position as applied.
    pub fn changed(&self, what: Changed<'_>) {
        let _ = what;
        unimplemented!()
    }

    /// What a change of this table's rows can change through foreign keys, itself not included,
    /// from memory. `None`: not known now, so everything has to be taken for changed.
    pub fn descendants(&self, schema: &str, table: &str) -> Option<Arc<[Name]>> {
        let _ = (schema, table);
        unimplemented!()
    }

    /// Whether the foreign keys should be read again, and the ticket to hand in with them.
    pub fn foreign_keys_wanted(&self) -> Option<ForeignKeysTicket> {
        unimplemented!()
    }

    /// Hands in foreign keys that were read after the ticket was taken. `read_by` is the end of
    /// the binlog, read after them: they count once everything up to there is applied.
    pub fn accept_foreign_keys(&self, ticket: ForeignKeysTicket, keys: ForeignKeys, read_by: Position) {
        let _ = (ticket, keys, read_by);
        unimplemented!()
    }
}

/// Which changes had been told of when foreign keys began to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForeignKeysTicket(u64);

/// All foreign keys of the server through which a change of one table changes another.
#[derive(Debug, Clone, Default)]
pub struct ForeignKeys;

impl ForeignKeys {
    /// Reads them.
    ///
    /// # Errors
    /// If the connection breaks or the server refuses.
    pub async fn read(connection: &mut Connection, server: &ServerInfo) -> Result<Self, Error> {
        let _ = (connection, server);
        unimplemented!()
    }
}
