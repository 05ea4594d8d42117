//! The changes of one event within a transaction.

use freshet_cache::Position;
use freshet_catalog::Name;
use freshet_protocol::binlog::{self, Event, EventBody};
use freshet_sql::{Alteration, BinlogEffect, Boundary, binlog_effect};

use super::definitions::DefinitionSource;
use super::group::{XaTouched, XidKey};
use super::sink::{ChangeSink, StreamChange, TransactionEnd};
use super::{Applier, sabotage};

/// Bits of `sql_mode` under which a text is cut into tokens in another way: ANSI_QUOTES and NO_BACKSLASH_ESCAPES.
const LEXING_MODES: u64 = 1 << 2 | 1 << 20;

impl<D: DefinitionSource, S: ChangeSink> Applier<D, S> {
    /// Tells the sink what `body` changes. Returns how it ends the transaction, if it does.
    pub(super) fn change(&mut self, body: EventBody, at: Position) -> Option<TransactionEnd> {
        let mut ending = None;
        for body in sabotage::pass(body) {
            ending = self.change_one(body, at).or(ending);
        }
        ending
    }

    fn change_one(&mut self, body: EventBody, at: Position) -> Option<TransactionEnd> {
        match body {
            EventBody::Query { schema, text, sql_mode, error_code, .. } => {
                let mut effect = self.effect(&schema, &text, sql_mode);
                if let BinlogEffect::Definition { alteration, .. } = &mut effect
                    && !(error_code == 0 && self.group.defines_here())
                {
                    *alteration = None;
                }
                return self.statement(effect, at);
            }
            EventBody::TableMap(table) => self.table_map(table, at),
            EventBody::Rows(rows) => self.rows(&rows, at),
            EventBody::Xid | EventBody::XaPrepare { one_phase: true, .. } => {
                return Some(TransactionEnd::Committed);
            }
            EventBody::XaPrepare { xid, one_phase: false } => {
                return Some(self.prepare(key_of_event(xid), at));
            }
            EventBody::Transaction(events) => return Some(self.payload(events, at)),
            EventBody::Incident | EventBody::Unknown => self.tell(&StreamChange::Anything, at),
            // The rest concerns the stream and not data; it is dealt with before it comes here, or it is in a payload.
            _ => {}
        }
        None
    }

    /// Applies a payload. All its events happen at the payload's own position, and the payload is the whole transaction.
    fn payload(&mut self, events: Vec<Event>, at: Position) -> TransactionEnd {
        let mut ending = None;
        for event in events {
            ending = self.change(event.body, at).or(ending);
        }
        ending.unwrap_or(TransactionEnd::Unclear)
    }

    /// Returns what a text does. Under unusual modes a text may be read in another way than it was written. A text that only bounds a
    /// transaction comes from the server itself and cannot be mistaken.
    fn effect(&self, schema: &[u8], text: &[u8], sql_mode: Option<u64>) -> BinlogEffect {
        let Ok(schema) = std::str::from_utf8(schema) else { return BinlogEffect::Everything };
        let is_usual = sql_mode.is_none_or(|mode| mode & LEXING_MODES == 0);
        let is_told = is_usual && sql_mode.is_some();
        let effect = binlog_effect(text, schema, self.stream.flavor, is_told);
        match effect {
            BinlogEffect::Nothing
            | BinlogEffect::Definition { .. }
            | BinlogEffect::Routine { .. }
            | BinlogEffect::Truncate { .. }
            | BinlogEffect::Schema(_)
            | BinlogEffect::Accounts { .. }
                if !is_usual =>
            {
                BinlogEffect::Everything
            }
            effect => effect,
        }
    }

    /// Tells the sink what a statement changes. Returns how it ends the transaction, if it does.
    fn statement(&mut self, effect: BinlogEffect, at: Position) -> Option<TransactionEnd> {
        match effect {
            BinlogEffect::Transaction(Boundary::Begin) => self.group.begin(),
            BinlogEffect::XaStart { .. } => self.group.begin_xa(),
            BinlogEffect::XaEnd { .. } => {}
            BinlogEffect::Transaction(Boundary::Commit) => return Some(TransactionEnd::Committed),
            BinlogEffect::Transaction(Boundary::Rollback) => return Some(TransactionEnd::Unclear),
            BinlogEffect::XaPrepare { xid } => return Some(self.prepare(key_of_text(xid), at)),
            BinlogEffect::XaCommit { xid } => {
                let touched = self.prepared.complete(&key_of_text(xid));
                self.commit_touched(&touched, at);
                return Some(TransactionEnd::Committed);
            }
            BinlogEffect::XaRollback { xid } => {
                // Nobody ever saw its rows, so nothing changes.
                self.prepared.complete(&key_of_text(xid));
                return Some(TransactionEnd::Committed);
            }
            effect => {
                self.statement_data(effect, at);
                return self.group.is_single().then_some(TransactionEnd::Committed);
            }
        }
        None
    }

    fn statement_data(&mut self, effect: BinlogEffect, at: Position) {
        match effect {
            BinlogEffect::Nothing => {}
            BinlogEffect::Definition { tables, alteration: Some(alteration), .. } => {
                self.altered(&tables, &alteration, at);
            }
            BinlogEffect::Definition { tables, may_refer, alteration: None } => {
                self.definition(tables, may_refer, at);
            }
            BinlogEffect::Routine { schema, name } => {
                let routine = (self.folded(&schema), name);
                self.tell(&StreamChange::Routine(Some(&routine)), at);
            }
            BinlogEffect::Truncate { tables } => {
                self.tell(&StreamChange::AnyMerged, at);
                for name in tables {
                    self.any_rows_with_descendants(&self.folded_name(&name), at);
                }
            }
            BinlogEffect::Schema(schema) => self.tell(&StreamChange::Schema(&self.folded(&schema)), at),
            BinlogEffect::Accounts { users, is_counted, on_rights } => {
                let users = users.as_deref();
                self.tell(&StreamChange::Accounts { users, is_counted, on_rights }, at);
            }
            _ => self.tell(&StreamChange::Anything, at),
        }
    }

    /// Tells the sink an alteration of these tables. All their rows stay, and those of all other tables. Values that the engine computes
    /// from them may look different.
    fn altered(&mut self, tables: &[Name], alteration: &Alteration, at: Position) {
        self.tell(&StreamChange::AnyMerged, at);
        for name in tables {
            self.tell(&StreamChange::Altered(&self.folded_name(name), alteration), at);
        }
    }

    fn definition(&mut self, tables: Vec<Name>, may_refer: bool, at: Position) {
        let tables: Vec<Name> = tables.iter().map(|name| self.folded_name(name)).collect();
        // The descendants from before the definition, since it may remove them.
        tables.iter().for_each(|name| self.any_rows_with_descendants(name, at));
        let change = if may_refer { StreamChange::Tables(&tables) } else { StreamChange::Unlinked(&tables) };
        self.tell(&change, at);
    }

    /// Tells the sink the commit of a prepared transaction: its tables count as changed as a whole, because they may have other watches
    /// now than when the rows came.
    fn commit_touched(&mut self, touched: &XaTouched, at: Position) {
        match touched {
            XaTouched::Everything => self.tell(&StreamChange::AnyTable, at),
            XaTouched::These(tables) => self.any_rows_of_each(Some(tables), at),
        }
    }

    fn prepare(&mut self, xid: XidKey, at: Position) -> TransactionEnd {
        // A table that was announced and had no rows belongs to the transaction too.
        self.statement_over(at);
        let touched = self.group.take_touched();
        self.prepared.remember(xid, touched);
        TransactionEnd::Prepared
    }

    fn folded_name(&self, (schema, table): &Name) -> Name {
        (self.folded(schema), self.folded(table))
    }

    pub(super) fn folded(&self, name: &str) -> String {
        if self.stream.folds_names { name.to_lowercase() } else { name.to_owned() }
    }
}

fn key_of_event(xid: binlog::Xid) -> XidKey {
    (i64::from(xid.format), xid.global, xid.branch)
}

fn key_of_text(xid: freshet_sql::Xid) -> XidKey {
    (xid.format_id, xid.gtrid, xid.bqual)
}
