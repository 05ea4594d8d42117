//! What one event within a transaction changes.

use freshet_cache::{Dep, Position};
use freshet_protocol::binlog::{self, Body, Event, Rows, TableMap};
use freshet_sql::{BinlogEffect, Boundary, binlog_effect};

use super::group::{Touched, XidKey};
use super::{Applier, Definitions, sabotage, system};
use crate::catalog::{Changed, Name};

/// Bits of `sql_mode` under which a text is cut into tokens in another way: ANSI_QUOTES and NO_BACKSLASH_ESCAPES.
const LEXING_MODES: u64 = 1 << 2 | 1 << 20;

impl<D: Definitions> Applier<D> {
    /// Stamps what `body` changes. True if it ends the transaction.
    pub(super) fn change(&mut self, body: Body, at: Position) -> bool {
        let mut ends = false;
        for body in sabotage::pass(body) {
            ends |= self.change_one(body, at);
        }
        ends
    }

    fn change_one(&mut self, body: Body, at: Position) -> bool {
        match body {
            Body::Query { schema, text, sql_mode, .. } => {
                let effect = self.effect(&schema, &text, sql_mode);
                self.statement(effect, at)
            }
            Body::TableMap(table) => self.table_map(&table, at),
            Body::Rows(rows) => self.rows(&rows),
            Body::Xid => true,
            Body::XaPrepare { xid, one_phase } => {
                if !one_phase {
                    self.prepare(key_of_event(xid));
                }
                true
            }
            Body::Transaction(events) => self.payload(events, at),
            Body::Incident | Body::Unknown => self.not_understood(at),
            // The rest concerns the stream and not data; it is dealt with before it comes here, or is in a payload.
            _ => false,
        }
    }

    /// Everything in a payload happens at the payload's own position, and the payload is the whole transaction.
    fn payload(&mut self, events: Vec<Event>, at: Position) -> bool {
        for event in events {
            self.change(event.body, at);
        }
        true
    }

    /// A text may be read as something else than it was written as, if it was written under unusual modes. What only bounds
    /// a transaction is written by the server itself and has nothing to mistake.
    fn effect(&self, schema: &[u8], text: &[u8], sql_mode: Option<u64>) -> BinlogEffect {
        let Ok(schema) = std::str::from_utf8(schema) else { return BinlogEffect::Everything };
        let effect = binlog_effect(text, schema, self.reading.flavor);
        let is_usual = sql_mode.is_none_or(|mode| mode & LEXING_MODES == 0);
        match effect {
            BinlogEffect::Nothing
            | BinlogEffect::Definition { .. }
            | BinlogEffect::Truncate { .. }
            | BinlogEffect::Schema(_)
                if !is_usual =>
            {
                BinlogEffect::Everything
            }
            effect => effect,
        }
    }

    /// Stamps what a statement changes. True if it ends the transaction.
    fn statement(&mut self, effect: BinlogEffect, at: Position) -> bool {
        match effect {
            BinlogEffect::Transaction(Boundary::Begin) => self.group.begin(),
            BinlogEffect::XaStart { .. } => self.group.begin_xa(),
            BinlogEffect::XaEnd { .. } => {}
            BinlogEffect::Transaction(Boundary::Commit | Boundary::Rollback) => return true,
            BinlogEffect::XaPrepare { xid } => {
                self.prepare(key_of_text(xid));
                return true;
            }
            BinlogEffect::XaCommit { xid } => {
                let touched = self.prepared.complete(&key_of_text(xid));
                self.stamp_touched(touched, at);
                return true;
            }
            BinlogEffect::XaRollback { xid } => {
                // Nobody ever saw its rows, so that nothing changes.
                self.prepared.complete(&key_of_text(xid));
                return true;
            }
            effect => {
                self.statement_data(effect, at);
                return self.group.is_single();
            }
        }
        false
    }

    fn statement_data(&mut self, effect: BinlogEffect, at: Position) {
        match effect {
            BinlogEffect::Nothing => {}
            BinlogEffect::Definition { tables } => self.definition(tables, at),
            BinlogEffect::Truncate { tables } => {
                for (schema, table) in tables {
                    self.table(&schema, &table, at);
                }
            }
            BinlogEffect::Schema(schema) => {
                let schema = self.folded(&schema);
                self.stamp(self.freshness.schema(&schema), at);
                self.definitions.changed(Changed::Schema(&schema));
            }
            BinlogEffect::Accounts => {
                self.stamp(Dep::EVERYTHING, at);
                self.definitions.accounts_changed();
            }
            _ => {
                self.not_understood(at);
            }
        }
    }

    fn definition(&mut self, tables: Vec<Name>, at: Position) {
        let tables: Vec<Name> =
            tables.into_iter().map(|(schema, table)| (self.folded(&schema), self.folded(&table))).collect();
        for (schema, table) in &tables {
            // The descendants of before, since the definition may take them away.
            self.table(schema, table, at);
            let dep = self.freshness.table(schema, table).definition;
            self.stamp(dep, at);
        }
        self.definitions.changed(Changed::Tables(&tables));
    }

    /// The server announces each table that a statement changes, also those whose rows change without events of their
    /// own; so this is what counts, whether or not rows follow.
    fn table_map(&mut self, map: &TableMap, at: Position) -> bool {
        match (std::str::from_utf8(&map.schema), std::str::from_utf8(&map.table)) {
            (Ok(schema), Ok(table)) => self.table(schema, table, at),
            _ => self.stamp(Dep::EVERYTHING, at),
        }
        false
    }

    /// The whole table was stamped when it was announced. Watches on rows will be stamped from the images here.
    #[allow(clippy::unused_self, reason = "it is where rows are stamped once there are watches")]
    fn rows(&mut self, _rows: &Rows) -> bool {
        false
    }

    /// Rows of this table change.
    fn table(&mut self, schema: &str, table: &str, at: Position) {
        let (schema, table) = (self.folded(schema), self.folded(table));
        if system::concerns_everything(&schema, &table) {
            self.stamp(Dep::EVERYTHING, at);
            self.definitions.accounts_changed();
        }
        let dep = self.freshness.table(&schema, &table).rows;
        self.stamp(dep, at);
        match self.definitions.descendants(&schema, &table) {
            None => self.stamp(Dep::EVERYTHING, at),
            Some(descendants) => {
                for (schema, table) in descendants.iter() {
                    let dep = self.freshness.table(schema, table).rows;
                    self.stamp(dep, at);
                }
            }
        }
    }

    fn not_understood(&mut self, at: Position) -> bool {
        self.stamp(Dep::EVERYTHING, at);
        self.definitions.changed(Changed::Everything);
        self.definitions.accounts_changed();
        false
    }

    fn stamp(&mut self, dep: Dep, at: Position) {
        self.freshness.stamp(dep, at);
        self.group.touch(dep);
    }

    fn stamp_touched(&mut self, touched: Touched, at: Position) {
        match touched {
            Touched::Everything => self.stamp(Dep::EVERYTHING, at),
            Touched::These(deps) => deps.into_iter().for_each(|dep| self.stamp(dep, at)),
        }
    }

    fn prepare(&mut self, xid: XidKey) {
        let touched = self.group.take_touched();
        self.prepared.remember(xid, touched);
    }

    fn folded(&self, name: &str) -> String {
        if self.reading.folds_names { name.to_lowercase() } else { name.to_owned() }
    }
}

fn key_of_event(xid: binlog::Xid) -> XidKey {
    (i64::from(xid.format), xid.global, xid.branch)
}

fn key_of_text(xid: freshet_sql::Xid) -> XidKey {
    (xid.format_id, xid.gtrid, xid.bqual)
}
