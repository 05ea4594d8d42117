//! A rule as it was typed: a row of `mysql_query_rules`.

use std::str::FromStr;

use crate::RuleError;

/// A row of `mysql_query_rules`. `None` is NULL.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "they are the table's columns, which ProxySQL's documentation explains")]
pub struct Rule {
    pub rule_id: i64,
    pub username: Option<String>,
    pub schemaname: Option<String>,
    pub flag_in: u32,
    pub client_addr: Option<String>,
    pub proxy_addr: Option<String>,
    pub proxy_port: Option<u16>,
    pub digest: Option<String>,
    pub match_digest: Option<String>,
    pub match_pattern: Option<String>,
    pub negate_match_pattern: bool,
    pub re_modifiers: Option<String>,
    pub flag_out: Option<u32>,
    pub replace_pattern: Option<String>,
    pub destination_hostgroup: Option<i64>,
    pub cache_ttl: Option<u64>,
    pub cache_empty_result: Option<bool>,
    pub cache_timeout: Option<u64>,
    pub reconnect: Option<bool>,
    pub timeout: Option<u64>,
    pub retries: Option<u64>,
    pub delay: Option<u64>,
    pub next_query_flag_in: Option<u32>,
    pub mirror_flag_out: Option<u32>,
    pub mirror_hostgroup: Option<i64>,
    pub error_msg: Option<String>,
    pub ok_msg: Option<String>,
    pub sticky_conn: Option<bool>,
    pub multiplex: Option<u8>,
    pub gtid_from_hostgroup: Option<i64>,
    pub log: Option<bool>,
    pub apply: bool,
    pub attributes: String,
}

impl Rule {
    /// The columns that [`Rule::read`] takes, in its order.
    pub const COLUMNS: [&str; 33] = [
        "rule_id",
        "username",
        "schemaname",
        "flagIN",
        "client_addr",
        "proxy_addr",
        "proxy_port",
        "digest",
        "match_digest",
        "match_pattern",
        "negate_match_pattern",
        "re_modifiers",
        "flagOUT",
        "replace_pattern",
        "destination_hostgroup",
        "cache_ttl",
        "cache_empty_result",
        "cache_timeout",
        "reconnect",
        "timeout",
        "retries",
        "delay",
        "next_query_flagIN",
        "mirror_flagOUT",
        "mirror_hostgroup",
        "error_msg",
        "OK_msg",
        "sticky_conn",
        "multiplex",
        "gtid_from_hostgroup",
        "log",
        "apply",
        "attributes",
    ];

    /// Reads a row, whose values are those of [`Rule::COLUMNS`].
    ///
    /// # Errors
    /// A value that its column cannot have. The table's own constraints accept some of these.
    pub fn read(row: &[Option<String>]) -> Result<Self, RuleError> {
        let row = Row { rule: 0, values: row };
        let row = Row { rule: row.number("rule_id")?.unwrap_or_default(), ..row };
        Ok(Self {
            rule_id: row.rule,
            username: row.text("username"),
            schemaname: row.text("schemaname"),
            flag_in: row.number("flagIN")?.unwrap_or_default(),
            client_addr: row.text("client_addr"),
            proxy_addr: row.text("proxy_addr"),
            proxy_port: row.number("proxy_port")?,
            digest: row.text("digest"),
            match_digest: row.text("match_digest"),
            match_pattern: row.text("match_pattern"),
            negate_match_pattern: row.truth("negate_match_pattern")?.unwrap_or_default(),
            re_modifiers: row.text("re_modifiers"),
            flag_out: row.number("flagOUT")?,
            replace_pattern: row.text("replace_pattern"),
            destination_hostgroup: row.number("destination_hostgroup")?,
            cache_ttl: row.number("cache_ttl")?,
            cache_empty_result: row.truth("cache_empty_result")?,
            cache_timeout: row.number("cache_timeout")?,
            reconnect: row.truth("reconnect")?,
            timeout: row.number("timeout")?,
            retries: row.number("retries")?,
            delay: row.number("delay")?,
            next_query_flag_in: row.number("next_query_flagIN")?,
            mirror_flag_out: row.number("mirror_flagOUT")?,
            mirror_hostgroup: row.number("mirror_hostgroup")?,
            error_msg: row.text("error_msg"),
            ok_msg: row.text("OK_msg"),
            sticky_conn: row.truth("sticky_conn")?,
            multiplex: row.number("multiplex")?,
            gtid_from_hostgroup: row.number("gtid_from_hostgroup")?,
            log: row.truth("log")?,
            apply: row.truth("apply")?.unwrap_or_default(),
            attributes: row.text("attributes").unwrap_or_default(),
        })
    }

    /// Returns the columns that are accepted and have no effect, for the author of the rule: `rule 7: retries`. `None`: all of them have
    /// their effect.
    #[must_use]
    pub fn without_effect(&self) -> Option<String> {
        let asked = [(self.reconnect.is_some(), "reconnect"), (self.sticky_conn.is_some(), "sticky_conn")];
        let idle: Vec<&str> = asked.iter().filter(|(is_asked, _)| *is_asked).map(|(_, name)| *name).collect();
        (!idle.is_empty()).then(|| format!("rule {}: {}", self.rule_id, idle.join(", ")))
    }

    /// Returns an error of this rule.
    pub(crate) fn error(&self, what: impl Into<String>) -> RuleError {
        RuleError { rule: self.rule_id, what: what.into() }
    }
}

/// A row that is being read.
struct Row<'a> {
    rule: i64,
    values: &'a [Option<String>],
}

impl Row<'_> {
    fn value(&self, column: &str) -> Option<&str> {
        let at = Rule::COLUMNS.iter().position(|known| *known == column)?;
        self.values.get(at)?.as_deref()
    }

    fn text(&self, column: &str) -> Option<String> {
        self.value(column).map(str::to_owned)
    }

    fn number<T: FromStr>(&self, column: &str) -> Result<Option<T>, RuleError> {
        let Some(value) = self.value(column) else { return Ok(None) };
        let what = || format!("{column} cannot be '{value}'");
        value.trim().parse().map(Some).map_err(|_| RuleError { rule: self.rule, what: what() })
    }

    fn truth(&self, column: &str) -> Result<Option<bool>, RuleError> {
        Ok(self.number::<i64>(column)?.map(|number| number != 0))
    }
}
