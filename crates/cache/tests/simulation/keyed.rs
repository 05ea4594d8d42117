//! A table whose single rows are watched: the registry of its watches, and the tickets of the writes under way.

use super::random::Random;
use super::server::{ALTER, FIRST_ROW, KEYED};
use freshet_cache::{Dep, Freshness, Position, TableDeps};
use std::sync::{Arc, Weak};

const WATCHES_MAX: usize = 2;

pub struct Watch {
    id: u64,
    /// From this position on the stream is stamped for the watch.
    born: Position,
    /// The writes that did not know the watch, so that their fences do not stand on it.
    older: Vec<Weak<()>>,
}

impl Watch {
    pub fn is_settled(&self) -> bool {
        self.older.iter().all(|ticket| ticket.strong_count() == 0)
    }

    pub fn is_born(&self, valid_from: Position) -> bool {
        valid_from >= self.born
    }
}

pub struct Keyed {
    deps: TableDeps,
    watches: Vec<Watch>,
    last_id: u64,
    tickets: Vec<Weak<()>>,
}

impl Keyed {
    pub const fn new(deps: TableDeps) -> Self {
        Self { deps, watches: Vec::new(), last_id: 0, tickets: Vec::new() }
    }

    /// Enters a watch in the registry.
    pub fn watch(&mut self, born: Position) {
        if self.watches.len() < WATCHES_MAX {
            self.last_id += 1;
            self.tickets.retain(|ticket| ticket.strong_count() > 0);
            self.watches.push(Watch { id: self.last_id, born, older: self.tickets.clone() });
        }
    }

    /// Forgets all watches: the definition has changed, or the stream has broken.
    pub fn forget(&mut self) {
        self.watches.clear();
    }

    /// Returns a ticket. It is held as long as the fence of a write that knows these watches and no later ones.
    pub fn ticket(&mut self) -> Arc<()> {
        let ticket = Arc::new(());
        self.tickets.push(Arc::downgrade(&ticket));
        ticket
    }

    /// Returns the dependencies that a change of this stamps and a write to it fences: all rows, and of each watch the row's slot, or
    /// any.
    pub fn touched(&self, freshness: &Freshness, object: usize, random: &mut Random) -> Vec<Dep> {
        if object == ALTER || object == KEYED && random.one_in(4) {
            return vec![self.deps.definition];
        }
        let is_keyed = object >= FIRST_ROW && !random.one_in(8);
        let of = |watch: &Watch| match object {
            row if is_keyed => freshness.row(watch.id, row as u64),
            _ => freshness.any(watch.id),
        };
        std::iter::once(self.deps.rows).chain(self.watches.iter().map(of)).collect()
    }

    /// Whether every result that rests on some watch depends on this.
    pub fn is_any(&self, freshness: &Freshness, dep: Dep) -> bool {
        self.watches.iter().any(|watch| freshness.any(watch.id) == dep)
    }

    /// Returns the dependencies of a result that is read from this row: the whole table, if no watch can be used.
    pub fn read(&self, freshness: &Freshness, row: usize, is_usable: impl Fn(&Watch) -> bool) -> Vec<Dep> {
        match self.watches.iter().find(|watch| is_usable(watch)) {
            None => vec![self.deps.definition, self.deps.rows],
            Some(Watch { id, .. }) => {
                vec![self.deps.definition, freshness.any(*id), freshness.row(*id, row as u64)]
            }
        }
    }
}
