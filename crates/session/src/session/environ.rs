//! Knowing the session's environment: opening the server's connection, setting it up, and reading the session's state there.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use freshet_protocol::{Capabilities, ErrPacket, Put as _};
use freshet_sql::{Effects, Flavor, Modes, Reads, TableName, Temporary, TextPrepared, Writes};
use freshet_upstream::{Error, control};

use super::begun::words::first_word_is;
use super::conclude::Ran;
use super::openings::ConnectionOpening;
use super::resting::ConnectionOrigin;
use super::texts::names_execute;
use super::turn::interrupted;
use super::{Lease, Reports, Session, SessionHolds};
use crate::environment::{Environment, VectorQuery, key_of_texts, modes_of_server, variable_names};
use crate::qualify::qualify;
use crate::registry::Handle;
use crate::shared::Shared;
use crate::sought::has_any;
use crate::why::Why;

/// The capabilities that change the bytes of an answer.
pub(crate) const FORM: Capabilities = Capabilities::DEPRECATE_EOF
    .union(Capabilities::PROTOCOL_41)
    .union(Capabilities::SESSION_TRACK)
    .union(Capabilities::OPTIONAL_RESULTSET_METADATA)
    .union(Capabilities::MARIADB_EXTENDED_METADATA)
    .union(Capabilities::MARIADB_CACHE_METADATA)
    .union(Capabilities::FOUND_ROWS)
    .union(Capabilities::IGNORE_SPACE);

impl Session {
    /// Returns which kind of server is behind Freshet: by its greeting if there is a connection, else as the follower met it.
    pub(crate) fn flavor(&self) -> Flavor {
        self.modes_of_server().flavor
    }

    /// Returns how that server reads texts by default.
    pub(crate) fn modes_of_server(&self) -> Modes {
        let met = || self.shared.upstream.server().map(|server| server.modes());
        let modes = self.lease.server().or_else(met).unwrap_or_else(|| Modes::new(Flavor::MySql));
        Modes { utf8_names: false, ..modes }
    }

    /// Like [`Session::connect`], for this statement. A session that was taken to be where others have begun learns where it is before a SET,
    /// which leads from there to an environment in which others may have been, and before a transaction, in which it would read from memory.
    ///
    /// # Errors
    /// Those of [`Session::connect`].
    pub(crate) async fn connect_for(&mut self, text: &[u8]) -> Result<(), Error> {
        let was_known = !self.lease.is_open() && self.state.environment.current().is_some();
        self.connect().await?;
        let begins =
            || ["SET", "START", "BEGIN"].iter().any(|word| first_word_is(text.trim_ascii_start(), word));
        if was_known && self.environment().is_none() && begins() {
            Box::pin(self.learn_quietly()).await?;
        }
        Ok(())
    }

    /// Opens the server's connection on its first use. The next command sets the connection up.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses; the session can try again.
    pub(crate) async fn connect(&mut self) -> Result<(), Error> {
        if self.lease.is_lent() {
            Box::pin(self.take_back()).await?;
        }
        if self.lease.is_lost() {
            return Err(Error::Closed);
        }
        if !self.lease.is_open() {
            let _under_way = ConnectionOpening::begins();
            if Box::pin(self.takes_over()).await {
                self.handle.goes_on();
                return self.is_not_interrupted();
            }
            // Boxed, since the future is rare and large, and every command would reserve room for it otherwise.
            let ConnectionOrigin::Own(rights_from) = Box::pin(self.opens_own()).await? else { return Ok(()) };
            self.lease.note_opened(&mut self.admitted, rights_from);
            self.handle.goes_on();
            self.handle.set_thread_id(self.lease.thread_id());
            self.state.environment.note_unknown();
            self.lease.prepared.begin_at(self.state.environment.version());
            self.state.last.note_connection_opened();
            self.is_not_interrupted()?;
        }
        self.meets_server().await?;
        match self.state.unconnected.take() {
            Some(environment) => Box::pin(self.goes_on(environment)).await,
            None => Ok(()),
        }
    }

    /// Returns the error of a statement that was interrupted while it waited for its connection: the killer was told that it is ended.
    fn is_not_interrupted(&self) -> Result<(), Error> {
        if self.handle.is_interrupted() { Err(Error::Server(interrupted())) } else { Ok(()) }
    }

    /// Sets up a connection that was just opened or reset: the server has to report what Freshet has to know.
    ///
    /// # Errors
    /// The connection is lost.
    pub(super) async fn meets_server(&mut self) -> Result<(), Error> {
        if !self.lease.tracking.is_unmet() {
            return Ok(());
        }
        self.lease.note_met();
        Box::pin(self.enter_default_schema()).await?;
        // An account whose password has expired may only change the password; after that, this succeeds.
        match Box::pin(vector(&self.shared, &mut self.lease, &self.handle)).await {
            Ok(_) => self.lease.tracking.note_met(),
            Err(error) if error.leaves_connection_usable() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Moves a client that names no schema to the schema of the server's URL, if there is one and the client may use it.
    async fn enter_default_schema(&mut self) -> Result<(), Error> {
        let shared = Arc::clone(&self.shared);
        let default = shared.upstream.config().database.as_deref();
        let Some(schema) = default.filter(|_| self.admitted.database.is_none() && self.lease.is_untouched())
        else {
            return Ok(());
        };
        match self.ask(&format!("USE {}", control::quote_name(schema))).await {
            Ok(_) => self.state.environment.note_schema(Some(schema.to_owned())),
            Err(error) if error.leaves_connection_usable() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Brings the environment up to date, and the key of look-ups with it. This asks the server on the session's own connection, and the
    /// row counts and warnings of the statement before are lost: only call it for a statement that leaves its own.
    ///
    /// # Errors
    /// The connection is lost.
    pub(crate) async fn learn(&mut self) -> Result<(), Error> {
        self.lease.tracking.note_environment_is_read();
        if self.environment().is_some() {
            return Ok(());
        }
        let setting = self.state.setting.take();
        let is_lasting = setting.as_ref().is_none_or(|setting| setting.is_lasting());
        let (before, transition) = self.state.environment.transition().unzip();
        if let (Some(before), Some(transition)) = (&before, &transition)
            && is_lasting
            && let Some(after) = self.shared.environments.after(&before.account, transition)
        {
            setting.into_iter().for_each(|setting| self.note_setting(*setting, before, transition, &after));
            self.state.environment_is(after);
            self.refresh_key();
            return Ok(());
        }
        match Box::pin(self.read_environment()).await? {
            None => self.state.environment.note_unread(),
            Some(environment) => {
                let environment = self.shared.environments.intern(environment);
                if let Some(begun) = self.lease.login_begun() {
                    self.shared.gate.begins(&self.admitted, begun, &environment);
                }
                if let Some(transition) = transition {
                    if let (Some(setting), Some(before)) = (setting, &before) {
                        self.note_setting(*setting, before, &transition, &environment);
                    }
                    if is_lasting {
                        self.shared.environments.remember(transition, &environment);
                    }
                }
                self.state.environment_is(environment);
            }
        }
        self.refresh_key();
        Ok(())
    }

    /// Like [`Session::learn`], but only if nothing is lost: the server has been sent nothing yet, or need not be asked.
    ///
    /// # Errors
    /// The connection is lost.
    pub(crate) async fn learn_quietly(&mut self) -> Result<(), Error> {
        let is_quiet = match self.state.environment.transition() {
            Some((before, transition)) => {
                self.shared.environments.after(&before.account, &transition).is_some()
            }
            None => self.lease.is_untouched(),
        };
        if is_quiet { self.learn().await } else { Ok(()) }
    }

    /// Learns the environment for a text in which the last byte of a character may look like a quote. If the character set is unknown, such
    /// a text may do anything.
    ///
    /// # Errors
    /// The connection is lost.
    pub(crate) async fn learn_to_read(&mut self, text: &[u8]) -> Result<(), Error> {
        if self.environment().is_some() || !has_quote_behind_letter(text) {
            return Ok(());
        }
        // If this text might do anything, the environment would stay unknown, and so would the environment of all statements after it.
        if is_select_of_its_own(text) { self.learn().await } else { self.learn_quietly().await }
    }

    /// Takes the environment of a new session from another session that began in the same way, so that a stored answer can be found
    /// before the server is asked for anything. If statements are sent, the environment is read before anything is stored.
    pub(crate) fn recall(&mut self) {
        if !self.state.environment.is_unknown() || !self.lease.is_new() {
            return;
        }
        let age_ms_max = self.state.locals.max_staleness_ms(&self.shared.globals);
        if let Some(environment) = self.shared.gate.beginning(&self.admitted, age_ms_max) {
            if !self.lease.is_open() {
                self.handle.may_be_silent_for(environment.idle_s_max.saturating_mul(1000));
            }
            self.state.environment.note_recalled(environment);
            self.refresh_key();
        }
    }

    /// Asks the server for the environment; `None` if the server gives no row (`sql_select_limit` 0 takes the row away) or refuses.
    async fn read_environment(&mut self) -> Result<Option<Environment>, Error> {
        let Some(server) = self.lease.version().map(modes_of_server) else { return Ok(None) };
        let query = match vector(&self.shared, &mut self.lease, &self.handle).await {
            Ok(query) => query,
            Err(Error::Server(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let rows = match self.ask(query.sql()).await {
            Ok(rows) => rows,
            Err(Error::Server(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(row) = rows.rows.first().filter(|row| row.len() == query.width()) else { return Ok(None) };
        self.reports_are(Environment::reports(&query, row));
        Ok(Some(Environment::read(&query, &self.fixed(), row, server)))
    }

    /// Returns the part of the key for which the server is not asked.
    fn fixed(&self) -> Vec<u8> {
        let mut fixed = Vec::new();
        fixed.put_lenenc_bytes(&self.admitted.user);
        let told = self.state.told.as_deref().map_or_else(|| Reports::default().form(), Reports::form);
        fixed.extend_from_slice(&told);
        fixed.extend_from_slice(&self.capabilities().intersection(FORM).bits().to_le_bytes());
        fixed
    }

    /// Decides whether the next statements may be answered from memory without another check, and under which key.
    pub(crate) fn refresh_key(&mut self) {
        self.decide_reads();
        self.heed_rights();
        let version = self.shared.globals.version.load(Ordering::Acquire);
        self.heed_rules();
        self.remember_identity();
        let key = self.key_under(|environment| self.identity(environment));
        let key = key.filter(|_| !self.holds().hide_tables() && !self.decides_before());
        self.state.environment.note_key(key, version);
    }

    /// Returns the key of look-ups without another check, unless a global variable has changed since the key was decided.
    pub(crate) fn current_key(&mut self) -> Option<u32> {
        if !self.state.environment.is_key_of(self.shared.globals.version.load(Ordering::Acquire)) {
            self.refresh_key();
        }
        self.state.environment.key()
    }

    /// Returns why no statement of the session can be answered from memory now.
    pub(crate) fn bars(&self) -> Why {
        if self.ruled.is_barring() { Why::QueryRule } else { self.holds().why() }
    }

    /// Like [`Session::refresh_key`], for a statement that is known to name no temporary table.
    pub(crate) fn key_but_for_temporary_tables(&self) -> Option<u32> {
        self.key_under(|environment| self.identity_under_way(environment))
    }

    /// Returns the key for a statement whose answer may be stale; `None` within a transaction, where all results have to be of one moment.
    pub(crate) fn key_of_bargain(&self) -> Option<u32> {
        self.may_be_stale()
            .then(|| self.key_under(|environment| self.identity_of_bargain(environment)))
            .flatten()
    }

    /// Whether the session is in a state in which its statements may get stale answers.
    pub(super) fn may_be_stale(&self) -> bool {
        self.state.tx.surely_autocommits() && !self.state.deeds.stop_time()
    }

    fn key_under(&self, identity: impl FnOnce(&Environment) -> Option<u32>) -> Option<u32> {
        let environment = self.state.environment.current().filter(|_| !self.holds().bar_all_hits())?;
        let kind = self.state.locals.effective_type(&self.shared.globals);
        let strips = self.state.locals.strips_comments(&self.shared.globals);
        Some(key_of_texts(identity(environment)?, kind, strips))
    }

    /// Why the session cannot be answered from memory, or must keep its server connection.
    pub(crate) fn holds(&self) -> SessionHolds<'_> {
        SessionHolds { state: &self.state, lease: &self.lease, globals: &self.shared.globals }
    }

    /// Returns the `effects` of a text that was read by `self.modes()`, with every table named in full. If a
    /// statement since may have changed how quotes are read, a text with quotes may do anything.
    pub(crate) fn certain(&self, text: &[u8], effects: Effects) -> Effects {
        if effects.refused && !effects.several {
            return effects; // However quotes are read.
        }
        if self.environment().is_none() && has_quotes(text) {
            return Effects {
                reads_last_statement: effects.reads_last_statement,
                around: effects.around,
                ..Effects::worst()
            };
        }
        let effects = self.without_foreign_names(effects);
        // Before the environment is known, the schema's name from a login or a COM_INIT_DB is in an unknown character set.
        let is_told = |name: &&str| name.is_ascii() || self.environment().is_some();
        let schema = self.state.environment.schema().filter(is_told);
        let effects = qualify(self.without_nameless(effects), schema);
        if effects.writes != Writes::Everything {
            return effects;
        }
        // A function that may write may also set variables and make temporary tables.
        let temporary = match effects.temporary {
            Temporary::None => Temporary::Unknown,
            known => known,
        };
        Effects { session: true, temporary, ..effects }
    }

    /// Whether a text is certainly a SET of user variables to literals. User variables are no part of the environment: a statement that names
    /// one is not answered from memory.
    pub(crate) fn sets_user_variables_alone(&self, text: &[u8]) -> bool {
        self.is_readable(text) && freshet_sql::user_variables_set(text, self.modes()).is_some()
    }

    /// Whether Freshet reads a text as the server does: if the session's environment is unknown, a text with quotes may be read otherwise.
    fn is_readable(&self, text: &[u8]) -> bool {
        self.environment().is_some() || !has_quotes(text)
    }

    /// Whether a text certainly leaves the environment as it is, though it changes something of the session.
    pub(crate) fn leaves_environment(&self, text: &[u8]) -> bool {
        let prepares = || {
            let found = freshet_sql::text_prepared(text, self.modes());
            matches!(
                found,
                Some(TextPrepared::Prepare { text: Some(_), .. } | TextPrepared::Deallocate { .. })
            )
        };
        self.sets_user_variables_alone(text) || self.is_readable(text) && prepares()
    }

    /// Notes the changes of the user variables whose values are known, after a command that ran.
    pub(super) fn note_user_variables(&mut self, ran: &Ran<'_>) {
        let Ran { effects, text, facts, relayed, .. } = ran;
        // A plain text assigns nothing, and executes no other text.
        if ran.is_plain && !facts.run_code() {
            return;
        }
        let is_told = relayed.error.is_none() && !effects.several && self.is_readable(text);
        let set = is_told.then(|| freshet_sql::user_variables_set(text, self.modes())).flatten();
        if let Some(variables) = set {
            let environment = self.environment().map(|it| it.id);
            return self.state.user_variables.set(variables, environment);
        }
        if facts.run_code() || !self.leaves_user_variables(text) {
            self.state.user_variables.forget();
        }
    }

    /// Whether a text that runs no code certainly assigns no user variable: the text names none, or executes a SELECT that names none. The
    /// text of an EXECUTE does not show what it assigns.
    fn leaves_user_variables(&self, text: &[u8]) -> bool {
        if !names_execute(text) {
            return !text.is_empty() && !text.contains(&b'@');
        }
        match freshet_sql::text_prepared(text, self.modes()) {
            Some(TextPrepared::Execute { name, .. }) => self.state.texts.select(&name).is_some(),
            _ => false,
        }
    }

    /// Replaces names beyond ASCII by the unknown, unless the client's character set is one in which Freshet understands
    /// names.
    fn without_foreign_names(&self, effects: Effects) -> Effects {
        let is_ascii = |table: &TableName| table.name.is_ascii() && table.schema.iter().all(|s| s.is_ascii());
        match &effects.reads {
            Reads::Tables(tables)
                if !self.environment().is_some_and(|it| it.tells_names) && !tables.iter().all(is_ascii) =>
            {
                Effects { reads: Reads::Unknown, ..effects }
            }
            _ => effects,
        }
    }

    /// Removes the names that have no schema if there is no default schema. The server refuses tables named in this way, so these names are
    /// those of common table expressions.
    fn without_nameless(&self, mut effects: Effects) -> Effects {
        let is_clear = self.environment().is_some_and(|it| !it.has_unclear_schema);
        let has_none = self.state.environment.schema().is_none() && is_clear && !effects.moves;
        if let Reads::Tables(tables) = &mut effects.reads
            && has_none
        {
            tables.retain(|table| table.schema.is_some());
        }
        effects
    }

    /// Returns the environment's identity, if it is known, and the session's version of the environment.
    pub(crate) fn environment_now(&self) -> (Option<u32>, u64) {
        (self.environment().map(|environment| environment.id), self.state.environment.version())
    }

    /// Returns the environment, if it is known.
    pub(crate) fn environment(&self) -> Option<&Arc<Environment>> {
        self.state.environment.read()
    }
}

/// Returns the query that reads the environment on this server.
async fn vector(shared: &Shared, lease: &mut Lease, handle: &Handle) -> Result<Arc<VectorQuery>, Error> {
    let version = lease.version().ok_or(Error::Closed)?.to_vec();
    match shared.vector(&version) {
        Some(query) => Ok(query),
        None => Ok(shared.remember_vector(&version, vector_for(lease, handle, &version).await?)),
    }
}

/// Whether a text, in any character set, is a SELECT that mentions nothing of the statement before it.
pub(crate) fn is_select_of_its_own(text: &[u8]) -> bool {
    const ASKING: [&[u8]; 6] =
        [b"found_rows", b"row_count", b"warning", b"error", b"diagnostics", b"procedure"];
    first_word_is(text.trim_ascii_start(), "SELECT") && !has_any(text, &ASKING)
}

/// Session variables that every server has. If one is missing, the answer was cut short (`sql_select_limit` also concerns SHOW), or
/// the answer is in a character set that Freshet does not read.
const OF_EVERY_SERVER: [&str; 6] =
    ["autocommit", "character_set_results", "collation_connection", "sql_mode", "time_zone", "wait_timeout"];

/// Makes the query for a server that is met for the first time.
async fn vector_for(lease: &mut Lease, handle: &Handle, version: &[u8]) -> Result<VectorQuery, Error> {
    let names: Vec<String> = variable_names().map(|name| format!("'{name}'")).collect();
    let sql = format!("SHOW SESSION VARIABLES WHERE Variable_name IN ({})", names.join(","));
    let rows = lease.ask_unless_ended(&sql, handle).await?;
    let exists = |name: &str| {
        rows.rows.iter().any(|row| row.first().is_some_and(|cell| cell.as_deref() == Some(name.as_bytes())))
    };
    if !OF_EVERY_SERVER.iter().all(|name| exists(name)) {
        return Err(Error::Server(ErrPacket::new(1105, "HY000", "Not all session variables are shown")));
    }
    Ok(VectorQuery::new(exists, !modes_of_server(version).before_8))
}

/// Whether the meaning of a text depends on the modes of quotes, or on whether a backtick is half of a character. Checks the text in
/// pieces, each as a whole.
fn has_quotes(text: &[u8]) -> bool {
    const PIECE_BYTES: usize = 1024;
    let is_quote = |byte: &u8| matches!(byte, b'"' | b'\\');
    text.chunks(PIECE_BYTES).any(|piece| piece.iter().fold(false, |found, byte| found | is_quote(byte)))
        || has_quote_behind_letter(text)
}

/// Whether a backslash or a backtick stands right after a byte beyond ASCII.
fn has_quote_behind_letter(text: &[u8]) -> bool {
    !text.is_ascii() && text.windows(2).any(|two| two[0] >= 0x80 && matches!(two[1], b'\\' | b'`'))
}
