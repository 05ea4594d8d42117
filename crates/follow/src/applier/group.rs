//! Where in a transaction the stream is, and the tables that prepared transactions have touched.

use std::collections::HashMap;

use freshet_catalog::Name;
use freshet_protocol::binlog::{Gtid, GtidEvent};
use freshet_sql::Flavor;

use super::announced::AnnouncedTables;
use super::sink::{StreamChange, TransactionEnd};

/// TRANSACTION_PAYLOAD: it carries everything up to the commit, also when it could not be unpacked.
const TRANSACTION_PAYLOAD: u8 = 40;

/// LOG_EVENT_THREAD_SPECIFIC_F: a statement that uses temporary tables.
const THREAD_SPECIFIC: u16 = 4;

/// The most tables that are remembered of one prepared transaction. A transaction that touches more counts as touching everything.
const TOUCHED_MAX: usize = 256;

/// The most prepared transactions that are remembered; the commit of a further one stamps everything.
const PREPARED_MAX: usize = 4_096;

/// Returns how this kind of event ends its transaction, whatever else it holds.
pub(super) fn ending_of(kind: u8) -> Option<TransactionEnd> {
    (kind == TRANSACTION_PAYLOAD).then_some(TransactionEnd::Unclear)
}

/// The state between one end of a transaction and the next.
#[derive(Debug, Default)]
pub(super) struct EventGroup {
    stage: Stage,
    gtid: Option<Gtid>,
    /// The tables that it has touched, if it is an XA transaction: its commit changes them once more.
    touched: Option<XaTouched>,
    /// The tables that the present statement was announced to change.
    pub(super) announced: AnnouncedTables,
    /// Its definition is in the binlog twice: when it begins and when it ends.
    in_two_phases: bool,
    /// A statement of it has used a temporary table, which may hide the table of that name.
    is_of_one_session: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// Between two transactions.
    #[default]
    Outside,
    /// A GTID came; the next statement either begins a transaction or is one by itself.
    Opened,
    /// The transaction lasts until its commit.
    Begun,
}

impl EventGroup {
    pub(super) fn opened(gtid: Option<Gtid>) -> Self {
        Self { stage: Stage::Opened, gtid, ..Self::default() }
    }

    /// Begins a transaction with its GTID event. MariaDB's GTID event stands for the BEGIN too.
    pub(super) fn with_gtid(event: GtidEvent, flavor: Flavor) -> Self {
        let begins = flavor == Flavor::MariaDb && !event.standalone;
        Self {
            stage: if begins { Stage::Begun } else { Stage::Opened },
            gtid: Some(event.gtid),
            touched: event.prepared_xa.then(XaTouched::default),
            announced: AnnouncedTables::default(),
            in_two_phases: event.in_two_phases,
            is_of_one_session: false,
        }
    }

    pub(super) fn is_outside(&self) -> bool {
        self.stage == Stage::Outside
    }

    /// Notes the flags of an event.
    pub(super) fn note_flags(&mut self, flags: u16) {
        self.is_of_one_session |= flags & THREAD_SPECIFIC != 0;
    }

    /// Whether a definition concerns the table that it names, and takes effect at its place in the binlog.
    pub(super) fn defines_here(&self) -> bool {
        !self.in_two_phases && !self.is_of_one_session
    }

    /// Whether a statement that comes now is a transaction by itself.
    pub(super) fn is_single(&self) -> bool {
        self.stage != Stage::Begun
    }

    pub(super) fn begin(&mut self) {
        self.stage = Stage::Begun;
    }

    pub(super) fn begin_xa(&mut self) {
        self.begin();
        self.touched.get_or_insert_default();
    }

    pub(super) fn touch(&mut self, name: &Name) {
        if let Some(touched) = &mut self.touched {
            touched.add(name);
        }
    }

    /// Notes the tables of a change that is known without its rows.
    pub(super) fn touch_by(&mut self, change: &StreamChange<'_>) {
        match change {
            StreamChange::AnyRows(name) | StreamChange::Altered(name, _) => self.touch(name),
            StreamChange::AnyTable
            | StreamChange::Routine(None)
            | StreamChange::Accounts { users: None, .. }
            | StreamChange::GrantTables
            | StreamChange::Anything => {
                if let Some(touched) = &mut self.touched {
                    *touched = XaTouched::Everything;
                }
            }
            _ => {}
        }
    }

    pub(super) fn take_touched(&mut self) -> Option<XaTouched> {
        self.touched.take()
    }

    pub(super) fn into_gtid(self) -> Option<Gtid> {
        self.gtid
    }
}

/// The tables that a transaction has touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum XaTouched {
    These(Vec<Name>),
    Everything,
}

impl Default for XaTouched {
    fn default() -> Self {
        Self::These(Vec::new())
    }
}

impl XaTouched {
    fn add(&mut self, table: &Name) {
        let Self::These(tables) = self else { return };
        if tables.contains(table) {
            return;
        }
        if tables.len() >= TOUCHED_MAX {
            *self = Self::Everything;
        } else {
            tables.push(table.clone());
        }
    }
}

/// The identifier of an XA transaction, in whichever form it was read: format, global part, branch part.
pub(super) type XidKey = (i64, Vec<u8>, Vec<u8>);

/// The transactions that were prepared in this stream and not completed yet.
#[derive(Debug, Default)]
pub(super) struct PreparedXas {
    by_xid: HashMap<XidKey, XaTouched>,
}

impl PreparedXas {
    /// Remembers a prepared transaction. One that began before the stream, or beyond the bound, is not remembered: see
    /// [`Self::complete`].
    pub(super) fn remember(&mut self, xid: XidKey, touched: Option<XaTouched>) {
        if self.by_xid.len() < PREPARED_MAX || self.by_xid.contains_key(&xid) {
            self.by_xid.insert(xid, touched.unwrap_or(XaTouched::Everything));
        }
    }

    /// Returns the tables that a prepared transaction has touched; everything if they are not known.
    pub(super) fn complete(&mut self, xid: &XidKey) -> XaTouched {
        self.by_xid.remove(xid).unwrap_or(XaTouched::Everything)
    }
}
