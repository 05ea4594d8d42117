//! Which statements a client sends, one after another.

use std::fmt::Write;

use clap::ValueEnum;

use crate::keys::Keys;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mix {
    /// Point selects, with the share of updates that --writes says.
    Points,
    /// The statements of sysbench's `oltp_read_write`, each on its own: ten point selects, four ranges of a hundred rows,
    /// two updates, a delete and an insert.
    ReadWrite,
}

/// The rows of a range.
const RANGE_ROWS: u32 = 100;
/// How many point selects come first.
const POINTS: u32 = 10;

/// One client's statements. The statements of a cycle of sysbench concern one table.
#[derive(Debug)]
pub struct Statements {
    mix: Mix,
    table: String,
    tables: u32,
    writes: u8,
    at: u32,
    keys: Keys,
    /// The table of the present cycle, and the row that it deletes and inserts again.
    of: u32,
    moved: u32,
}

impl Statements {
    /// Of `table`, or of as many tables of this name with a number behind.
    pub fn new(mix: Mix, table: &str, tables: u32, writes: u8, keys: Keys) -> Statements {
        Statements { mix, table: table.to_owned(), tables, writes, at: 0, keys, of: 1, moved: 1 }
    }

    /// Writes the next one; whether it reads.
    pub fn next(&mut self, out: &mut String) -> bool {
        out.clear();
        // Writing to a string cannot fail.
        match self.mix {
            Mix::Points => self.point(out),
            Mix::ReadWrite => self.read_write(out),
        }
    }

    fn point(&mut self, out: &mut String) -> bool {
        let id = self.keys.next_key();
        let reads = self.writes == 0 || self.keys.percent() >= self.writes;
        let name = name(&self.table, self.tables, 1);
        let _ = if reads {
            write!(out, "SELECT c FROM {name} WHERE id={id}")
        } else {
            write!(out, "UPDATE {name} SET k=k+1 WHERE id={id}")
        };
        reads
    }

    fn read_write(&mut self, out: &mut String) -> bool {
        let at = self.at;
        self.at = (at + 1) % (POINTS + 8);
        if at == 0 {
            self.of = self.keys.one_of(self.tables);
        }
        let name = name(&self.table, self.tables, self.of);
        let id = self.keys.next_key();
        let end = id + RANGE_ROWS - 1;
        let _ = match at.saturating_sub(POINTS) {
            _ if at < POINTS => write!(out, "SELECT c FROM {name} WHERE id={id}"),
            0 => write!(out, "SELECT c FROM {name} WHERE id BETWEEN {id} AND {end}"),
            1 => write!(out, "SELECT SUM(k) FROM {name} WHERE id BETWEEN {id} AND {end}"),
            2 => write!(out, "SELECT c FROM {name} WHERE id BETWEEN {id} AND {end} ORDER BY c"),
            3 => write!(out, "SELECT DISTINCT c FROM {name} WHERE id BETWEEN {id} AND {end} ORDER BY c"),
            4 => write!(out, "UPDATE {name} SET k=k+1 WHERE id={id}"),
            5 => {
                let c = self.keys.one_of(u32::MAX);
                write!(out, "UPDATE {name} SET c='{c:0119}' WHERE id={id}")
            }
            6 => {
                self.moved = id;
                write!(out, "DELETE FROM {name} WHERE id={id}")
            }
            _ => {
                let (id, k, c) = (self.moved, self.keys.next_key(), self.keys.one_of(u32::MAX));
                write!(out, "INSERT INTO {name} (id, k, c, pad) VALUES ({id}, {k}, '{c:0119}', '{k:059}')")
            }
        };
        at < POINTS + 4
    }
}

/// The name of one of the tables: with a number behind if there are several.
pub fn name(table: &str, tables: u32, number: u32) -> String {
    if tables == 1 { table.to_owned() } else { format!("{table}{number}") }
}
