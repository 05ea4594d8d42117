//! The errors that clients get.

use freshet_protocol::ErrPacket;

/// Why a statement is refused.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// SQLite's own words, with ProxySQL's number.
    #[error("ProxySQL Admin Error: {}", said(.0))]
    Sqlite(#[from] rusqlite::Error),
    /// The running part refuses what is loaded; the earlier configuration still runs.
    #[error("{0}")]
    NotLoaded(String),
    /// A file of configuration cannot be used.
    #[error("{0}")]
    NotRead(String),
    /// The results to be dropped are not known.
    #[error("{0}")]
    NotPurged(String),
    /// There is no such variable.
    #[error("Unknown system variable '{0}'")]
    NoSuchVariable(String),
    /// The variable can only be read.
    #[error("Variable '{0}' is a read only variable")]
    ReadOnlyVariable(String),
    /// There is no such schema.
    #[error("Unknown database '{0}'")]
    NoSuchDatabase(String),
    /// An account for statistics must not change anything.
    #[error("AdminCommand denied: this account may only read statistics")]
    Denied,
    /// The state is the wanted one already.
    #[error("{0}")]
    Pointless(&'static str),
    /// This port does not do that.
    #[error("{0}")]
    NotSupported(&'static str),
}

impl Refusal {
    /// Returns the error packet.
    pub fn packet(&self) -> ErrPacket {
        let (code, state) = match self {
            Self::Sqlite(_)
            | Self::NotLoaded(_)
            | Self::NotRead(_)
            | Self::NotPurged(_)
            | Self::Pointless(_) => (1045, "28000"),
            Self::NoSuchVariable(_) => (1193, "HY000"),
            Self::ReadOnlyVariable(_) => (1238, "HY000"),
            Self::NoSuchDatabase(_) => (1049, "42000"),
            Self::Denied => (1142, "42000"),
            Self::NotSupported(_) => (1235, "42000"),
        };
        ErrPacket::new(code, state, self.to_string())
    }
}

/// Returns SQLite's own words. If an error is in the text of a statement, rusqlite adds that text and the place; these are left out.
fn said(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    }
}
