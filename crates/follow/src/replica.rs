//! A semi-synchronous replica: reading the stream as one, and checking whether the server's commits really wait.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use freshet_protocol::binlog::{has_semisync_prefix, semisync_ack, split_semisync};
use freshet_upstream::connection::within;
use freshet_upstream::server::Variables;
use freshet_upstream::{Connection, Error, ServerInfo};
use tokio::time::Instant;

use crate::over::Over;
use crate::semisync::{Lack, is_known, lack, waits};

/// The time between two looks at whether commits wait. A change by an administrator is noticed that late.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The limit of a question: if it takes longer, the connection counts as lost.
const QUESTION_LIMIT: Duration = Duration::from_secs(10);

/// How this generation's stream was joined.
#[derive(Debug)]
pub(crate) struct Joined {
    /// We asked to be semi-synchronous.
    asked: bool,
    /// Whether the server accepted that, once its first packet has shown it.
    taken: Cell<Option<bool>>,
    /// The file that the stream is in.
    file: RefCell<Vec<u8>>,
}

impl Joined {
    pub(crate) fn asked(asked: bool) -> Self {
        Self { asked, taken: Cell::new(None), file: RefCell::default() }
    }

    /// Whether we asked to be semi-synchronous.
    pub(crate) const fn was_asked(&self) -> bool {
        self.asked
    }

    /// Returns the contents of a packet behind its status byte: the event, and whether its end is to be acknowledged.
    pub(crate) fn split<'a>(&self, bytes: &'a [u8]) -> Result<(&'a [u8], bool), Error> {
        if !self.asked {
            return Ok((bytes, false));
        }
        if self.taken.get().is_none() {
            self.taken.set(Some(has_semisync_prefix(bytes)));
        }
        if self.taken.get() != Some(true) {
            return Ok((bytes, false));
        }
        let (wants_ack, event) =
            split_semisync(bytes).ok_or(Error::Unexpected { question: "a semi-synchronous binlog" })?;
        Ok((event, wants_ack))
    }

    pub(crate) fn in_file(&self, file: &[u8]) {
        let mut present = self.file.borrow_mut();
        present.clear();
        present.extend_from_slice(file);
    }

    /// Returns the acknowledgement of everything up to this offset in the present file.
    pub(crate) fn ack(&self, offset: u64) -> Vec<u8> {
        semisync_ack(&self.file.borrow(), offset)
    }
}

/// The time of the last look.
#[derive(Debug, Default)]
pub(crate) struct Watching {
    looked_at: Option<Instant>,
}

impl Watching {
    /// If it is time, looks how long commits wait for us, or why they do not. `None` if it is not time, or if nothing shows yet whether
    /// the server accepted us.
    pub(crate) async fn look(
        &mut self,
        joined: &Joined,
        connection: &mut Connection,
        server: &ServerInfo,
    ) -> Result<Option<Result<Duration, Lack>>, Over> {
        let Some(taken) = joined.taken.get().filter(|_| joined.asked) else { return Ok(None) };
        if self.looked_at.is_some_and(|at| at.elapsed() < LOOK_EVERY) {
            return Ok(None);
        }
        let looking = ask(connection);
        let (variables, status) =
            within(QUESTION_LIMIT, "looking whether commits wait for us", looking).await?;
        self.looked_at = Some(Instant::now());
        if taken {
            return Ok(Some(waits(server.flavor, &variables, &status)));
        }
        if is_known(&variables) && !is_known(&server.variables) {
            return Err(Over::Changed("the server can be semi-synchronous now"));
        }
        Ok(Some(Err(lack(server.flavor, &variables).unwrap_or_else(not_taken))))
    }
}

fn not_taken() -> Lack {
    Lack::new("the server did not take us as a semi-synchronous replica", "none is known")
}

/// Returns the server's variables and status, in this order: the status, which says whether commits wait, is the newer.
async fn ask(connection: &mut Connection) -> Result<(Variables, Variables), Error> {
    let variables = connection.query("SHOW GLOBAL VARIABLES LIKE 'rpl_semi_sync_%'").await?;
    let status = connection.query("SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_%'").await?;
    Ok((Variables::from(&variables), Variables::from(&status)))
}
