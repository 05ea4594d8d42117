//! Prepares the caches before a table is measured: their sizes and their contents.

use std::rc::Rc;

use crate::asker::Asker;
use crate::counters::{rows, second, status};
use crate::load::Load;
use crate::login;
use crate::reply::read_answer;
use crate::statement::{Form, Statement, Value};
use crate::table::say;
use crate::target::{Account, Failure};
use crate::texts::Texts;
use crate::wire::Wire;

use super::column::Column;

/// The number of statements that are sent at once.
const DEPTH: usize = 50;
/// The number of rows that a range has beyond its first.
const RANGE_MORE: u32 = 99;

/// Empties a cache and gives it a size.
pub async fn resize(account: &Account, column: &Column, bytes: u64) -> Result<(), Failure> {
    let mut wire = login::open(account, &column.target, "").await?;
    for bytes in [0, bytes] {
        say(&mut wire, &format!("SET GLOBAL query_cache_size = {bytes}")).await?;
    }
    Ok(())
}

/// Returns the sizes in `freshet.curve`, in bytes and in their order, each with its percentage of hits.
pub async fn curve(account: &Account, column: &Column) -> Result<Vec<(f64, f64)>, Failure> {
    let mut wire = login::open(account, &column.target, "").await?;
    let found = rows(&mut wire, "SELECT size, hit_percent FROM freshet.curve ORDER BY size").await?;
    let point = |row: Vec<Option<String>>| {
        let mut numbers = row.into_iter().map(|value| value?.parse().ok());
        Some((numbers.next()??, numbers.next()??))
    };
    Ok(found.into_iter().filter_map(point).collect())
}

/// Returns what a curve says of a size: between two of its sizes what the line between them says, over sizes that double.
pub fn foretold(curve: &[(f64, f64)], size: f64) -> Option<f64> {
    let exact = curve.iter().find(|(of, _)| *of == size).map(|(_, hits)| *hits);
    let between = |pair: &[(f64, f64)]| match pair {
        &[(less, low), (more, high)] if less < size && size < more => {
            Some(low + (high - low) * (size / less).log2() / (more / less).log2())
        }
        _ => None,
    };
    exact.or_else(|| curve.windows(2).find_map(between))
}

/// Returns the value of the column's `query_cache_type`.
pub async fn kind(account: &Account, column: &Column) -> Result<String, Failure> {
    let mut wire = login::open(account, &column.target, "").await?;
    let found = rows(&mut wire, "SHOW GLOBAL VARIABLES LIKE 'query_cache_type'").await?;
    let value = found.into_iter().flatten().nth(1).flatten();
    Ok(value.ok_or_else(|| format!("{} has no query_cache_type", column.target.name))?)
}

/// Sets the column's `query_cache_type`, for clients that connect from now on.
pub async fn set_kind(account: &Account, column: &Column, value: &str) -> Result<(), Failure> {
    let mut wire = login::open(account, &column.target, "").await?;
    say(&mut wire, &format!("SET GLOBAL query_cache_type = {value}")).await
}

/// Asks once for each row, with each form of the load that has one row, or by ranges if the load has no such form.
pub async fn fill(account: &Account, column: &Column, load: &Load) -> Result<(), Failure> {
    let mut wire = login::open(account, &column.target, &account.database).await?;
    let texts = Rc::new(Texts::new(load));
    let mut asker = Asker::new(load, &texts, &mut wire).await?;
    let cycle = load.mix.cycle();
    let form = if cycle.contains(&Form::Point) { Form::Point } else { Form::Range };
    let ids: Vec<u32> = (1..=load.keys).collect();
    for table in 1..=load.tables {
        for some in ids.chunks(DEPTH) {
            ask(&mut wire, &mut asker, form, table, some).await?;
        }
    }
    Ok(())
}

async fn ask(wire: &mut Wire, asker: &mut Asker, form: Form, table: u32, ids: &[u32]) -> Result<(), Failure> {
    let mut packet = Vec::new();
    for &id in ids {
        let end = if form == Form::Range { Value::Int(id + RANGE_MORE) } else { Value::None };
        let values = [Value::Int(id), end, Value::None, Value::None];
        asker.put(&mut packet, &Statement::Of { form, table, values });
    }
    wire.send_raw(&packet).await?;
    for _ in ids {
        read_answer(wire).await?;
    }
    Ok(())
}

/// Returns the bytes that the column's results take.
pub async fn used_bytes(account: &Account, column: &Column) -> Result<u64, Failure> {
    let mut wire = login::open(account, &column.target, "").await?;
    let size = second(&mut wire, "SHOW GLOBAL VARIABLES LIKE 'query_cache_size'").await?.unwrap_or_default();
    let free = status(&mut wire, "Qcache_free_memory").await?.unwrap_or_default();
    Ok(size.saturating_sub(free))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_says_nothing_beyond_its_ends() {
        let curve = [(1024.0, 10.0), (2048.0, 30.0), (8192.0, 50.0)];
        for (size, expected) in
            [(1024.0, Some(10.0)), (8192.0, Some(50.0)), (4096.0, Some(40.0)), (1023.0, None), (8193.0, None)]
        {
            assert_eq!(foretold(&curve, size), expected, "{size}");
        }
        assert_eq!(foretold(&[], 1.0), None);
    }
}
