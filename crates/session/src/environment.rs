//! The environment: all state of a session, besides the statement's bytes, that can change a result.
//!
//! Freshet reads it from the server itself, in one query, whenever a statement may have changed it and before the next
//! look-up that needs it; the server's values are not guessed. The effect of a plain `SET` of constants is remembered
//! (`before`, statement → `after`), so that drivers that begin with the same `SET`s cost that query once, not once
//! for each connection.

mod interner;
mod key;
mod path;
mod table;

use std::borrow::Cow;
use std::sync::Arc;

use freshet_catalog::rows::Zone;
use freshet_protocol::Capabilities;
use freshet_sql::{Flavor, Modes, MultiByte};
use freshet_upstream::ServerInfo;
use freshet_upstream::server::Version;
use freshet_views::Computing;

use crate::session::Reports;

pub(crate) use interner::{Environments, RuledEnvironment, Transition};
pub(crate) use key::{environment_of, is_of_executions, key_of_executions, key_of_texts};
pub(crate) use path::{are_alike_but_for_account, path, path_but_for_account};
use table::AssignmentKind;
pub(crate) use table::{VectorQuery, is_of_sessions, variable_names};

/// By how many bytes the servers sort texts by default.
const SORTED_BYTES: u64 = 1024;

/// A session's environment as the server reported it. Two sessions with equal environments get equal answers to
/// equal statements; that is what [`Environment::id`] stands for.
#[derive(Debug)]
pub(crate) struct Environment {
    /// The number that stands for the environment in the cache's keys.
    pub(crate) id: u32,
    /// The modes by which statements are read.
    pub(crate) modes: Modes,
    /// The session's time zone.
    pub(crate) zone: Zone,
    /// The user name whose rights alone decide what the session sees, in the form of [`freshet_sql::user_name`]; `None` if a role's rights
    /// do too.
    pub(crate) sole_user: Option<String>,
    /// The default schema; `None` if there is none, or if it is unclear.
    pub(crate) schema: Option<String>,
    /// Whether Freshet understands names beyond ASCII: the client writes UTF-8, latin1 or ASCII.
    pub(crate) tells_names: bool,
    /// There is a default schema, but its bytes do not tell which one it is.
    pub(crate) has_unclear_schema: bool,
    /// Why no answer of this environment is cached, if none is.
    pub(crate) refused: Option<&'static str>,
    /// `sql_log_bin` is off: the session's writes never reach the binlog.
    pub(crate) unlogged: bool,
    /// How the session's transactions behave.
    pub(crate) transactions: Transactions,
    /// The account, the login and the global variables alone make a new session's environment: there is no
    /// `init_connect`.
    pub(crate) begins_alike: bool,
    /// What runs when a session begins may make temporary tables.
    pub(crate) begins_with_tables: bool,
    /// After how many idle seconds the server may close the session's connection.
    pub(crate) idle_s_max: u64,
    /// The session's time is the server's time.
    pub(crate) tells_time: bool,
    /// A SELECT without LIMIT returns all of its rows: `sql_select_limit` has its default.
    pub(crate) selects_all: bool,
    /// How many bytes the characters of a UTF-8 text may have so that the text is shown as it is stored, neither converted nor padded; 0:
    /// no text is.
    pub(crate) shows_texts_of_width: u8,
    /// How many more digits a quotient has than the dividend (`div_precision_increment`).
    pub(crate) division_digits: u8,
    /// Texts of a copied column are sorted by all of their bytes.
    sorts_texts: bool,
    /// The account that the server has let in, as the server writes it. Its names are the server's; a client can invent the name with which
    /// it logs in.
    pub(crate) account: Vec<u8>,
    /// The part that can change a result, in canonical bytes: only this part makes the `id` of two environments differ.
    pub(crate) keyed: Vec<u8>,
    /// The whole environment, in canonical bytes.
    pub(crate) whole: Vec<u8>,
    /// The part that is the session's own, neither follows from the rest nor is set for reports.
    own: Vec<u8>,
    /// How many bytes of `whole` stand for facts that do not change during the login.
    fixed_bytes: usize,
}

/// How a session's transactions behave by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transactions {
    /// All reads of a transaction are as of one moment: REPEATABLE READ.
    pub(crate) are_snapshots: bool,
    /// Each statement reads what is committed at that time: READ COMMITTED.
    pub(crate) read_committed: bool,
    /// A statement outside of a transaction is a transaction of its own.
    pub(crate) autocommit: bool,
    pub(crate) are_read_only: bool,
    /// An empty transaction leaves no trace. With a GTID of its own (`gtid_next` of MySQL) it would be logged.
    pub(crate) leave_no_trace: bool,
    /// COMMIT and ROLLBACK begin another transaction by default (`completion_type`).
    pub(crate) chain: bool,
    /// COMMIT and ROLLBACK end the session by default (`completion_type`).
    pub(crate) release: bool,
    /// A write fails if its rows have changed since the snapshot was opened (`innodb_snapshot_isolation` of MariaDB).
    pub(crate) writes_heed_snapshots: bool,
}

/// The character sets in which the tokeniser reads bytes as the server does: a byte below `0x80` is always the character of
/// ASCII. The tokeniser also reads those of `MultiByte`, in which such a byte may be half of a character. (In SWE7, it may be a letter.)
const CHARSETS_READ: &[&str] = &[
    "", "armscii8", "ascii", "binary", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866",
    "dec8", "geostd8", "greek", "hebrew", "hp8", "keybcs2", "koi8r", "koi8u", "latin1", "latin2", "latin5",
    "latin7", "macce", "macroman", "tis620", "utf8", "utf8mb3", "utf8mb4",
];

/// The character sets in which a name beyond ASCII can be looked up: `freshet_sql` knows the possible meanings of its bytes.
const CHARSETS_OF_NAMES: &[&str] = &["ascii", "binary", "latin1", "utf8", "utf8mb3", "utf8mb4"];

/// The character sets of answers in which a name is sent in UTF-8.
const CHARSETS_OF_UTF8: &[&str] = &["", "binary", "utf8", "utf8mb3", "utf8mb4"];

impl Environment {
    /// Returns the server's reports on the session, read from a row.
    pub(crate) fn reports(query: &VectorQuery, row: &[Option<Vec<u8>>]) -> Option<Reports> {
        Reports::read(|name| {
            let at = query.position(&format!("session_track_{name}"));
            let value = at.and_then(|at| row.get(at)).and_then(Option::as_deref).unwrap_or_default();
            String::from_utf8_lossy(value).into_owned()
        })
    }

    /// Makes an environment of the row that [`VectorQuery`] fetched. `fixed` are the facts that do not change during the login
    /// (user, capabilities). The environment has no identity yet: [`Environments::intern`] sets it.
    pub(crate) fn read(query: &VectorQuery, fixed: &[u8], row: &[Option<Vec<u8>>], server: Modes) -> Self {
        let text = |name: &str| -> &str {
            query.position(name).and_then(|at| row.get(at)).and_then(Option::as_deref).map_or("", as_text)
        };
        let (keyed, others) = row.split_at(query.keyed().min(row.len()));
        let keyed = canonical(fixed.to_vec(), keyed);
        let whole = canonical(keyed.clone(), others);
        let values =
            query.items().iter().zip(row).filter(|(item, _)| item.assignment != AssignmentKind::Apart);
        let own: Vec<_> = values.map(|(_, value)| value.clone()).collect();
        let own = canonical(fixed.to_vec(), &own);
        let isolation = text("isolation");
        let readable = ["character_set_client", "character_set_connection", "character_set_results"]
            .iter()
            .all(|name| CHARSETS_READ.contains(&text(name)) || MultiByte::of_name(text(name)).is_some());
        let refused = refusal(readable, text);
        let schema = query.position("schema").and_then(|at| row.get(at)).cloned().flatten();
        let sends_utf8 = CHARSETS_OF_UTF8.contains(&text("character_set_results"));
        let schema = schema.map(String::from_utf8);
        let has_unclear_schema = schema
            .as_ref()
            .is_some_and(|name| name.as_ref().map_or(true, |name| !sends_utf8 && !is_told(name)));
        Self {
            id: 0,
            zone: zone(text("time_zone"), text("system_time_zone"), text("shows_utc") == "1"),
            sole_user: sole_user(text("account"), text("role")).filter(|user| sends_utf8 || is_told(user)),
            modes: Modes {
                utf8_strings: text("character_set_client") == "utf8mb4"
                    && text("character_set_connection") == "utf8mb4",
                utf8_names: matches!(text("character_set_client"), "utf8mb4" | "utf8mb3" | "utf8"),
                multi_byte: MultiByte::of_name(text("character_set_client")),
                ..modes(text("sql_mode"), server, readable)
            },
            refused: if has_unclear_schema { Some("the default schema's name") } else { refused },
            schema: schema.and_then(Result::ok).filter(|_| !has_unclear_schema),
            tells_names: CHARSETS_OF_NAMES.contains(&text("character_set_client")),
            has_unclear_schema,
            unlogged: text("sql_log_bin") == "0",
            transactions: Transactions {
                are_snapshots: isolation == "REPEATABLE-READ",
                read_committed: isolation == "READ-COMMITTED",
                autocommit: text("autocommit") == "1",
                are_read_only: text("read_only") == "1",
                leave_no_trace: matches!(text("gtid_next"), "AUTOMATIC" | "")
                    && matches!(text("completion_type"), "NO_CHAIN" | "0" | "CHAIN" | "1" | "RELEASE" | "2"),
                chain: matches!(text("completion_type"), "CHAIN" | "1"),
                release: matches!(text("completion_type"), "RELEASE" | "2"),
                writes_heed_snapshots: text("innodb_snapshot_isolation") == "1",
            },
            begins_alike: text("init_connect").is_empty(),
            begins_with_tables: may_make_tables(text("init_connect")),
            idle_s_max: idle_s_max(text),
            tells_time: text("tells_time") == "1",
            selects_all: text("sql_select_limit").parse() == Ok(u64::MAX),
            shows_texts_of_width: match text("character_set_results") {
                _ if !readable || text("sql_mode").contains("PAD_CHAR_TO_FULL_LENGTH") => 0,
                name if MultiByte::of_name(name).is_some() => 0,
                "utf8mb4" | "binary" | "" => 4,
                "utf8mb3" | "utf8" => 3,
                // ASCII characters take more than one byte in these sets.
                "ucs2" | "utf16" | "utf16le" | "utf32" => 0,
                _ => 1,
            },
            division_digits: text("div_precision_increment").parse().unwrap_or(4),
            sorts_texts: text("max_sort_length").parse().is_ok_and(|bytes: u64| bytes >= SORTED_BYTES),
            account: text("account").as_bytes().to_vec(),
            keyed,
            whole,
            own,
            fixed_bytes: fixed.len(),
        }
    }

    /// Returns the client's capabilities that change the bytes of answers; they are the end of the fixed bytes.
    pub(crate) fn form(&self) -> Option<Capabilities> {
        let bits = self.whole.get(..self.fixed_bytes)?.last_chunk()?;
        Some(Capabilities::from_bits_retain(u64::from_le_bytes(*bits)))
    }

    /// Whether both environments agree in all that is the session's own, and in all that changes results.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.id == other.id && self.is(other)
    }

    /// Whether both environments agree in all that is the session's own. (Environments of one identity may still differ in facts that
    /// change no result.)
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.own == other.own
    }

    /// Returns the settings that affect computations.
    pub(crate) const fn computing(&self) -> Computing {
        let offset_s = match self.zone {
            Zone::Fixed(seconds) => Some(seconds),
            Zone::Other => None,
        };
        Computing { division_digits: self.division_digits, offset_s, sorts_texts: self.sorts_texts }
    }

    /// Returns the value that a query has read under this name.
    pub(crate) fn value(&self, query: &VectorQuery, name: &str) -> Option<String> {
        let value = self.values().nth(query.position(name)?)??;
        Some(String::from_utf8_lossy(value).into_owned())
    }

    /// Returns the values of the row that made this environment.
    fn values(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let mut rest = &self.whole[self.fixed_bytes..];
        std::iter::from_fn(move || {
            let (length, values) = rest.split_first_chunk()?;
            let length = u64::from_le_bytes(*length);
            let value = usize::try_from(length).ok().and_then(|length| values.split_at_checked(length));
            rest = value.map_or(values, |(_, rest)| rest);
            Some(value.map(|(value, _)| value))
        })
    }
}

/// Whether a name in an answer in a character set other than UTF-8 is the name itself. A character that the set does not have arrives as a
/// question mark, and two ASCII characters differ between the sets.
fn is_told(name: &str) -> bool {
    name.is_ascii() && !name.contains(['?', '\\', '~'])
}

/// Returns the time zone that the server calls by this name. The name UTC alone proves little: the zone may have any rules.
fn zone(name: &str, system: &str, shows_utc: bool) -> Zone {
    let name = if name == "SYSTEM" { system } else { name };
    let is_utc = ["UTC", "Etc/UTC"].iter().any(|utc| name.eq_ignore_ascii_case(utc));
    if is_utc && shows_utc { Zone::UTC } else { Zone::of_name(name) }
}

/// Returns the user name of an account, unless a role is active or the roles are unknown. Without a role, MySQL shows NONE and MariaDB
/// nothing.
fn sole_user(account: &str, role: &str) -> Option<String> {
    let has_role = !role.is_empty() && !role.eq_ignore_ascii_case("NONE");
    let user = account.rsplit_once('@')?.0;
    (!has_role && user.is_ascii()).then(|| freshet_sql::user_name(user))
}

/// Returns `bytes` and the values after them, each with its length, so that different rows have different bytes.
fn canonical(mut bytes: Vec<u8>, values: &[Option<Vec<u8>>]) -> Vec<u8> {
    for value in values {
        let length = value.as_ref().map_or(u64::MAX, |value| value.len() as u64);
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(value.as_deref().unwrap_or_default());
    }
    bytes
}

/// Returns why nothing is answered from memory with these settings. `readable`: Freshet understands the character sets.
fn refusal<'a>(readable: bool, text: impl Fn(&str) -> &'a str) -> Option<&'static str> {
    if !readable {
        return Some("the connection's character set");
    }
    if text("sql_auto_is_null") == "1" {
        // With it, `WHERE id IS NULL` finds the row that this session inserted last.
        return Some("sql_auto_is_null");
    }
    if text("sql_mode").contains("HIGH_NOT_PRECEDENCE") {
        return Some("sql_mode HIGH_NOT_PRECEDENCE");
    }
    let is_other_level = matches!(text("isolation"), "SERIALIZABLE" | "READ-UNCOMMITTED");
    is_other_level.then_some("the isolation level")
}

/// Whether statements may make temporary tables, also by what they call: all but a SET without parentheses.
fn may_make_tables(statements: &str) -> bool {
    let is_plain_set = |text: &str| {
        let is_set =
            text.split_ascii_whitespace().next().is_some_and(|word| word.eq_ignore_ascii_case("set"));
        (is_set || text.is_empty()) && !text.contains('(')
    };
    !statements.split(';').all(|text| is_plain_set(text.trim()))
}

/// Returns after how many idle seconds the server may close the session's connection.
fn idle_s_max<'a>(text: impl Fn(&str) -> &'a str) -> u64 {
    let limits = IDLE_TIMEOUTS.iter().filter_map(|name| text(name).parse().ok());
    limits.filter(|seconds| *seconds > 0).min().unwrap_or(WAIT_TIMEOUT_DEFAULT_S)
}

/// The variables that end an idle session, within a transaction or without; 0 for never.
const IDLE_TIMEOUTS: [&str; 4] = [
    "wait_timeout",
    "idle_transaction_timeout",
    "idle_readonly_transaction_timeout",
    "idle_write_transaction_timeout",
];

/// Both servers' default of `wait_timeout`, in seconds.
const WAIT_TIMEOUT_DEFAULT_S: u64 = 28_800;

fn as_text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or("?")
}

/// Returns how the server of this environment reads texts by default, by its greeting.
pub(crate) fn modes_of_server(version_text: &[u8]) -> Modes {
    let is_mariadb = version_text.windows(7).any(|part| part.eq_ignore_ascii_case(b"mariadb"));
    let flavor = if is_mariadb { Flavor::MariaDb } else { Flavor::MySql };
    let Version { major, minor, patch } = Version::parse(&String::from_utf8_lossy(version_text));
    Modes::of_version(flavor, (major, minor, patch))
}

/// Returns how statements are read by `sql_mode`; `readable`: Freshet can read their character set.
fn modes(sql_mode: &str, server: Modes, readable: bool) -> Modes {
    let has = |name: &str| sql_mode.split(',').any(|mode| mode == name);
    Modes {
        ansi_quotes: has("ANSI_QUOTES"),
        no_backslash_escapes: has("NO_BACKSLASH_ESCAPES"),
        pipes_as_concat: has("PIPES_AS_CONCAT"),
        ignore_space: has("IGNORE_SPACE"),
        empty_string_is_null: has("EMPTY_STRING_IS_NULL"),
        utf8_strings: false,
        utf8_names: false,
        multi_byte: None,
        other_syntax: server.other_syntax
            || !readable
            || ["ORACLE", "MSSQL", "DB2", "POSTGRESQL", "MAXDB"].iter().any(|name| has(name)),
        ..server
    }
}

/// Returns how a new session without any SET reads texts, for a client that speaks utf8mb4, and its time zone.
pub(crate) fn of_new_sessions(server: &ServerInfo) -> (Modes, Zone) {
    let text = |name: &str| server.variables.text(name);
    let modes = modes(text("sql_mode"), modes_of_server(text("version").as_bytes()), true);
    (Modes { utf8_strings: true, utf8_names: true, ..modes }, Zone::of_name(text("time_zone")))
}

/// What a session knows of its environment.
#[derive(Debug, Clone)]
pub(crate) enum Known {
    /// Nothing since the login or since a statement that may have changed anything.
    Unknown,
    /// Taken from other sessions of the same login; this session began in the same way. Good for finding stored answers, and not for
    /// storing any, because something may have changed at that moment.
    Recalled(Arc<Environment>),
    /// Read from the server.
    Read(Arc<Environment>),
    /// Plain statements ran since, each stored with its length before it: if they ran before in this environment, the outcome is on record.
    After(Arc<Environment>, Vec<u8>),
}

impl Known {
    /// Notes that `statement` ran. `plain`: its effect depends only on the environment before it.
    pub(crate) fn changed_by(&mut self, statement: &[u8], plain: bool) {
        let (before, mut ran) = match std::mem::replace(self, Known::Unknown) {
            Known::Read(before) => (before, Vec::new()),
            Known::After(before, ran) => (before, ran),
            Known::Unknown | Known::Recalled(_) => return,
        };
        if plain && ran.len() + statement.len() <= STATEMENTS_REMEMBERED_BYTES_MAX {
            note_ran(&mut ran, statement);
            *self = Known::After(before, ran);
        }
    }
}

/// Notes that a plain statement ran.
fn note_ran(ran: &mut Vec<u8>, statement: &[u8]) {
    ran.extend_from_slice(&statement.len().to_le_bytes());
    ran.extend_from_slice(statement);
}

impl Transition {
    /// Makes the transition by one plain statement from what is the session's own in this environment: the settings of reports, which may have
    /// been read before or after Freshet set its own, and global variables are none of that.
    pub(crate) fn by(before: &Environment, statement: &[u8]) -> Self {
        let mut ran = Vec::new();
        note_ran(&mut ran, statement);
        Self { before: before.own.clone(), statement: ran }
    }

    /// Whether the transition is by this one statement.
    pub(crate) fn is_by(&self, statement: &[u8]) -> bool {
        let mut ran = Vec::new();
        note_ran(&mut ran, statement);
        self.statement == ran
    }
}

impl Known {
    /// Returns how statements are read.
    pub(crate) fn modes(&self) -> Option<Modes> {
        self.environment().map(|environment| environment.modes)
    }

    /// Returns the environment now, if it is known without a question.
    pub(crate) fn current(&self) -> Option<&Arc<Environment>> {
        match self {
            Known::Recalled(environment) | Known::Read(environment) => Some(environment),
            Known::Unknown | Known::After(..) => None,
        }
    }

    /// Returns the current environment; if it is not known, the last one that was known.
    fn environment(&self) -> Option<&Arc<Environment>> {
        match self {
            Known::Recalled(environment) | Known::Read(environment) | Known::After(environment, _) => {
                Some(environment)
            }
            Known::Unknown => None,
        }
    }
}

/// The most bytes of statements in a row whose effect on an environment is remembered.
const STATEMENTS_REMEMBERED_BYTES_MAX: usize = 512;

/// The words of statements that set the session's isolation level or access mode, for all transactions except an open one.
/// Without SESSION the statements are for the next transaction alone.
const CHARACTERISTICS: [&str; 6] = [
    "isolation level read committed",
    "isolation level repeatable read",
    "isolation level read uncommitted",
    "isolation level serializable",
    "read only",
    "read write",
];

/// Whether `text` sets the characteristics of the session's transactions.
pub(crate) fn sets_characteristics(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    let text = text.trim_ascii_end().to_ascii_lowercase();
    let mut words = text.split_ascii_whitespace();
    let is_of_session = words.next() == Some("set")
        && matches!(words.next(), Some("session" | "local"))
        && words.next() == Some("transaction");
    is_of_session && CHARACTERISTICS.iter().any(|known| known.split(' ').eq(words.clone()))
}

/// Returns a SET in which the set variables are named without `@@session.`, `@@local.` and `@@`, as other clients write them.
fn with_bare_names(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.windows(2).any(|pair| pair == b"@@") {
        return Cow::Borrowed(text);
    }
    let (mut bare, mut quote, mut is_name) = (Vec::with_capacity(text.len()), None, true);
    let start = text.get(..SET.len()).unwrap_or(text);
    bare.extend_from_slice(start);
    let mut rest = &text[start.len()..];
    while let [byte, after @ ..] = rest {
        match quote {
            Some(open) if open == *byte => quote = None,
            None if matches!(byte, b'\'' | b'"' | b'`') => quote = Some(*byte),
            _ => {}
        }
        if is_name && rest.starts_with(b"@@") {
            rest = &rest[2..];
            let of_session = |prefix: &&&[u8]| {
                rest.get(..prefix.len()).is_some_and(|front| front.eq_ignore_ascii_case(prefix))
            };
            rest = &rest[OF_SESSION.iter().find(of_session).map_or(0, |prefix| prefix.len())..];
            is_name = false;
            continue;
        }
        is_name = quote.is_none() && (*byte == b',' || is_name && byte.is_ascii_whitespace());
        bare.push(*byte);
        rest = after;
    }
    Cow::Owned(bare)
}

/// The first word of a SET, and the words that may stand before a session variable.
const SET: &[u8] = b"set";
const OF_SESSION: [&[u8]; 2] = [b"session.", b"local."];

/// Whether `text` is a SET whose effect depends only on the environment in which it runs: constants alone, for the
/// session alone. `DEFAULT` and other variables have values that may change without Freshet.
pub(crate) fn is_plain_set(text: &[u8]) -> bool {
    is_plain(&with_bare_names(text))
}

fn is_plain(text: &[u8]) -> bool {
    const ELSEWHERE: [&[u8]; 8] = [
        b"default",
        b"global",
        b"persist",
        b"persist_only",
        b"role",
        b"password",
        b"transaction",
        b"statement",
    ];
    let mut words = text.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    // Longer texts are not remembered anyway.
    if text.len() > STATEMENTS_REMEMBERED_BYTES_MAX || sets_characteristics(text) {
        return text.len() <= STATEMENTS_REMEMBERED_BYTES_MAX;
    }
    words.next().is_some_and(|word| word.eq_ignore_ascii_case(b"set"))
        && !text.iter().any(|byte| matches!(byte, b'@' | b'(' | b';' | b'/' | b'#'))
        && !words.any(|word| ELSEWHERE.iter().any(|elsewhere| word.eq_ignore_ascii_case(elsewhere)))
}

/// Whether `text` is such a SET, and sets only the character set, how transactions read, and variables that Freshet reads of every session.
pub(crate) fn sets_only_what_is_read(text: &[u8]) -> bool {
    let sets_transactions = || {
        // Freshet reads the isolation level and the access mode as variables.
        let text = with_bare_names(text);
        text.len() <= STATEMENTS_REMEMBERED_BYTES_MAX && sets_characteristics(&text)
    };
    assigns_only(text, |_, _| true) || is_set(text) && sets_transactions()
}

/// Whether `text` is such a SET, and sets only the character set, and variables that Freshet reads of every session and that are meant, by
/// their names and the texts of their values.
pub(crate) fn assigns_only(text: &[u8], is_meant: impl Fn(&str, &str) -> bool) -> bool {
    if !is_set(text) {
        return false;
    }
    let text = with_bare_names(text);
    let Ok(text) = std::str::from_utf8(&text) else { return false };
    if !is_plain(text.as_bytes()) || text.contains('\\') {
        return false;
    }
    let mut quote = None;
    let is_between = |c: char| {
        match quote {
            None if matches!(c, '\'' | '"' | '`') => quote = Some(c),
            Some(open) if open == c => quote = None,
            _ => {}
        }
        quote.is_none() && c == ','
    };
    text[SET.len()..].split(is_between).all(|piece| match piece.split_once('=') {
        Some((name, value)) => {
            read_name(name.trim_end_matches(':')).is_some_and(|name| is_meant(name, value))
        }
        None => piece.split_ascii_whitespace().next().is_some_and(|word| word.eq_ignore_ascii_case("names")),
    })
}

/// Whether the first word is SET. Most statements that are sent are no SET.
pub(crate) fn is_set(text: &[u8]) -> bool {
    let start = text.trim_ascii_start().get(..SET.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(SET))
}

/// Returns the name before a `=`, if it is a variable that Freshet reads of every session.
fn read_name(text: &str) -> Option<&str> {
    let mut words = text.split_ascii_whitespace().rev();
    let name = words.next().filter(|name| variable_names().any(|it| it.eq_ignore_ascii_case(name)))?;
    let is_of_session =
        |word: &str| word.eq_ignore_ascii_case("session") || word.eq_ignore_ascii_case("local");
    words.all(is_of_session).then_some(name)
}

#[cfg(test)]
mod tests;
