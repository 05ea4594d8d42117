//! Asking again, in the background, for what changes have dropped of queries with caches of their own.
//!
//! It is asked on connections of Freshet's own account, whose session is set up as that of the client was who asked last. What of a session can
//! change a result is known ([`Environment`]), and it is compared before anything is asked. Two things are another's and do not matter: the
//! account and its roles decide *whether* a statement is answered, and the server has answered it to the client in this epoch of rights; and no
//! statement of a query whose cache is refreshed asks who is asking.
//!
//! What is stored obeys the one rule, as any other answer does: it has the dependencies of its statement and a `valid_from` that was read before
//! it was sent. A result that is asked for again and again, and outrun by changes each time, is asked for ever more rarely; one that nobody reads
//! meanwhile is left alone until a client asks for it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use freshet_cache::{Dep, Fences, Fill, Insert, Key, Position, Verdict as Freshly};
use freshet_protocol::{Capabilities, Command};
use freshet_sql::contains_ignoring_case;
use freshet_upstream::{Connection, Error, control, now_ms};
use tokio::io::AsyncReadExt as _;
use tracing::debug;

use crate::commands::returns_what_it_finds;
use crate::created::{CreatedCache, Kept, StoredResult, Tries};
use crate::environment::{Environment, Server, are_alike_but_for_account, path_but_for_account};
use crate::reading::without_hint;
use crate::relay::{Capture, Filter, Relay, Relayed, Step};
use crate::rows::{Behind, Depends, Statement, deps_of_reading};
use crate::session::FORM;
use crate::session::hit::READ_UNFENCED;
use crate::shared::Shared;
use crate::template::{BoundSelect, Verdict};
use crate::variables::TYPE_OFF;

/// How often it is looked for what has been dropped.
const LOOKED_AT_EVERY: Duration = Duration::from_millis(10);
/// Looking takes no more than one part in so many of one core.
const LOOKING_SHARE: u32 = 50;
/// Behind an answer there is a pause of so many times the time that the server took for it: at most a quarter of one of its cores is taken.
const PAUSES_BY_ANSWER: u32 = 3;
/// The longest pause, and how long it is before another try where the server cannot be asked.
const PAUSE_MAX: Duration = Duration::from_secs(30);
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(1);
/// How often a result is asked for again that nobody has read meanwhile.
const UNREAD_MAX: u32 = 16;
/// How much longer a result waits each time that a change has outrun it: up to this many doublings.
const DOUBLINGS_MAX: u32 = 8;
/// How long the server may take for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(600);
/// How many connections are kept, one for each environment.
const CONNECTIONS_MAX: usize = 4;
/// How many steps of making room are worth one result.
const ROOM_STEPS_MAX: usize = 256;
/// Functions whose results are another for another account.
const OF_ACCOUNTS: [&[u8]; 4] = [b"user", b"current_role", b"connection_id", b"database_principal"];

/// A connection in the environment of clients.
struct OwnSession {
    connection: Connection,
    /// The identity of the environment, and the form of answers.
    of: (u32, Capabilities),
}

/// What came of one result.
enum Outcome {
    /// It is stored.
    Refreshed(Position, Vec<Dep>),
    /// A change has outrun it.
    Outrun,
    /// It cannot be asked for now.
    NotNow,
    /// It is not asked for any more.
    GivenUp(String),
}

/// Refreshes, for ever.
pub async fn refresh_created(shared: &Shared) {
    let mut sessions: Vec<OwnSession> = Vec::new();
    loop {
        if !shared.created.are_there() {
            sessions.clear();
            shared.refreshes.notified().await;
        }
        let began = Instant::now();
        let dropped = dropped(shared);
        let looked = began.elapsed();
        for (cache, result) in dropped {
            let pause = match refresh(shared, &mut sessions, (&cache, &result)).await {
                Ok(took) => (took * PAUSES_BY_ANSWER).min(PAUSE_MAX),
                Err(error) => {
                    debug!(%error, cache = cache.name, "cannot be refreshed now");
                    sessions.clear();
                    PAUSE_AFTER_ERROR
                }
            };
            tokio::time::sleep(pause).await;
        }
        tokio::time::sleep(LOOKED_AT_EVERY.max(looked * LOOKING_SHARE)).await;
    }
}

/// What a change has dropped and may be asked for now.
fn dropped(shared: &Shared) -> Vec<(Arc<CreatedCache>, Arc<StoredResult>)> {
    let (freshness, now) = (shared.freshness(), now_ms());
    let is_off = shared.globals.query_cache_type.load(Ordering::Relaxed) == TYPE_OFF;
    if is_off || !freshness.is_live(now) {
        return Vec::new();
    }
    let is_dropped = |result: &StoredResult| {
        now >= result.tries.not_before_ms
            && freshness.check(&result.deps, result.valid_from, Fences::Refuse) == Freshly::Stale
    };
    let of_one = |cache: Arc<CreatedCache>| {
        let results = cache.all_results().into_iter().filter(|result| is_dropped(result));
        results.map(|result| (Arc::clone(&cache), result)).collect::<Vec<_>>()
    };
    // What is made from copies of rows is made when somebody asks for it.
    let is_asked_for =
        |cache: &Arc<CreatedCache>| !matches!(cache.kept(), Kept::Maintained | Kept::NotYet(_));
    shared.created.all().into_iter().filter(is_asked_for).flat_map(of_one).collect()
}

/// Asks for one result again. How long the server took.
async fn refresh(
    shared: &Shared,
    sessions: &mut Vec<OwnSession>,
    (cache, result): (&CreatedCache, &StoredResult),
) -> Result<Duration, Error> {
    let began = Instant::now();
    let hits = shared.statistics.as_ref().map_or(0, |statistics| statistics.hits_of_tag(result.tag));
    let is_counted = shared.statistics.is_some();
    let unread = if is_counted && hits == result.tries.hits { result.tries.unread + 1 } else { 0 };
    if unread > UNREAD_MAX {
        cache.give_up(result, None);
        return Ok(Duration::ZERO);
    }
    let outcome = tokio::time::timeout(ANSWER_TIMEOUT, ask(shared, sessions, (cache, result))).await;
    let took = began.elapsed();
    let tries = Tries { hits, unread, ..result.tries };
    match outcome.map_err(|_| Error::Closed)?? {
        Outcome::Refreshed(valid_from, deps) => {
            let tries = Tries { outrun: 0, not_before_ms: 0, ..tries };
            cache.renew(StoredResult { valid_from, deps, tries, ..result.clone() });
            cache.is_refreshed();
        }
        Outcome::Outrun => {
            let waits = took * (1 << result.tries.outrun.min(DOUBLINGS_MAX));
            let waits_ms = u64::try_from(waits.as_millis()).unwrap_or(u64::MAX);
            let tries = Tries {
                outrun: result.tries.outrun + 1,
                not_before_ms: now_ms().saturating_add(waits_ms),
                ..tries
            };
            cache.renew(StoredResult { tries, ..result.clone() });
        }
        Outcome::NotNow => return Ok(Duration::ZERO),
        Outcome::GivenUp(why) => cache.give_up(result, Some(why)),
    }
    Ok(took)
}

async fn ask(
    shared: &Shared,
    sessions: &mut Vec<OwnSession>,
    (cache, result): (&CreatedCache, &StoredResult),
) -> Result<Outcome, Error> {
    let environment = &*result.environment;
    match shared.upstream.rights_epoch() {
        Some(rights) if rights == result.rights => {}
        // Whoever asks next is told by the server whether he may.
        Some(_) => return Ok(Outcome::GivenUp("rights have changed".to_owned())),
        None => return Ok(Outcome::NotNow),
    }
    let behind = (shared.freshness().as_ref(), &shared.upstream);
    let schema = environment.schema.as_deref();
    let bound = shared.templates.of((&result.text, environment.modes), schema, behind).await;
    match &bound.template().verdict {
        Verdict::Cache => {}
        Verdict::Never(why) => return Ok(Outcome::GivenUp(why.to_string())),
        // It is not known what it depends on.
        Verdict::NotNow(_) => return Ok(Outcome::NotNow),
    }
    if let Some(why) = refusal(&bound, (cache, result)) {
        return Ok(Outcome::GivenUp(why));
    }
    let Some(session) = session_of(shared, sessions, result).await? else {
        return Ok(Outcome::GivenUp("its session's settings cannot be given to another session".to_owned()));
    };
    let template = bound.template();
    let (freshness, upstream) = (shared.freshness(), &shared.upstream);
    let valid_from = freshness.valid_from();
    if !upstream.is_current(&template.told) || !freshness.is_live(now_ms()) {
        return Ok(Outcome::NotNow);
    }
    let statement = Statement {
        text: &result.text,
        modes: environment.modes,
        schema,
        zone: environment.zone,
        tokens: bound.tokens(),
    };
    let behind = Behind { valid_from, freshness, watches: upstream.watches() };
    let mut depends = deps_of_reading(statement, &template.tables, bound.plan(statement), behind);
    depends.deps.push(environment.sole_user.as_deref().map_or(Dep::ACCOUNTS, |user| freshness.account(user)));
    if freshness.check(&depends.deps, valid_from, Fences::Refuse) != Freshly::Servable {
        upstream.ask_probe();
        return Ok(Outcome::NotNow);
    }
    let relayed = session.answer(shared, result).await?;
    Ok(store(shared, result, (valid_from, depends), relayed).await)
}

/// Why a result that could be stored is not asked for any more.
fn refusal(bound: &BoundSelect<'_>, (cache, result): (&CreatedCache, &StoredResult)) -> Option<String> {
    let template = bound.template();
    if template.query.id != cache.query.id {
        return Some("it is another query's".to_owned());
    }
    if !template.tables.are_all_base() || !template.tables.below.is_empty() {
        return Some("it reads a view, whose rows may be others for another account".to_owned());
    }
    let is_of_accounts = OF_ACCOUNTS.iter().any(|word| contains_ignoring_case(&result.text, word));
    is_of_accounts.then(|| "it may ask for the account".to_owned())
}

/// A session of our own in the environment of the client; `None` if there can be none.
async fn session_of<'s>(
    shared: &Shared,
    sessions: &'s mut Vec<OwnSession>,
    result: &StoredResult,
) -> Result<Option<&'s mut OwnSession>, Error> {
    let Some(form) = result.environment.form() else { return Ok(None) };
    let of = (result.environment.id, form);
    if let Some(at) = sessions.iter().position(|session| session.of == of) {
        // The one that is used least is the first.
        let session = sessions.remove(at);
        sessions.push(session);
    } else {
        let Some(session) = OwnSession::open(shared, &result.environment, of).await? else { return Ok(None) };
        if sessions.len() == CONNECTIONS_MAX {
            sessions.remove(0);
        }
        sessions.push(session);
    }
    Ok(sessions.last_mut())
}

impl OwnSession {
    async fn open(
        shared: &Shared,
        like: &Environment,
        of: (u32, Capabilities),
    ) -> Result<Option<Self>, Error> {
        let mut connection = control::connect_in_form(shared.upstream.config(), of.1).await?;
        if connection.capabilities().intersection(FORM) != of.1 {
            return Ok(None);
        }
        let version = connection.greeting().server_version.clone();
        let Some(query) = shared.vector(&version) else { return Ok(None) };
        let server = Server::of(&version);
        let environment = async |connection: &mut Connection| {
            let rows = connection.query(query.sql()).await?;
            let row = rows.rows.first().map(Vec::as_slice).unwrap_or_default();
            Ok::<_, Error>(Environment::read(&query, &[], row, server))
        };
        let begun = environment(&mut connection).await?;
        let Some(path) = path_but_for_account(&query, &begun, like) else { return Ok(None) };
        for statement in path {
            match connection.query(&statement).await {
                Ok(_) => {}
                Err(Error::Server(_)) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        let reached = environment(&mut connection).await?;
        Ok(are_alike_but_for_account(&query, &reached, like).then_some(Self { connection, of }))
    }

    /// The server's answer, with a copy if it may be stored.
    async fn answer(&mut self, shared: &Shared, result: &StoredResult) -> Result<Relayed, Error> {
        let stripped = without_hint(&result.text, result.environment.modes);
        let text = stripped.as_deref().unwrap_or(&result.text);
        let capabilities = self.connection.capabilities();
        self.connection.send_command(&[&[Command::Query.byte()], text].concat()).await?;
        let filter = Filter { capabilities, begun: None, told: None, schema: "" };
        let mut relay = Relay::new(&filter, Command::Query, capabilities);
        let bytes_max = shared.cache.limit().min(shared.cache.size());
        relay.capture(Some(Capture::new(bytes_max, &shared.bounds().fill).warned(result.warnings)));
        let (stream, read) = self.connection.parts();
        let malformed = || Error::Frame("an answer that cannot be followed".to_owned());
        loop {
            match relay.follow(read, None::<&mut BytesMut>).map_err(|_| malformed())? {
                Step::Last => return Ok(relay.finish()),
                Step::Infile { .. } => return Err(malformed()),
                Step::NeedMore => {}
            }
            if stream.read_buf(read).await? == 0 {
                return Err(Error::Closed);
            }
        }
    }
}

/// Stores an answer.
async fn store(
    shared: &Shared,
    result: &StoredResult,
    (valid_from, depends): (Position, Depends),
    mut relayed: Relayed,
) -> Outcome {
    let Some(captured) = relayed.captured.take() else {
        let why = match (relayed.error, relayed.uncaptured) {
            (Some(code), _) => format!("the server answers Freshet's own account with error {code}"),
            (None, Some(why)) => why.said().sentence.to_owned(),
            (None, None) => "there is no answer".to_owned(),
        };
        return Outcome::GivenUp(why);
    };
    let (cache, key) = (&shared.cache, Key { environment: result.key, text: &result.text });
    let rows = captured.rows;
    let absent = depends.absent.map(|(dep, _)| dep);
    let mut all = depends.deps.iter().chain(&absent).chain(&[Dep::EVERYTHING]);
    let is_fenced = all.any(|dep| shared.freshness().is_fenced(*dep));
    let mut status = captured.status;
    status.set(READ_UNFENCED, !is_fenced);
    let deps = depends.with_rows(rows);
    let fill = Fill {
        valid_from,
        deps: deps.clone(),
        body: captured.body,
        status_at: captured.status_at,
        status: status.bits(),
        rows,
        cost_us: relayed.took_us,
        tag: result.tag,
        expires_ms: 0,
        refresh_ms: 0,
    };
    for _ in 0..ROOM_STEPS_MAX {
        if !cache.make_room(key, &fill) {
            break;
        }
        tokio::task::yield_now().await;
    }
    match cache.insert(key, fill) {
        Insert::Stored => {
            if result.environment.selects_all && returns_what_it_finds(&result.text) {
                cache.note_found_rows(key, valid_from, u32::try_from(rows).unwrap_or(u32::MAX));
            }
            Outcome::Refreshed(valid_from, deps)
        }
        Insert::Outdated => Outcome::Refreshed(valid_from, deps),
        Insert::Stale => Outcome::Outrun,
        Insert::NotLive => Outcome::NotNow,
        Insert::TooLarge | Insert::NoRoom | Insert::Off => {
            Outcome::GivenUp("there is no room for it".to_owned())
        }
    }
}
