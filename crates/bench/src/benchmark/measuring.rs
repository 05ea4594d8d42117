//! How one table is measured.

use std::time::{Duration, Instant};

use tokio::time::timeout;

use crate::crew::Crew;
use crate::load::Load;
use crate::login;
use crate::target::{Account, Failure};

use super::column::{Column, Role};
use super::measured::{Measured, Row};
use super::options::{CLIENTS, Options};
use super::plan::{Across, Table, Warm};
use super::progress::progress;
use super::turns::{SEED_STEP, Turns, takes_part};
use super::{cache, ideal};

/// The sizes of table 5, as shares of the bytes of all results.
const SIZES: [(&str, f64); 7] =
    [("1/40", 0.025), ("1/20", 0.05), ("1/10", 0.1), ("1/5", 0.2), ("2/5", 0.4), ("4/5", 0.8), ("8/5", 1.6)];
/// The size at which the curve is asked. The curve has sizes from a sixteenth of its own to sixteen times as large: all of the others.
const CURVE_SHARE: f64 = 0.2;
/// The lookups before the curve is asked: the curve is empty after few, and the first ones find an empty cache. Clients that are slow
/// ask for no longer than this.
const CURVE_LOOKUPS: u64 = 200_000;
const CURVE_MAX: Duration = Duration::from_secs(30);
/// The numbers of statements that a client sends at once.
const DEPTHS: [u32; 3] = [1, 16, 64];
/// The rate that the clients ask for, as a share of the server's own throughput.
const RATE_SHARE: f64 = 0.5;
/// Clients that come and go. So many saturate two cores.
const VISITORS: u32 = 16;
/// The time after which a column that does not answer a client with TLS has none.
const TLS_MAX: Duration = Duration::from_secs(5);
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
            Across::Channels => self.across_channels().await,
        }
    }

    async fn across_clients(&self) -> Result<Measured, Failure> {
        self.warm(self.table.cache_bytes).await?;
        let rows = self
            .rows(self.table.clients(self.options).into_iter().map(|clients| (clients, self.load(clients))))
            .await?;
        let at_rate = if self.table.rate { self.at_rate(&rows).await? } else { None };
        let without_cache = if self.table.without_cache { self.without_cache(&rows).await? } else { None };
        Ok(Measured { without_cache, at_rate, ..Measured::new(self.table, rows) })
    }

    async fn across_sizes(&self) -> Result<Measured, Failure> {
        let load = self.load(CLIENTS);
        let all = self.all_results_bytes(&load).await?;
        let curves = self.curves(&load, bytes_of(all, CURVE_SHARE)).await?;
        let mut rows = Vec::new();
        // A quick run takes every other size.
        for (name, share) in SIZES.into_iter().step_by(1 + usize::from(self.options.quick)) {
            let bytes = bytes_of(all, share);
            self.warm(bytes).await?;
            let mut row = self.row(name.to_owned(), load.clone()).await?;
            row.notes.push(("MiB", format!("{:.1}", bytes as f64 / MIB)));
            let best = 100.0 * ideal::hits(&load.draw, load.keys, share);
            row.notes.push(("at best", format!("{best:.0} %")));
            row.best = Some(best);
            let foretold = |(at, curve): &(usize, Vec<_>)| Some((*at, cache::foretold(curve, bytes as f64)?));
            row.foretold = curves.iter().filter_map(foretold).collect();
            rows.push(row);
        }
        Ok(Measured::new(self.table, rows))
    }

    /// Returns what each Freshet says of other sizes once its clients have asked enough with this one, with the columns' places.
    async fn curves(&self, load: &Load, bytes: u64) -> Result<Vec<(usize, Vec<(f64, f64)>)>, Failure> {
        let account = &self.options.account;
        let mut curves = Vec::new();
        for (at, column) in self.columns.iter().enumerate().filter(|(_, column)| column.role == Role::Freshet)
        {
            cache::resize(account, column, bytes).await?;
            let mut crew = Crew::open(account, &column.target, load, SEED_STEP).await?;
            let (until, mut asked) = (Instant::now() + CURVE_MAX, 0);
            while asked < CURVE_LOOKUPS && Instant::now() < until {
                asked += crew.round(self.options.round()).await?.statements;
            }
            curves.push((at, cache::curve(account, column).await?));
        }
        Ok(curves)
    }

    async fn across_depths(&self) -> Result<Measured, Failure> {
        self.warm(self.table.cache_bytes).await?;
        let rows = self.rows(DEPTHS.map(|depth| (depth, Load { pipeline: depth, ..self.load(1) }))).await?;
        Ok(Measured::new(self.table, rows))
    }

    async fn across_channels(&self) -> Result<Measured, Failure> {
        self.warm(self.table.cache_bytes).await?;
        let with_tls = Account { tls: true, ..self.options.account.clone() };
        let mut have_tls = Vec::new();
        for (at, column) in self.columns.iter().enumerate().filter(|(_, column)| column.has_data()) {
            // From then on the account's password is known to what is before a server too.
            match timeout(TLS_MAX, login::open(&with_tls, &column.target, "")).await {
                Ok(Ok(_)) => have_tls.push(at),
                _ => progress(&format!("  {} has no TLS", column.target.name))?,
            }
        }
        let mut rows = Vec::new();
        let clients = &self.options.clients;
        for &clients in if clients.is_empty() { &[VISITORS] } else { clients.as_slice() } {
            let in_clear = self.turns(self.load(clients));
            rows.push(in_clear.row(format!("{clients} in clear")).await?);
            let mut turns = Turns { account: with_tls.clone(), ..in_clear };
            turns.columns.retain(|(at, _)| have_tls.contains(at));
            rows.push(turns.row(format!("{clients} with TLS")).await?);
        }
        Ok(Measured::new(self.table, rows))
    }

    /// Measures a row for each load, under its number.
    async fn rows(&self, loads: impl IntoIterator<Item = (u32, Load)>) -> Result<Vec<Row>, Failure> {
        let mut rows = Vec::new();
        for (number, load) in loads {
            rows.push(self.row(number.to_string(), load).await?);
        }
        Ok(rows)
    }

    fn load(&self, clients: u32) -> Load {
        let mut load = self.table.load(clients);
        load.prepared |= self.options.prepared;
        load.draw = self.options.draw(load.draw);
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

    /// Measures Freshet with its cache off, beside the server itself.
    async fn without_cache(&self, rows: &[Row]) -> Result<Option<Row>, Failure> {
        let Some(clients) = usual(rows) else { return Ok(None) };
        let mut turns = self.turns(self.load(clients));
        turns.columns.retain(|(_, column)| matches!(column.role, Role::Direct | Role::Freshet));
        let mut types = Vec::new();
        for (_, column) in turns.columns.iter().filter(|(_, column)| column.has_cache()) {
            let before = cache::kind(&self.options.account, column).await?;
            cache::set_kind(&self.options.account, column, "OFF").await?;
            types.push((*column, before));
        }
        // The tables behind this one need their caches, whatever comes of the row.
        let row = turns.row(format!("{clients}, cache off")).await;
        for (column, before) in types {
            cache::set_kind(&self.options.account, column, &before).await?;
        }
        row.map(Some)
    }

    /// Measures a row of all columns that take part in the table.
    async fn row(&self, at: String, load: Load) -> Result<Row, Failure> {
        self.turns(load).row(at).await
    }

    fn turns(&self, load: Load) -> Turns<'_> {
        let (options, table) = (self.options, self.table);
        let columns = self.columns.iter().enumerate();
        let columns = columns.filter(|(_, column)| takes_part(column, table)).collect();
        Turns { options, table, columns, account: options.account.clone(), load }
    }

    /// Measures the latencies while the clients ask for half of the throughput of the slowest direct column.
    async fn at_rate(&self, rows: &[Row]) -> Result<Option<Row>, Failure> {
        let Some(clients) = usual(rows) else { return Ok(None) };
        let wanted = clients.to_string();
        let Some(row) = rows.iter().find(|row| row.at == wanted) else { return Ok(None) };
        let directs = (0..self.columns.len()).filter(|at| self.columns[*at].role == Role::Direct);
        let rates = directs.map(|at| row.spread(at, |sample| sample.per_second).median);
        let load = self.load(clients);
        let of_cycle = (load.mix.cycle().len() + 2 * usize::from(load.transactions)) as f64;
        let rate = rates.fold(f64::INFINITY, f64::min) * RATE_SHARE / of_cycle;
        let load = Load { rate: Some((rate as u32).max(1)), ..load };
        let at =
            format!("{:.0} statements a second of {} clients", f64::from(rate as u32) * of_cycle, row.at);
        Ok(Some(self.row(at, load).await?))
    }
}

/// Returns a share of the bytes of all results, in whole kibibytes as the caches have them.
fn bytes_of(all: u64, share: f64) -> u64 {
    (all as f64 * share) as u64 / 1024 * 1024
}

/// Returns the number of clients of what is measured with one number only: the usual one if there is a row of it, or else the last one.
fn usual(rows: &[Row]) -> Option<u32> {
    let mut clients = rows.iter().filter_map(|row| row.at.parse().ok());
    clients.clone().find(|clients| *clients == CLIENTS).or_else(|| clients.next_back())
}
