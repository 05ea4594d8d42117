//! The statements that a client sends, one after another.

use crate::keys::Keys;
use crate::load::Load;
use crate::statement::{Form, Statement, VALUES_MAX, Value};

/// The rows of a range.
const RANGE_ROWS: u32 = 100;
/// The widths of the columns c and pad of sysbench, in bytes.
const C_BYTES: usize = 119;
const PAD_BYTES: usize = 59;
/// Numbers in statements that are asked once are above all values of k, and below the largest INT.
const ONCE_FROM: u32 = 1 << 30;

/// One client's statements.
#[derive(Debug)]
pub struct Statements {
    cycle: &'static [Form],
    /// Whether each cycle is a transaction.
    transactions: bool,
    tables: u32,
    writes: u8,
    keys: Keys,
    /// The place of the next statement in the cycle. With transactions the first place is BEGIN.
    at: usize,
    /// The form and the table of the previous statement. Statements of the same form use the same table.
    before: (Form, u32),
    /// The row that a cycle deletes and inserts again.
    moved: u32,
    /// Whether rows were changed since the last BEGIN.
    changed: bool,
}

impl Statements {
    /// Returns the statements of a client. Each client has its own `seed`.
    pub fn new(load: &Load, seed: u64) -> Statements {
        Statements {
            cycle: load.mix.cycle(),
            transactions: load.transactions,
            tables: load.tables,
            writes: load.writes,
            keys: Keys::new(seed, load.keys, load.draw),
            at: 0,
            before: (Form::Insert, 1),
            moved: 1,
            changed: false,
        }
    }

    /// Whether the next statement begins a cycle.
    pub fn begins(&self) -> bool {
        self.at == 0
    }

    /// Returns the next statement.
    pub fn next(&mut self) -> Statement {
        let around = usize::from(self.transactions);
        let at = self.at;
        self.at = (at + 1) % (self.cycle.len() + 2 * around);
        match self.cycle.get(at.wrapping_sub(around)) {
            Some(form) => self.of(*form),
            None if at == 0 => {
                self.changed = false;
                Statement::Begin
            }
            None => Statement::Commit,
        }
    }

    /// Whether the statement, which is the latest one, changes rows or commits such a change.
    pub fn writes(&self, latest: &Statement) -> bool {
        match latest {
            Statement::Begin => false,
            Statement::Commit => self.changed,
            Statement::Of { form, .. } => !form.reads(),
        }
    }

    fn of(&mut self, form: Form) -> Statement {
        let id = self.keys.next_key();
        let writes = form == Form::Point && self.writes > 0 && self.keys.percent() < self.writes;
        let form = if writes { Form::UpdateIndexed } else { form };
        // A deleted row is inserted into the same table again.
        let same = form == Form::Insert || (form == self.before.0 && self.cycle.len() > 1);
        let table = if same { self.before.1 } else { self.keys.one_of(self.tables) };
        self.before = (form, table);
        self.changed |= !form.reads();
        Statement::Of { form, table, values: self.values(form, id) }
    }

    fn values(&mut self, form: Form, id: u32) -> [Value; VALUES_MAX] {
        const NONE: Value = Value::None;
        let id_value = Value::Int(id);
        match form {
            Form::Point | Form::Volatile | Form::UpdateIndexed => [id_value, NONE, NONE, NONE],
            Form::Once => {
                // One of a billion for each of many rows: none comes twice.
                [id_value, Value::Int(ONCE_FROM + self.keys.one_of(ONCE_FROM - 1)), NONE, NONE]
            }
            Form::Range | Form::Sum | Form::Ordered | Form::Distinct => {
                [id_value, Value::Int(id + RANGE_ROWS - 1), NONE, NONE]
            }
            Form::UpdateOther => [self.digits(C_BYTES), id_value, NONE, NONE],
            Form::Delete => {
                self.moved = id;
                [id_value, NONE, NONE, NONE]
            }
            Form::Insert => {
                let k = self.keys.next_key();
                let pad = Value::Digits { number: k, width: PAD_BYTES };
                [Value::Int(self.moved), Value::Int(k), self.digits(C_BYTES), pad]
            }
        }
    }

    fn digits(&mut self, width: usize) -> Value {
        Value::Digits { number: self.keys.one_of(u32::MAX), width }
    }
}

#[cfg(test)]
mod tests;
