//! The server's global variables.

use std::collections::BTreeMap;

use crate::connection::Rows;

/// The server's global variables by name, names in lower case.
#[derive(Debug, Clone, Default)]
pub struct Variables(BTreeMap<String, String>);

impl Variables {
    /// Returns the value of a variable, `None` if the server has none of this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns the value of a variable, empty if the server has none of this name.
    pub fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// Whether a switch is on.
    pub fn is_on(&self, name: &str) -> bool {
        let value = self.text(name);
        value.eq_ignore_ascii_case("ON") || value == "1"
    }

    /// Whether the server has a variable of this name.
    pub fn knows(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns all names and values, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl From<&Rows> for Variables {
    /// Reads the answer to SHOW VARIABLES.
    fn from(rows: &Rows) -> Self {
        let pair = |row: Vec<&str>| match row[..] {
            [name, value, ..] => Some((name.to_ascii_lowercase(), value.to_owned())),
            _ => None,
        };
        Self(rows.texts().filter_map(pair).collect())
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for Variables {
    fn from_iter<T: IntoIterator<Item = (&'a str, &'a str)>>(pairs: T) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }
}
