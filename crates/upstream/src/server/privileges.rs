//! The privileges of our account, read from its grants.

use std::collections::{BTreeMap, BTreeSet};

use freshet_sql::Flavor;

use super::ask;
use crate::connection::{Answered, Connection, Rows};
use crate::control::quote_name;
use crate::error::Error;

/// The privileges of our account.
///
/// They are read from the text of SHOW GRANTS, which everybody may ask for. A part that is not understood grants nothing, so only certain
/// privileges are believed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Privileges {
    /// Privileges on everything, in upper case.
    global: BTreeSet<String>,
    /// Privileges on whole schemas whose names are written out.
    schemas: BTreeMap<String, BTreeSet<String>>,
    /// Schemas from which a global privilege has been taken away again (MySQL's partial revokes).
    partly_revoked: BTreeSet<String>,
    /// Whether anything is granted on a schema, a table or a column.
    pub any_below_global: bool,
    /// The account, as the server writes it in a grant.
    pub account: String,
}

/// Who we are, our active roles, and our grants without those of the roles.
const QUESTIONS: [&str; 3] = ["SELECT CURRENT_USER()", "SELECT CURRENT_ROLE()", "SHOW GRANTS"];

const ALL: &str = "ALL PRIVILEGES";
/// MariaDB 10.5 renamed privileges and shows the new names; each of these is as good as the first.
const ALIASES: &[&[&str]] = &[
    &["REPLICATION CLIENT", "BINLOG MONITOR"],
    &["REPLICATION SLAVE", "REPLICATION REPLICA"],
    &["REPLICA MONITOR", "SLAVE MONITOR"],
];

impl Privileges {
    /// Returns the privileges of an account, written as in a grant, that may do nothing.
    pub fn none(account: impl Into<String>) -> Self {
        Self { account: account.into(), ..Self::default() }
    }

    /// Reads the grants of our account and of its active roles.
    ///
    /// # Errors
    /// If the connection breaks.
    pub async fn read(connection: &mut Connection, flavor: Flavor) -> Result<Self, Error> {
        let answers = connection.query_each(&QUESTIONS).await?;
        let [account, roles, grants] = <[Answered; QUESTIONS.len()]>::try_from(answers)
            .map_err(|_| Error::Unexpected { question: "the privileges" })?;
        let mut privileges = Self::none(account_of(&account.map_err(Error::Server)?));
        // A server without roles refuses the question.
        let roles = roles.unwrap_or_default();
        privileges.add_all(grants.ok());
        let roles = roles.text(0, 0).filter(|roles| !roles.is_empty() && !roles.eq_ignore_ascii_case("NONE"));
        if let Some(roles) = roles {
            let question = match flavor {
                Flavor::MySql => format!("SHOW GRANTS FOR CURRENT_USER() USING {roles}"),
                Flavor::MariaDb => "SHOW GRANTS FOR CURRENT_ROLE".to_owned(),
            };
            privileges.add_all(ask(connection, &question).await?);
        }
        Ok(privileges)
    }

    /// Adds the privileges of an answer to SHOW GRANTS.
    fn add_all(&mut self, grants: Option<Rows>) {
        let grants = grants.unwrap_or_default();
        grants.texts().filter_map(|row| row.first().copied()).for_each(|line| self.add(line));
    }

    /// Whether the account has a privilege on everything. Names are those that both servers accept in a GRANT, in upper case.
    pub fn has(&self, privilege: &str) -> bool {
        let held = |name: &str| self.global.contains(name);
        let aliases = ALIASES.iter().find(|names| names.contains(&privilege));
        held(ALL) || held(privilege) || aliases.is_some_and(|names| names.iter().any(|name| held(name)))
    }

    /// Whether the account has a privilege on everything in this schema.
    pub fn has_in(&self, privilege: &str, schema: &str) -> bool {
        if self.has(privilege) && !self.partly_revoked.contains(schema) {
            return true;
        }
        self.schemas.get(schema).is_some_and(|held| held.contains(ALL) || held.contains(privilege))
    }

    /// Whether a global privilege has been taken away again for some schema.
    pub fn is_partly_revoked(&self) -> bool {
        !self.partly_revoked.is_empty()
    }

    /// Adds the privileges of one line of SHOW GRANTS.
    pub(super) fn add(&mut self, line: &str) {
        if let Some((names, object)) = grant(line, "GRANT ", " TO ") {
            self.add_grant(names, &object);
        } else if let Some((_, GrantLevel::Schema(schema))) = grant(line, "REVOKE ", " FROM ") {
            self.partly_revoked.insert(schema);
        }
    }

    fn add_grant(&mut self, names: BTreeSet<String>, object: &GrantLevel) {
        match object {
            GrantLevel::Everything => self.global.extend(names),
            GrantLevel::Schema(schema) => {
                self.any_below_global = true;
                self.schemas.entry(schema.clone()).or_default().extend(names);
            }
            GrantLevel::Other => self.any_below_global = true,
        }
        // USAGE stands for the absence of privileges.
        self.global.remove("USAGE");
    }
}

enum GrantLevel {
    Everything,
    Schema(String),
    /// A table, a routine, or schemas by a pattern.
    Other,
}

/// Returns the privileges and the object of a line `GRANT a, b ON object TO account`; `None` for a line of another form, such as one that
/// grants a role.
fn grant(line: &str, verb: &str, towards: &str) -> Option<(BTreeSet<String>, GrantLevel)> {
    let (names, rest) = line.strip_prefix(verb)?.split_once(" ON ")?;
    let (object, _) = rest.split_once(towards)?;
    let names = names.split(',').map(|name| name.trim().to_ascii_uppercase()).collect();
    Some((names, object_of(object.trim())))
}

fn object_of(text: &str) -> GrantLevel {
    if text == "*.*" {
        return GrantLevel::Everything;
    }
    let Some(schema) = text.strip_suffix(".*").and_then(|name| name.strip_prefix('`')?.strip_suffix('`'))
    else {
        return GrantLevel::Other;
    };
    let name = schema.replace("``", "`");
    let is_pattern = name.replace("\\_", "").replace("\\%", "").contains(['_', '%']);
    let literal = name.replace("\\_", "_").replace("\\%", "%");
    // An underscore stands for any character and so for itself too.
    if is_pattern && name.contains('%') { GrantLevel::Other } else { GrantLevel::Schema(literal) }
}

fn account_of(current_user: &Rows) -> String {
    let text = current_user.text(0, 0).unwrap_or_default();
    let (user, host) = text.rsplit_once('@').unwrap_or((text, "%"));
    format!("{}@{}", quote_name(user), quote_name(host))
}
