//! The stream's news of copied tables, until they are applied to the copies.
//!
//! The follower's thread adds news, and never waits for more than a moment. The keeper takes out the news that every snapshot is known to
//! see.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use ahash::HashMap;
use freshet_cache::Position;
use freshet_cache::sabotage::{self, Sabotage};
use freshet_catalog::Name;
use freshet_follow::applier::{ChangedRows, TransactionEnd};
use freshet_follow::{RowNews, RowReader};
use freshet_sql::Alteration;
use freshet_views::Given;

use super::given::{Copied, of_image};
use super::layout::Layout;

/// About how many bytes of rows may wait. Beyond this all copies are given up.
const WAITING_BYTES_MAX: usize = 256 << 20;
/// How many bytes a row takes besides its values.
const ROW_BYTES: usize = 64;

/// The rows of a table for which news are wanted.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) name: Name,
    pub(super) columns: Vec<Copied>,
    /// The columns of the row images.
    pub(super) layout: Layout,
    /// The number of the copy.
    pub(super) copy: u64,
}

impl Wanted {
    /// Returns the same after a definition; `None` if the definition may have changed the copied values.
    fn altered(&self, alteration: &Alteration) -> Option<Self> {
        let (layout, from) = self.layout.altered(alteration)?;
        let columns = self.columns.iter().map(|column| column.moved(&from)).collect::<Option<_>>()?;
        Some(Self { name: self.name.clone(), columns, layout, copy: self.copy })
    }
}

/// News of a copy.
#[derive(Debug)]
pub(super) enum CopyNews {
    /// A row has changed.
    Row { copy: Arc<Wanted>, before: Option<Box<[Given]>>, after: Option<Box<[Given]>> },
    /// The table has another definition, which keeps the copied values.
    Altered(Arc<Wanted>),
    /// The copy is invalid.
    Gone(Arc<Wanted>),
    /// All copies are invalid.
    AllGone,
}

/// The news of one transaction that has ended.
#[derive(Debug)]
pub(super) struct TransactionNews {
    pub(super) at: Position,
    pub(super) told: Vec<CopyNews>,
}

/// News that nobody has taken yet.
#[derive(Default)]
struct NewsQueue {
    /// The news of the transaction that is being read.
    open: Vec<CopyNews>,
    ended: VecDeque<TransactionNews>,
    bytes: usize,
    last_ended: Position,
    transactions: u64,
}

impl NewsQueue {
    /// Invalidates all copies at once: later news do not continue earlier ones.
    fn give_up(&mut self) {
        self.open.clear();
        self.ended.clear();
        self.bytes = 0;
        self.ended.push_back(TransactionNews { at: Position::ZERO, told: vec![CopyNews::AllGone] });
    }
}

/// The news.
#[derive(Default)]
pub(super) struct News {
    wanted: RwLock<HashMap<Name, Arc<Wanted>>>,
    queue: Mutex<NewsQueue>,
    /// A transaction of any tables is being read.
    is_open: AtomicBool,
}

/// The state of the stream when a copy began.
#[derive(Debug, Clone, Copy)]
pub(super) struct CopyStart {
    /// How many transactions had ended.
    transactions: u64,
    /// A transaction was being read: some of its rows may have been missed.
    is_within: bool,
}

impl News {
    /// Asks for news of this table's rows, for this copy.
    pub(super) fn want(&self, wanted: Wanted) -> CopyStart {
        self.wanted_now().insert(wanted.name.clone(), Arc::new(wanted));
        let queue = self.queue();
        CopyStart { transactions: queue.transactions, is_within: self.is_open.load(Ordering::SeqCst) }
    }

    /// Stops news of this table's rows.
    pub(super) fn leave(&self, name: &Name) {
        self.wanted_now().remove(name);
    }

    /// Returns the position up to which a copy that was begun at `start` may have missed rows; `None`: the stream is still within a
    /// transaction of which it may have missed some.
    pub(super) fn missed_to(&self, start: CopyStart) -> Option<Position> {
        let queue = self.queue();
        let is_over = !start.is_within || queue.transactions > start.transactions;
        is_over.then_some(queue.last_ended)
    }

    /// Returns where the last transaction in the news ended.
    pub(super) fn last_ended(&self) -> Position {
        self.queue().last_ended
    }

    /// Takes out the news of transactions up to `to`, in their order.
    pub(super) fn take(&self, to: Position) -> Vec<TransactionNews> {
        let mut queue = self.queue();
        let count = queue.ended.iter().take_while(|ended| ended.at <= to).count();
        let taken: Vec<TransactionNews> = queue.ended.drain(..count).collect();
        if queue.ended.is_empty() && queue.open.is_empty() {
            queue.bytes = 0;
        } else {
            let bytes: usize = taken.iter().flat_map(|ended| &ended.told).map(bytes_of).sum();
            queue.bytes = queue.bytes.saturating_sub(bytes);
        }
        taken
    }

    fn queue(&self) -> MutexGuard<'_, NewsQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wanted_now(&self) -> std::sync::RwLockWriteGuard<'_, HashMap<Name, Arc<Wanted>>> {
        self.wanted.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn of_table(&self, name: &Name) -> Option<Arc<Wanted>> {
        self.wanted.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    fn rows(&self, copy: &Arc<Wanted>, rows: ChangedRows<'_>) {
        let mut told = Vec::new();
        let mut read = || {
            if rows.columns() != copy.layout.len() {
                return None;
            }
            rows.each(|images| {
                let read = |image: Option<_>| match image {
                    Some(image) => of_image(&copy.columns, image).map(Some),
                    None => Some(None),
                };
                let (before, after) = (read(images.before)?, read(images.after)?);
                let is_deaf = sabotage::is(Sabotage::DeafCopies) && before.is_some() && after.is_some();
                if before != after && !is_deaf {
                    told.push(CopyNews::Row { copy: Arc::clone(copy), before, after });
                }
                Some(())
            })
        };
        if read().is_none() {
            told = vec![CopyNews::Gone(Arc::clone(copy))];
        }
        self.put(told);
    }

    /// Notes the definition of a table: its rows are read by that from here on.
    fn altered(&self, name: &Name, alteration: &Alteration) {
        let mut wanted = self.wanted_now();
        let Some(copy) = wanted.get_mut(name) else { return };
        let told = match copy.altered(alteration) {
            Some(altered) => {
                *copy = Arc::new(altered);
                CopyNews::Altered(Arc::clone(copy))
            }
            None => CopyNews::Gone(Arc::clone(copy)),
        };
        drop(wanted);
        self.put(vec![told]);
    }

    fn put(&self, told: Vec<CopyNews>) {
        let mut queue = self.queue();
        queue.bytes += told.iter().map(bytes_of).sum::<usize>();
        queue.open.extend(told);
        if queue.bytes > WAITING_BYTES_MAX {
            queue.give_up();
        }
    }
}

fn bytes_of(told: &CopyNews) -> usize {
    let of_one = |given: &Given| match given {
        Given::Number(_) => size_of::<Given>(),
        Given::Text(text) => size_of::<Given>() + text.len(),
    };
    match told {
        CopyNews::Row { before, after, .. } => {
            ROW_BYTES + before.iter().chain(after).flatten().map(of_one).sum::<usize>()
        }
        CopyNews::Altered(_) | CopyNews::Gone(_) | CopyNews::AllGone => ROW_BYTES,
    }
}

impl RowReader for News {
    fn told(&self, news: &RowNews<'_>) {
        // Set before the look for a wanted table: see `want`.
        self.is_open.store(true, Ordering::SeqCst);
        match *news {
            RowNews::Rows(rows) => {
                if let Some(copy) = self.of_table(rows.table) {
                    self.rows(&copy, rows);
                }
            }
            RowNews::Altered(name, alteration) => self.altered(name, alteration),
            RowNews::Table(name) => self.put(self.of_table(name).map(CopyNews::Gone).into_iter().collect()),
            RowNews::Schema(schema) => {
                let wanted = self.wanted.read().unwrap_or_else(PoisonError::into_inner);
                let of_schema = wanted.values().filter(|wanted| wanted.name.0 == schema);
                let told = of_schema.cloned().map(CopyNews::Gone).collect();
                drop(wanted);
                self.put(told);
            }
            RowNews::Everything => self.put(vec![CopyNews::AllGone]),
        }
    }

    fn ended(&self, ending: TransactionEnd, at: Position) {
        let mut queue = self.queue();
        self.is_open.store(false, Ordering::SeqCst);
        queue.transactions += 1;
        queue.last_ended = at;
        let mut told = std::mem::take(&mut queue.open);
        match ending {
            TransactionEnd::Committed => {}
            // Nobody sees its rows yet. Its commit reports its tables as wholes.
            TransactionEnd::Prepared => told.retain(|told| !matches!(told, CopyNews::Row { .. })),
            TransactionEnd::Unclear => {
                for told in &mut told {
                    if let CopyNews::Row { copy, .. } | CopyNews::Altered(copy) = told {
                        *told = CopyNews::Gone(Arc::clone(copy));
                    }
                }
            }
        }
        if !told.is_empty() {
            queue.ended.push_back(TransactionNews { at, told });
        }
    }

    fn lost(&self) {
        let mut queue = self.queue();
        self.is_open.store(false, Ordering::SeqCst);
        queue.transactions += 1;
        queue.give_up();
    }
}
