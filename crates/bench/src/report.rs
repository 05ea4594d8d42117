//! Prints the results: one line for each round, and the medians at the end.

use std::io::{Write, stdout};

use crate::args::Args;
use crate::round::Outcome;
use crate::target::{Failure, Target};

const MIB: f64 = 1_048_576.0;

/// All rounds so far.
pub struct Report<'a> {
    args: &'a Args,
    lines: Vec<Line>,
}

/// One round's numbers.
#[derive(Debug, Clone)]
struct Line {
    target: String,
    per_second: f64,
    p50_us: f64,
    p99_us: f64,
    server_us: f64,
    proxy_us: f64,
    own_us: f64,
    /// Resident memory in MiB.
    server_mib: f64,
    proxy_mib: f64,
    /// Percent of the reads that were answered from memory, and that were refused under a fence; of the stale results that
    /// were asked for again, those that had not changed.
    from_memory: f64,
    fenced: f64,
    needless: f64,
}

impl Line {
    fn new(target: &Target, outcome: &Outcome) -> Line {
        let latency = &outcome.tally.latency;
        let count = (outcome.tally.statements as f64).max(1.0);
        Line {
            target: target.name.clone(),
            per_second: count / outcome.elapsed.as_secs_f64(),
            p50_us: latency.quantile_us(0.5),
            p99_us: latency.quantile_us(0.99),
            server_us: outcome.used.server as f64 / count,
            proxy_us: outcome.used.proxy.all() as f64 / count,
            own_us: outcome.used.own as f64 / count,
            server_mib: outcome.memory.server as f64 / MIB,
            proxy_mib: outcome.memory.proxy as f64 / MIB,
            from_memory: percent(outcome.counters.hits, outcome.tally.reads),
            fenced: percent(outcome.counters.fenced, outcome.tally.reads),
            needless: percent(outcome.counters.needless, outcome.counters.refilled),
        }
    }
}

impl<'a> Report<'a> {
    /// Returns an empty report.
    pub fn new(args: &'a Args) -> Report<'a> {
        Report { args, lines: Vec::new() }
    }

    /// Prints the measurement's settings, and the names of the columns.
    pub fn head(&self) -> Result<(), Failure> {
        let (args, load) = (self.args, &self.args.load);
        let mut out = stdout();
        writeln!(
            out,
            "{} clients, {} at once, {:?}{}{}, {} tables of {} keys {:?}, {} % writes, {} rounds of {} s",
            load.clients,
            load.pipeline,
            load.mix,
            if load.prepared { ", prepared" } else { "" },
            if load.transactions { ", in transactions" } else { "" },
            load.tables,
            load.keys,
            load.draw.distribution,
            load.writes,
            args.rounds,
            args.seconds
        )?;
        let titles = [
            "q/s",
            "ratio",
            "p50 us",
            "p99 us",
            "server us/q",
            "proxy us/q",
            "client us/q",
            "server MiB",
            "proxy MiB",
            "hits %",
            "fenced %",
            "needless %",
        ];
        write!(out, "{:>6} {:<12}", "round", "target")?;
        for title in titles {
            write!(out, " {title:>12}")?;
        }
        Ok(writeln!(out)?)
    }

    /// Prints a round, with its ratio to the first target in the same round.
    pub fn add(&mut self, round: u32, target: &Target, outcome: &Outcome) -> Result<(), Failure> {
        let line = Line::new(target, outcome);
        self.lines.push(line.clone());
        let before = (self.lines.len() - 1) / self.args.targets.len() * self.args.targets.len();
        let first = self.lines.get(before).map_or(line.per_second, |first| first.per_second);
        print(&round.to_string(), &line, line.per_second / first)
    }

    /// Prints the medians over the rounds.
    pub fn summary(&self) -> Result<(), Failure> {
        let mut first = None;
        for target in &self.args.targets {
            let of = |number: fn(&Line) -> f64| {
                median(self.lines.iter().filter(|line| line.target == target.name).map(number).collect())
            };
            let line = Line {
                target: target.name.clone(),
                per_second: of(|line| line.per_second),
                p50_us: of(|line| line.p50_us),
                p99_us: of(|line| line.p99_us),
                server_us: of(|line| line.server_us),
                proxy_us: of(|line| line.proxy_us),
                own_us: of(|line| line.own_us),
                server_mib: of(|line| line.server_mib),
                proxy_mib: of(|line| line.proxy_mib),
                from_memory: of(|line| line.from_memory),
                fenced: of(|line| line.fenced),
                needless: of(|line| line.needless),
            };
            print("median", &line, line.per_second / *first.get_or_insert(line.per_second))?;
        }
        Ok(())
    }
}

fn print(round: &str, line: &Line, ratio: f64) -> Result<(), Failure> {
    let mut out = stdout();
    write!(out, "{round:>6} {:<12} {:>12.0} {ratio:>12.3}", line.target, line.per_second)?;
    writeln!(
        out,
        " {:>12.1} {:>12.1} {:>12.2} {:>12.2} {:>12.0} {:>12.0} {:>12.2} {:>12.2} {:>12.2} {:>12.2}",
        line.p50_us,
        line.p99_us,
        line.server_us,
        line.proxy_us,
        line.own_us,
        line.server_mib,
        line.proxy_mib,
        line.from_memory,
        line.fenced,
        line.needless
    )?;
    Ok(())
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

/// Returns the middle value; 0 if there is none.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
