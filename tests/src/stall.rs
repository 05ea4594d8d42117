//! A way to a server on which the binlog stream can be held up: the checker's relay, within the test.

use std::time::Duration;

use freshet_checker::relay::Relay;

use crate::Server;

/// Such a way. Its threads end with their connections.
#[derive(Debug)]
pub struct Stall {
    /// The server, reached this way.
    pub url: String,
    relay: Relay,
}

impl Stall {
    /// Opens a way to a server.
    ///
    /// # Panics
    /// If there is no port to be had.
    pub fn before(server: &Server) -> Stall {
        Stall::late(server, Duration::ZERO)
    }

    /// The same, on which the stream is late by so much at least.
    ///
    /// # Panics
    /// If there is no port to be had.
    pub fn late(server: &Server, lag: Duration) -> Stall {
        let target = &server.target;
        let relay = Relay::late(format!("{}:{}", target.host, target.port), lag).expect("a port is free");
        let (user, password, way) = (&target.user, &target.password, relay.address);
        // What is encrypted cannot be told apart.
        Stall { url: format!("mysql://{user}:{password}@{way}/?ssl-mode=disabled"), relay }
    }

    /// Holds the stream up, until [`Self::release`].
    pub fn hold(&self) {
        self.relay.hold();
    }

    /// Breaks the stream off.
    pub fn cut(&self) {
        let _ = self.relay.cut();
    }

    /// Lets everything through that has waited.
    pub fn release(&self) {
        self.relay.release();
    }
}

impl Drop for Stall {
    fn drop(&mut self) {
        self.release();
    }
}
