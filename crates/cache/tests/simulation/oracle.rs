//! Knows the true history, and says of each answer whether it keeps what was promised.

use super::server::{Content, Server, Since, Version};

/// What a read that begins now must not fall behind.
#[derive(Clone, Copy, Debug)]
pub struct Invocation {
    /// The latest state that an acknowledged write or a finished read has shown anyone.
    pub floor: u64,
    /// How far the stream was applied.
    pub applied: Version,
}

#[derive(Default)]
pub struct Oracle {
    floor: u64,
}

impl Oracle {
    pub const fn invoke(&self, applied: Version) -> Invocation {
        Invocation { floor: self.floor, applied }
    }

    /// A writer through us has got its OK.
    pub fn acknowledged(&mut self, state: u64) {
        self.floor = self.floor.max(state);
    }

    /// A client has got an answer. Every read through us, hit or not: one consistent state, in which every write through us
    /// up to the floor is. A hit besides: everything that was applied.
    pub fn delivered(
        &mut self,
        server: &Server,
        at: Invocation,
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
        self.floor = self.floor.max(from);
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

/// Looks at the log and not at what is visible: what was applied must have been stamped, seen or not.
fn applied(server: &Server, at: Invocation, object: usize, version: Version) -> Result<(), String> {
    let history = &server.history[object];
    let index = history.partition_point(|since| since.version <= version);
    match history.get(index) {
        Some(next) if next.version <= at.applied => {
            Err(format!("object {object} in version {version}: version {} was applied", next.version))
        }
        _ => Ok(()),
    }
}
