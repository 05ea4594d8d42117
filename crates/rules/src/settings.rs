//! The settings that rules give a statement.

use std::sync::Arc;

use crate::Rule;
use crate::attributes::Attributes;

/// The settings that rules give a statement. `None`: they give none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// The hostgroup under which it is counted.
    pub hostgroup: Option<i64>,
    /// The greatest age of an answer from memory, in milliseconds; 0: none may be given.
    pub cache_ttl_ms: Option<u64>,
    /// Whether the answer may be stale for as long: no write drops it.
    pub is_bargain: Option<bool>,
    /// Whether an answer without rows is stored.
    pub cache_empty_result: Option<bool>,
    /// How long the server may take for it, in milliseconds; 0: no limit.
    pub timeout_ms: Option<u64>,
    /// How long it waits for the answer to another client with the same question, in milliseconds.
    pub cache_timeout_ms: Option<u64>,
    /// How long it waits before it is sent to the server, in milliseconds.
    pub delay_ms: Option<u64>,
    /// The flag with which the rules begin for the session's next statement.
    pub next_query_flag_in: Option<u32>,
    /// 0: from now on its session's reads are carried on no other client's connection; 1: they may be again.
    pub multiplex: Option<u8>,
    /// How often it may be sent again, where that is safe.
    pub retries: Option<u64>,
    /// Whether it is written to the query log.
    pub log: Option<bool>,
    /// The error with which it is answered.
    pub error_msg: Option<Arc<str>>,
    /// The message of the OK packet with which it is answered.
    pub ok_msg: Option<Arc<str>>,
}

impl Settings {
    pub(crate) fn of(rule: &Rule, attributes: &Attributes) -> Self {
        Self {
            hostgroup: rule.destination_hostgroup,
            cache_ttl_ms: rule.cache_ttl,
            is_bargain: attributes.is_bargain,
            cache_empty_result: rule.cache_empty_result,
            timeout_ms: rule.timeout,
            cache_timeout_ms: rule.cache_timeout,
            delay_ms: rule.delay,
            next_query_flag_in: rule.next_query_flag_in,
            multiplex: rule.multiplex,
            retries: rule.retries,
            log: rule.log,
            error_msg: rule.error_msg.as_deref().map(Arc::from),
            ok_msg: rule.ok_msg.as_deref().map(Arc::from),
        }
    }

    /// Returns these settings, replaced where a later rule says something.
    pub(crate) fn overridden_by(self, later: &Self) -> Self {
        Self {
            hostgroup: later.hostgroup.or(self.hostgroup),
            cache_ttl_ms: later.cache_ttl_ms.or(self.cache_ttl_ms),
            is_bargain: later.is_bargain.or(self.is_bargain),
            cache_empty_result: later.cache_empty_result.or(self.cache_empty_result),
            timeout_ms: later.timeout_ms.or(self.timeout_ms),
            cache_timeout_ms: later.cache_timeout_ms.or(self.cache_timeout_ms),
            delay_ms: later.delay_ms.or(self.delay_ms),
            next_query_flag_in: later.next_query_flag_in.or(self.next_query_flag_in),
            multiplex: later.multiplex.or(self.multiplex),
            retries: later.retries.or(self.retries),
            log: later.log.or(self.log),
            error_msg: later.error_msg.clone().or(self.error_msg),
            ok_msg: later.ok_msg.clone().or(self.ok_msg),
        }
    }
}
