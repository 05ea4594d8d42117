//! How one row of a table is measured: rounds of its columns, in turns.

use std::time::Duration;

use crate::crew::Crew;
use crate::load::Load;
use crate::round;
use crate::target::{Account, Failure};

use super::column::{Column, Role};
use super::measured::Row;
use super::options::Options;
use super::plan::{Across, By, Table};
use super::progress::progress;
use super::sample::Sample;
use super::stock;

/// A pause after writes: a server goes on writing after its answers.
const PAUSE_AFTER_WRITES: Duration = Duration::from_millis(300);
/// The distance between the seeds of two rows of a table.
pub const SEED_STEP: u64 = 1 << 20;

/// One row while it is measured.
pub struct Turns<'a> {
    /// The options.
    pub options: &'a Options,
    /// The table.
    pub table: &'static Table,
    /// The columns that are measured, with their places among all columns.
    pub columns: Vec<(usize, &'a Column)>,
    /// Who logs in.
    pub account: Account,
    /// What the clients do.
    pub load: Load,
}

/// One column while it is measured.
struct Part<'a> {
    at: usize,
    column: &'a Column,
    /// The connected clients; `None` if the clients come and go, or if sysbench brings its own.
    crew: Option<Crew>,
}

/// Whether a column can be measured in a table. The floor has no cache, and knows no more than what our own clients ask.
pub fn takes_part(column: &Column, table: &Table) -> bool {
    let is_for_floor = table.across != Across::Sizes && !matches!(table.by, By::Sysbench(_));
    column.role != Role::Floor || is_for_floor
}

impl Turns<'_> {
    /// Measures all rounds of all columns.
    pub async fn row(&self, at: String) -> Result<Row, Failure> {
        let mut row = Row { at, ..Row::default() };
        let mut parts = self.parts().await?;
        for _ in 0..self.options.rounds {
            for part in &mut parts {
                row.add(part.at, self.sample(part).await?);
                if self.load.mix.writes() {
                    tokio::time::sleep(PAUSE_AFTER_WRITES).await;
                }
            }
            // Each round begins with another column.
            let next = parts.len().min(1);
            parts.rotate_left(next);
        }
        progress(&format!("  {}: {}", row.at, self.said(&row)))?;
        Ok(row)
    }

    /// Returns all columns with their clients, which have already asked for a while.
    async fn parts(&self) -> Result<Vec<Part<'_>>, Failure> {
        let (account, load, settle) = (&self.account, &self.load, self.options.settle());
        let mut parts = Vec::new();
        for &(at, column) in &self.columns {
            let mut crew = None;
            match self.table.by {
                By::Crew => {
                    let opened = Crew::open(account, &column.target, load, self.seed()).await?;
                    crew.insert(opened).round(settle).await?;
                }
                By::Visitors => {
                    round::come_and_go(account, &column.target, load, settle).await?;
                }
                By::Sysbench(_) => {}
            }
            parts.push(Part { at, column, crew });
        }
        Ok(parts)
    }

    /// Measures one round of one column.
    async fn sample(&self, part: &mut Part<'_>) -> Result<Sample, Failure> {
        let (account, target, length) = (&self.account, &part.column.target, self.options.round());
        let outcome = match (self.table.by, &mut part.crew) {
            (By::Sysbench(test), _) => {
                return stock::round(account, target, test, self.load.clients, length).await;
            }
            (_, Some(crew)) => round::run(account, target, crew, length).await?,
            (_, None) => round::come_and_go(account, target, &self.load, length).await?,
        };
        Ok(Sample::new(&outcome))
    }

    /// Returns the seed of the row: a different one for each row, the same one for all columns.
    fn seed(&self) -> u64 {
        SEED_STEP * (2 + u64::from(self.load.clients) + u64::from(self.load.rate.unwrap_or_default()))
    }

    fn said(&self, row: &Row) -> String {
        let of = |&(at, column): &(usize, &Column)| {
            format!("{} {:.0}/s", column.target.name, row.spread(at, |sample| sample.per_second).median)
        };
        self.columns.iter().map(of).collect::<Vec<_>>().join(", ")
    }
}
