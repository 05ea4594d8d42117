//! The handle through which sessions reach the follower.

use std::fmt;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use freshet_cache::{Dep, Fence, Freshness, Position};
use freshet_catalog::rows::Watches;
use freshet_catalog::{
    Beside, CatalogError, ChangedSince, Defined, Definition, Descendants, Name, Routine, TableInfo, Told,
    Writing,
};
use freshet_sql::RoutineKind;
use freshet_upstream::{Error, Rows, ServerInfo, UpstreamConfig};
use tokio::sync::futures::Notified;
use tokio::sync::{mpsc, oneshot};

use crate::feed::RowReader;
use crate::follower::Follower;
use crate::proven::Semisync;
use crate::rights_news::RightsTaken;
use crate::settle::{ShownGtids, WriteOutcome};
use crate::shared::{ASKS_MAX, Ask, Following};
use crate::status::{FollowState, FollowStatus};

/// How long a client waits for a look around, after it changed something that no binlog tells of. The look itself takes milliseconds.
const LOOK_MAX: Duration = Duration::from_secs(2);

/// The server behind us: its description, its catalog, its stream. Cheap to clone; all clones are one handle.
#[derive(Clone)]
pub struct Upstream {
    shared: Arc<Following>,
    /// The follower ends when the last of these is dropped.
    asks: mpsc::Sender<Ask>,
}

impl Upstream {
    /// Starts the follower thread, which connects by itself, again and again, until the last handle is dropped. Returns at once; a server
    /// that cannot be reached is not an error.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn start(config: UpstreamConfig, freshness: Arc<Freshness>) -> Result<Self, Error> {
        let shared = Arc::new(Following::new(config, freshness));
        let (asks, asked) = mpsc::channel(ASKS_MAX);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let follower = Follower::new(Arc::clone(&shared), asked);
        thread::Builder::new()
            .name("freshet-follow".to_owned())
            .spawn(move || runtime.block_on(follower.run()))?;
        Ok(Self { shared, asks })
    }

    /// Returns the configuration by which the server is reached.
    #[must_use]
    pub fn config(&self) -> &Arc<UpstreamConfig> {
        &self.shared.config
    }

    /// Returns what is known of the server; `None` until it was reached for the first time.
    #[must_use]
    pub fn server(&self) -> Option<Arc<ServerInfo>> {
        self.shared.server()
    }

    /// Returns how the stream stands.
    #[must_use]
    pub fn follow_status(&self) -> FollowStatus {
        self.shared.status()
    }

    /// Returns the number of the stream that tells of changes; `None` while it is not proven to be live.
    #[must_use]
    pub fn live_generation(&self) -> Option<u64> {
        self.shared.live_generation()
    }

    /// Sets the reader of all rows that the stream changes from now on. `false` if there is one already.
    pub fn feed(&self, reader: Arc<dyn RowReader>) -> bool {
        self.shared.feed.read_by(reader)
    }

    /// Returns how many events of the stream have changed rows of this table.
    #[must_use]
    pub fn writes_of(&self, schema: &str, table: &str) -> u64 {
        self.shared.written.of(schema, table)
    }

    /// Returns how many changes were made that no binlog tells of. A change is counted before it sets its stamps.
    #[must_use]
    pub fn unlogged_count(&self) -> u64 {
        self.shared.unlogged_count()
    }

    /// Asks for a newer `visible`, because it lags behind the need of a miss. Costs one atomic operation if it was asked for already.
    pub fn ask_probe(&self) {
        self.shared.ask_probe();
    }

    /// Returns a moment, in milliseconds of [`freshet_upstream::now_ms`]: everything that was committed on the server up to it is
    /// applied. 0 where nothing is proven. It is renewed when [`Self::ask_current`] asks for it.
    #[must_use]
    pub fn current_to_ms(&self) -> u64 {
        self.shared.proven.current_to_ms()
    }

    /// Asks for a newer [`Self::current_to_ms`]. Costs one atomic operation if it was asked for already.
    pub fn ask_current(&self) {
        self.shared.ask_current();
    }

    /// Asks the server where its binlog ends. Once the answer is applied, all results that were complete before this call are settled
    /// ([`Freshness::is_settled`]). Costs one atomic operation if it was asked for already.
    pub fn ask_end(&self) {
        self.shared.ask_end();
    }

    /// Returns a wait for news: more is settled than before, or more is known of whose the applied transactions are.
    pub fn settling_told(&self) -> Notified<'_> {
        self.shared.proven.passed().notified()
    }

    /// Returns the number of applied transactions: see [`Self::has_applied`].
    #[must_use]
    pub fn applied_count(&self) -> u64 {
        self.shared.settling.applied_count()
    }

    /// Whether all of these transactions are applied. `since`: [`Self::applied_count`], read before the server was asked for them.
    #[must_use]
    pub fn has_applied(&self, shown: &ShownGtids, since: u64) -> bool {
        self.shared.settling.has_applied(shown, since)
    }

    /// Sets whether the server's commits are to wait for us. A change starts the stream anew.
    pub fn want_semisync(&self, wanted: bool) {
        self.shared.want_semisync(wanted);
    }

    /// Returns how semi-synchronous replication stands, in words.
    #[must_use]
    pub fn semisync(&self) -> Semisync {
        self.shared.proven.semisync()
    }

    /// Whether every commit that is visible to anyone at this moment is applied, also commits of other clients.
    #[must_use]
    pub fn commits_wait(&self, now_ms: u64) -> bool {
        self.shared.proven.commits_wait(now_ms)
    }

    /// Returns a count that grows when many fences are exchanged for one on everything, which stands as long as the oldest of them would
    /// have. It has grown before the first of them is lifted.
    #[must_use]
    pub fn fences_exchanged(&self) -> u64 {
        self.shared.settling.exchanged()
    }

    /// Hands over the fence of a write whose outcome is known, or known to be unknown. The fence is lifted as soon as the write can no
    /// longer make a stored result stale.
    pub fn settle(&self, fence: Fence, outcome: WriteOutcome) {
        self.shared.settle(fence, outcome);
    }

    /// Notes that a change of these, which is in no binlog, is in effect: results that rest on them are never served again, and new ones
    /// can be stored within milliseconds. To be called before the fences of the change are handed over.
    pub fn changed_unlogged(&self, deps: &[Dep]) {
        self.shared.changed_unlogged(deps);
    }

    /// Looks for changes that no binlog tells of: a client has changed global variables, or with `rights` the rights of accounts. When
    /// this returns, every change that was in effect before the call is taken over. If the look is not possible, or not soon, everything
    /// counts as changed.
    pub async fn look_around(&self, rights: bool) {
        let looking = async {
            let looked = self.shared.looks.ask(rights)?;
            self.shared.around.notify_one();
            looked.await.ok()
        };
        if tokio::time::timeout(LOOK_MAX, looking).await.ok().flatten().is_none() {
            self.shared.anything_changed();
        }
    }

    /// Returns a number that changes whenever any definition may have changed.
    #[must_use]
    pub fn catalog_version(&self) -> u64 {
        self.shared.catalog.version()
    }

    /// Returns a number that changes whenever a schema may have come or gone.
    #[must_use]
    pub fn schemas_version(&self) -> u64 {
        self.shared.catalog.schemas_version()
    }

    /// Whether nothing on which this conclusion rests is known to have changed.
    #[must_use]
    pub fn is_current(&self, told: &Told) -> bool {
        self.shared.catalog.is_current(told)
    }

    /// Notes a definition that is about to be sent: see [`Catalog::define`](freshet_catalog::Catalog::define).
    pub fn define(&self, what: Defined) -> Definition {
        self.shared.catalog.define(what)
    }

    /// Notes a write that is about to be sent: see [`Catalog::write`](freshet_catalog::Catalog::write).
    pub fn write(&self, told: Told) -> Writing {
        self.shared.catalog.write(told)
    }

    /// Returns these tables and the tables that hang on them by foreign keys; `None` if that is not known.
    #[must_use]
    pub fn with_children(&self, tables: &[Name]) -> Option<Vec<Name>> {
        self.shared.catalog.with_children(tables)
    }

    /// Returns what is known of changes of what this conclusion rests on since the catalog had this version: see
    /// [`Catalog::changed_since`](freshet_catalog::Catalog::changed_since).
    #[must_use]
    pub fn changed_since(&self, told: &Told, since: u64) -> ChangedSince {
        self.shared.catalog.changed_since(told, since)
    }

    /// Whether something on which this conclusion rests has changed, or is being changed by a definition through us.
    #[must_use]
    pub fn is_changing(&self, told: &Told) -> bool {
        self.shared.catalog.is_changing(told)
    }

    /// Returns what other definitions through us mean for a write: see [`Catalog::beside`](freshet_catalog::Catalog::beside).
    #[must_use]
    pub fn beside(&self, told: &Told, clock: u64, own: Option<&Definition>) -> Beside {
        self.shared.catalog.beside(told, clock, own)
    }

    /// Returns what a change of this table's rows can change through foreign keys. `None`: not known now, so everything counts as
    /// changed.
    #[must_use]
    pub fn descendants(&self, schema: &str, table: &str) -> Option<Arc<Descendants>> {
        self.shared.catalog.descendants(schema, table)
    }

    /// Returns what is known of a table or view; reads it from the server if needed.
    ///
    /// # Errors
    /// When it cannot be read, or changes while it is read.
    pub async fn table(&self, schema: &str, name: &str) -> Result<Arc<TableInfo>, CatalogError> {
        if let Some(known) = self.known_table(schema, name) {
            return Ok(known);
        }
        let (reply, answer) = oneshot::channel();
        let ask = Ask::Table((schema.to_owned(), name.to_owned()), reply);
        self.asks.send(ask).await.map_err(|_| Error::Closed)?;
        answer.await.map_err(|_| Error::Closed)?
    }

    /// Returns what is known of a table or view, from memory.
    #[must_use]
    pub fn known_table(&self, schema: &str, name: &str) -> Option<Arc<TableInfo>> {
        self.shared.catalog.known(schema, name)
    }

    /// Returns what is known of a procedure or function; reads it from the server if needed.
    ///
    /// # Errors
    /// When it cannot be read, or changes while it is read.
    pub async fn routine(
        &self,
        kind: RoutineKind,
        schema: &str,
        name: &str,
    ) -> Result<Arc<Routine>, CatalogError> {
        if let Some(known) = self.known_routine(kind, schema, name) {
            return Ok(known);
        }
        let (reply, answer) = oneshot::channel();
        let ask = Ask::Routine((kind, (schema.to_owned(), name.to_owned())), reply);
        self.asks.send(ask).await.map_err(|_| Error::Closed)?;
        answer.await.map_err(|_| Error::Closed)?
    }

    /// Returns what is known of a procedure or function, from memory.
    #[must_use]
    pub fn known_routine(&self, kind: RoutineKind, schema: &str, name: &str) -> Option<Arc<Routine>> {
        self.shared.catalog.known_routine(kind, schema, name)
    }

    /// Returns the watches on rows.
    #[must_use]
    pub fn watches(&self) -> &Watches {
        &self.shared.watches
    }

    /// Returns a number that changes whenever an account or a privilege may have changed.
    #[must_use]
    pub fn accounts_epoch(&self) -> u64 {
        self.shared.accounts_epoch()
    }

    /// Returns a number that changes whenever an account or a privilege was seen to change; `None` while a change through us is under
    /// way. While there is no stream, only changes through us are seen.
    #[must_use]
    pub fn rights_epoch(&self) -> Option<u64> {
        self.shared.rights.epoch()
    }

    /// Notes that accounts or privileges are about to be changed, until the returned value is dropped. `taken`: the users from whom
    /// rights may be taken.
    #[must_use]
    pub fn changing_rights(&self, taken: RightsTaken) -> ChangingRights {
        self.shared.rights.begins();
        ChangingRights { shared: Arc::clone(&self.shared), taken }
    }

    /// Notes that a client's FLUSH that loads no rights is sent to the server, until the returned value is dropped.
    #[must_use]
    pub fn flushes_harmlessly(&self) -> HarmlessFlush {
        self.shared.harmless.begins();
        HarmlessFlush { shared: Arc::clone(&self.shared), is_counted: false }
    }

    /// Returns a number that changes whenever a global variable that can affect results was seen to have changed.
    #[must_use]
    pub fn globals_epoch(&self) -> u64 {
        self.shared.globals_epoch()
    }

    /// Waits until the server was reached, or could not be reached, or for this long at most.
    pub async fn meets(&self, wait_max: Duration) {
        let is_met =
            || !matches!(self.shared.status().state, FollowState::Connecting { why } if why.is_empty());
        let meets = async {
            loop {
                // Before the look, so that no change is missed.
                let stands = self.shared.stands.notified();
                if is_met() {
                    return;
                }
                stands.await;
            }
        };
        // A server that is not reached by then is reached later.
        let _ = tokio::time::timeout(wait_max, meets).await;
    }

    /// Whether `rights` stands for the rights of a login that was made when everything up to `from` was applied: a session keeps some
    /// rights from its beginning. This says nothing of a change under way.
    #[must_use]
    pub fn are_rights_of(&self, rights: Dep, from: Position) -> bool {
        let freshness = &self.shared.freshness;
        let everything_at = self.shared.rights.everything_at(freshness.stamp_of(Dep::EVERYTHING));
        from > Position::ZERO && freshness.stamp_of(rights) <= from && everything_at <= from
    }

    /// Whether a login of this user, made when everything up to `from` was applied, may have rights that were taken away since: a session
    /// keeps some until it moves. Without a user: a login that also has the rights of others. To be asked after [`Freshness::valid_from`]
    /// was read; the rights are meant as of that position.
    #[must_use]
    pub fn may_rights_be_gone(&self, user: Option<&str>, from: Position) -> bool {
        let (freshness, rights) = (&self.shared.freshness, &self.shared.rights);
        let from_user =
            |user| freshness.stamp_of(freshness.taken_from(user)).max(rights.taken_from_anybody_at());
        rights.taken_at() > from && user.is_none_or(|user| from_user(user) > from)
    }

    /// Returns the position from which the rights of a login count that is made now. This also holds right after the stream has begun,
    /// when it is not known yet what is visible: rights that were taken before are gone.
    #[must_use]
    pub fn rights_from(&self) -> Position {
        self.shared.freshness.valid_from().max(self.shared.rights.begun_at())
    }

    /// Whether a definition of accounts or schemas, or anything else that may change everything, is under way through us: the server may
    /// judge the next login by other accounts and schemas than the known ones.
    #[must_use]
    pub fn may_logins_be_changing(&self) -> bool {
        [Dep::ACCOUNTS, Dep::EVERYTHING].iter().any(|dep| self.shared.freshness.is_fenced(*dep))
            || self.shared.catalog.is_schema_changing()
    }

    /// Asks a question on the control connection.
    ///
    /// # Errors
    /// When there is no connection, or the server refuses.
    pub async fn ask(&self, sql: &str) -> Result<Rows, Error> {
        let (reply, answer) = oneshot::channel();
        self.asks.send(Ask::Sql(sql.to_owned(), reply)).await.map_err(|_| Error::Closed)?;
        answer.await.map_err(|_| Error::Closed)?
    }
}

/// A statement that may change accounts or privileges is under way.
pub struct ChangingRights {
    shared: Arc<Following>,
    taken: RightsTaken,
}

impl ChangingRights {
    /// Notes that the server has refused the statement: if it has changed something all the same, the stream tells of it.
    pub fn fails(mut self) {
        self.taken = RightsTaken::FromNobody;
    }
}

/// While this lives, the server may be given a FLUSH that loads no rights.
pub struct HarmlessFlush {
    shared: Arc<Following>,
    is_counted: bool,
}

impl HarmlessFlush {
    /// Notes that the server has carried out the FLUSH, and so has counted it once.
    pub fn succeeds(mut self) {
        self.is_counted = true;
    }
}

impl fmt::Debug for HarmlessFlush {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HarmlessFlush")
    }
}

impl Drop for HarmlessFlush {
    fn drop(&mut self) {
        self.shared.harmless.ends(self.is_counted);
    }
}

impl fmt::Debug for ChangingRights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChangingRights")
    }
}

impl Drop for ChangingRights {
    fn drop(&mut self) {
        // The stream tells of it later. A login from here on has the present rights.
        self.shared.rights_were_taken(&self.taken, self.shared.freshness.next());
        self.shared.rights.ends();
    }
}
