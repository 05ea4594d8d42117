//! The follower's thread: one generation after another.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use freshet_cache::{Dep, Position};
use freshet_protocol::random_scramble;
use freshet_upstream::connection::within;
use freshet_upstream::control::connect;
use freshet_upstream::server::Concerns;
use freshet_upstream::{Connection, Error, ServerInfo, now_ms};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use tokio::{join, try_join};
use tracing::{info, warn};

use crate::applier::{Applier, ChangeSink};
use crate::control::{Control, refuse};
use crate::generation::{Generation, Sinks};
use crate::globals::WatchedGlobals;
use crate::open::{Identity, Joining, Opened, open};
use crate::over::Over;
use crate::prober::Prober;
use crate::replica::Joined;
use crate::rights::Rights;
use crate::shared::{Ask, Following, StreamCounters};
use crate::stamps::Stamps;
use crate::status::FollowState;
use crate::timeline::Timeline;
use crate::usable::{NotFollowed, refusal, usable};

/// The least and the greatest pause before a failed connection is made again. The pause doubles.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// A connection that lasted this long was a success; after it, the pauses start from the least again.
const LASTED: Duration = Duration::from_secs(10);

/// The time between two checks whether a server that could not be followed can be followed now.
const OFF_EVERY: Duration = Duration::from_secs(5);

/// The time allowed for reading the description of the server, on a new connection.
const DESCRIPTION_LIMIT: Duration = Duration::from_secs(60);

/// The state of the follower's thread.
pub(crate) struct Follower {
    shared: Arc<Following>,
    sinks: Sinks,
    asks: mpsc::Receiver<Ask>,
    identity: Identity,
    /// The highest number that the server gave to a connection of ours. The server counts from 1 when it starts.
    thread_id: u32,
    /// The global variables at the last look, over all generations.
    globals: Option<WatchedGlobals>,
    /// The rights at the last look.
    rights: Option<Rights>,
    /// When everything was stamped for the loss of the last stream, and the time before that.
    lost: Option<StreamLoss>,
    /// The reason for the missing stream that was logged last.
    logged: String,
}

/// When everything was stamped for the loss of a stream.
#[derive(Debug, Clone, Copy)]
struct StreamLoss {
    /// When everything was stamped before that, on the word of the stream.
    told_at: Position,
    at: Position,
}

/// The two connections for questions, the answers read on them, and a connection for the stream.
struct Contact {
    control: Connection,
    prober: Connection,
    /// Taken when the stream is opened. A failure counts only then: without a stream, sessions still have their questions answered.
    stream: Option<Result<Connection, Error>>,
    server: Arc<ServerInfo>,
    globals: WatchedGlobals,
    rights: Rights,
    /// The server was started at this moment or later, in milliseconds of our clock.
    started_ms: u64,
}

impl Follower {
    pub(crate) fn new(shared: Arc<Following>, asks: mpsc::Receiver<Ask>) -> Self {
        let identity = Identity::new(shared.config.server_id);
        let stamps = Stamps::new(Arc::clone(&shared.freshness), Arc::clone(&shared.watches));
        let sinks = (stamps, (Arc::clone(&shared), shared.feed.clone()));
        Self {
            shared,
            sinks,
            asks,
            identity,
            thread_id: 0,
            globals: None,
            rights: None,
            lost: None,
            logged: String::new(),
        }
    }

    /// Follows until the last handle is dropped.
    pub(crate) async fn run(mut self) {
        let mut pause = PAUSE_MIN;
        loop {
            let began = Instant::now();
            let over = self.connected().await;
            self.lose();
            match over {
                Over::Stopped => return,
                Over::Again => continue,
                over => self.report(&over),
            }
            if began.elapsed() > LASTED {
                pause = PAUSE_MIN;
            }
            let until = Instant::now() + jittered(pause);
            if timeout_at(until, refuse_all(&mut self.asks)).await.is_ok() {
                return;
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Does one round: from connecting to the loss of the connections.
    async fn connected(&mut self) -> Over {
        let reached = tokio::select! {
            reached = reach(&self.shared) => reached,
            () = refuse_all(&mut self.asks) => return Over::Stopped,
        };
        match reached {
            Ok(reached) => match self.serve(reached).await {
                Ok(never) => never,
                Err(over) => over,
            },
            Err(error) => Over::Connection(error),
        }
    }

    /// Follows if the server can be followed; otherwise serves sessions' questions until it is time to look again.
    async fn serve(&mut self, mut reached: Contact) -> Result<Over, Over> {
        self.got_to_know(&reached);
        match self.open(&mut reached).await {
            Ok(opened) => self.follow(reached, opened).await,
            Err(NotFollowed::Failed(error)) => Err(error.into()),
            Err(NotFollowed::Off { why, remedy }) => self.be_off(reached, why, remedy).await,
        }
    }

    async fn open(&self, reached: &mut Contact) -> Result<Opened, NotFollowed> {
        if let Err(refused) = usable(&reached.server) {
            reached.stream = None;
            return Err(refused);
        }
        let timeline = self.next_timeline();
        let joining = Joining {
            identity: &self.identity,
            heartbeat: self.shared.config.heartbeat,
            semisync: self.shared.proven.wants_semisync(),
        };
        let stream = reached.stream.take().unwrap_or(Err(Error::Closed));
        let opening = async { open(joining, &reached.server, stream?, &mut reached.prober, timeline).await };
        opening.await.map_err(|error| refusal(error, &reached.server))
    }

    fn got_to_know(&mut self, reached: &Contact) {
        if reached.server.has_native_cache() {
            warn!(
                "the server's own query cache is on: it costs every statement that reaches the server, and saves nothing \
                 behind this one; SET GLOBAL query_cache_type = OFF on the server itself"
            );
        }
        let least = reached.control.thread_id().min(reached.prober.thread_id());
        if least <= self.thread_id {
            self.shared.settling.server_restarted();
        }
        self.shared.settling.server_started(reached.started_ms);
        self.thread_id = reached.control.thread_id().max(reached.prober.thread_id());
        self.shared.set_server(Arc::clone(&reached.server));
        let are_kept = self.rights.take().is_some_and(|before| reached.rights.are_those_of(&before));
        match self.lost {
            Some(StreamLoss { told_at, at }) if are_kept => self.shared.rights.are_kept(told_at, at),
            // Everybody who is connected has logged in since the server was started, and nobody has changed rights since.
            Some(StreamLoss { at, .. }) if reached.rights.are_as_at_start() => {
                self.shared.rights.are_kept(Position::ZERO, at)
            }
            lost => {
                lost.into_iter().for_each(|lost| self.shared.rights.taken_from_anybody(lost.at));
                self.lost = None;
            }
        }
        if self.globals.as_ref().is_some_and(|before| *before != reached.globals) {
            // Everything was stamped when the connection was lost: only the dependencies of logins are left.
            self.shared.globals_changed(Some(Concerns::Logins));
        }
    }

    /// Returns a timeline all of whose positions are above those that were given out.
    fn next_timeline(&self) -> Timeline {
        let freshness = &self.shared.freshness;
        Timeline::after(freshness.applied().max(freshness.visible()))
    }

    /// Does everything but the stream, while there is none.
    async fn be_off(&mut self, mut reached: Contact, why: String, remedy: String) -> Result<Over, Over> {
        let reason = format!("{why}; remedy: {remedy}");
        if self.logged != reason {
            warn!(%why, %remedy, "the server cannot be followed: everything is forwarded and nothing cached");
            self.logged = reason;
        }
        self.shared.set_state(FollowState::Off { why, remedy });
        let mut control = Control {
            shared: &self.shared,
            server: &reached.server,
            connection: &mut reached.control,
            asks: &mut self.asks,
            globals: &mut reached.globals,
            rights: &mut reached.rights,
        };
        match control.run(None, Some(Instant::now() + OFF_EVERY)).await {
            Ok(()) | Err(Over::Changed(_)) => {
                (self.globals, self.rights) = (Some(reached.globals), Some(reached.rights));
                Ok(Over::Again)
            }
            Err(over) => Err(over),
        }
    }

    /// Runs one generation.
    async fn follow(&mut self, mut reached: Contact, opened: Opened) -> Result<Over, Over> {
        let Opened { mut connection, decoder, timeline, traits, visible, executed, starts_visible, semisync } =
            opened;
        self.thread_id = self.thread_id.max(connection.thread_id());
        let shared = Arc::clone(&self.shared);
        let start = timeline.here();
        let visible_by = visible.by();
        let generation = Generation {
            applier: RefCell::new(Applier::new(
                Arc::clone(&shared.freshness),
                Arc::clone(&shared),
                self.sinks.clone(),
                traits,
                timeline,
            )),
            visible: RefCell::new(visible),
            ends: RefCell::default(),
            semisync: Joined::asked(semisync),
            shared: Arc::clone(&shared),
        };
        shared.catalog.begin(&reached.server);
        shared.watches.begin(reached.server.folds_names());
        // Before the start is published: a session that stores from here on must find that commits are awaited.
        shared.settling.started(executed, start);
        self.begin(start, starts_visible);
        reached.rights.began(&shared);
        shared.set_state(FollowState::Following { visible_by });
        self.logged.clear();
        info!(start = start.get(), visible_by, "following the binlog");
        if !reached.server.is_of_a_tested_series() {
            let version = reached.server.version.to_string();
            warn!(
                version,
                "Freshet is not tested with this series of servers; docs/servers.md says what is assumed"
            );
        }
        let mut control = Control {
            shared: &shared,
            server: &reached.server,
            connection: &mut reached.control,
            asks: &mut self.asks,
            globals: &mut reached.globals,
            rights: &mut reached.rights,
        };
        let prober = Prober::new(&generation, &mut reached.prober, &reached.server);
        let over = tokio::select! {
            over = generation.read(&mut connection, decoder) => over,
            over = prober.run() => over,
            over = control.run(Some(&generation), None) => over,
        };
        (self.globals, self.rights) = (Some(reached.globals), Some(reached.rights));
        over.map(|()| Over::Stopped)
    }

    /// Announces the start of a generation: every result that is stored from here on is read after the start.
    fn begin(&self, start: Position, starts_visible: bool) {
        let freshness = &self.shared.freshness;
        // Earlier changes that no binlog tells of are in effect for every result that is stored from here on.
        self.shared.proven.looked_around(now_ms());
        freshness.restart(start);
        // Nothing has told of changes in between, nor of rights that were taken from users who were there before there was a stream.
        self.shared.rights.taken_from_anybody(Position::new(1));
        self.shared.rights.changed();
        self.shared.rights.begun(start);
        if starts_visible {
            self.shared.publish_visible(start);
        }
        StreamCounters::count(&self.shared.counters.generations);
    }

    /// Ends the generation: later changes are unknown. The order matters: hits end, then all stored results are made unservable for good,
    /// then the fences that protected them are lifted.
    fn lose(&mut self) {
        let above = self.next_timeline().start();
        let shared = &self.shared;
        shared.freshness.lives_until(0);
        shared.proven.lose();
        let stamp = shared.freshness.stamp_of(Dep::EVERYTHING);
        let told_at = match self.lost {
            // Nothing else was stamped since the last loss.
            Some(lost) if lost.at == stamp => lost.told_at,
            _ => stamp,
        };
        self.lost = Some(StreamLoss { told_at, at: above });
        self.sinks.forget(above);
        shared.settling.ended(now_ms());
    }

    fn report(&mut self, over: &Over) {
        let why = over.to_string();
        if self.logged != why {
            warn!(%why, "not following the server; everything cached was dropped");
            self.logged.clone_from(&why);
        }
        self.shared.set_state(FollowState::Connecting { why });
    }
}

/// Opens the connections, and reads the description of the server. The connections are opened side by side.
async fn reach(shared: &Following) -> Result<Contact, Error> {
    let config = &shared.config;
    let (control, prober, stream) = join!(connect(config), connect(config), connect(config));
    // Before the description: if the server is started again after it, no stream is begun by what was true before.
    let (mut control, mut prober) = (control?, prober?);
    let describing = async {
        let server = Arc::new(ServerInfo::read(&mut control).await?);
        let globals = WatchedGlobals::read(&mut control, &server).await?;
        Ok((Rights::read(&mut control, &server).await?, server, globals))
    };
    let describing = async { try_join!(describing, started_ms(&mut prober)) };
    let ((rights, server, globals), started_ms) =
        within(DESCRIPTION_LIMIT, "reading what the server is", describing).await?;
    Ok(Contact { control, prober, stream: Some(stream), server, globals, rights, started_ms })
}

/// Returns the earliest moment at which the server can have been started. The server counts whole seconds.
async fn started_ms(prober: &mut Connection) -> Result<u64, Error> {
    let asked_ms = now_ms();
    let rows = prober.query("SHOW GLOBAL STATUS LIKE 'Uptime'").await?;
    let uptime: Option<u64> = rows.text(0, 1).and_then(|seconds| seconds.parse().ok());
    Ok(uptime.map_or(0, |seconds| asked_ms.saturating_sub(seconds.saturating_add(1).saturating_mul(1000))))
}

/// Answers questions: there is no connection. Ends when nobody can ask any more.
async fn refuse_all(asks: &mut mpsc::Receiver<Ask>) {
    while let Some(ask) = asks.recv().await {
        refuse(ask);
    }
}

/// Returns between a half and the whole of a pause, so that several of us do not come back at the same moment.
fn jittered(pause: Duration) -> Duration {
    let random = random_scramble();
    // Each byte has seven random bits.
    pause / 2 + pause / 2 * u32::from(random[0]) / 128
}
