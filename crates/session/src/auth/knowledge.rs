//! The facts that a login needs from the follower of the binlog.

use std::pin::Pin;

use freshet_follow::Upstream;
use freshet_upstream::{Error, Rows};

/// The facts that a login needs from the follower of the binlog.
pub trait Knowledge: Send + Sync {
    /// Returns the epoch, which changes whenever something may have changed that a login's outcome depends on. `None` while the binlog
    /// stream is not proven live, and while accounts are being changed: in these cases no remembered fact may be used.
    fn epoch(&self) -> Option<Epoch>;

    /// Asks the server a question on a connection of its own.
    fn ask<'a>(&'a self, sql: &'a str) -> RowsFuture<'a>;
}

/// The answer to [`Knowledge::ask`].
pub type RowsFuture<'a> = Pin<Box<dyn Future<Output = Result<Rows, Error>> + Send + 'a>>;

impl Knowledge for Upstream {
    fn epoch(&self) -> Option<Epoch> {
        let stream = self.live_generation()?;
        // A change of accounts or schemas through Freshet is under way until its epoch has begun.
        (!self.may_logins_be_changing()).then(|| Epoch {
            stream,
            accounts: self.accounts_epoch(),
            globals: self.globals_epoch(),
            schemas: self.schemas_version(),
        })
    }

    fn ask<'a>(&'a self, sql: &'a str) -> RowsFuture<'a> {
        Box::pin(Upstream::ask(self, sql))
    }
}

impl Epoch {
    /// Whether no account, password or grant has changed between the two.
    pub(super) fn same_accounts(self, other: Self) -> bool {
        (self.stream, self.accounts) == (other.stream, other.accounts)
    }

    /// Whether also no global variable has changed.
    pub(crate) fn begins_alike(self, other: Self) -> bool {
        self.same_accounts(other) && self.globals == other.globals
    }
}

/// A state of the server in which a login that has succeeded succeeds again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// The stream that reports changes: no fact survives its interruption.
    pub stream: u64,
    /// Accounts, passwords, grants.
    pub accounts: u64,
    /// Global variables: the login's OK packet shows some of them.
    pub globals: u64,
    /// Schemas: a login into a dropped schema fails.
    pub schemas: u64,
}
