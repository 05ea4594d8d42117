//! What one event within a transaction changes.

use freshet_cache::{Dep, Position};
use freshet_catalog::{Changed, Name, of_merged_tables, routine_name};
use freshet_protocol::binlog::{self, Body, Event};
use freshet_sql::{BinlogEffect, Boundary, binlog_effect};

use super::group::{Touched, XidKey};
use super::{Applier, Definitions, sabotage};

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
            Body::TableMap(table) => self.table_map(table, at),
            Body::Rows(rows) => self.rows(&rows, at),
            Body::Xid => true,
            Body::XaPrepare { xid, one_phase } => {
                if !one_phase {
                    self.prepare(key_of_event(xid), at);
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
        let is_usual = sql_mode.is_none_or(|mode| mode & LEXING_MODES == 0);
        let is_told = is_usual && sql_mode.is_some();
        let effect = binlog_effect(text, schema, self.reading.flavor, is_told);
        match effect {
            BinlogEffect::Nothing
            | BinlogEffect::Definition { .. }
            | BinlogEffect::Routine { .. }
            | BinlogEffect::Truncate { .. }
            | BinlogEffect::Schema(_)
            | BinlogEffect::Accounts(_)
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
                self.prepare(key_of_text(xid), at);
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
            BinlogEffect::Routine { schema, name } => {
                let (schema, name) = routine_name(&(self.folded(&schema), name));
                let dep = self.freshness.table(&schema, &name).definition;
                self.stamp(dep, at);
                self.definitions.changed(Changed::Routine);
            }
            BinlogEffect::Truncate { tables } => {
                self.stamp(of_merged_tables(&self.freshness), at);
                for (schema, table) in tables {
                    self.whole_with_descendants(&self.folded(&schema), &self.folded(&table), at);
                }
            }
            BinlogEffect::Schema(schema) => {
                let schema = self.folded(&schema);
                self.stamp(self.freshness.schema(&schema), at);
                self.definitions.changed(Changed::Schema(&schema));
            }
            BinlogEffect::Accounts(users) => {
                match users {
                    Some(users) => {
                        users.iter().for_each(|user| self.stamp(self.freshness.account(user), at));
                        self.stamp(Dep::ACCOUNTS, at);
                    }
                    None => self.stamp(Dep::EVERYTHING, at),
                }
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
            self.whole_with_descendants(schema, table, at);
            let dep = self.freshness.table(schema, table).definition;
            self.stamp(dep, at);
        }
        self.definitions.changed(Changed::Tables(&tables));
    }

    fn not_understood(&mut self, at: Position) -> bool {
        self.stamp(Dep::EVERYTHING, at);
        self.definitions.changed(Changed::Everything);
        self.definitions.accounts_changed();
        false
    }

    pub(super) fn stamp(&mut self, dep: Dep, at: Position) {
        self.freshness.stamp(dep, at);
        if dep == Dep::EVERYTHING {
            self.group.touch_everything();
        }
    }

    /// What was prepared is changed as a whole when it is committed: the watches of then may not be those of its rows.
    fn stamp_touched(&mut self, touched: Touched, at: Position) {
        match touched {
            Touched::Everything => self.stamp(Dep::EVERYTHING, at),
            Touched::These(tables) => tables.iter().for_each(|(schema, table)| self.whole(schema, table, at)),
        }
    }

    fn prepare(&mut self, xid: XidKey, at: Position) {
        // What was announced and had no rows belongs to it too.
        self.statement_over(at);
        let touched = self.group.take_touched();
        self.prepared.remember(xid, touched);
    }

    pub(super) fn folded(&self, name: &str) -> String {
        if self.reading.folds_names { name.to_lowercase() } else { name.to_owned() }
    }
}

fn key_of_event(xid: binlog::Xid) -> XidKey {
    (i64::from(xid.format), xid.global, xid.branch)
}

fn key_of_text(xid: freshet_sql::Xid) -> XidKey {
    (xid.format_id, xid.gtrid, xid.bqual)
}
