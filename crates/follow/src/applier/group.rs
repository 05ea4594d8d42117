//! Where in a transaction the stream is, and what prepared transactions have touched.

use std::collections::HashMap;

use freshet_catalog::Name;
use freshet_protocol::binlog::{Gtid, GtidEvent};
use freshet_sql::Flavor;

use super::statement::Statement;

/// TRANSACTION_PAYLOAD: it carries everything up to the commit, also when it could not be unpacked.
const TRANSACTION_PAYLOAD: u8 = 40;

/// Tables that are remembered of one prepared transaction; one that touches more is taken to touch everything.
const TOUCHED_MAX: usize = 256;

/// Prepared transactions that are remembered; the commit of a further one stamps everything.
const PREPARED_MAX: usize = 4_096;

/// Whether this kind of event ends its transaction whatever is in it.
pub(super) const fn is_whole_transaction(kind: u8) -> bool {
    kind == TRANSACTION_PAYLOAD
}

/// What stands between one end of a transaction and the next.
#[derive(Debug, Default)]
pub(super) struct Group {
    stage: Stage,
    gtid: Option<Gtid>,
    /// What it has touched, if it is an XA transaction: these are changed once more when it is committed.
    touched: Option<Touched>,
    /// The tables that the present statement was announced to change.
    pub(super) statement: Statement,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// Between two transactions.
    #[default]
    Outside,
    /// A GTID came by; the next statement either begins a transaction or is one by itself.
    Opened,
    /// It lasts until its commit.
    Begun,
}

impl Group {
    pub(super) fn opened(gtid: Option<Gtid>) -> Self {
        Self { stage: Stage::Opened, gtid, ..Self::default() }
    }

    /// MariaDB's GTID event stands for the BEGIN too.
    pub(super) fn with_gtid(event: GtidEvent, flavor: Flavor) -> Self {
        let begins = flavor == Flavor::MariaDb && !event.standalone;
        Self {
            stage: if begins { Stage::Begun } else { Stage::Opened },
            gtid: Some(event.gtid),
            touched: event.prepared_xa.then(Touched::default),
            statement: Statement::default(),
        }
    }

    pub(super) fn is_outside(&self) -> bool {
        self.stage == Stage::Outside
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

    pub(super) fn touch(&mut self, schema: &str, table: &str) {
        if let Some(touched) = &mut self.touched {
            touched.add(schema, table);
        }
    }

    pub(super) fn touch_everything(&mut self) {
        if let Some(touched) = &mut self.touched {
            *touched = Touched::Everything;
        }
    }

    pub(super) fn take_touched(&mut self) -> Option<Touched> {
        self.touched.take()
    }

    pub(super) fn into_gtid(self) -> Option<Gtid> {
        self.gtid
    }
}

/// What a transaction has touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Touched {
    These(Vec<Name>),
    Everything,
}

impl Default for Touched {
    fn default() -> Self {
        Self::These(Vec::new())
    }
}

impl Touched {
    fn add(&mut self, schema: &str, table: &str) {
        let Self::These(tables) = self else { return };
        if tables.iter().any(|(in_schema, name)| in_schema == schema && name == table) {
            return;
        }
        if tables.len() >= TOUCHED_MAX {
            *self = Self::Everything;
        } else {
            tables.push((schema.to_owned(), table.to_owned()));
        }
    }
}

/// An XA transaction's identifier, whichever form it was read from: format, global part, branch part.
pub(super) type XidKey = (i64, Vec<u8>, Vec<u8>);

/// The transactions that were prepared in this stream and not completed yet.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    by_xid: HashMap<XidKey, Touched>,
}

impl Prepared {
    /// One that began before the stream, or beyond the bound, is not remembered: see [`Self::complete`].
    pub(super) fn remember(&mut self, xid: XidKey, touched: Option<Touched>) {
        if self.by_xid.len() < PREPARED_MAX || self.by_xid.contains_key(&xid) {
            self.by_xid.insert(xid, touched.unwrap_or(Touched::Everything));
        }
    }

    /// What it has touched; everything if it is not known.
    pub(super) fn complete(&mut self, xid: &XidKey) -> Touched {
        self.by_xid.remove(xid).unwrap_or(Touched::Everything)
    }
}
