//! The keeper: the one thread that holds the copies and the results.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use ahash::{HashMap, HashSet};
use freshet_cache::Position;
use freshet_catalog::{Name, TableInfo};
use freshet_upstream::now_ms;
use freshet_views::{ColumnSpec, Engine, Given, MaintainedQuery, QueryNumber};
use tokio::sync::mpsc;
use tracing::{debug, warn};

use super::given::Copied;
use super::layout::Layout;
use super::loading::{Loaded, Loading, is_current};
use super::news::{CopyNews, TransactionNews};
use super::{CopyState, KeeperAnswer, QueuedQuestion, ResultQuestion};
use crate::counters::Count;
use crate::shared::Shared;

/// How often news are applied without a question.
const APPLIED_EVERY: Duration = Duration::from_millis(20);
/// How many chunks may wait to be put into the copy: the server is not asked for more meanwhile.
const CHUNKS_MAX: usize = 2;
/// How many queries are maintained at once. Queries of one cache that differ in more than their parameters count separately. A further
/// query replaces the one that was not asked for the longest time.
const QUERIES_MAX: usize = 1024;
/// How many changed rows may wait until a table is loaded.
const WAITING_ROWS_MAX: usize = 1 << 20;
/// How many times as long as its loading a table is left alone after its copy was given up: at most a quarter of the time is spent on
/// loading.
const PAUSES_BY_LOADING: u64 = 3;
const PAUSE_MS_MIN: u64 = 50;
/// How long a table is left alone if it cannot be copied as it is: a value may change, or there may be more room.
const LASTING_MS: u64 = 600_000;

/// The reasons why the server gives a result.
const MAY_WARN: &str = "MIN() or MAX() of a DATE or TIMESTAMP is NULL in a group, of which MySQL warns";
const IS_AMBIGUOUS: &str =
    "texts are sorted or grouped by that are equal and not the same, or of which that is not known";

/// A copy of a table.
struct Copy {
    number: u64,
    /// The definition of the table at the last comparison.
    info: Arc<TableInfo>,
    /// The table's columns by all applied definitions.
    layout: Layout,
    phase: CopyPhase,
    /// How many changes without a binlog there were when the copy began.
    unlogged: u64,
    columns: Vec<ColumnSpec>,
    /// About how many rows there are.
    rows_about: usize,
    loader: Loader,
    begun_ms: u64,
    /// How long loading took.
    took_ms: Option<u64>,
}

/// The task that loads a copy: it ends with the copy.
struct Loader(tokio::task::AbortHandle);

impl Drop for Loader {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The phase of a copy.
enum CopyPhase {
    /// News wait until all rows are there.
    Loading { rows: usize, waiting: Vec<(Position, Change)> },
    /// All rows are there. They may contain all news up to this position.
    Complete(Position),
    /// The table is not copied before this time, or before its definition changes.
    Refused { why: String, not_before_ms: u64 },
}

/// Why a column is not copied, with the table's definition, and until when.
struct Unfit {
    info: Arc<TableInfo>,
    why: String,
    not_before_ms: u64,
}

/// A row before and after.
type Change = (Option<Box<[Given]>>, Option<Box<[Given]>>);

struct Keeper<'s> {
    shared: &'s Arc<Shared>,
    engine: Engine,
    copies: HashMap<Name, Copy>,
    /// The columns that are left out of copies.
    unfit: HashMap<(Name, ColumnSpec), Unfit>,
    /// The copies whose state is not reported yet.
    untold: HashSet<Name>,
    /// Queries with their numbers, and when each was asked for last, as a count of questions.
    installed: HashMap<MaintainedQuery, (QueryNumber, u64)>,
    questions: u64,
    /// The position of the copies.
    at: Position,
    given: u64,
    loaded: mpsc::Sender<(u64, Loaded)>,
}

/// Maintains queries, for ever. Called once, on a thread of its own.
pub fn maintain(shared: &Arc<Shared>) {
    let asked = shared.maintaining.asked.lock().unwrap_or_else(PoisonError::into_inner).take();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let (Some(asked), Ok(runtime)) = (asked, runtime) else { return };
    shared.upstream.feed(Arc::clone(&shared.maintaining.news) as Arc<_>);
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, keep(shared, asked));
}

async fn keep(shared: &Arc<Shared>, mut asked: mpsc::UnboundedReceiver<QueuedQuestion>) {
    let (sender, mut loaded) = mpsc::channel(CHUNKS_MAX);
    let mut keeper = Keeper::new(shared, sender);
    let mut period = tokio::time::interval(APPLIED_EVERY);
    period.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            question = asked.recv() => {
                let Some((asked, answer)) = question else { return };
                // The client may have left.
                let _ = answer.send(keeper.answer(asked));
            }
            Some((number, loaded)) = loaded.recv() => keeper.take(number, loaded),
            _ = period.tick(), if !keeper.copies.is_empty() => keeper.advance(),
        }
        keeper.tell();
    }
}

impl<'s> Keeper<'s> {
    fn new(shared: &'s Arc<Shared>, loaded: mpsc::Sender<(u64, Loaded)>) -> Self {
        Self {
            shared,
            engine: Engine::default(),
            copies: HashMap::default(),
            unfit: HashMap::default(),
            untold: HashSet::default(),
            installed: HashMap::default(),
            questions: 0,
            at: Position::ZERO,
            given: 0,
            loaded,
        }
    }

    fn answer(&mut self, asked: ResultQuestion) -> KeeperAnswer {
        self.advance();
        if let Some(answer) = self.not_kept(&asked) {
            return answer;
        }
        let Some(key) = asked.key else { return KeeperAnswer::Loaded };
        let Some(number) = self.installed(asked.query) else {
            return KeeperAnswer::NotYet("its tables are not there");
        };
        match (self.engine.show(number, &key), asked.limit) {
            (Some(shown), _) if shown.may_warn => KeeperAnswer::Never(MAY_WARN.to_owned()),
            (Some(shown), _) if shown.is_ambiguous => KeeperAnswer::Never(IS_AMBIGUOUS.to_owned()),
            (Some(shown), None) => KeeperAnswer::Rows(self.at, shown),
            (Some(shown), Some(limit)) => match shown.cut(limit) {
                Some(cut) => KeeperAnswer::Rows(self.at, Arc::new(cut)),
                None => KeeperAnswer::Never("rows tie in their order where LIMIT cuts".to_owned()),
            },
            (None, _) => KeeperAnswer::NotYet("its tables are not there"),
        }
    }

    /// Returns the number of a query, and installs it if needed; `None` if its tables are not there.
    fn installed(&mut self, query: MaintainedQuery) -> Option<QueryNumber> {
        self.questions += 1;
        if let Some((number, asked)) = self.installed.get_mut(&query)
            && self.engine.has_query(*number)
        {
            *asked = self.questions;
            return Some(*number);
        }
        let number = self.engine.install(query.clone())?;
        // Their indexes may be new.
        self.untold.extend(query.tables().into_iter().map(|(name, _)| name.clone()));
        self.installed.insert(query, (number, self.questions));
        if self.installed.len() > QUERIES_MAX {
            let last = self.installed.iter().min_by_key(|(_, (_, asked))| *asked);
            if let Some((query, number)) = last.map(|(query, (number, _))| (query.clone(), *number)) {
                self.installed.remove(&query);
                self.engine.drop_query(number);
            }
        }
        Some(number)
    }

    /// Returns the answer if the copies of a query's tables do not suffice; begins to load what is missing.
    fn not_kept(&mut self, asked: &ResultQuestion) -> Option<KeeperAnswer> {
        let mut answer = None;
        for (name, columns) in asked.query.tables() {
            let columns = &*columns;
            let info = asked.tables.iter().find(|(own, _)| own == name).map(|(_, info)| info);
            let Some(info) = info else {
                return Some(KeeperAnswer::Never("a table that is not known".to_owned()));
            };
            if let Some(setting) = self.shared.options.copied_tables.leaves_out(name) {
                return Some(KeeperAnswer::Never(format!("{}, which {setting} leaves out", name.1)));
            }
            let is_of = self.copies.get_mut(name).is_some_and(|copy| copy.becomes(info));
            let is_begun = |copy: &Copy| is_of && copy.is_kept() && has_all(&copy.columns, columns);
            if !self.copies.get(name).is_some_and(is_begun)
                && let Some(why) = self.why_unfit(name, info, columns)
            {
                return Some(KeeperAnswer::Never(format!("{}: {why}", name.1)));
            }
            let told = match self.copies.get(name) {
                Some(copy) if is_of && has_all(&copy.columns, columns) => match &copy.phase {
                    CopyPhase::Complete(may_contain) if *may_contain <= self.at => continue,
                    CopyPhase::Complete(_) | CopyPhase::Loading { .. } => {
                        self.shared.upstream.ask_probe();
                        KeeperAnswer::NotYet("a table is being loaded")
                    }
                    CopyPhase::Refused { why, not_before_ms } if now_ms() < *not_before_ms => {
                        return Some(KeeperAnswer::Never(format!("{}: {why}", name.1)));
                    }
                    CopyPhase::Refused { .. } => self.begin(name, info, columns),
                },
                Some(_) if !is_of && !is_current(self.shared, name, info) => {
                    KeeperAnswer::NotYet("its definition has changed")
                }
                Some(copy) if !is_of && copy.may_become(info, self.at) => {
                    self.shared.upstream.ask_probe();
                    KeeperAnswer::NotYet("a definition is not applied yet")
                }
                _ => self.begin(name, info, columns),
            };
            answer = Some(told);
        }
        answer
    }

    /// Returns why a table is not copied with one of these columns. Other columns may be copied.
    fn why_unfit(&self, name: &Name, info: &Arc<TableInfo>, columns: &[ColumnSpec]) -> Option<String> {
        columns.iter().find_map(|column| {
            let known = || Some(self.unfit_of(name, info, column)?.why.clone());
            Copied::of(&info.columns, column).err().or_else(known)
        })
    }

    fn unfit_of(&self, name: &Name, info: &Arc<TableInfo>, column: &ColumnSpec) -> Option<&Unfit> {
        let unfit = self.unfit.get(&(name.clone(), column.clone()))?;
        (Arc::ptr_eq(&unfit.info, info) && now_ms() < unfit.not_before_ms).then_some(unfit)
    }

    /// Begins to load a table, with the columns that its copy had before.
    fn begin(&mut self, name: &Name, info: &Arc<TableInfo>, columns: &[ColumnSpec]) -> KeeperAnswer {
        let mut all = columns.to_vec();
        let is_there = |spec: &&ColumnSpec| {
            let column = info.columns.iter().find(|column| column.name == spec.name);
            let own = column.and_then(|column| ColumnSpec::of(&spec.name, &column.data_type).ok());
            own.is_some_and(|own| own == **spec || own.folded().as_ref() == Some(*spec))
        };
        if let Some(before) = self.copies.get(name) {
            let others = before.columns.iter().filter(|column| !columns.contains(column));
            let is_fit = |column: &&ColumnSpec| self.unfit_of(name, info, column).is_none();
            all.extend(others.filter(is_there).filter(is_fit).cloned());
        }
        self.engine.drop_table(name);
        self.shared.counters.add(Count::MaintainedLoads);
        self.given += 1;
        let number = self.given;
        let loading = Loading {
            info: Arc::clone(info),
            name: name.clone(),
            copy: number,
            columns: all.clone(),
            out: self.loaded.clone(),
        };
        // Read before anything of the table is read.
        let unlogged = self.shared.upstream.unlogged_count();
        let shared = Arc::clone(self.shared);
        let loader = async move { loading.run(&shared, &shared.maintaining.news).await };
        let copy = Copy {
            number,
            info: Arc::clone(info),
            layout: Layout::of(&info.columns),
            phase: CopyPhase::Loading { rows: 0, waiting: Vec::new() },
            unlogged,
            columns: all,
            rows_about: 0,
            loader: Loader(tokio::task::spawn_local(loader).abort_handle()),
            begun_ms: now_ms(),
            took_ms: None,
        };
        self.copies.insert(name.clone(), copy);
        self.untold.insert(name.clone());
        KeeperAnswer::NotYet("a table is being loaded")
    }

    /// Handles the outcome of loading a table.
    fn take(&mut self, number: u64, loaded: Loaded) {
        let Some((name, copy)) = self.copies.iter_mut().find(|(_, copy)| copy.number == number) else {
            return;
        };
        let name = name.clone();
        self.untold.insert(name.clone());
        match loaded {
            Loaded::Begun { columns, primary, rows_about } => {
                copy.columns.clone_from(&columns);
                copy.rows_about = rows_about;
                self.engine.begin_table(name, columns, primary);
            }
            Loaded::Rows(chunk) => {
                if let CopyPhase::Loading { rows, .. } = &mut copy.phase {
                    *rows += chunk.len();
                    chunk.iter().for_each(|row| self.engine.overwrite(&name, None, Some(row)));
                }
                self.keep_to_budget(&name);
            }
            Loaded::Complete { may_contain } => {
                let CopyPhase::Loading { waiting, .. } = &mut copy.phase else { return };
                let waiting = std::mem::take(waiting);
                copy.phase = CopyPhase::Complete(may_contain);
                copy.took_ms = Some(now_ms().saturating_sub(copy.begun_ms));
                for (at, change) in waiting {
                    self.change(&name, at, &change);
                }
            }
            Loaded::Failed { why, is_lasting } => {
                warn!(table = %format!("{}.{}", name.0, name.1), why, "its rows cannot be copied");
                self.give_up(&name, why, is_lasting);
            }
            Loaded::Unfit { column, why } => {
                let why = format!("{} has {why}", column.name);
                warn!(table = %format!("{}.{}", name.0, name.1), why, "a column cannot be copied");
                let not_before_ms = now_ms() + LASTING_MS;
                let unfit = Unfit { info: Arc::clone(&copy.info), why: why.clone(), not_before_ms };
                self.unfit.insert((name.clone(), column), unfit);
                self.give_up(&name, why, false);
            }
        }
    }

    /// Drops the copy of a table that does not fit.
    fn keep_to_budget(&mut self, name: &Name) {
        let max = self.shared.options.maintained_cache_size;
        if self.engine.bytes() > max {
            // Results can be made again.
            self.engine.drop_results();
        }
        if self.engine.bytes() > max {
            let needed = self.bytes_needed(name);
            let why = format!("maintained_cache_size is {max} bytes, and about {needed} are needed");
            self.give_up(name, why, true);
        }
    }

    /// Returns how many bytes all copies would take if this one were complete, by the rows that it has so far.
    fn bytes_needed(&self, name: &Name) -> usize {
        let so_far = self.engine.table(name).map_or((0, 0), |table| (table.rows, table.bytes));
        let rows = self.copies.get(name).map_or(0, |copy| copy.rows_about).max(so_far.0);
        let whole = so_far.1.saturating_mul(rows) / so_far.0.max(1);
        self.engine.bytes().saturating_sub(so_far.1).saturating_add(whole)
    }

    /// Drops the copy of a table. It is made anew when somebody asks, a little later.
    fn give_up(&mut self, name: &Name, why: String, is_lasting: bool) {
        self.shared.maintaining.news.leave(name);
        self.engine.drop_table(name);
        let took = |copy: &Copy| copy.took_ms.unwrap_or_else(|| now_ms().saturating_sub(copy.begun_ms));
        let pause = self.copies.get(name).map_or(0, took) * PAUSES_BY_LOADING;
        let pause = pause.max(PAUSE_MS_MIN);
        let not_before_ms = now_ms() + if is_lasting { LASTING_MS } else { pause };
        if let Some(copy) = self.copies.get_mut(name) {
            debug!(table = %format!("{}.{}", name.0, name.1), why, "the copy is given up");
            copy.number = 0;
            copy.loader.0.abort();
            copy.phase = CopyPhase::Refused { why, not_before_ms };
            self.untold.insert(name.clone());
        }
    }

    /// Applies the news, as far as every snapshot sees them.
    fn advance(&mut self) {
        let shared = self.shared;
        let to = shared.freshness().valid_from();
        let mut changed = None;
        for TransactionNews { at, told } in shared.maintaining.news.take(to) {
            for told in told {
                match told {
                    CopyNews::Row { copy, before, after } => {
                        let is_it = self.copies.get(&copy.name).is_some_and(|own| own.number == copy.copy);
                        if is_it {
                            self.change(&copy.name, at, &(before, after));
                            changed = Some(copy);
                        }
                    }
                    CopyNews::Altered(altered) => {
                        if let Some(copy) = self.copies.get_mut(&altered.name)
                            && copy.number == altered.copy
                        {
                            copy.layout = altered.layout.clone();
                        }
                    }
                    CopyNews::Gone(copy) => {
                        let is_it = self.copies.get(&copy.name).is_some_and(|own| own.number == copy.copy);
                        if is_it {
                            self.give_up(&copy.name, "it was changed as a whole".to_owned(), false);
                        }
                    }
                    CopyNews::AllGone => {
                        self.give_all_up("the binlog was not followed without a gap", |_| true)
                    }
                }
            }
        }
        self.at = self.at.max(to);
        changed.into_iter().for_each(|copy| self.keep_to_budget(&copy.name));
        // After the position was read: a later change of this kind has stamps above it.
        let unlogged = shared.upstream.unlogged_count();
        self.give_all_up("something was changed that no binlog tells of", |copy| copy.unlogged != unlogged);
    }

    fn give_all_up(&mut self, why: &str, is_gone: impl Fn(&Copy) -> bool) {
        let gone = self.copies.iter().filter(|(_, copy)| copy.is_kept() && is_gone(copy));
        let names: Vec<Name> = gone.map(|(name, _)| name.clone()).collect();
        names.iter().for_each(|name| self.give_up(name, why.to_owned(), false));
    }

    /// Applies the change of a row.
    fn change(&mut self, name: &Name, at: Position, change: &Change) {
        let Some(copy) = self.copies.get_mut(name) else { return };
        if !self.untold.contains(name) {
            self.untold.insert(name.clone());
        }
        let (before, after) = (change.0.as_deref(), change.1.as_deref());
        match &mut copy.phase {
            CopyPhase::Loading { waiting, .. } if waiting.len() < WAITING_ROWS_MAX => {
                waiting.push((at, change.clone()));
            }
            CopyPhase::Loading { .. } => {
                self.give_up(name, "more rows change than can be loaded".to_owned(), false)
            }
            CopyPhase::Complete(may_contain) if at <= *may_contain => {
                self.engine.overwrite(name, before, after)
            }
            CopyPhase::Complete(_) => {
                if let Err(why) = self.engine.change(name, before, after) {
                    warn!(table = %format!("{}.{}", name.0, name.1), %why, "a copy is not what it should be; it is made anew");
                    self.give_up(name, why.to_string(), false);
                }
            }
            CopyPhase::Refused { .. } => {}
        }
    }

    /// Reports the states of the copies that have changed.
    fn tell(&mut self) {
        if self.untold.is_empty() {
            return;
        }
        let mut told = self.shared.maintaining.copies.lock().unwrap_or_else(PoisonError::into_inner);
        for name in self.untold.drain() {
            let Some(copy) = self.copies.get(&name) else { continue };
            let state = match &copy.phase {
                CopyPhase::Loading { rows, .. } => CopyState::Loading(*rows),
                CopyPhase::Complete(_) => {
                    let held = self.engine.table(&name).unwrap_or_default();
                    CopyState::Kept(held.rows, held.bytes)
                }
                CopyPhase::Refused { why, .. } => CopyState::Refused(why.clone()),
            };
            told.insert(name, state);
        }
    }
}

impl Copy {
    /// Whether the copy is of the table with this definition. If it is, the definition is used from now on.
    fn becomes(&mut self, info: &Arc<TableInfo>) -> bool {
        let is_same_table = self.info.name == info.name && self.info.engine == info.engine;
        let is_of = is_same_table && self.layout.is_of(&info.columns);
        if is_of && !Arc::ptr_eq(&self.info, info) {
            self.info = Arc::clone(info);
            self.layout = Layout::of(&info.columns);
        }
        is_of
    }

    /// Whether the copy may still get this definition: the stream has not reached the point where the definition was read.
    fn may_become(&self, info: &TableInfo, at: Position) -> bool {
        let is_known = info.settled_by < Position::MAX;
        is_known && at < info.settled_by && self.is_kept()
    }

    /// Whether the copy is complete or is being loaded.
    const fn is_kept(&self) -> bool {
        !matches!(self.phase, CopyPhase::Refused { .. })
    }
}

fn has_all(own: &[ColumnSpec], needed: &[ColumnSpec]) -> bool {
    needed.iter().all(|column| own.contains(column))
}
