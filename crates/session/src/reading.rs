//! Long texts are read beside the event loop, so that no client's text holds up the other clients of its loop.
//!
//! A text of megabytes has up to a million tokens, and reading it takes up to seconds. A bounded number of threads of the
//! whole process read such texts. A session with a long text waits for one of them, and no other session waits.

use std::sync::Arc;

use bytes::Bytes;
use freshet_catalog::rows::Zone;
use freshet_sql::{Effects, Flavor, Hint, HintError, Modes, PreparedKill, Request, RowWrite, Tokens, Writes};
use tokio::sync::Semaphore;

/// A text of this many bytes is long. A shorter one is read in a few milliseconds.
pub(crate) const LONG_BYTES_MIN: usize = 64 << 10;
/// A text of more bytes is neither looked up nor stored, and no template is made of it.
pub(crate) const CACHED_BYTES_MAX: usize = 256 << 10;

/// How a text is to be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ParseSettings {
    pub(crate) modes: Modes,
    /// The modes for the rows of a write.
    pub(crate) modes_of_write: Modes,
    /// The session's time zone.
    pub(crate) zone: Zone,
}

/// The facts of a text that are read before it is sent.
#[derive(Debug)]
pub(crate) struct ReadText {
    pub(crate) request: Request,
    /// The rows that the text writes, if it is one write to one table.
    pub(crate) write: Option<RowWrite>,
    /// The facts of a SELECT that is too long for a template.
    pub(crate) select: Option<LongSelect>,
}

/// A SELECT that is too long for a template.
#[derive(Debug)]
pub(crate) struct LongSelect {
    pub(crate) effects: Effects,
    pub(crate) hint_error: Option<HintError>,
    /// The text without hints that the server does not know.
    pub(crate) stripped: Option<Vec<u8>>,
}

/// The facts of a long text that is to be prepared.
#[derive(Debug)]
pub(crate) struct ReadPrepared {
    pub(crate) effects: Effects,
    pub(crate) write: Option<RowWrite>,
    /// What the text kills.
    pub(crate) kill: Option<PreparedKill>,
    /// The text is one SELECT.
    pub(crate) select: Option<OneSelect>,
    /// The text without hints that the server does not know.
    pub(crate) stripped: Option<Vec<u8>>,
}

/// The facts of a text that is one SELECT and is to be prepared.
#[derive(Debug)]
pub(crate) struct OneSelect {
    pub(crate) hint: Option<Hint>,
}

/// The threads that read long texts.
#[derive(Debug, Clone)]
pub(crate) struct Readers(Arc<Semaphore>);

impl Default for Readers {
    /// One thread for two cores, so that the event loops keep most of the machine.
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self(Arc::new(Semaphore::new((cores / 2).max(1))))
    }
}

impl Readers {
    /// Reads `text` beside the event loop. `None` only when the program ends.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        text: Bytes,
        read: impl FnOnce(&[u8]) -> T + Send + 'static,
    ) -> Option<T> {
        let permit = Arc::clone(&self.0).acquire_owned().await.ok()?;
        // The permit stays with the work: a client that leaves makes no room for another before the work is done.
        let work = move || {
            let out = read(&text);
            drop(permit);
            out
        };
        tokio::task::spawn_blocking(work).await.ok()
    }
}

/// Reads a long text: all facts that are needed of it, so that another thread is asked once.
pub(crate) fn query(text: &[u8], settings: ParseSettings) -> ReadText {
    let request = freshet_sql::read(text, settings.modes);
    let is_select = matches!(request, Request::Select { .. }) && text.len() > CACHED_BYTES_MAX;
    let select = is_select.then(|| LongSelect {
        effects: freshet_sql::effects(text, settings.modes),
        hint_error: freshet_sql::hint_error(text, settings.modes),
        stripped: without_hint(text, settings.modes),
    });
    let write = match &request {
        Request::Other(effects) => row_write(text, effects, settings),
        _ => None,
    };
    ReadText { request, write, select }
}

/// Reads a text that is to be prepared. The server may prepare it again after the session's character set has changed.
pub(crate) fn prepared(text: &[u8], settings: ParseSettings) -> ReadPrepared {
    let (effects, request) = effects_and_request(text, settings.modes);
    let modes_of_write = Modes { utf8_strings: false, ..settings.modes_of_write };
    let write = row_write(text, &effects, ParseSettings { modes_of_write, ..settings });
    let kill = freshet_sql::prepared_kill(text, settings.modes);
    let select = match request {
        Request::Select { hint } => Some(OneSelect { hint }),
        _ => None,
    };
    ReadPrepared { effects, write, kill, select, stripped: without_hint(text, settings.modes) }
}

/// Cuts a short text once for both; a long one is not held as tokens.
fn effects_and_request(text: &[u8], modes: Modes) -> (Effects, Request) {
    if text.len() < LONG_BYTES_MIN {
        let tokens = Tokens::cut(text, modes);
        return (tokens.effects(), tokens.request());
    }
    (freshet_sql::effects(text, modes), freshet_sql::read(text, modes))
}

/// Returns the text without SQL_CACHE and SQL_NO_CACHE, which are an error or a warning since MySQL 8.
pub(crate) fn without_hint(text: &[u8], modes: Modes) -> Option<Vec<u8>> {
    match modes.flavor {
        Flavor::MySql => freshet_sql::strip_hint(text, modes),
        Flavor::MariaDb => None,
    }
}

/// Returns the rows that a text with these effects writes, if it is one write to one table and shows them by itself.
pub(crate) fn row_write(text: &[u8], effects: &Effects, settings: ParseSettings) -> Option<RowWrite> {
    if writes_one_table(effects) { freshet_sql::row_write(text, settings.modes_of_write) } else { None }
}

/// Whether exactly one table is written.
pub(crate) fn writes_one_table(effects: &Effects) -> bool {
    matches!(&effects.writes, Writes::Tables(tables) if tables.len() == 1)
}

#[cfg(test)]
mod tests;
