//! Measures what it costs to tell which rows a statement reads or writes, in nanoseconds: `cargo run --profile quick -p freshet-sql
//! --example reading_cost`.
#![allow(clippy::print_stdout, missing_docs)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use freshet_sql::{Flavor, Modes, TableDefinition, TableName, row_reads, row_reads_of, row_write};

const MODES: Modes = Modes::new(Flavor::MySql);

/// Returns the least time of one run over short batches: other programs disturb only some of them.
fn least_time(run: &dyn Fn() -> bool) -> u128 {
    const BATCHES: u32 = 500;
    const ROUNDS: u32 = 100;
    let batch = || {
        let start = Instant::now();
        assert!((0..ROUNDS).all(|_| black_box(run())), "it is understood");
        start.elapsed().as_nanos() / u128::from(ROUNDS)
    };
    (0..BATCHES).map(|_| batch()).min().unwrap_or_default()
}

fn main() {
    let tables = [TableName::bare("sbtest1")];
    let columns: Arc<[String]> = ["id", "k", "c", "pad"].map(str::to_owned).into();
    let known = |_: &TableName| Some(TableDefinition::Table { columns: columns.clone(), shows_all: true });
    for text in [
        "SELECT c FROM sbtest1 WHERE id=4711",
        "SELECT c FROM sbtest1 WHERE id=?",
        "SELECT c FROM sbtest1 WHERE id BETWEEN 100 AND 199 ORDER BY c",
    ] {
        let alone = least_time(&|| row_reads_of(text.as_bytes(), MODES, &tables, &known).is_some());
        let analysed = least_time(&|| row_reads(text.as_bytes(), MODES, &known).is_some());
        println!("{text}: {alone} ns, with the analysis {analysed} ns");
    }
    let text = "UPDATE sbtest1 SET k=k+1 WHERE id=4711";
    println!("{text}: {} ns", least_time(&|| row_write(text.as_bytes(), MODES).is_some()));
}
