//! The facts about the server and the session that are needed to read a text at all.

use std::collections::HashSet;

use crate::multi_byte::MultiByte;

/// The two families of servers, where their grammars differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flavor {
    /// MySQL, and servers that call themselves so.
    MySql,
    /// MariaDB.
    MariaDb,
}

/// The oldest MySQL whose built-in functions are the ones this crate knows.
///
/// On an older server a stored function may have the name of a newer built-in one, so such a server has to be read with
/// [`Modes::other_syntax`] set.
pub const OLDEST_MYSQL: (u8, u8, u8) = (5, 7, 9);

/// The first MySQL with the words and functions of today; earlier versions are read with [`Modes::before_8`].
const MYSQL_OF_TODAY: (u16, u16, u16) = (8, 0, 11);

/// The oldest MariaDB whose built-in functions are the ones this crate knows; see [`OLDEST_MYSQL`].
pub const OLDEST_MARIADB: (u8, u8, u8) = (10, 5, 0);

/// The parts of `sql_mode`, and the flavor, that change how a text is cut into tokens or what its tokens mean.
///
/// The text itself has to be in UTF-8, in a character set of single bytes whose lower half is ASCII, or in a [`MultiByte`] one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Modes {
    /// The server whose grammar the text has.
    pub flavor: Flavor,
    /// ANSI_QUOTES: `"a"` is a name, not a string.
    pub ansi_quotes: bool,
    /// NO_BACKSLASH_ESCAPES: `\` is a character like any other.
    pub no_backslash_escapes: bool,
    /// PIPES_AS_CONCAT: `||` joins strings.
    pub pipes_as_concat: bool,
    /// IGNORE_SPACE: `count (x)` is the built-in function.
    pub ignore_space: bool,
    /// EMPTY_STRING_IS_NULL: `''` is NULL.
    pub empty_string_is_null: bool,
    /// The text is in utf8mb4, and so are its strings where they are compared. Otherwise only strings in ASCII are understood.
    pub utf8_strings: bool,
    /// The text is a view's as MariaDB shows it: a string has the characters of what was written, but not its character set, and so not its
    /// bytes.
    pub is_shown: bool,
    /// The text is in UTF-8, and so are the names in it.
    pub utf8_names: bool,
    /// The text is in a character set in which a backslash can be the second byte of a character. No name beyond ASCII is read then.
    pub multi_byte: Option<MultiByte>,
    /// A mode that changes the grammar in ways that are not followed here (ORACLE, MSSQL, DB2, HIGH_NOT_PRECEDENCE…), or a server older
    /// than [`OLDEST_MYSQL`] or [`OLDEST_MARIADB`]: nothing is cacheable, and every write may be to anything.
    pub other_syntax: bool,
    /// The server is a MySQL 5.7: functions and reserved words of 8.0 may be names there.
    pub before_8: bool,
}

impl Modes {
    /// Returns the default modes of a server of this flavor.
    pub const fn new(flavor: Flavor) -> Self {
        Modes {
            flavor,
            ansi_quotes: false,
            no_backslash_escapes: false,
            pipes_as_concat: false,
            ignore_space: false,
            empty_string_is_null: false,
            utf8_strings: false,
            is_shown: false,
            utf8_names: false,
            multi_byte: None,
            other_syntax: false,
            before_8: false,
        }
    }

    /// Returns the default modes of a server of this version: major, minor, patch.
    #[must_use]
    pub fn of_version(flavor: Flavor, version: (u16, u16, u16)) -> Self {
        let oldest = match flavor {
            Flavor::MySql => OLDEST_MYSQL,
            Flavor::MariaDb => OLDEST_MARIADB,
        };
        let is_too_old = version < (oldest.0.into(), oldest.1.into(), oldest.2.into());
        let is_before = flavor == Flavor::MySql && version < MYSQL_OF_TODAY;
        // The versions before the first release of 8.0 have some of its words.
        let is_between = is_before && version.0 >= 8;
        Modes {
            other_syntax: is_too_old || is_between,
            before_8: is_before && !is_between,
            ..Self::new(flavor)
        }
    }

    /// Returns all modes in two bytes.
    pub(crate) fn bytes(self) -> [u8; 2] {
        let flags = [
            self.flavor == Flavor::MariaDb,
            self.ansi_quotes,
            self.no_backslash_escapes,
            self.pipes_as_concat,
            self.ignore_space,
            self.empty_string_is_null,
            self.utf8_strings,
            self.other_syntax,
        ];
        [
            flags.into_iter().fold(0, |byte, flag| byte << 1 | u8::from(flag)),
            self.multi_byte.map_or(0, MultiByte::tag) << 3
                | u8::from(self.is_shown) << 2
                | u8::from(self.before_8) << 1
                | u8::from(self.utf8_names),
        ]
    }
}

/// A table or view as a statement names it: unquoted, in the case in which it was written.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableName {
    /// The schema, or None for the session's current one.
    pub schema: Option<String>,
    /// The table's own name.
    pub name: String,
}

impl TableName {
    /// Returns a name without a schema.
    pub fn bare(name: impl Into<String>) -> Self {
        TableName { schema: None, name: name.into() }
    }

    /// Returns the schema and the name, if both are written.
    #[must_use]
    pub fn in_full(&self) -> Option<(String, String)> {
        Some((self.schema.clone()?, self.name.clone()))
    }

    /// Returns these names and those, each once and in order; None if there are more than `max`.
    pub(crate) fn union(mut all: Vec<Self>, more: Vec<Self>, max: usize) -> Option<Vec<Self>> {
        if more.is_empty() {
            return Some(all);
        }
        all.extend(more);
        let mut seen = HashSet::with_capacity(all.len());
        let is_new: Vec<bool> = all.iter().map(|name| seen.insert(name)).collect();
        let mut is_new = is_new.into_iter();
        all.retain(|_| is_new.next() == Some(true));
        (all.len() <= max).then_some(all)
    }

    /// Returns a name with its schema.
    pub fn of(schema: impl Into<String>, name: impl Into<String>) -> Self {
        TableName { schema: Some(schema.into()), name: name.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_servers_are_read_as_such() {
        let of = |flavor, version| {
            let modes = Modes::of_version(flavor, version);
            (modes.other_syntax, modes.before_8)
        };
        for (version, expected) in [
            ((5, 6, 51), (true, true)),
            ((5, 7, 8), (true, true)),
            ((5, 7, 9), (false, true)),
            ((5, 7, 44), (false, true)),
            ((8, 0, 4), (true, false)),
            ((8, 0, 11), (false, false)),
            ((9, 7, 0), (false, false)),
        ] {
            assert_eq!(of(Flavor::MySql, version), expected, "{version:?}");
        }
        assert_eq!(of(Flavor::MariaDb, (10, 4, 34)), (true, false));
        assert_eq!(of(Flavor::MariaDb, (10, 5, 0)), (false, false));
    }
}
