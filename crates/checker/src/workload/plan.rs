//! Writes: the rows that each needs for itself, its statements, and its effect.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::dice::Dice;
use crate::model::{COLUMNS, Change, Column, DEFINITIONS, Db, PARENTS, ROWS, Row, Table, some_id};
use crate::sql::{ALL_ROWS, RowSet, WRITTEN, values, view};
use crate::told::{ID, May, Told, V};

/// A kind of write, with its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any write of one row: INSERT, UPDATE, DELETE, REPLACE, ON DUPLICATE KEY UPDATE.
    Row(Table, usize, Option<i8>),
    /// UPDATE of all rows with one `k`.
    UpdateWhere(Table, i8),
    /// DELETE of a range of ids.
    DeleteRange(Table, usize),
    /// INSERT of several rows in one statement.
    InsertMany(Table, usize),
    /// INSERT … SELECT from `p` into `r`.
    InsertSelect(usize),
    /// UPDATE of a parent and its children in one statement.
    UpdateJoin(usize),
    /// DELETE from two tables in one statement.
    DeleteJoin(usize),
    /// DELETE of a parent. Its children are deleted with it.
    DeleteParent(usize),
    /// UPDATE of a primary key in `r`.
    MoveKey(usize, usize),
    /// TRUNCATE of `r`.
    Truncate,
    /// CREATE OR REPLACE VIEW.
    View(Table, i8),
    /// A column is added to `r`, or dropped again.
    Alter(bool),
    /// A change of a table's comment: its definition changes, but not its rows. A slow write to one of its rows follows soon, so that
    /// Freshet learns the ways to read the table again while this write is under way.
    Comment(Table, usize),
}

/// Statements that make one change.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The statements.
    pub statements: Vec<String>,
    /// The changes that they make.
    pub changes: Vec<Change>,
    /// What their texts tell of the changes.
    pub told: Vec<Told>,
    /// The tables and definitions of views that the first statement defines, as bits.
    pub defines: u8,
}

const fn row_bit(id: usize) -> u64 {
    1 << (id - 1)
}

fn lock(rows: &mut RowSet, table: Table, bits: u64) {
    rows[table as usize] |= bits;
}

impl Kind {
    /// Returns a write of any kind. With `with_definitions` it may change definitions.
    pub fn draw(dice: &mut Dice, with_definitions: bool) -> Self {
        let id = some_id(dice);
        let parent = 1 + dice.below(usize::from(PARENTS));
        let k = dice.code(Column::K.codes());
        match dice.below(40) {
            0 if with_definitions => Self::View(dice.one_of(&[Table::C, Table::R]), k),
            1 if with_definitions => Self::Truncate,
            2 if with_definitions => Self::Alter(dice.percent(50)),
            3..=4 => Self::UpdateWhere(dice.one_of(&[Table::C, Table::R]), k),
            5 => Self::DeleteRange(dice.one_of(&[Table::C, Table::R]), id),
            6..=7 => Self::InsertMany(dice.one_of(&[Table::C, Table::R]), id),
            8..=9 => Self::InsertSelect(parent),
            10..=11 => Self::UpdateJoin(parent),
            12 => Self::DeleteJoin(id),
            13 => Self::DeleteParent(parent),
            14..=15 => Self::MoveKey(id, some_id(dice)),
            16..=17 if with_definitions => Self::Comment(dice.one_of(&[Table::P, Table::C, Table::R]), id),
            _ => Self::draw_row(dice),
        }
    }

    /// Returns a write of one row.
    pub fn draw_row(dice: &mut Dice) -> Self {
        // A write that fires a trigger fences everything, so a few of these are enough.
        let others = [Table::P, Table::C, Table::R];
        let table = if dice.percent(5) { Table::S } else { dice.one_of(&others) };
        let pid = dice.percent(70).then(|| dice.code(PARENTS));
        Self::Row(table, some_id(dice), pid)
    }

    /// Returns the rows that no other client may write meanwhile.
    #[must_use]
    pub fn rows(self) -> RowSet {
        let mut rows = RowSet::default();
        let definitions = DEFINITIONS.trailing_zeros() as usize;
        match self {
            Self::Row(table, id, pid) => {
                lock(&mut rows, table, row_bit(id));
                match (table, pid) {
                    (Table::C, Some(pid)) => lock(&mut rows, Table::P, 1 << pid),
                    (Table::S, _) => lock(&mut rows, Table::L, row_bit(id)),
                    _ => {}
                }
            }
            Self::UpdateWhere(table, _) | Self::DeleteRange(table, _) | Self::InsertMany(table, _) => {
                lock(&mut rows, table, ALL_ROWS);
            }
            Self::InsertSelect(id) => {
                lock(&mut rows, Table::P, row_bit(id));
                lock(&mut rows, Table::R, row_bit(id));
            }
            Self::UpdateJoin(id) | Self::DeleteParent(id) => {
                lock(&mut rows, Table::P, row_bit(id));
                lock(&mut rows, Table::C, ALL_ROWS);
            }
            Self::DeleteJoin(id) => {
                lock(&mut rows, Table::C, row_bit(id));
                lock(&mut rows, Table::R, row_bit(id));
            }
            Self::MoveKey(from, to) => lock(&mut rows, Table::R, row_bit(from) | row_bit(to)),
            Self::Truncate | Self::Alter(_) => {
                lock(&mut rows, Table::R, ALL_ROWS);
                rows[definitions] |= 1;
            }
            Self::Comment(table, _) => {
                lock(&mut rows, table, ALL_ROWS);
                rows[definitions] |= 1;
            }
            // No view can be made over a table that is renamed.
            Self::View(..) => rows[definitions] |= 1,
        }
        rows
    }

    /// Whether the write ends an open transaction.
    #[must_use]
    pub const fn is_definition(self) -> bool {
        matches!(self, Self::Truncate | Self::View(..) | Self::Alter(_) | Self::Comment(..))
    }

    /// Returns the statements, and their effect on a state. The plan is empty if there is nothing to do.
    pub fn plan(self, dice: &mut Dice, db: &Db, versions: &AtomicI64) -> Plan {
        let version = versions.fetch_add(1, Ordering::Relaxed);
        match self {
            Self::Row(table, id, pid) => row(dice, db, RowKey { table, id }, pid, version),
            Self::UpdateWhere(table, k) => update_where(db, table, k, version),
            Self::DeleteRange(table, from) => {
                let to = from + 3;
                let gone = db.rows(table).filter(|(id, _)| (from..to).contains(id));
                Plan {
                    changes: gone.map(|(id, _)| Change::Remove(table, id)).collect(),
                    statements: vec![format!(
                        "DELETE FROM {} WHERE id >= {from} AND id < {to}",
                        table.name()
                    )],
                    told: vec![Told::gone(table, May::ids(from..to))],
                    ..Plan::default()
                }
            }
            Self::InsertMany(table, from) => insert_many(dice, db, table, from, version),
            Self::InsertSelect(id) => insert_select(db, id, version),
            Self::UpdateJoin(id) => update_join(db, id, version),
            Self::DeleteJoin(id) => match (db.row(Table::C, id), db.row(Table::R, id)) {
                (Some(_), Some(_)) => Plan {
                    statements: vec![format!("DELETE c, r FROM c JOIN r ON c.id = r.id WHERE c.id = {id}")],
                    changes: vec![Change::Remove(Table::C, id), Change::Remove(Table::R, id)],
                    told: [Table::C, Table::R].map(|table| Told::gone(table, May::id(id))).to_vec(),
                    ..Plan::default()
                },
                _ => Plan::default(),
            },
            Self::DeleteParent(id) => delete_parent(db, id),
            Self::MoveKey(from, to) => match (db.row(Table::R, from), db.row(Table::R, to)) {
                (Some(row), None) => Plan {
                    statements: vec![format!("UPDATE r SET id = {to}, v = {version} WHERE id = {from}")],
                    changes: vec![
                        Change::Remove(Table::R, from),
                        Change::Put(Table::R, to, Row { v: version, ..*row }),
                    ],
                    told: vec![Told {
                        after: Some(May::id(to)),
                        changed: ID | V,
                        ..Told::versioned(Table::R, May::id(from))
                    }],
                    ..Plan::default()
                },
                _ => Plan::default(),
            },
            Self::Truncate => Plan {
                statements: vec!["TRUNCATE TABLE r".to_owned()],
                changes: db.rows(Table::R).map(|(id, _)| Change::Remove(Table::R, id)).collect(),
                defines: Table::R.bit(),
                ..Plan::default()
            },
            Self::View(table, limit) => {
                let (statements, changes) = (vec![view("w", table, limit)], vec![Change::View(table, limit)]);
                Plan { statements, changes, defines: DEFINITIONS, ..Plan::default() }
            }
            Self::Alter(is_added) => {
                let what = if is_added { "ADD COLUMN extra INT NULL" } else { "DROP COLUMN extra" };
                let statements = vec![format!("ALTER TABLE r {what}")];
                Plan { statements, defines: Table::R.bit(), ..Plan::default() }
            }
            Self::Comment(table, id) => comment(dice, db, table, id, version),
        }
    }
}

fn random_cells(dice: &mut Dice, pid: Option<i8>) -> [Option<i8>; COLUMNS] {
    let mut cells = Column::ALL.map(|column| {
        let code = dice.code(column.codes());
        (!column.is_nullable() || dice.percent(80)).then_some(code)
    });
    cells[Column::Pid as usize] = pid;
    cells
}

/// Returns a new row, or new values for all columns of a row.
fn random_row(dice: &mut Dice, db: &Db, table: Table, pid: Option<i8>, version: i64) -> Row {
    let is_there = |pid: &i8| usize::try_from(*pid).is_ok_and(|pid| db.row(Table::P, pid + 1).is_some());
    let pid = pid.filter(|pid| table != Table::C || is_there(pid));
    Row { v: version, cells: random_cells(dice, pid) }
}

/// A row by its table and its primary key.
#[derive(Clone, Copy)]
struct RowKey {
    table: Table,
    id: usize,
}

fn row(dice: &mut Dice, db: &Db, key: RowKey, pid: Option<i8>, version: i64) -> Plan {
    let RowKey { table, id } = key;
    let name = table.name();
    let new = random_row(dice, db, table, pid, version);
    let into = format!("INTO {name} ({WRITTEN}) VALUES");
    let insert = format!("{into} {}", values(id, &new));
    let Some(old) = db.row(table, id) else {
        let word = dice.one_of(&["INSERT", "INSERT", "INSERT IGNORE", "REPLACE"]);
        // An id that has to be worked out does not tell who reads the text which row is made.
        let is_told = dice.percent(60);
        let worked_out = || format!("{into} {}", values(format_args!("{} + 1", id - 1), &new));
        let insert = if is_told { insert } else { worked_out() };
        return Plan {
            statements: vec![format!("{word} {insert}")],
            changes: vec![Change::Put(table, id, new)],
            told: vec![match word {
                "REPLACE" => Told::replaced(table, May::id(id), May::row(id, &new)),
                _ => Told::made(table, May::row(id, &new)),
            }],
            ..Plan::default()
        };
    };
    match dice.below(10) {
        // A parent's children would go with it, and what the trigger sees is not there for others.
        0..=1 if !matches!(table, Table::P | Table::S) => Plan {
            statements: vec![format!("DELETE FROM {name} WHERE id = {id}")],
            changes: vec![Change::Remove(table, id)],
            told: vec![Told::gone(table, May::id(id))],
            ..Plan::default()
        },
        2 if !matches!(table, Table::P | Table::S) => {
            let told = vec![Told::replaced(table, May::id(id), May::row(id, &new))];
            let (statements, changes) =
                (vec![format!("REPLACE {insert}")], vec![Change::Put(table, id, new)]);
            Plan { statements, changes, told, ..Plan::default() }
        }
        3 => updated(
            db,
            key,
            Row { v: version, ..*old },
            format!("INSERT {insert} ON DUPLICATE KEY UPDATE v = {version}"),
            &[Told::made(table, May::row(id, &new)), Told::versioned(table, May::id(id))],
        ),
        4..=7 => {
            let column = dice.one_of(&Column::ALL);
            let mut cells = old.cells;
            cells[column as usize] = new.get(column);
            let value = match new.get(column) {
                None => "NULL".to_owned(),
                Some(code) if column.is_quoted() => format!("'{}'", column.literal(code)),
                Some(code) => column.literal(code),
            };
            let text =
                format!("UPDATE {name} SET v = {version}, {} = {value} WHERE id = {id}", column.name());
            let told = Told::assigned(table, May::id(id), column, new.get(column));
            updated(db, key, Row { v: version, cells }, text, &[told])
        }
        _ => {
            let text = if dice.percent(30) {
                slow_update(table, id, version)
            } else if version % 4 == 0 && table != Table::S {
                // The rows of `l` are always there; what fires its trigger may not read it.
                format!(
                    "UPDATE {name} SET v = {version} WHERE id = {id} AND id IN (SELECT id FROM l WHERE v > 0)"
                )
            } else {
                format!("UPDATE {name} SET v = {version} WHERE id = {id}")
            };
            let told = Told::versioned(table, May::id(id));
            updated(db, key, Row { v: version, ..*old }, text, &[told])
        }
    }
}

/// Returns a statement that updates one row slowly.
fn slow_update(table: Table, id: usize, version: i64) -> String {
    format!("UPDATE {} SET v = {version} WHERE id = {id} AND SLEEP(0.04) = 0", table.name())
}

fn comment(dice: &mut Dice, db: &Db, table: Table, id: usize, version: i64) -> Plan {
    let redefined = format!("ALTER TABLE {} COMMENT 'as of {version}'", table.name());
    let Some(old) = db.row(table, id) else {
        return Plan { statements: vec![redefined], defines: table.bit(), ..Plan::default() };
    };
    let pause = format!("DO SLEEP(0.0{:02})", 1 + dice.below(30));
    Plan {
        statements: vec![redefined, pause, slow_update(table, id, version)],
        changes: vec![Change::Put(table, id, Row { v: version, ..*old })],
        told: vec![Told::versioned(table, May::id(id))],
        defines: table.bit(),
    }
}

/// Returns an update of one row, and what its trigger does.
fn updated(db: &Db, key: RowKey, new: Row, text: String, told: &[Told]) -> Plan {
    let RowKey { table, id } = key;
    let mut told = told.to_vec();
    let mut changes = vec![Change::Put(table, id, new)];
    if let (Table::S, Some(row)) = (table, db.row(Table::L, id)) {
        changes.push(Change::Put(Table::L, id, Row { v: new.v, ..*row }));
        told.push(Told::versioned(Table::L, May::id(id)));
    }
    Plan { statements: vec![text], changes, told, ..Plan::default() }
}

fn update_where(db: &Db, table: Table, k: i8, version: i64) -> Plan {
    let hit = db.rows(table).filter(|(_, row)| row.get(Column::K) == Some(k));
    let changes = hit.map(|(id, row)| Change::Put(table, id, Row { v: version, ..*row })).collect();
    let told = vec![Told::versioned(table, May::ANY.with(Column::K, Some(k)))];
    let k = Column::K.literal(k);
    let statements = vec![format!("UPDATE {} SET v = {version} WHERE k = {k}", table.name())];
    Plan { statements, changes, told, ..Plan::default() }
}

fn insert_many(dice: &mut Dice, db: &Db, table: Table, from: usize, version: i64) -> Plan {
    let free = (from..=ROWS).filter(|id| db.row(table, *id).is_none()).take(3);
    let rows: Vec<(usize, Row)> = free.map(|id| (id, random_row(dice, db, table, None, version))).collect();
    if rows.is_empty() {
        return Plan::default();
    }
    let listed: Vec<String> = rows.iter().map(|(id, row)| values(*id, row)).collect();
    Plan {
        statements: vec![format!("INSERT INTO {} ({WRITTEN}) VALUES {}", table.name(), listed.join(", "))],
        told: rows.iter().map(|(id, row)| Told::made(table, May::row(*id, row))).collect(),
        changes: rows.into_iter().map(|(id, row)| Change::Put(table, id, row)).collect(),
        ..Plan::default()
    }
}

fn insert_select(db: &Db, id: usize, version: i64) -> Plan {
    match (db.row(Table::P, id), db.row(Table::R, id)) {
        (Some(row), None) => Plan {
            statements: vec![format!(
                "INSERT INTO r ({WRITTEN}) SELECT id, {version}, k, pid, n, m, d, t, u FROM p WHERE id = {id}"
            )],
            changes: vec![Change::Put(Table::R, id, Row { v: version, ..*row })],
            told: vec![Told::made(Table::R, May::id(id))],
            ..Plan::default()
        },
        _ => Plan::default(),
    }
}

fn children(db: &Db, parent: usize) -> impl Iterator<Item = (usize, &Row)> {
    let pid = i8::try_from(parent - 1).ok();
    db.rows(Table::C).filter(move |(_, row)| row.get(Column::Pid) == pid)
}

fn update_join(db: &Db, id: usize, version: i64) -> Plan {
    let Some(parent) = db.row(Table::P, id) else { return Plan::default() };
    let mut changes: Vec<Change> =
        children(db, id).map(|(id, row)| Change::Put(Table::C, id, Row { v: version, ..*row })).collect();
    // Without a child the join is empty.
    if !changes.is_empty() {
        changes.push(Change::Put(Table::P, id, Row { v: version, ..*parent }));
    }
    let text =
        format!("UPDATE c JOIN p ON c.pid = p.id SET c.v = {version}, p.v = {version} WHERE p.id = {id}");
    let told = vec![Told::versioned(Table::C, children_of(id)), Told::versioned(Table::P, May::id(id))];
    Plan { statements: vec![text], changes, told, ..Plan::default() }
}

/// Returns what is told of the children of a parent.
fn children_of(parent: usize) -> May {
    May::ANY.with(Column::Pid, i8::try_from(parent - 1).ok())
}

fn delete_parent(db: &Db, id: usize) -> Plan {
    if db.row(Table::P, id).is_none() {
        return Plan::default();
    }
    let mut changes: Vec<Change> = children(db, id).map(|(id, _)| Change::Remove(Table::C, id)).collect();
    changes.push(Change::Remove(Table::P, id));
    let told = vec![Told::gone(Table::P, May::id(id)), Told::gone(Table::C, children_of(id))];
    Plan { statements: vec![format!("DELETE FROM p WHERE id = {id}")], changes, told, ..Plan::default() }
}
