//! Queries with created caches whose results are kept up to date row by row.
//!
//! One thread, the *keeper*, holds copies of the tables that these queries read, and the results ([`freshet_views`]). The stream tells it of
//! rows ([`news`]). The copies are as of a position that every snapshot is known to see: never ahead of what a client could read at the
//! server. A client that misses asks the keeper, and stores the keeper's result like an answer of the server: with the dependencies of its
//! statement, and the position as `valid_from`. So the one rule judges it like any other entry, and promises nothing else.
//!
//! If the keeper has no result (a table is not loaded yet, a query is not maintained), the server answers.

// Which tables are copied, and how their rows come: read once, and then from the stream.
mod selection;
mod layout;
mod given;
mod loading;
mod news;

// The thread that holds the copies, and the questions to it.
mod keeper;
pub(crate) mod question;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use freshet_cache::Position;
use freshet_catalog::{Name, TableInfo};
use freshet_views::{Limit, MaintainedQuery, Number, Shown};
use tokio::sync::{mpsc, oneshot};

use self::news::News;

pub use keeper::maintain;
pub(crate) use loading::is_current;
pub use selection::{CopiedTables, TableList};

/// A question for a result.
#[derive(Debug, Clone)]
pub(crate) struct ResultQuestion {
    pub(crate) query: MaintainedQuery,
    /// The values of its parameters; `None`: the question is only whether its tables are loaded.
    pub(crate) key: Option<Vec<Number>>,
    /// Which rows are shown; `None`: all.
    pub(crate) limit: Option<Limit>,
    /// The definitions of its tables.
    pub(crate) tables: Vec<(Name, Arc<TableInfo>)>,
}

/// The keeper's answer.
#[derive(Debug, Clone)]
pub(crate) enum KeeperAnswer {
    /// The rows as of this position.
    Rows(Position, Arc<Shown>),
    /// Its tables are loaded.
    Loaded,
    /// There is no result yet, with the reason.
    NotYet(&'static str),
    /// The query is not maintained, with the reason.
    Never(String),
}

/// The state of a table's copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CopyState {
    /// The table is being read: this many rows so far.
    Loading(usize),
    /// The copy is kept: this many rows, and about this many bytes.
    Kept(usize, usize),
    /// The table is not copied, with the reason.
    Refused(String),
}

impl fmt::Display for CopyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loading(rows) => write!(f, "loading, {rows} rows so far"),
            Self::Kept(rows, bytes) => write!(f, "{rows} rows, {bytes} bytes"),
            Self::Refused(why) => f.write_str(why),
        }
    }
}

/// A question to the keeper, and where its answer goes.
type QueuedQuestion = (ResultQuestion, oneshot::Sender<KeeperAnswer>);

/// The handle to the keeper.
pub(crate) struct Maintaining {
    questions: mpsc::UnboundedSender<QueuedQuestion>,
    asked: Mutex<Option<mpsc::UnboundedReceiver<QueuedQuestion>>>,
    news: Arc<News>,
    copies: Mutex<BTreeMap<Name, CopyState>>,
}

impl Default for Maintaining {
    fn default() -> Self {
        let (questions, asked) = mpsc::unbounded_channel();
        Self { questions, asked: Mutex::new(Some(asked)), news: Arc::default(), copies: Mutex::default() }
    }
}

impl Maintaining {
    /// Asks for a result.
    pub(crate) async fn ask(&self, asked: ResultQuestion) -> KeeperAnswer {
        let (answer, answered) = oneshot::channel();
        if self.questions.send((asked, answer)).is_err() {
            return KeeperAnswer::NotYet("nothing is maintained");
        }
        answered.await.unwrap_or(KeeperAnswer::NotYet("nothing is maintained"))
    }

    /// Returns the states of the copies, by the names of their tables.
    pub(crate) fn copies(&self) -> BTreeMap<Name, CopyState> {
        self.copies.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
