//! The levels of `freshness`: the promises to readers.

/// The promise to a reader. `session/hit.rs` says what each level rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// No read is older than an acknowledged write through Freshet, nor than an earlier read of any client.
    Strict,
    /// Each session reads its own writes and never goes back in time.
    Session,
    /// No read is older than `max_staleness`.
    Eventual,
    /// As `Strict`, for every writer of the server, also writers that bypass Freshet.
    Semisync,
}

impl Level {
    /// The names, in the order of the numbers.
    pub const NAMES: [&'static str; 4] = ["strict", "session", "eventual", "semisync"];
    const ALL: [Self; 4] = [Self::Strict, Self::Session, Self::Eventual, Self::Semisync];

    /// Returns the level of this number. For an unknown number, returns the strongest level that needs nothing of the server.
    pub fn numbered(number: usize) -> Self {
        Self::ALL.get(number).copied().unwrap_or(Self::Strict)
    }

    /// The level of this name, in any case.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().position(|known| known.eq_ignore_ascii_case(name)).map(Self::numbered)
    }

    /// Its number.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES[usize::from(self.number())]
    }
}

/// Whether the server's commits wait for Freshet, which costs every writer of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SemisyncMode {
    /// Never.
    Off,
    /// Always, so that any session may ask for [`Level::Semisync`].
    On,
    /// While [`Level::Semisync`] is the global level.
    #[default]
    Auto,
}

impl SemisyncMode {
    /// Whether commits wait while this is the global level.
    pub fn wants(self, global: Level) -> bool {
        match self {
            Self::Off => false,
            Self::On => true,
            Self::Auto => global == Level::Semisync,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_lead_back() {
        for (number, name) in Level::NAMES.iter().enumerate() {
            let level = Level::numbered(number);
            assert_eq!((usize::from(level.number()), level.name()), (number, *name));
            assert_eq!(Level::named(&name.to_uppercase()), Some(level));
        }
        assert_eq!(Level::named("linear"), None);
        assert_eq!(Level::numbered(9), Level::Strict);
    }

    #[test]
    fn commits_wait_only_if_somebody_said_so() {
        assert!(SemisyncMode::Auto.wants(Level::Semisync) && !SemisyncMode::Auto.wants(Level::Strict));
        assert!(SemisyncMode::On.wants(Level::Strict) && !SemisyncMode::Off.wants(Level::Semisync));
    }
}
