//! How one table is measured.

use std::time::Duration;

use crate::crew::Crew;
use crate::load::Load;
use crate::round;
use crate::target::Failure;

use super::column::{Column, Role};
use super::measured::{Measured, Row};
use super::options::{CLIENTS, Options};
use super::plan::{Across, Table, Warm};
use super::progress::progress;
use super::sample::Sample;
use super::{cache, ideal, stock};

/// The sizes of table 5, as shares of the bytes of all results.
const SIZES: [(&str, f64); 7] =
    [("1/40", 0.025), ("1/20", 0.05), ("1/10", 0.1), ("1/5", 0.2), ("2/5", 0.4), ("4/5", 0.8), ("8/5", 1.6)];
/// The numbers of statements that a client sends at once.
const DEPTHS: [u32; 3] = [1, 16, 64];
/// The rate that the clients ask for, as a share of the server's own throughput.
const RATE_SHARE: f64 = 0.5;
/// A pause after writes: a server goes on writing after its answers.
const PAUSE_AFTER_WRITES: Duration = Duration::from_millis(300);
/// The distance between the seeds of two rows of a table.
const SEED_STEP: u64 = 1 << 20;
const MIB: f64 = 1_048_576.0;

/// One table while it is measured.
pub struct Measuring<'a> {
    /// The options.
    pub options: &'a Options,
    /// The columns, measured side by side.
    pub columns: &'a [Column],
    /// The table.
    pub table: &'static Table,
}

impl Measuring<'_> {
    /// Measures the table.
    pub async fn run(&self) -> Result<Measured, Failure> {
        match self.table.across {
            Across::Clients => self.across_clients().await,
            Across::Sizes => self.across_sizes().await,
            Across::Depths => self.across_depths().await,
        }
    }

    async fn across_clients(&self) -> Result<Measured, Failure> {
        self.warm(self.table.cache_bytes).await?;
        let rows = self
            .rows(self.options.clients().into_iter().map(|clients| (clients, self.load(clients))))
            .await?;
        let at_rate = if self.table.rate { self.at_rate(&rows).await? } else { None };
        Ok(Measured { table: self.table, rows, at_rate })
    }

    async fn across_sizes(&self) -> Result<Measured, Failure> {
        let load = self.load(CLIENTS);
        let all = self.all_results_bytes(&load).await?;
        let mut rows = Vec::new();
        // A quick run takes every other size.
        for (name, share) in SIZES.into_iter().step_by(1 + usize::from(self.options.quick)) {
            let bytes = (all as f64 * share) as u64 / 1024 * 1024;
            self.warm(bytes).await?;
            let mut row = self.row(name.to_owned(), &load).await?;
            row.notes.push(("MiB", format!("{:.1}", bytes as f64 / MIB)));
            row.notes
                .push(("at best", format!("{:.0} %", 100.0 * ideal::hits(&load.draw, load.keys, share))));
            rows.push(row);
        }
        Ok(Measured { table: self.table, rows, at_rate: None })
    }

    async fn across_depths(&self) -> Result<Measured, Failure> {
        self.warm(self.table.cache_bytes).await?;
        let rows = self.rows(DEPTHS.map(|depth| (depth, Load { pipeline: depth, ..self.load(1) }))).await?;
        Ok(Measured { table: self.table, rows, at_rate: None })
    }

    /// Measures a row for each load, under its number.
    async fn rows(&self, loads: impl IntoIterator<Item = (u32, Load)>) -> Result<Vec<Row>, Failure> {
        let mut rows = Vec::new();
        for (number, load) in loads {
            rows.push(self.row(number.to_string(), &load).await?);
        }
        Ok(rows)
    }

    fn load(&self, clients: u32) -> Load {
        let mut load = self.table.load(clients);
        load.prepared |= self.options.prepared;
        if self.table.across == Across::Sizes {
            load.draw.hot_keys = self.options.hot;
        }
        load
    }

    /// Returns the bytes that the results of all rows take, estimated from those of one table.
    async fn all_results_bytes(&self, load: &Load) -> Result<u64, Failure> {
        let is_measured = |column: &&Column| column.role == Role::Freshet;
        let column = self.columns.iter().find(is_measured).ok_or("table 5 needs a column GROUP:freshet")?;
        let account = &self.options.account;
        cache::resize(account, column, self.table.cache_bytes).await?;
        let empty = cache::used_bytes(account, column).await?;
        let one = Load { table: format!("{}1", load.table), tables: 1, ..load.clone() };
        cache::fill(account, column, &one).await?;
        let used = cache::used_bytes(account, column).await?.saturating_sub(empty);
        Ok(used * u64::from(load.tables))
    }

    /// Gives the caches their size, and fills them.
    async fn warm(&self, bytes: u64) -> Result<(), Failure> {
        let account = &self.options.account;
        let load = self.load(CLIENTS);
        for column in self.columns.iter().filter(|column| column.has_data()) {
            if column.has_cache() {
                cache::resize(account, column, bytes).await?;
            }
            if self.table.warm == Warm::Everything {
                cache::fill(account, column, &load).await?;
            }
            let mut crew = Crew::open(account, &column.target, &load, SEED_STEP).await?;
            let length = if column.has_cache() { self.options.warm() } else { self.options.settle() };
            crew.round(length).await?;
        }
        Ok(())
    }

    /// Measures all rounds of all columns, in turns.
    async fn row(&self, at: String, load: &Load) -> Result<Row, Failure> {
        let mut row = Row { at, ..Row::default() };
        let mut crews = self.crews(load).await?;
        for number in 0..self.options.rounds as usize {
            // Each round begins with another column.
            for at in 0..self.columns.len() {
                let at = (at + number) % self.columns.len();
                if let Some(sample) = self.sample(at, load, crews.get_mut(at)).await? {
                    row.add(at, sample);
                }
                if load.mix.writes() {
                    tokio::time::sleep(PAUSE_AFTER_WRITES).await;
                }
            }
        }
        progress(&format!("  {}: {}", row.at, self.said(&row)))?;
        Ok(row)
    }

    /// Returns the connected clients of all columns; none if sysbench brings its own.
    async fn crews(&self, load: &Load) -> Result<Vec<Crew>, Failure> {
        let mut crews = Vec::new();
        for column in self.columns.iter().filter(|_| self.table.sysbench.is_none()) {
            let mut crew = Crew::open(&self.options.account, &column.target, load, self.seed(load)).await?;
            crew.round(self.options.settle()).await?;
            crews.push(crew);
        }
        Ok(crews)
    }

    /// Measures one round of one column.
    async fn sample(
        &self,
        at: usize,
        load: &Load,
        crew: Option<&mut Crew>,
    ) -> Result<Option<Sample>, Failure> {
        let Some(column) = self.columns.get(at) else { return Ok(None) };
        let (account, target, length) = (&self.options.account, &column.target, self.options.round());
        match (self.table.sysbench, crew) {
            // The floor has no cache, and knows no more than what our own clients ask.
            _ if column.role == Role::Floor && self.table.across == Across::Sizes => Ok(None),
            (Some(_), _) if column.role == Role::Floor => Ok(None),
            (Some(test), _) => Ok(Some(stock::round(account, target, test, load.clients, length).await?)),
            (None, Some(crew)) => Ok(Some(Sample::new(&round::run(account, target, crew, length).await?))),
            (None, None) => Ok(None),
        }
    }

    /// Returns the seed of a row: a different one for each row, the same one for all columns.
    fn seed(&self, load: &Load) -> u64 {
        SEED_STEP * (2 + u64::from(load.clients) + u64::from(load.rate.unwrap_or_default()))
    }

    fn said(&self, row: &Row) -> String {
        let of = |(at, column): (usize, &Column)| {
            format!("{} {:.0}/s", column.target.name, row.spread(at, |sample| sample.per_second).median)
        };
        self.columns.iter().enumerate().map(of).collect::<Vec<_>>().join(", ")
    }

    /// Measures the latencies while the clients ask for half of the throughput of the slowest direct column.
    async fn at_rate(&self, rows: &[Row]) -> Result<Option<Row>, Failure> {
        let wanted = CLIENTS.to_string();
        let Some(row) = rows.iter().find(|row| row.at == wanted).or(rows.last()) else { return Ok(None) };
        let directs = (0..self.columns.len()).filter(|at| self.columns[*at].role == Role::Direct);
        let rates = directs.map(|at| row.spread(at, |sample| sample.per_second).median);
        let load = self.load(row.at.parse().unwrap_or(CLIENTS));
        let of_cycle = (load.mix.cycle().len() + 2 * usize::from(load.transactions)) as f64;
        let rate = rates.fold(f64::INFINITY, f64::min) * RATE_SHARE / of_cycle;
        let load = Load { rate: Some((rate as u32).max(1)), ..load };
        let at =
            format!("{:.0} statements a second of {} clients", f64::from(rate as u32) * of_cycle, row.at);
        Ok(Some(self.row(at, &load).await?))
    }
}
