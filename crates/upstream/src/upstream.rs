//! The handle through which sessions reach the upstream room.
#![allow(clippy::unimplemented)]

use std::sync::Arc;

use freshet_cache::{Fence, Freshness};

use crate::catalog::{CatalogError, TableInfo};
use crate::config::Config;
use crate::connection::Rows;
use crate::error::Error;
use crate::follow::FollowStatus;
use crate::server::ServerInfo;
use crate::settle::Outcome;

/// The server behind us: its description, its catalog, its stream. Cheap to clone; all clones are the same.
#[derive(Clone)]
pub struct Upstream;

impl Upstream {
    /// Starts the follower thread, which connects by itself and goes on doing so until the last handle is dropped.
    /// Returns at once; a server that cannot be reached is not an error.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn start(config: Config, freshness: Arc<Freshness>) -> Result<Self, Error> {
        let _ = (config, freshness);
        unimplemented!()
    }

    /// How the server is reached.
    #[must_use]
    pub fn config(&self) -> &Arc<Config> {
        unimplemented!()
    }

    /// What is known of the server; `None` until it was reached for the first time.
    #[must_use]
    pub fn server(&self) -> Option<Arc<ServerInfo>> {
        unimplemented!()
    }

    /// How the stream stands.
    #[must_use]
    pub fn follow_status(&self) -> FollowStatus {
        unimplemented!()
    }

    /// Says that `visible` lags what a miss needs. Costs one atomic operation when it was said already.
    pub fn ask_probe(&self) {
        unimplemented!()
    }

    /// Hands over the fence of a write whose outcome is known, or known to be unknown. It is lifted as soon as the write can
    /// no longer make a stored result stale.
    pub fn settle(&self, fence: Fence, outcome: Outcome) {
        let _ = (fence, outcome);
        unimplemented!()
    }

    /// Changes whenever any definition may have changed.
    #[must_use]
    pub fn catalog_version(&self) -> u64 {
        unimplemented!()
    }

    /// What is known of a table or view, read from the server if need be.
    ///
    /// # Errors
    /// When it cannot be read, or changes while it is read.
    pub async fn table(&self, schema: &str, name: &str) -> Result<Arc<TableInfo>, CatalogError> {
        let _ = (schema, name);
        unimplemented!()
    }

    /// What is known of a table or view, from memory.
    #[must_use]
    pub fn known_table(&self, schema: &str, name: &str) -> Option<Arc<TableInfo>> {
        let _ = (schema, name);
        unimplemented!()
    }

    /// Changes whenever an account or a privilege may have changed.
    #[must_use]
    pub fn accounts_epoch(&self) -> u64 {
        unimplemented!()
    }

    /// Changes whenever a global variable that can affect results was seen to have changed.
    #[must_use]
    pub fn globals_epoch(&self) -> u64 {
        unimplemented!()
    }

    /// A question on the control connection.
    ///
    /// # Errors
    /// When there is no connection, or the server refuses.
    pub async fn ask(&self, sql: &str) -> Result<Rows, Error> {
        let _ = sql;
        unimplemented!()
    }
}
