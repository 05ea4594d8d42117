//! The numbers of one round, and their spread over many rounds.

use crate::round::Outcome;

const MIB: f64 = 1_048_576.0;
/// A machine is saturated if at least this percentage of it is busy.
const SATURATED: f64 = 90.0;
/// The most that the load generator may take of a core. Above it the load generator may be the bottleneck.
const OWN_CORES_MAX: f64 = 0.5;

/// The numbers of one round of one column. A number that is not known is NaN.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sample {
    /// Statements a second.
    pub per_second: f64,
    /// Latencies in microseconds.
    pub p50_us: f64,
    /// The latency that 99 of 100 statements did not exceed, in microseconds.
    pub p99_us: f64,
    /// The latency that 999 of 1,000 statements did not exceed, in microseconds.
    pub p999_us: f64,
    /// Latencies of the statements that write, or commit what was written, in microseconds; 0 if there were none.
    pub write_p50_us: f64,
    /// The latency that 99 of 100 of these did not exceed, in microseconds.
    pub write_p99_us: f64,
    /// Processor time of the server for each statement, in microseconds.
    pub server_us: f64,
    /// Processor time of the process before the server for each statement, in microseconds.
    pub proxy_us: f64,
    /// The part of this time in the process's own code, in microseconds.
    pub proxy_user_us: f64,
    /// Processor time of the clients for each statement, in microseconds.
    pub client_us: f64,
    /// Cores that the clients kept busy.
    pub client_cores: f64,
    /// Percent of all cores that were busy.
    pub busy: f64,
    /// Percent of all cores that other programs kept busy.
    pub others: f64,
    /// Percent of the reads that were answered from memory.
    pub hits: f64,
    /// Percent of the statements that were refused, as writers may be.
    pub refused: f64,
    /// Connections that the server had amidst the round, with the one that asks for their number.
    pub connections: f64,
    /// Memory of the server in MiB.
    pub server_mib: f64,
    /// Memory of the process before the server, in MiB.
    pub proxy_mib: f64,
}

impl Sample {
    /// Returns the numbers of a round.
    pub fn new(outcome: &Outcome) -> Sample {
        let (tally, used) = (&outcome.tally, outcome.used);
        let count = (tally.statements as f64).max(1.0);
        let elapsed_us = (outcome.elapsed.as_micros() as f64).max(1.0);
        let known = used.server + used.proxy.all() + used.own + used.machine.interrupts;
        Sample {
            per_second: tally.statements as f64 / (elapsed_us / 1e6),
            p50_us: tally.latency.quantile_us(0.5),
            p99_us: tally.latency.quantile_us(0.99),
            p999_us: tally.latency.quantile_us(0.999),
            write_p50_us: tally.writes.quantile_us(0.5),
            write_p99_us: tally.writes.quantile_us(0.99),
            server_us: used.server as f64 / count,
            proxy_us: used.proxy.all() as f64 / count,
            proxy_user_us: used.proxy.user as f64 / count,
            client_us: used.own as f64 / count,
            client_cores: used.own as f64 / elapsed_us,
            busy: percent(used.machine.busy, used.machine.all),
            others: percent(used.machine.busy.saturating_sub(known), used.machine.all),
            hits: percent(outcome.counters.hits, tally.reads),
            refused: percent(tally.refused, tally.statements),
            connections: outcome.connections.map_or(f64::NAN, |count| count as f64),
            server_mib: outcome.memory.server as f64 / MIB,
            proxy_mib: outcome.memory.proxy as f64 / MIB,
        }
    }

    /// Whether the clients may have been the bottleneck: they took much of a core while no core was idle.
    pub fn is_by_client(&self) -> bool {
        self.client_cores > OWN_CORES_MAX && self.busy >= SATURATED
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

/// The values of one number in many rounds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spread {
    /// The middle value, or the mean of the two in the middle.
    pub median: f64,
    /// The least value.
    pub least: f64,
    /// The greatest value.
    pub most: f64,
}

impl Spread {
    /// Returns the spread of some numbers; zeros if there are none.
    pub fn of(numbers: impl IntoIterator<Item = f64>) -> Spread {
        let mut numbers: Vec<f64> = numbers.into_iter().collect();
        numbers.sort_by(f64::total_cmp);
        let (Some(&least), Some(&most)) = (numbers.first(), numbers.last()) else { return Spread::default() };
        let middle = |at: usize| numbers.get(at).copied().unwrap_or_default();
        let half = numbers.len() / 2;
        let median =
            if numbers.len() % 2 == 1 { middle(half) } else { (middle(half - 1) + middle(half)) / 2.0 };
        Spread { median, least, most }
    }
}

#[cfg(test)]
mod tests;
