//! A client's connection. It may be lost with the server, and for no other reason.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, DriverError};

use super::outages::Outages;
use super::settle::{Seen, look};
use crate::Failure;
use crate::judge::{Nanos, Recorder};
use crate::model::Change;
use crate::target::Target;

/// A new connection must succeed within this time.
const PATIENCE: Duration = Duration::from_secs(120);
/// The time between two attempts.
const RETRY_EVERY: Duration = Duration::from_millis(100);
/// The time between the two looks that must agree.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(150);
/// The server is not there, or is going: CR_CONN_HOST_ERROR, CR_SERVER_GONE_ERROR, CR_SERVER_LOST, ER_SERVER_SHUTDOWN,
/// ER_ABORTING_CONNECTION, ER_NET_READ_ERROR, ER_NET_READ_INTERRUPTED, ER_NET_ERROR_ON_WRITE, ER_NET_WRITE_INTERRUPTED,
/// ER_CONNECTION_KILLED.
const LOST: [u16; 10] = [2003, 2006, 2013, 1053, 1152, 1158, 1159, 1160, 1161, 1927];

/// Why a statement has no answer.
#[derive(Debug)]
pub enum Trouble {
    /// The connection is lost. It is not known whether the statement was carried out.
    Lost(Loss),
    /// An error that must not happen.
    Failed(Failure),
}

/// A connection that was lost.
#[derive(Debug)]
pub struct Loss {
    /// An error packet reported the loss. The connection itself may still be there.
    pub is_told: bool,
    what: String,
}

impl<E: Into<Failure>> From<E> for Trouble {
    fn from(failure: E) -> Self {
        Self::Failed(failure.into())
    }
}

impl Trouble {
    /// Returns the loss with the statements that were sent before in the transaction.
    #[must_use]
    pub fn after(self, said: &[String]) -> Self {
        match self {
            Self::Failed(failure) => Self::Failed(format!("{failure}, after {}", said.join("; ")).into()),
            lost @ Self::Lost(_) => lost,
        }
    }

    /// Returns what an error of the client library means for the statement.
    #[must_use]
    pub fn of(statement: &str, error: &mysql::Error) -> Self {
        let what = format!("{statement}: {error}");
        match error {
            mysql::Error::MySqlError(told) if LOST.contains(&told.code) => {
                Self::Lost(Loss { is_told: true, what })
            }
            mysql::Error::IoError(_) | mysql::Error::DriverError(DriverError::CouldNotConnect(_)) => {
                Self::Lost(Loss { is_told: false, what })
            }
            // The library gives the codec's errors no name; those that are none of the connection speak of packets.
            mysql::Error::CodecError(codec) if !codec.to_string().to_ascii_lowercase().contains("packet") => {
                Self::Lost(Loss { is_told: false, what })
            }
            _ => Self::Failed(what.into()),
        }
    }
}

/// ER_ACCESS_DENIED_ERROR. Right before and after an outage the account is the same.
const DENIED: u16 = 1045;

/// So many times in a row a connection may be denied to whom it is due, which is counted and not judged here.
const DENIED_MAX: u32 = 20;

fn is_denied(error: &mysql::Error) -> bool {
    matches!(error, mysql::Error::MySqlError(told) if told.code == DENIED)
}

/// The losses that the clients noticed. Each count has one cause.
#[derive(Clone, Copy, Debug, Default)]
pub struct Troubles {
    /// Statements without an answer.
    pub lost: u64,
    /// Connections that were made again.
    pub reconnections: u64,
    /// Connections that reported that the server is away, and that went on.
    pub kept: u64,
    /// Attempts to connect that failed.
    pub refused: u64,
    /// Besides these, how many were answered that the password is wrong.
    pub denied: u64,
    /// Transactions of several statements, through Freshet and around it.
    pub transactions: [u64; 2],
    /// Transactions of these that were undone before their end.
    pub undone: u64,
    /// Transactions of unknown outcome that were found done, undone, and half done.
    pub settled: [u64; 3],
}

impl fmt::Display for Troubles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [done, not_done, torn] = self.settled;
        write!(
            f,
            "lost statements: {}; connections made anew: {} after {} attempts in vain ({} denied), kept: {}; \
             unknown outcomes: {done} done, {not_done} undone, {torn} TRUNCATEs torn",
            self.lost, self.reconnections, self.refused, self.denied, self.kept
        )
    }
}

/// The state that all links of a run share.
#[derive(Debug)]
pub struct Surroundings<'a> {
    /// The server itself.
    pub server: &'a Target,
    /// The schema of the run.
    pub schema: &'a str,
    /// The times when the server was away.
    pub outages: &'a Outages,
    /// The clock.
    pub recorder: Recorder,
    /// The losses.
    pub troubles: Mutex<Troubles>,
}

impl Surroundings<'_> {
    /// Updates the counts.
    pub fn note(&self, note: impl FnOnce(&mut Troubles)) {
        note(&mut self.troubles.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Returns a connection, as soon as one can be made.
    ///
    /// # Errors
    /// If no connection can be made in time, or another error occurs than that the server is away.
    pub fn connect(&self, target: &Target) -> Result<Conn, Failure> {
        let until = Instant::now() + PATIENCE;
        let mut denied = 0;
        loop {
            let error = match self.try_connect(target) {
                Ok(conn) => return Ok(conn),
                Err(error) => error,
            };
            if is_denied(&error) && denied < DENIED_MAX {
                denied += 1;
                self.note(|troubles| troubles.denied += 1);
                thread::sleep(RETRY_EVERY);
                continue;
            }
            match Trouble::of(&format!("connecting to {target}"), &error) {
                Trouble::Failed(failure) => return Err(failure),
                Trouble::Lost(loss) if Instant::now() > until => return Err(loss.what.into()),
                Trouble::Lost(_) => self.note(|troubles| troubles.refused += 1),
            }
            thread::sleep(RETRY_EVERY);
        }
    }

    fn try_connect(&self, target: &Target) -> mysql::Result<Conn> {
        // As most clients do, it changes no setting: one whose session has a time limit of its own has connections of its own, too.
        target.connect(self.schema)
    }

    /// Returns what the server has of these changes, once whoever was to make them is gone with the server that was.
    ///
    /// # Errors
    /// When no outage explains that there is no answer, or the server is not to be understood.
    pub fn found(&self, sent: Nanos, loss: &Loss, changes: &[Change]) -> Result<Seen, Failure> {
        self.must_be_explained(sent, loss)?;
        if !self.outages.await_end() {
            return Err("the server does not come back".into());
        }
        let mut last = None;
        let until = Instant::now() + PATIENCE;
        loop {
            let mut direct = self.connect(self.server)?;
            match look(&mut direct, self.schema, changes) {
                Ok(seen) if last == Some(seen) => return Ok(seen),
                Ok(seen) => last = Some(seen),
                // The server may be away again.
                Err(error) if Instant::now() > until => return Err(error),
                Err(_) => last = None,
            }
            thread::sleep(LOOK_AGAIN_AFTER);
        }
    }

    fn must_be_explained(&self, used: Nanos, loss: &Loss) -> Result<(), Failure> {
        if self.outages.explain(used, self.recorder.now()) {
            return Ok(());
        }
        Err(format!("a connection was lost while the server was there: {}", loss.what).into())
    }
}

/// A client's way to the server.
#[derive(Debug)]
pub struct Link<'a> {
    /// The connection.
    pub conn: Conn,
    target: &'a Target,
    around: &'a Surroundings<'a>,
}

impl<'a> Link<'a> {
    /// Returns a connection to this.
    ///
    /// # Errors
    /// As [`Surroundings::connect`].
    pub fn new(target: &'a Target, around: &'a Surroundings<'a>) -> Result<Self, Failure> {
        Ok(Self { conn: around.connect(target)?, target, around })
    }

    /// Returns the state that the link shares with the others.
    #[must_use]
    pub const fn around(&self) -> &'a Surroundings<'a> {
        self.around
    }

    /// Replaces the connection, which was not lost, by another one.
    ///
    /// # Errors
    /// As [`Surroundings::connect`].
    pub fn renew(&mut self) -> Result<(), Failure> {
        self.conn = self.around.connect(self.target)?;
        Ok(())
    }

    /// Goes on after a loss: on the same connection if it still works, otherwise on a new one. Returns whether it is a new one.
    ///
    /// # Errors
    /// If no outage explains the loss, or no connection can be made.
    pub fn recover(&mut self, used: Nanos, loss: &Loss) -> Result<bool, Failure> {
        self.around.must_be_explained(used, loss)?;
        if loss.is_told && self.conn.query_drop("ROLLBACK").is_ok() {
            self.around.note(|troubles| troubles.kept += 1);
            thread::sleep(RETRY_EVERY);
            return Ok(false);
        }
        self.conn = self.around.connect(self.target)?;
        self.around.note(|troubles| troubles.reconnections += 1);
        Ok(true)
    }
}
