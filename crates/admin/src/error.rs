//! What a client is told that cannot have what it wants.

use freshet_protocol::ErrPacket;

/// Why a statement is refused.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// SQLite's own words, with the number that ProxySQL has them under.
    #[error("ProxySQL Admin Error: {}", said(.0))]
    Sqlite(#[from] rusqlite::Error),
    /// The running part does not take over what is loaded; what ran before still runs.
    #[error("{0}")]
    NotLoaded(String),
    /// A file of configuration.
    #[error("{0}")]
    NotRead(String),
    /// What is to be dropped from the cache is not known.
    #[error("{0}")]
    NotPurged(String),
    /// A variable that there is not.
    #[error("Unknown system variable '{0}'")]
    NoSuchVariable(String),
    /// A variable that is shown and not set.
    #[error("Variable '{0}' is a read only variable")]
    ReadOnlyVariable(String),
    /// A schema that there is not.
    #[error("Unknown database '{0}'")]
    NoSuchDatabase(String),
    /// The stats account changes nothing.
    #[error("Command denied: this account may only read statistics")]
    Denied,
    /// It is so already.
    #[error("{0}")]
    Pointless(&'static str),
    /// What this port does not do.
    #[error("{0}")]
    NotSupported(&'static str),
}

impl Refusal {
    /// As a packet.
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

/// SQLite's own words. Where an error is in the text of a statement, rusqlite adds that text and the place.
fn said(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    }
}
