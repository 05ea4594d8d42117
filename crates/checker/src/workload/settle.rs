//! Finds out the outcome of a transaction whose answer was lost. The server is asked once the session that ran the transaction is
//! certainly gone.
//!
//! No other client touches the rows meanwhile, and every write leaves a version of its own, so the rows show the outcome. Only three
//! states are compared: the state before, the state after, and the state on the server.

use mysql::Conn;
use mysql::prelude::Queryable;

use crate::Failure;
use crate::model::{Change, Db, ROWS, TABLES, Table};
use crate::sql::view;

/// The state on the server, as far as it distinguishes writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The versions of the rows, by table and id.
    pub versions: [[Option<i64>; ROWS]; TABLES],
    /// Table `r` has another name.
    pub is_away: bool,
    /// The view is the one that was to be made.
    pub is_view: bool,
}

/// The outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// All changes are there.
    Done,
    /// No change is there.
    Undone,
    /// Only these changes are there.
    Torn(Vec<Change>),
    /// The state is neither the one before nor the one after.
    Foreign(Change),
}

impl Seen {
    fn version(&self, table: Table, id: usize) -> Option<i64> {
        self.versions[table as usize].get(id.wrapping_sub(1)).copied().flatten()
    }
}

/// Compares the state on the server with the states before and after some changes.
#[must_use]
pub fn settle(before: &Db, changes: &[Change], seen: &Seen) -> Settled {
    let mut after = *before;
    changes.iter().for_each(|change| after.apply(change));
    let (mut done, mut undone) = (Vec::new(), 0);
    for change in changes {
        let [was, is_due, is] = match *change {
            Change::Put(table, id, _) | Change::Remove(table, id) => {
                let version = |db: &Db| db.row(table, id).map(|row| row.v);
                [version(before), version(&after), seen.version(table, id)]
            }
            Change::View(..) => {
                let of = |db: &Db| db.view_of == after.view_of && db.view_limit == after.view_limit;
                [of(before), true, seen.is_view].map(|is| is.then_some(1))
            }
            Change::Away(_) => [before.is_away, after.is_away, seen.is_away].map(|is| is.then_some(1)),
        };
        match is {
            _ if was == is_due && is == was => {}
            is if is == is_due => done.push(*change),
            is if is == was => undone += 1,
            _ => return Settled::Foreign(*change),
        }
    }
    match (done.is_empty(), undone) {
        // What changes nothing has not happened, for all that anyone can see.
        (true, _) => Settled::Undone,
        (false, 0) => Settled::Done,
        (false, _) => Settled::Torn(done),
    }
}

/// Reads the state from the server itself. The view is compared with the one that these changes would make.
///
/// # Errors
/// If the server is away, or gives an unexpected answer.
pub fn look(direct: &mut Conn, schema: &str, changes: &[Change]) -> Result<Seen, Failure> {
    let names: Vec<String> = direct
        .query(format!("SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema}'"))?;
    let is_away = names.iter().any(|name| name == "r_away");
    if is_away == names.iter().any(|name| name == "r") {
        return Err(format!("of r and r_away there should be one: {names:?}").into());
    }
    let mut versions = [[None; ROWS]; TABLES];
    for table in Table::ALL {
        let name = if is_away && table == Table::R { "r_away" } else { table.name() };
        let rows: Vec<(usize, i64)> = direct.query(format!("SELECT id, v FROM {schema}.{name}"))?;
        for (id, version) in rows {
            let slot = versions[table as usize].get_mut(id.wrapping_sub(1));
            *slot.ok_or_else(|| format!("{name} has a row {id}"))? = Some(version);
        }
    }
    let is_view = changes.iter().rev().find_map(|change| match change {
        Change::View(table, limit) => Some(is_view(direct, schema, *table, *limit)),
        _ => None,
    });
    Ok(Seen { versions, is_away, is_view: is_view.transpose()?.unwrap_or(false) })
}

/// Whether the view is this one: the server writes definitions in a way of its own, so that it has to write this one too.
fn is_view(direct: &mut Conn, schema: &str, table: Table, limit: i8) -> Result<bool, Failure> {
    direct.query_drop(format!("USE {schema}"))?;
    direct.query_drop(view("w_due", table, limit))?;
    let definitions: Vec<String> = direct.query(format!(
        "SELECT view_definition FROM information_schema.views WHERE table_schema = '{schema}' AND table_name IN ('w', 'w_due')"
    ))?;
    direct.query_drop("DROP VIEW w_due")?;
    match &definitions[..] {
        [one, other] => Ok(one == other),
        _ => Err(format!("there should be two views: {definitions:?}").into()),
    }
}

#[cfg(test)]
mod tests;
