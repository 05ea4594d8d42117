//! A SET of constants, or a USE, by a client that has no connection to the server, as drivers send at their start. If Freshet knows the
//! resulting environment, it does not ask the server. The session is then like one that has given up a connection in that environment
//! (`giving_up.rs`).

use std::sync::Arc;

use freshet_protocol::{Capabilities, Command, StateChange};
use freshet_upstream::{Error, control};

use super::pool::{GivenUp, PoolFit};
use super::{Reports, Session};
use crate::auth::Epoch;
use crate::environment::{
    Environment, Transactions, Transition, assigns_only, is_set, path, sets_characteristics,
};
use crate::introspection::SCHEMA;
use crate::known_settings::KnownSetting;
use crate::relay::{Controls, Relayed};
use crate::shared::Multiplexing;

/// The variables that such a SET may name: what Freshet notes of them follows from the environment. SET NAMES is allowed by itself.
const VARIABLES: [&str; 15] = [
    "autocommit",
    "character_set_client",
    "character_set_connection",
    "character_set_results",
    "collation_connection",
    "foreign_key_checks",
    "group_concat_max_len",
    "innodb_lock_wait_timeout",
    "lock_wait_timeout",
    "sql_auto_is_null",
    "sql_mode",
    "sql_safe_updates",
    "time_zone",
    "unique_checks",
    "wait_timeout",
];

/// Whether a text sets these variables alone.
fn sets_these_alone(text: &[u8]) -> bool {
    // No value of theirs has a `=`.
    let is_one = |name: &str| VARIABLES.iter().any(|known| known.eq_ignore_ascii_case(name));
    assigns_only(text, |name, value| is_one(name) && !value.contains('='))
}

/// How many settings a session carries out without a connection: each of them is said to the server when there is one.
const SAID_MAX: usize = 32;

const USE: &[u8] = b"use";

/// Whether a text may be a USE: it begins with these letters.
fn may_be_use(text: &[u8]) -> bool {
    text.trim_ascii_start().get(..USE.len()).is_some_and(|start| start.eq_ignore_ascii_case(USE))
}

/// Returns the schema that a text moves its session to, if the text is a plain USE, and whether its name stands in quotes.
fn moves_to(text: &[u8]) -> Option<(&str, bool)> {
    let rest = Some(text.trim_ascii()).filter(|text| may_be_use(text))?.get(USE.len()..)?;
    let rest = std::str::from_utf8(rest).ok()?.trim_end_matches(';').trim_ascii_end();
    let name = rest.trim_ascii_start();
    let is_apart = name.len() < rest.len();
    let is_word = || name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match name.strip_prefix('`') {
        Some(quoted) => quoted.strip_suffix('`').map(|name| (name, true)),
        None => (is_apart && is_word()).then_some((name, false)),
    }
}

/// Whether this is the name of a schema that every character set writes alike.
fn is_plain_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-$.".contains(&byte);
    !name.is_empty() && name.bytes().all(is_plain) && !name.eq_ignore_ascii_case(SCHEMA)
}

/// A statement that sets a session up, and could be carried out without the server.
#[derive(Debug)]
pub(crate) struct Setting {
    /// The statement as a text; the same for COM_INIT_DB and a USE whose name stands in quotes.
    text: String,
    is_use: bool,
    /// How many commands have come since.
    commands_since: u32,
    /// The state of accounts, schemas and global variables before the server carried it out.
    since: Option<Epoch>,
    /// What the server's answer has told; `None`: there is none yet.
    told: Option<Vec<StateChange>>,
}

impl Setting {
    /// Reads a command; `None` if it is none of these. `body`: the text of the statement, or the name of the schema.
    fn read(command: Command, body: &[u8]) -> Option<Self> {
        let schema = match command {
            Command::InitDb => Some((std::str::from_utf8(body).ok()?, true)),
            _ if may_be_use(body) => Some(moves_to(body)?),
            _ => None,
        };
        let text = match schema {
            Some((schema, _)) if !is_plain_name(schema) => return None,
            Some((schema, true)) => format!("USE {}", control::quote_name(schema)),
            // The server may take a bare name for something else: what it accepts without quotes is known for itself.
            Some((schema, false)) => format!("USE {schema}"),
            None if sets_these_alone(body) || sets_characteristics(body) => {
                String::from_utf8(body.to_vec()).ok()?
            }
            None => return None,
        };
        Some(Self { text, is_use: schema.is_some(), commands_since: 0, since: None, told: None })
    }

    /// Whether it does the same as long as the server runs and is followed.
    pub(super) fn is_lasting(&self) -> bool {
        !self.is_use
    }
}

impl Session {
    /// Returns the setting that a command is, if the server need not know of it.
    pub(crate) fn setting(&self, command: Command, body: &[u8]) -> Option<Setting> {
        let may_be_one = command == Command::InitDb || is_set(body) || may_be_use(body);
        // Right behind a setting that the server has carried out, the next one is learned as well.
        let is_behind = |before: &Setting| before.told.is_some() && before.commands_since == 1;
        let may_be_here = may_be_one
            && (!self.lease.is_open() || self.state.setting.as_deref().is_some_and(is_behind))
            && !self.lease.is_lost()
            && self.lease.prepared.are_none()
            && self.may_be_answered_here()
            // COM_INIT_DB leaves the warnings of the statement before.
            && (command != Command::InitDb || self.state.last.warnings.count() == 0)
            && self.state.told.as_deref().is_none_or(|told| told.are_like(&Reports::default()));
        let setting = if may_be_here { Setting::read(command, body)? } else { return None };
        self.shared.gate.could_open(&self.admitted).then_some(setting)
    }

    /// Whether what concerns the session alone may be answered in the server's place: nothing there or here would make the answer another.
    pub(super) fn may_be_answered_here(&self) -> bool {
        !self.lease.has_diagnostics()
            && !self.ruled.are_there()
            && !self.state.reads_ours
            && self.shared.options.multiplexing != Multiplexing::Off
            && self.state.tx.is_clear()
    }

    /// Carries a setting out, if the resulting environment is known. Returns false if it is for the server.
    pub(crate) fn sets_here(&mut self, setting: &Setting) -> bool {
        if self.lease.is_open() || self.state.unconnected.said() >= SAID_MAX {
            return false;
        }
        self.recall();
        let before = self.state.environment.current().filter(|before| before.begins_alike).cloned();
        let Some(before) = before else { return false };
        let transition = Transition::by(&before, setting.text.as_bytes());
        let tracks = self.capabilities().contains(Capabilities::SESSION_TRACK);
        let now = self.shared.gate.epoch();
        // How transactions behave otherwise is only learned from the server.
        let tx = &self.state.tx;
        let may_turn = tx.said().is_empty() && !tx.next_differs();
        let is_alike = |after: &Environment| {
            let Transactions { autocommit, are_snapshots, read_committed, .. } = after.transactions;
            let turned = Transactions { autocommit, are_snapshots, read_committed, ..before.transactions };
            after.transactions == if may_turn { turned } else { before.transactions }
                && after.unlogged == before.unlogged
                && after.tells_time == before.tells_time
        };
        let server = self.shared.upstream.server();
        let query = server.and_then(|server| self.shared.vector(&server.version_text));
        let leads_there =
            |after: &Environment| query.is_some_and(|query| path(&query, &before, after).is_some());
        let known = self.shared.settings.of(&before.account, &transition, now, tracks);
        let known = known.filter(|known| is_alike(&known.environment) && leads_there(&known.environment));
        let Some(KnownSetting { environment, told, .. }) = known else { return false };
        self.goes_on_as(environment, setting);
        let counted = if setting.is_use { Controls::Use } else { Controls::Set };
        self.state.served.controls(counted, false);
        self.leaves_nothing();
        self.refresh_key();
        self.put_reports(told.filter(|_| tracks).unwrap_or_default());
        true
    }

    /// Goes on in this environment without a connection.
    fn goes_on_as(&mut self, after: Arc<Environment>, setting: &Setting) {
        let is_read = self.environment().is_some();
        self.handle.may_be_silent_for(after.idle_s_max.saturating_mul(1000));
        let before = self.state.unconnected.take();
        let insert_id = before.as_ref().map_or(0, |given_up| given_up.insert_id);
        // How a session begins that has had no connection yet shows when it gets one.
        let said = before.map_or_else(|| Some(Vec::new()), |given_up| given_up.said);
        let said = said.filter(|_| !is_read).map(|mut said| {
            // No such SET depends on the schema: only the last one has to be entered.
            said.retain(|before| !setting.is_use || !may_be_use(before.as_bytes()));
            said.push(setting.text.clone());
            said
        });
        if setting.is_use {
            self.state.last.note_moved();
        }
        if self.state.tx.autocommits() != after.transactions.autocommit {
            self.state.tx.autocommit_set_here(after.transactions.autocommit);
        }
        self.state.set_flags_of(after.modes);
        let fit = PoolFit::new(&self.shared, &after, &self.admitted);
        self.state.unconnected.note_set_here(GivenUp { fit, insert_id, said });
        self.state.environment.note_set_here(after);
    }

    /// Reads the environment before a setting that the server carries out next, so that its effect is known the next time.
    ///
    /// # Errors
    /// The connection is lost.
    pub(crate) async fn learn_before_setting(&mut self, setting: Setting) -> Result<(), Error> {
        if self.environment().is_none() {
            self.connect().await?;
            // The connection knows of nothing that the client may ask for: it is new, or has carried out the setting before as the last.
            self.learn().await?;
        }
        self.state.setting = Some(Box::new(Setting { since: self.shared.gate.epoch(), ..setting }));
        Ok(())
    }

    /// Notes that another command has come. A setting that the server has not carried out is forgotten.
    pub(crate) fn comes_after_setting(&mut self) {
        self.state.setting.take_if(|setting| setting.told.is_none());
        self.state.setting.iter_mut().for_each(|setting| setting.commands_since += 1);
    }

    /// Takes over the answer to a statement that has changed the session. Returns the text by which its effect is remembered, if it was
    /// such a setting and has succeeded.
    pub(super) fn setting_answered(&mut self, relayed: &Relayed) -> Option<Vec<u8>> {
        let mut setting = self.state.setting.take()?;
        if setting.told.is_some() {
            // The effect of a USE is known by what comes right after it, or not at all.
            if setting.is_use {
                self.state.environment.note_unread();
            }
            return None;
        }
        // What it warns of is the server's to say, each time.
        if relayed.error.is_some() || relayed.warned {
            return None;
        }
        let default = Reports::default();
        let is_told = |change: &&StateChange| match change {
            StateChange::Schema(_) => default.schema,
            StateChange::SystemVariable { name, .. } => default.tell_of(name),
            _ => false,
        };
        setting.told = Some(relayed.told.iter().filter(is_told).cloned().collect());
        let text = setting.text.clone().into_bytes();
        self.state.setting = Some(setting);
        Some(text)
    }

    /// Notes the environment to which a setting has led.
    pub(super) fn note_setting(
        &self,
        setting: Setting,
        before: &Environment,
        transition: &Transition,
        after: &Arc<Environment>,
    ) {
        let Setting { text, is_use, since, told, .. } = setting;
        let is_alone = transition.is_by(text.as_bytes());
        let is_told_by_default =
            self.state.told.as_deref().is_some_and(|own| own.are_like(&Reports::default()));
        if is_alone {
            let told = told.filter(|_| is_told_by_default);
            let known = KnownSetting { environment: Arc::clone(after), told, since, is_of_epoch: is_use };
            self.shared.settings.note(Transition::by(before, text.as_bytes()), known);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Setting, moves_to, sets_these_alone};
    use freshet_protocol::Command;

    #[test]
    fn only_what_changes_texts_and_answers_is_set_without_the_server() {
        for text in [
            "SET NAMES utf8mb4",
            "set names 'latin1' COLLATE latin1_bin, SESSION sql_mode = 'ANSI'",
            "SET sql_mode='', time_zone := '+00:00'",
            "SET LOCAL foreign_key_checks=0",
            "SET @@session.autocommit = OFF, wait_timeout=60",
        ] {
            assert!(sets_these_alone(text.as_bytes()), "{text}");
        }
        for text in [
            "SET auto_increment_increment = 2",
            "SET interactive_timeout=60, sql_mode=''",
            "SET SESSION TRANSACTION READ ONLY",
            "SET sql_mode='', timestamp=1",
            "SET sql_mode='a=b'",
            "SET",
        ] {
            assert!(!sets_these_alone(text.as_bytes()), "{text}");
        }
        let isolation = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
        assert!(Setting::read(Command::Query, isolation.as_bytes()).is_some());
        assert!(Setting::read(Command::Query, b"SET TRANSACTION ISOLATION LEVEL READ COMMITTED").is_none());
    }

    #[test]
    fn a_plain_use_is_read_as_the_server_reads_it() {
        for (text, schema) in [
            ("USE shop", Some(("shop", false))),
            ("use `my shop` ;", Some(("my shop", true))),
            ("use`x`", Some(("x", true))),
            ("  USE\tshop_2;", Some(("shop_2", false))),
            ("USE 12", Some(("12", false))),
            ("USE shop -- now", None),
            ("USE `a``b`", Some(("a``b", true))),
            ("USERS", None),
            ("USE", None),
            ("USE`", None),
        ] {
            assert_eq!(moves_to(text.as_bytes()), schema, "{text}");
        }
        let read = |command, body: &str| Setting::read(command, body.as_bytes()).map(|setting| setting.text);
        assert_eq!(read(Command::Query, "use shop"), Some("USE shop".to_owned()));
        assert_eq!(read(Command::Query, "USE`shop`"), Some("USE `shop`".to_owned()));
        assert_eq!(read(Command::InitDb, "shop"), Some("USE `shop`".to_owned()));
        // What is quoted, what no character set need write alike, and what is Freshet's own.
        for name in ["a`b", "ä", "", "freshet", "my shop"] {
            assert_eq!(read(Command::InitDb, name), None, "{name}");
        }
        assert_eq!(read(Command::InitDb, "SET NAMES utf8"), None);
    }
}
