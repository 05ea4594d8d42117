//! The database as a plain value: five small tables of one form, and the two definitions that change.
//!
//! The values of a column are codes: small numbers in the order in which the server compares the values. [`Column::literal`] returns the
//! SQL text of a code. So the model compares numbers where the server compares decimals, dates and collated texts.

use crate::dice::Dice;

/// The rows of a table have ids from 1 to this number.
pub const ROWS: usize = 20;
/// The first of these rows are asked for, written, deleted and made again more often than the others.
const BUSY_ROWS: usize = 4;
/// The tables.
pub const TABLES: usize = 5;
/// The columns beside `id` and `v`.
pub const COLUMNS: usize = 7;
/// The parents that `pid` may name have ids from 1 to this number.
pub const PARENTS: u8 = 6;

/// Returns the id of a row, mostly of a busy one: mistakes show best on rows where readers and writers meet.
pub fn some_id(dice: &mut Dice) -> usize {
    let bound = if dice.percent(60) { BUSY_ROWS } else { ROWS };
    1 + dice.below(bound)
}

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// Parents.
    P,
    /// Their children, deleted with them.
    C,
    /// Partitioned; renamed and truncated now and then.
    R,
    /// A table whose updates fire a trigger.
    S,
    /// The table that the trigger writes.
    L,
}

impl Table {
    /// All tables.
    pub const ALL: [Self; TABLES] = [Self::P, Self::C, Self::R, Self::S, Self::L];

    /// Returns a table to ask for, mostly one of the tables that are written most.
    pub fn draw(dice: &mut Dice) -> Self {
        if dice.percent(60) { dice.one_of(&[Self::P, Self::C, Self::R]) } else { dice.one_of(&Self::ALL) }
    }

    /// Returns the table's name on the server.
    #[must_use]
    pub const fn name(self) -> &'static str {
        ["p", "c", "r", "s", "l"][self as usize]
    }

    /// Returns the table's bit in a set of tables.
    #[must_use]
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// The bit of the definitions in a set of tables.
pub const DEFINITIONS: u8 = 1 << TABLES;

/// A column beside `id` and `v`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// INT, nullable, with a secondary key.
    K,
    /// INT, nullable, the first of a composite key; in `c` a foreign key to `p`.
    Pid,
    /// VARCHAR with a case-insensitive collation, nullable.
    N,
    /// DECIMAL(10, 2).
    M,
    /// DATE.
    D,
    /// DATETIME.
    T,
    /// BIGINT UNSIGNED, beyond the signed range.
    U,
}

const NAMES: [&str; 6] = ["apple", "Apricot", "banana", "Beta", "cherry", "Date"];
const DATES: [&str; 6] = ["1999-12-31", "2000-02-29", "2023-12-30", "2023-12-31", "2024-01-01", "2024-02-29"];

impl Column {
    /// All columns, in the order of the table.
    pub const ALL: [Self; COLUMNS] = [Self::K, Self::Pid, Self::N, Self::M, Self::D, Self::T, Self::U];

    /// Returns the column's name on the server.
    #[must_use]
    pub const fn name(self) -> &'static str {
        ["k", "pid", "n", "m", "d", "t", "u"][self as usize]
    }

    /// Returns the bound of the column's codes: all codes are less.
    #[must_use]
    pub const fn codes(self) -> u8 {
        6
    }

    /// Whether it may be NULL.
    #[must_use]
    pub const fn is_nullable(self) -> bool {
        matches!(self, Self::K | Self::Pid | Self::N)
    }

    /// Returns the value of a code as it is written in SQL, without quotes.
    #[must_use]
    pub fn literal(self, code: i8) -> String {
        let at = usize::try_from(code).unwrap_or(0) % NAMES.len();
        match self {
            Self::K => (i32::from(code) - 2).to_string(),
            Self::Pid => (i32::from(code) + 1).to_string(),
            Self::N => NAMES[at].to_owned(),
            Self::M => {
                let cents = i32::from(code) * 1250 - 2025;
                let sign = if cents < 0 { "-" } else { "" };
                format!("{sign}{}.{:02}", cents.abs() / 100, cents.abs() % 100)
            }
            Self::D => DATES[at].to_owned(),
            Self::T => format!("{} {:02}:59:59", DATES[at], 23 - at),
            Self::U => (u64::MAX - 5 + at as u64).to_string(),
        }
    }

    /// Whether its literals are written in quotes.
    #[must_use]
    pub const fn is_quoted(self) -> bool {
        matches!(self, Self::N | Self::D | Self::T)
    }
}

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The version. No two writes leave the same version.
    pub v: i64,
    /// The codes of the columns.
    pub cells: [Option<i8>; COLUMNS],
}

impl Row {
    /// Returns a column's code.
    #[must_use]
    pub const fn get(&self, column: Column) -> Option<i8> {
        self.cells[column as usize]
    }
}

/// A change that a transaction makes to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A row has the given values from now on.
    Put(Table, usize, Row),
    /// A row is deleted.
    Remove(Table, usize),
    /// The view shows rows of this table, with `k` below this code.
    View(Table, i8),
    /// Table `r` is renamed, or gets its own name back.
    Away(bool),
}

impl Change {
    /// Returns the tables whose readers the change concerns.
    #[must_use]
    pub const fn tables(&self) -> u8 {
        match self {
            Self::Put(table, ..) | Self::Remove(table, _) => table.bit(),
            Self::View(..) => DEFINITIONS,
            Self::Away(_) => Table::R.bit(),
        }
    }
}

/// A state of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Db {
    rows: [[Option<Row>; ROWS]; TABLES],
    /// The view `w` shows rows of this table…
    pub view_of: Table,
    /// …with `k` below this code.
    pub view_limit: i8,
    /// Table `r` goes by another name.
    pub is_away: bool,
}

impl Default for Db {
    fn default() -> Self {
        Self { rows: [[None; ROWS]; TABLES], view_of: Table::C, view_limit: 4, is_away: false }
    }
}

impl Db {
    /// Returns a row, if it is there.
    #[must_use]
    pub fn row(&self, table: Table, id: usize) -> Option<&Row> {
        self.rows[table as usize].get(id.wrapping_sub(1))?.as_ref()
    }

    /// Returns the rows of a table with their ids, in order.
    pub fn rows(&self, table: Table) -> impl Iterator<Item = (usize, &Row)> + Clone {
        self.rows[table as usize].iter().enumerate().filter_map(|(at, row)| Some((at + 1, row.as_ref()?)))
    }

    /// Applies a change.
    pub fn apply(&mut self, change: &Change) {
        match *change {
            Change::Put(table, id, row) => self.set(table, id, Some(row)),
            Change::Remove(table, id) => self.set(table, id, None),
            Change::View(table, limit) => (self.view_of, self.view_limit) = (table, limit),
            Change::Away(is_away) => self.is_away = is_away,
        }
    }

    fn set(&mut self, table: Table, id: usize, row: Option<Row>) {
        if let Some(slot) = self.rows[table as usize].get_mut(id.wrapping_sub(1)) {
            *slot = row;
        }
    }
}
