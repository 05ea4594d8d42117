//! Version strings.

use std::fmt;

use freshet_sql::Flavor;

/// A server's version: major, minor, patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Version {
    /// The first number.
    pub major: u16,
    /// The second number.
    pub minor: u16,
    /// The third number.
    pub patch: u16,
}

impl Version {
    /// Returns the first three numbers of a text such as `10.11.19-MariaDB-log`; numbers that are not there
    /// are 0. The `5.5.5-` that MariaDB puts before its version for old replicas is skipped.
    pub fn parse(text: &str) -> Self {
        let behind =
            text.strip_prefix("5.5.5-").filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let text = behind.unwrap_or(text);
        let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().unwrap_or(0));
        let mut next = || numbers.next().unwrap_or(0);
        Self { major: next(), minor: next(), patch: next() }
    }
}

impl From<(u8, u8, u8)> for Version {
    fn from((major, minor, patch): (u8, u8, u8)) -> Self {
        Self { major: major.into(), minor: minor.into(), patch: patch.into() }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// Returns the flavor. MariaDB names itself in its version; every other server counts as MySQL.
pub(super) fn flavor(text: &str) -> Flavor {
    if text.to_ascii_lowercase().contains("mariadb") { Flavor::MariaDb } else { Flavor::MySql }
}
