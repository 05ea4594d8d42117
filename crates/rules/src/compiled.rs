//! A rule that can be carried out.

use freshet_digest::Digest;
use regex::bytes::{Regex, RegexBuilder};

use crate::address::ClientPattern;
use crate::attributes::Attributes;
use crate::replace::Replacement;
use crate::{Rule, RuleError, Settings};

/// The most memory that a compiled pattern may take, in bytes.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// A rule that can be carried out.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) rule_id: i64,
    username: Option<Vec<u8>>,
    schemaname: Option<String>,
    flag_in: u32,
    /// The index of its conditions on places in the set; `None` if it has none.
    pub(crate) place: Option<usize>,
    digest: Option<Digest>,
    match_digest: Option<Regex>,
    match_pattern: Option<Regex>,
    negates: bool,
    replaces_all: bool,
    replacement: Option<Replacement>,
    pub(crate) flag_out: Option<u32>,
    pub(crate) applies: bool,
    pub(crate) settings: Settings,
}

/// How far a statement meets a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Met {
    No,
    Yes,
    /// In everything but the statement's text, which was not looked at.
    ButForText,
}

/// A statement's text without its values, and the number of that text.
#[derive(Clone, Copy)]
pub(crate) struct StatementDigest<'a> {
    pub(crate) number: Digest,
    pub(crate) text: &'a [u8],
}

impl Compiled {
    /// Makes a rule usable. `place` is the index of its conditions on places in its set.
    ///
    /// # Errors
    /// The part that cannot be carried out.
    pub(crate) fn of(rule: &Rule, place: Option<usize>) -> Result<Self, RuleError> {
        refuse_unsupported(rule)?;
        let attributes = Attributes::read(&rule.attributes).map_err(|what| rule.error(what))?;
        let (ignores_case, replaces_all) = modifiers(rule)?;
        let compile = |pattern: &Option<String>, column: &str| {
            let compile = |pattern: &String| {
                RegexBuilder::new(pattern)
                    .unicode(false)
                    .case_insensitive(ignores_case)
                    .size_limit(PATTERN_BYTES_MAX)
                    .build()
                    .map_err(|error| rule.error(format!("{column}: {}", in_one_line(&error.to_string()))))
            };
            pattern.as_ref().map(compile).transpose()
        };
        let match_pattern = compile(&rule.match_pattern, "match_pattern")?;
        let replacement = match (&rule.replace_pattern, &match_pattern) {
            (Some(text), Some(pattern)) => {
                Some(Replacement::read(text, pattern).map_err(|what| rule.error(what))?)
            }
            (Some(_), None) => return Err(rule.error("replace_pattern needs a match_pattern")),
            (None, _) => None,
        };
        let digest = rule.digest.as_ref().map(|digest| {
            digest.parse().map_err(|_| rule.error(format!("digest '{digest}' is no hexadecimal number")))
        });
        Ok(Self {
            rule_id: rule.rule_id,
            username: rule.username.as_ref().map(|name| name.clone().into_bytes()),
            schemaname: rule.schemaname.clone(),
            flag_in: rule.flag_in,
            place,
            digest: digest.transpose()?,
            match_digest: compile(&rule.match_digest, "match_digest")?,
            match_pattern,
            negates: rule.negate_match_pattern,
            replaces_all,
            replacement,
            flag_out: rule.flag_out,
            applies: rule.apply,
            settings: Settings::of(rule, &attributes),
        })
    }

    /// Whether a rule counts for a session's statements with this flag.
    pub(crate) fn is_of(&self, user: &[u8], schema: &str, flag: u32) -> bool {
        self.flag_in == flag
            && self.username.as_ref().is_none_or(|name| name == user)
            && self.schemaname.as_ref().is_none_or(|name| name == schema)
    }

    /// Whether a statement with this digest meets the rule; `text` is looked at last, if it is given.
    pub(crate) fn is_met(&self, digest: StatementDigest<'_>, text: Option<&[u8]>) -> Met {
        let is_found = |pattern: &Option<Regex>, text: &[u8]| {
            pattern.as_ref().is_none_or(|pattern| pattern.is_match(text) != self.negates)
        };
        if self.digest.is_some_and(|wanted| wanted != digest.number)
            || !is_found(&self.match_digest, digest.text)
        {
            return Met::No;
        }
        match (&self.match_pattern, text) {
            (Some(_), None) => Met::ButForText,
            (Some(_), Some(text)) if !is_found(&self.match_pattern, text) => Met::No,
            _ => Met::Yes,
        }
    }

    /// Returns the statement that replaces one that meets the rule.
    pub(crate) fn rewritten(&self, text: &[u8]) -> Option<Vec<u8>> {
        let pattern = self.match_pattern.as_ref()?;
        Some(self.replacement.as_ref()?.apply(pattern, text, self.replaces_all))
    }
}

/// Returns the rule's conditions on places.
pub(crate) fn place(rule: &Rule) -> Option<ClientPattern> {
    let Rule { client_addr, proxy_addr, proxy_port, .. } = rule.clone();
    Some(ClientPattern { client_addr, proxy_addr, proxy_port }).filter(ClientPattern::says_anything)
}

/// Refuses a rule that asks for something that is not done here.
fn refuse_unsupported(rule: &Rule) -> Result<(), RuleError> {
    let asked = [
        (rule.mirror_flag_out.is_some(), "mirror_flagOUT"),
        (rule.mirror_hostgroup.is_some(), "mirror_hostgroup"),
        (rule.gtid_from_hostgroup.is_some(), "gtid_from_hostgroup"),
    ];
    match asked.iter().find(|(is_asked, _)| *is_asked) {
        Some((_, what)) => Err(rule.error(format!("Freshet does not carry out {what}"))),
        None => Ok(()),
    }
}

/// Returns whether case is ignored, and whether all matches are replaced.
fn modifiers(rule: &Rule) -> Result<(bool, bool), RuleError> {
    let (mut ignores_case, mut replaces_all) = (false, false);
    let modifiers = rule.re_modifiers.as_deref().unwrap_or_default();
    for modifier in modifiers.split([',', ' ']).filter(|it| !it.is_empty()) {
        match modifier.to_ascii_uppercase().as_str() {
            "CASELESS" => ignores_case = true,
            "GLOBAL" => replaces_all = true,
            _ => return Err(rule.error(format!("re_modifiers: '{modifier}' is neither CASELESS nor GLOBAL"))),
        }
    }
    Ok((ignores_case, replaces_all))
}

/// Returns a message of several lines, which points at a place, in one line.
fn in_one_line(message: &str) -> String {
    message.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}
