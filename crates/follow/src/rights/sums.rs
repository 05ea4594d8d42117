//! The contents of the grant tables, summed up for each user name.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use freshet_protocol::Column;
use freshet_sql::user_name;
use freshet_upstream::connection::Answered;
use freshet_upstream::{Connection, Error, Rows};

/// Names of the columns that say whose right a row is, or by whom or through whom it is given. Each server has some of them.
const OF_USERS: [&str; 6] = ["user", "from_user", "to_user", "default_role_user", "proxied_user", "role"];
/// A user name with a host, quoted: in the tables that say which rights are in effect.
const GRANTEE: &str = "grantee";
/// MariaDB's role that everybody has.
const PUBLIC: &str = "public";

/// The sum of each user's rows, whatever their order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sums(HashMap<Holder, u64>);

/// Whose right it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Holder {
    User(String),
    /// The nameless account's rights on schemas are everybody's. So are rights of unknown owners.
    Anybody,
}

/// Who has other rights than before.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Regranted {
    Nobody,
    /// The accounts with these user names.
    Users(Vec<String>),
    /// The accounts with these user names. The stream has told of it, or is about to.
    Told(Vec<String>),
    Anybody,
}

impl Regranted {
    /// Returns the same, for a case where the stream tells of everything that may have changed rights.
    pub(super) fn told(self) -> Self {
        match self {
            Self::Users(users) => Self::Told(users),
            wider => wider,
        }
    }
}

impl Sums {
    /// Reads these tables. `None` if one of them may not be read.
    pub(super) async fn read(connection: &mut Connection, tables: &[&str]) -> Result<Option<Self>, Error> {
        let answers = connection.query_each(&Self::questions(tables)).await?;
        Ok(Self::of(tables, answers))
    }

    /// Returns the questions for the contents of these tables.
    pub(super) fn questions(tables: &[&str]) -> Vec<String> {
        tables.iter().map(|table| format!("SELECT * FROM {table}")).collect()
    }

    /// Sums up the contents of these tables. `None` if one of them may not be read.
    pub(super) fn of(tables: &[&str], answers: impl IntoIterator<Item = Answered>) -> Option<Self> {
        let mut sums = Self::default();
        for (table, answer) in tables.iter().zip(answers) {
            sums.add(table, &answer.ok()?);
        }
        Some(sums)
    }

    fn add(&mut self, table: &str, Rows { columns, rows, .. }: &Rows) {
        let naming: Vec<(usize, bool)> = columns.iter().enumerate().filter_map(names_users).collect();
        for row in rows {
            let mut hasher = DefaultHasher::new();
            (table, row).hash(&mut hasher);
            let sum = hasher.finish();
            let named = naming.iter().map(|&(at, is_grantee)| {
                holder(row.get(at).and_then(Option::as_deref).unwrap_or_default(), is_grantee)
            });
            let mut holders: Vec<Holder> = named.collect();
            if holders.is_empty() {
                holders.push(Holder::Anybody);
            }
            holders.into_iter().for_each(|holder| {
                let so_far = self.0.entry(holder).or_default();
                *so_far = so_far.wrapping_add(sum);
            });
        }
    }

    /// Returns the users whose sums have changed.
    pub(super) fn since(&self, before: &Self) -> Regranted {
        let gone = before.0.keys().filter(|holder| !self.0.contains_key(holder));
        let other = self.0.iter().filter(|(holder, sum)| before.0.get(holder) != Some(sum));
        let mut users = Vec::new();
        for holder in other.map(|(holder, _)| holder).chain(gone) {
            match holder {
                Holder::User(name) => users.push(name.clone()),
                Holder::Anybody => return Regranted::Anybody,
            }
        }
        if users.is_empty() { Regranted::Nobody } else { Regranted::Users(users) }
    }
}

/// Returns the place of a column that names users, and whether it names a host besides.
fn names_users((at, column): (usize, &Column)) -> Option<(usize, bool)> {
    let is = |name: &str| column.name.eq_ignore_ascii_case(name.as_bytes());
    let is_grantee = is(GRANTEE);
    (is_grantee || OF_USERS.iter().any(|name| is(name))).then_some((at, is_grantee))
}

fn holder(value: &[u8], is_grantee: bool) -> Holder {
    let named = std::str::from_utf8(value).ok().filter(|value| value.is_ascii());
    let user = if is_grantee { named.and_then(user_of_grantee) } else { named };
    match user.map(user_name) {
        Some(user) if !user.is_empty() && user != PUBLIC => Holder::User(user),
        _ => Holder::Anybody,
    }
}

/// Returns `user` of `'user'@'host'`.
fn user_of_grantee(grantee: &str) -> Option<&str> {
    let (user, _host) = grantee.rsplit_once("'@'")?;
    user.strip_prefix('\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(rows: &[(&str, &str)]) -> Sums {
        let mut sums = Sums::default();
        for (named, right) in rows {
            let [column, value] = <[&str; 2]>::try_from(named.split('=').collect::<Vec<_>>()).unwrap();
            let columns = vec![Column { name: column.into(), ..Column::default() }, Column::default()];
            let row = [value, *right].map(|value| Some(value.as_bytes().to_vec()));
            sums.add("t", &Rows { columns, rows: vec![row.to_vec()], warnings: 0 });
        }
        sums
    }

    #[test]
    fn only_whose_rows_have_changed_have_other_rights() {
        let users = |names: &[&str]| Regranted::Users(names.iter().map(|&name| name.to_owned()).collect());
        let before = sums(&[("User=A", "1"), ("GRANTEE='b'@'%'", "1"), ("user=", "1")]);
        let same = sums(&[("user=", "1"), ("GRANTEE='b'@'%'", "1"), ("User=A", "1")]);
        assert_eq!(same.since(&before), Regranted::Nobody);
        for (rows, expected) in [
            (vec![("User=A", "2"), ("GRANTEE='b'@'%'", "1"), ("user=", "1")], users(&["a"])),
            (vec![("User=A", "1"), ("user=", "1")], users(&["b"])),
            (vec![("User=A", "1"), ("GRANTEE='b'@'%'", "1"), ("user=", "1"), ("Role=r", "1")], users(&["r"])),
            (vec![("User=A", "1"), ("GRANTEE='b'@'%'", "1"), ("user=", "2")], Regranted::Anybody),
            (vec![("User=A", "1"), ("GRANTEE='b'@'%'", "1")], Regranted::Anybody),
        ] {
            assert_eq!(sums(&rows).since(&before), expected, "{rows:?}");
        }
    }

    #[test]
    fn what_cannot_be_told_is_anybodys() {
        for (value, is_grantee) in
            [("", false), ("ä", false), ("PUBLIC", false), ("b", true), ("''@'%'", true)]
        {
            assert_eq!(holder(value.as_bytes(), is_grantee), Holder::Anybody, "{value}");
        }
        assert_eq!(holder(b"'it''s'@'%'", true), Holder::User("it''s".to_owned()));
        assert_eq!(sums(&[("Host=a", "1")]).since(&Sums::default()), Regranted::Anybody);
    }
}
