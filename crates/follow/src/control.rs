//! The control connection: questions of sessions, definitions, and changes that no binlog tells of: global variables and rights.

use std::sync::Arc;
use std::time::Duration;

use freshet_cache::Position;
use freshet_catalog::{CatalogError, ForeignKeys, Locate};
use freshet_upstream::connection::within;
use freshet_upstream::server::ask_end;
use freshet_upstream::{Connection, Error, ServerInfo, now_ms};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::generation::Generation;
use crate::globals::WatchedGlobals;
use crate::over::Over;
use crate::rights::{Followed, Rights};
use crate::shared::{Ask, Following};
use crate::usable::usable;
use tracing::debug;

/// The time between two looks at the global variables and the rights.
const AROUND_EVERY: Duration = Duration::from_secs(1);

/// The least time between two such looks, where a session needs a more recent proof.
const AROUND_EVERY_MIN: Duration = Duration::from_millis(5);

/// The time between two looks whether a change of definitions is visible. It becomes visible within a millisecond or two.
const VISIBLE_EVERY: Duration = Duration::from_millis(2);

/// The time between two readings of foreign keys: those that change meanwhile are asked for at once, and those that could not be read are
/// tried again.
const FOREIGN_KEYS_EVERY: Duration = Duration::from_millis(50);

/// The limit of a question: if it takes longer, the connection counts as lost. Definitions of large servers take seconds.
const QUESTION_LIMIT: Duration = Duration::from_secs(60);

/// Answers a session's question while there is no connection.
pub(crate) fn refuse(ask: Ask) {
    // The session that asked may be gone, and then needs no answer.
    match ask {
        Ask::Table(_, reply) => drop(reply.send(Err(CatalogError::Failed(Error::Closed)))),
        Ask::Routine(_, reply) => drop(reply.send(Err(CatalogError::Failed(Error::Closed)))),
        Ask::Sql(_, reply) => drop(reply.send(Err(Error::Closed))),
    }
}

/// The control connection of one generation.
pub(crate) struct Control<'a> {
    pub(crate) shared: &'a Following,
    pub(crate) server: &'a ServerInfo,
    pub(crate) connection: &'a mut Connection,
    pub(crate) asks: &'a mut mpsc::Receiver<Ask>,
    pub(crate) globals: &'a mut WatchedGlobals,
    pub(crate) rights: &'a mut Rights,
}

impl Control<'_> {
    /// Serves until the connection breaks, or until a given time. Without a stream, only the questions of sessions are served.
    ///
    /// Not to be cancelled if the connection is to be used again: a question would be left with its answer unread.
    pub(crate) async fn run(
        &mut self,
        generation: Option<&Generation>,
        until: Option<Instant>,
    ) -> Result<(), Over> {
        let _open = self.shared.looks.open();
        let mut looked_at = Instant::now();
        let mut foreign_keys_at = Instant::now();
        loop {
            if let Some(generation) = generation
                && Instant::now() >= foreign_keys_at
            {
                self.read_foreign_keys(generation).await?;
                foreign_keys_at = Instant::now() + self.foreign_keys_pause();
            }
            let awaits_foreign_keys = generation.is_some() && self.shared.catalog.awaits_foreign_keys();
            tokio::select! {
                ask = self.asks.recv() => self.serve(ask.ok_or(Over::Stopped)?, generation).await?,
                () = self.shared.definitions.notified() => {}
                () = sleep_until(foreign_keys_at), if awaits_foreign_keys => {}
                () = around_is_due(self.shared, looked_at) => {
                    self.look_around(generation).await?;
                    looked_at = Instant::now();
                }
                () = at(until), if until.is_some() => return Ok(()),
            }
        }
    }

    /// Returns the pause before the foreign keys are tried again.
    fn foreign_keys_pause(&self) -> Duration {
        if self.shared.catalog.changes_are_visible() { FOREIGN_KEYS_EVERY } else { VISIBLE_EVERY }
    }

    async fn serve(&mut self, ask: Ask, generation: Option<&Generation>) -> Result<(), Over> {
        match ask {
            Ask::Table((schema, name), reply) => {
                // Many sessions ask for the same table at once, and the first answer is enough.
                if let Some(known) = self.shared.catalog.known(&schema, &name) {
                    drop(reply.send(Ok(known)));
                    return Ok(());
                }
                let locating = generation.map(|generation| {
                    move |file: &[u8], offset| generation.locate(file, offset).ok().flatten()
                });
                let locate = locating.as_ref().map(|locate| locate as Locate<'_>);
                let name = (schema, name);
                let loading = self.shared.catalog.load(self.connection, self.server, name, locate);
                let answer =
                    tokio::time::timeout(QUESTION_LIMIT, loading).await.unwrap_or_else(|_| Err(too_long()));
                let broken = breaks(&answer);
                drop(reply.send(answer));
                self.go_on_unless(broken)
            }
            Ask::Routine((kind, name), reply) => {
                if let Some(known) = self.shared.catalog.known_routine(kind, &name.0, &name.1) {
                    drop(reply.send(Ok(known)));
                    return Ok(());
                }
                let loading = self.shared.catalog.load_routine(self.connection, self.server, kind, &name);
                let answer =
                    tokio::time::timeout(QUESTION_LIMIT, loading).await.unwrap_or_else(|_| Err(too_long()));
                let broken = breaks(&answer);
                drop(reply.send(answer));
                self.go_on_unless(broken)
            }
            Ask::Sql(sql, reply) => {
                let answer = within(QUESTION_LIMIT, "a question", self.connection.query(&sql)).await;
                let broken = matches!(&answer, Err(error) if !error.leaves_connection_usable());
                drop(reply.send(answer));
                self.go_on_unless(broken)
            }
        }
    }

    fn go_on_unless(&self, broken: bool) -> Result<(), Over> {
        if broken { Err(Over::Connection(Error::Closed)) } else { Ok(()) }
    }

    /// Reads the foreign keys. The end of the binlog is read after the keys, so that every definition on which they rest lies before it.
    async fn read_foreign_keys(&mut self, generation: &Generation) -> Result<(), Over> {
        let Some((ticket, wanted)) = self.shared.catalog.foreign_keys_wanted() else { return Ok(()) };
        if !self.shared.catalog.changes_are_visible() {
            self.shared.ask_probe();
            return Ok(());
        }
        let reading = ForeignKeys::read_wanted(self.connection, self.server, wanted);
        let keys = match within(QUESTION_LIMIT, "reading foreign keys", reading).await {
            Ok(keys) => keys,
            // Most likely a definition is just being changed. The keys are still wanted, and until they are read every change is taken to
            // reach everything.
            Err(error) if error.leaves_connection_usable() => {
                debug!(%error, "the foreign keys cannot be read now");
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let asking = ask_end(self.server, self.connection);
        let (file, offset) = within(QUESTION_LIMIT, "reading the binlog's end", asking).await?;
        let end = generation.locate(&file, offset)?.unwrap_or(Position::ZERO);
        self.shared.catalog.accept_foreign_keys(ticket, keys, end);
        Ok(())
    }

    /// Looks for changes that no binlog tells of.
    async fn look_around(&mut self, generation: Option<&Generation>) -> Result<(), Over> {
        // A session that asks after this waits for the next look.
        let awaited = self.shared.looks.take();
        let asked_ms = now_ms();
        let followed = Followed { shared: self.shared, server: self.server, generation };
        let looking = self.rights.look(self.connection, followed, awaited.rights);
        self.shared.regranted(within(QUESTION_LIMIT, "reading rights", looking).await?);
        let looking = self.globals.look(self.connection);
        let changed = within(QUESTION_LIMIT, "reading global variables", looking).await?;
        self.shared.globals_changed(changed);
        self.shared.proven.looked_around(asked_ms);
        if changed.is_some() {
            self.look_at_server().await?;
        }
        awaited.answer();
        Ok(())
    }

    /// Reads the server's settings again, because some global variables decide how the server is followed.
    async fn look_at_server(&mut self) -> Result<(), Over> {
        let reading = ServerInfo::read(self.connection);
        let server = Arc::new(within(QUESTION_LIMIT, "reading what the server is", reading).await?);
        let is_same = server.has_gtids() == self.server.has_gtids() && usable(&server).is_ok();
        self.shared.set_server(server);
        if is_same { Ok(()) } else { Err(Over::Changed("the server's settings have changed")) }
    }
}

/// Waits until it is time for a look, or until somebody asks for one.
async fn around_is_due(shared: &Following, looked_at: Instant) {
    tokio::select! {
        () = sleep_until(looked_at + AROUND_EVERY) => {}
        () = asked_around(shared) => sleep_until(looked_at + AROUND_EVERY_MIN).await,
    }
}

async fn asked_around(shared: &Following) {
    // A wake-up may have been lost to another branch of the loop.
    if !shared.looks.is_awaited() {
        shared.around.notified().await;
    }
}

async fn at(until: Option<Instant>) {
    if let Some(until) = until {
        sleep_until(until).await;
    }
}

fn too_long() -> CatalogError {
    CatalogError::Failed(Error::TimedOut { doing: "reading a definition", limit: QUESTION_LIMIT })
}

/// Whether the connection cannot be used after this.
fn breaks<T>(answer: &Result<T, CatalogError>) -> bool {
    matches!(answer, Err(CatalogError::Failed(error)) if !error.leaves_connection_usable())
}
