//! The report: the tables of the articles that Freshet is compared with, measured side by side in one run.
//!
//! For each table and each number of clients, all columns are connected, and short rounds against them alternate. So any other work on
//! the machine affects all columns alike, and the ratio of a column to the server itself is taken within a round. The report is written
//! anew after each table. If one table fails, the others are still measured.

// What is measured: the options, the tables, and the columns.
mod options;
mod plan;
mod column;

// How a table is measured.
mod cache;
mod ideal;
mod turns;
mod stock;
mod measuring;
mod progress;

// The numbers that were measured.
mod sample;
mod measured;
mod results;

// The report: its text and its plots.
mod numbers;
mod svg;
mod chart;
mod document;

use std::fs;
use std::time::Instant;

use crate::login;
use crate::table;
use crate::target::Failure;
use column::{Column, columns};
use measuring::Measuring;
pub use options::Options;
use plan::{DATABASE, ROWS, TABLE, TABLES, tables};
use progress::progress;
use results::Results;

/// Measures all wanted tables, and writes the report.
///
/// # Errors
/// If a column does not answer, a table cannot be measured, or the report cannot be written.
pub async fn run(options: &Options) -> Result<(), Failure> {
    let began = Instant::now();
    let columns = columns(options).await?;
    let wanted = tables(&options.only, options.sysbench)?;
    prepare(options, &columns).await?;
    fs::create_dir_all(&options.out)?;
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    for table in wanted {
        progress(&format!("{}: {}", table.id, table.title))?;
        match (Measuring { options, columns: &columns, table }).run().await {
            Ok(measured) => done.push(measured),
            Err(error) => {
                let error = format!("Table {} failed: {error}", table.id);
                progress(&error)?;
                failed.push(error);
            }
        }
        let took = began.elapsed();
        document::write(&Results { options, columns: &columns, tables: &done, failed: &failed, took })?;
    }
    if failed.is_empty() { Ok(()) } else { Err("not all tables could be measured".into()) }
}

/// Makes the data behind each column that has a server.
async fn prepare(options: &Options, columns: &[Column]) -> Result<(), Failure> {
    for column in columns.iter().filter(|column| column.has_data()) {
        progress(&format!("data behind {}", column.target.name))?;
        let mut wire = login::open(&options.account, &column.target, "").await?;
        table::say(&mut wire, &format!("CREATE DATABASE IF NOT EXISTS {DATABASE}")).await?;
        for number in 1..=TABLES {
            table::make(&mut wire, &format!("{DATABASE}.{TABLE}{number}"), ROWS).await?;
        }
    }
    Ok(())
}
