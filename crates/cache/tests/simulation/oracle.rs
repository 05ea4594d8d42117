//! Knows the true history, and judges whether each answer keeps the promises.

use super::server::{Content, Server, Since, Version};

/// The state that a read that begins now must not fall behind.
#[derive(Clone, Copy, Debug)]
pub struct Invocation {
    /// The latest state that an acknowledged write or a finished read has shown any client; for a session of the level `session`, the
    /// latest that it was shown itself.
    pub floor: u64,
    /// How far the stream was applied.
    pub applied: Version,
}

/// A client, by number.
pub type Client = usize;
pub const CLIENTS: usize = 4;

/// Whether this client asks for the level `session`; the others ask for `strict`.
pub const fn is_own_only(client: Client) -> bool {
    client % 2 == 1
}

#[derive(Default)]
pub struct Oracle {
    floor: u64,
    own: [u64; CLIENTS],
}

impl Oracle {
    pub const fn invoke(&self, client: Client, applied: Version) -> Invocation {
        let floor = if is_own_only(client) { self.own[client] } else { self.floor };
        Invocation { floor, applied }
    }

    /// Notes that a client that wrote through us has got its OK.
    pub fn acknowledged(&mut self, client: Client, state: u64) {
        self.floor = self.floor.max(state);
        self.own[client] = self.own[client].max(state);
    }

    /// Judges an answer that a client has got. Every read through us, hit or not, must show one consistent state with every write through
    /// us up to the floor. A hit must also show everything that was applied.
    pub fn delivered(
        &mut self,
        server: &Server,
        (client, at): (Client, Invocation),
        content: &Content,
        is_hit: bool,
    ) -> Result<(), String> {
        let (mut from, mut until) = (0, u64::MAX);
        for (object, version) in content {
            let history = &server.history[*object];
            let index = history.partition_point(|since| since.version < *version);
            let later = &history[index + 1..];
            from = from.max(history[index].state);
            until = until.min(later.first().map_or(u64::MAX, |next| next.state));
            strict(at, later).map_err(|what| format!("object {object} in version {version}: {what}"))?;
            if is_hit {
                applied(server, at, *object, *version)?;
            }
        }
        if from >= until {
            return Err(format!("no state was ever {content:?}"));
        }
        self.acknowledged(client, from);
        Ok(())
    }
}

fn strict(at: Invocation, later: &[Since]) -> Result<(), String> {
    match later.iter().find(|since| since.through_us) {
        Some(missed) if missed.state <= at.floor => {
            Err(format!("lacks version {}, shown before at state {}", missed.version, at.floor))
        }
        _ => Ok(()),
    }
}

/// Checks that a hit shows everything that was applied. This compares with the log and not with what is visible: an applied transaction
/// must have been stamped, visible or not. Transactions that are in no binlog are never applied.
fn applied(server: &Server, at: Invocation, object: usize, version: Version) -> Result<(), String> {
    let history = &server.history[object];
    let index = history.partition_point(|since| since.version <= version);
    let is_logged = |since: &&Since| !server.log[since.version as usize - 1].unlogged;
    match history[index..].iter().find(is_logged) {
        Some(next) if next.version <= at.applied => {
            Err(format!("object {object} in version {version}: version {} was applied", next.version))
        }
        _ => Ok(()),
    }
}
