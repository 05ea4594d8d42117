//! The three phases of the program's life, and the signals that move it on.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// The phase of the program's life. It only ever moves down this list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Clients come and go.
    Running,
    /// No client is let in; idle clients are sent away, the others finish their statements.
    Draining,
    /// All remaining clients are cut off.
    Ended,
}

/// What each event loop watches.
pub type Watch = watch::Receiver<Phase>;

/// The signals that end the program.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    /// Takes the signals over from the system's default, which is to die at once.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn take() -> std::io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.hangup.recv() => "SIGHUP",
        }
    }
}
