//! Dropping some of the stored results: by digest, query rule, schema, user or table.

use freshet_digest::Digest;

use crate::Shared;

/// What to drop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purged {
    /// Results of statements with this digest.
    Digest(Digest),
    /// Results of statements that have met the query rule with this number.
    Rule(i64),
    /// Results of statements with this default schema.
    Schema(String),
    /// Results of this user.
    User(String),
    /// Results that depend on this table of a schema.
    Table(String, String),
}

impl Shared {
    /// Drops results. Returns how many were dropped. The results of a table are not counted: they are not served any more, and leave
    /// in time.
    ///
    /// # Errors
    /// There is no such rule, or statements are not counted by digest.
    pub fn purge(&self, what: &Purged) -> Result<u64, String> {
        if let Purged::Table(schema, table) = what {
            let folds = self.upstream.server().is_some_and(|server| server.folds_names());
            let in_form = |name: &str| if folds { name.to_lowercase() } else { name.to_owned() };
            let table = self.freshness().table(&in_form(schema), &in_form(table));
            self.upstream.changed_unlogged(&[table.definition]);
            return Ok(0);
        }
        let Some(statistics) = &self.statistics else {
            return Err("nothing is counted by digest".to_owned());
        };
        let rule = match what {
            Purged::Rule(rule) => Some(self.outcomes_of(*rule)?),
            _ => None,
        };
        let is_meant = statistics.tags(|named| match what {
            Purged::Digest(digest) => named.digest == *digest,
            Purged::Schema(schema) => *named.schema == **schema,
            Purged::User(user) => *named.user == **user,
            Purged::Rule(_) => {
                named.outcome.as_ref().zip(rule.as_ref()).is_some_and(|(it, rule)| rule.contains(&it.id))
            }
            Purged::Table(..) => false,
        });
        Ok(self.cache.purge(is_meant) as u64)
    }

    fn outcomes_of(&self, rule: i64) -> Result<Vec<u64>, String> {
        let set = self.rules.set().filter(|set| set.rules().iter().any(|it| it.rule_id == rule));
        set.map(|set| set.outcomes_of(rule)).ok_or_else(|| format!("there is no query rule {rule}"))
    }
}
