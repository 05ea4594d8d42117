//! The checker: see the library for what it judges and how.
//!
//! It runs against a Freshet and the server behind it, prints what it found, and ends with exit code 0 if every promise held,
//! 1 if one was broken, and 2 if it could not be told.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use freshet_checker::Failure;
use freshet_checker::judge::Level;
use freshet_checker::oracle::Oracle;
use freshet_checker::relay::Relay;
use freshet_checker::target::Target;
use freshet_checker::workload::{Disturb, Equality, Outcome, Workload};

/// Of a hundred reads so many may remain undecided: a judge that does not decide cannot acquit.
const UNDECIDED_PERCENT_MAX: u64 = 1;
/// A shape of which an ideal cache hits so often, and Freshet never, is one that Freshet does not cache.
const IDEAL_HITS_MIN: u64 = 300;

/// Judges whether a Freshet keeps its promises.
#[derive(Debug, Parser)]
#[command(name = "freshet-checker")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Many clients at once, every read judged
    Judge(JudgeArguments),
    /// One writer, and every question asked both through Freshet and directly
    Oracle(OracleArguments),
    /// A way to a server on which the binlog stream can be held up and cut, as `judge` orders
    Relay(RelayArguments),
}

#[derive(Debug, Args)]
struct Common {
    /// Freshet: mysql://user:password@host:port/
    #[arg(long)]
    freshet: Target,
    /// The server behind it
    #[arg(long)]
    server: Target,
    /// A schema, which is dropped and made anew
    #[arg(long, default_value = "freshet_checker")]
    schema: String,
    /// The same seed draws the same statements
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// For so long
    #[arg(long, default_value_t = 30)]
    seconds: u64,
}

#[derive(Debug, Args)]
struct JudgeArguments {
    #[command(flatten)]
    common: Common,
    /// What is promised
    #[arg(long, value_enum, default_value_t = Promise::Strict)]
    level: Promise,
    /// How late an answer may be where the level lets it be late, milliseconds
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    lag: u64,
    /// Clients that read, through Freshet
    #[arg(long, default_value_t = 4)]
    readers: usize,
    /// Clients that read through Freshet and find out for each read whether it was answered from memory
    #[arg(long, default_value_t = 2)]
    watched: usize,
    /// Clients that do everything in transactions, through Freshet; one in two finds out how many reads were answered from memory
    #[arg(long, default_value_t = 4)]
    transactional: usize,
    /// Clients that write, through Freshet
    #[arg(long, default_value_t = 4)]
    writers: usize,
    /// Clients that write and read around it
    #[arg(long, default_value_t = 2)]
    around: usize,
    /// Definitions stay as they are
    #[arg(long)]
    no_definitions: bool,
    /// End with the first broken promise
    #[arg(long)]
    stop_early: bool,
    #[command(flatten)]
    disturb: DisturbArguments,
}

/// What happens to the server and to the stream meanwhile.
#[derive(Debug, Args)]
struct DisturbArguments {
    /// What is to happen, several with commas between them
    #[arg(long, value_enum, value_delimiter = ',')]
    disturb: Vec<Disturbed>,
    /// Kills the server, and returns when it is back
    #[arg(long, required_if_eq("disturb", "restarts"))]
    crash_command: Option<String>,
    /// Where the relay between Freshet and the server takes its orders: see the command of that name
    #[arg(long, required_if_eq("disturb", "stalls"))]
    relay_control: Option<SocketAddr>,
    /// The stream is cut on the way alone, and not by the server
    #[arg(long, requires = "relay_control")]
    no_kills: bool,
    /// Seconds from one restart to the next, usually; never more than a third of the whole
    #[arg(long, default_value_t = 75)]
    restart_every: u64,
    /// Seconds from some cuts in a row to the next ones; never more than a fifth of the whole
    #[arg(long, default_value_t = 17)]
    cut_every: u64,
    /// Seconds from one stall to the next; never more than a fifth of the whole
    #[arg(long, default_value_t = 20)]
    stall_every: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Disturbed {
    /// The server is killed, and comes back
    Restarts,
    /// The stream is broken, by the server or on the way
    Cuts,
    /// The stream is held up for some seconds
    Stalls,
}

impl DisturbArguments {
    fn usable(self, duration: Duration) -> Disturb {
        let every = |kind: Disturbed, seconds: u64| {
            // Different ones, so that short runs do not see all at the same time.
            let part = if kind == Disturbed::Restarts { 3 } else { 5 };
            self.disturb.contains(&kind).then(|| Duration::from_secs(seconds).min(duration / part))
        };
        Disturb {
            every: [
                every(Disturbed::Restarts, self.restart_every),
                every(Disturbed::Cuts, self.cut_every),
                every(Disturbed::Stalls, self.stall_every),
            ],
            crash: self.crash_command,
            relay: self.relay_control,
            with_kills: !self.no_kills,
        }
    }
}

#[derive(Debug, Args)]
struct RelayArguments {
    /// The server behind it, host:port
    #[arg(long)]
    server: String,
}

#[derive(Debug, Args)]
struct OracleArguments {
    #[command(flatten)]
    common: Common,
    /// Questions in all
    #[arg(long, default_value_t = 2_000)]
    questions: usize,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Promise {
    Strict,
    Semisync,
    Session,
    Eventual,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.command {
        Command::Judge(arguments) => judge(arguments),
        Command::Oracle(arguments) => oracle(arguments),
        Command::Relay(arguments) => relay(arguments),
    };
    done.unwrap_or_else(|error| {
        let _ = writeln!(std::io::stderr(), "freshet-checker: {error}");
        ExitCode::from(2)
    })
}

fn judge(arguments: JudgeArguments) -> Result<ExitCode, Failure> {
    let level = match arguments.level {
        Promise::Strict => Level::Strict,
        Promise::Semisync => Level::Semisync,
        Promise::Session => Level::Session,
        Promise::Eventual => Level::Eventual,
    };
    let Common { freshet, server, schema, seed, seconds } = arguments.common;
    let duration = Duration::from_secs(seconds);
    let workload = Workload {
        freshet,
        server,
        schema,
        seed,
        duration,
        level,
        lag_ms: arguments.lag,
        readers: arguments.readers,
        watched: arguments.watched,
        transactional: arguments.transactional,
        writers: arguments.writers,
        around: arguments.around,
        with_definitions: !arguments.no_definitions,
        stops_early: arguments.stop_early,
        disturb: arguments.disturb.usable(duration),
    };
    let outcome = workload.run()?;
    let failures = failures(&workload, &outcome);
    print(level, &outcome, &failures)?;
    Ok(match (outcome.report.broken() + outcome.equality.unequal, failures.is_empty()) {
        (0, true) => ExitCode::SUCCESS,
        (0, false) => ExitCode::from(2),
        _ => ExitCode::FAILURE,
    })
}

fn print(level: Level, outcome: &Outcome, failures: &[String]) -> Result<(), Failure> {
    let mut out = std::io::stdout();
    writeln!(out, "level: {level:?}")?;
    write!(out, "{}", outcome.report)?;
    let [hits, fenced, stale, conflicts] = outcome.hits;
    writeln!(out, "hits: {hits}; refused by a fence: {fenced}, by a stamp: {stale}")?;
    let [through, around] = outcome.troubles.transactions;
    let undone = outcome.troubles.undone;
    // Those of the equal rows are through Freshet too, and may conflict.
    let share = (conflicts * 10_000).checked_div(through + outcome.equality.transactions).unwrap_or(0);
    writeln!(
        out,
        "transactions: {through} through, {around} around; undone on the way: {undone}; snapshot conflicts: {conflicts}, \
         {}.{:02} % of those and of the equal rows'",
        share / 100,
        share % 100
    )?;
    let Equality { transactions, unequal, examples } = &outcome.equality;
    writeln!(out, "equal rows: {transactions} transactions, {unequal} saw them unequal")?;
    for example in examples {
        writeln!(out, "Unequal: {example}")?;
    }
    writeln!(out, "{}\n{}", outcome.disturbances, outcome.troubles)?;
    if let Some(violation) = outcome.report.violations.first() {
        let near = outcome.disturbances.before(violation.seen.read.asked).join("\n  ");
        writeln!(out, "disturbances around the first violation:\n  {near}")?;
    }
    for failure in failures {
        writeln!(out, "failure: {failure}")?;
    }
    Ok(())
}

/// Whatever keeps a run without violations from being a proof.
fn failures(workload: &Workload, outcome: &Outcome) -> Vec<String> {
    let mut failures = outcome.failures.clone();
    let (undecided, reads) = (outcome.report.undecided, outcome.report.reads.iter().sum::<u64>());
    if undecided * 100 > reads * UNDECIDED_PERCENT_MAX {
        failures.push(format!("{undecided} of {reads} reads are undecided"));
    }
    if outcome.hits[0] == 0 {
        failures.push("nothing was answered from memory".to_owned());
    }
    let never = outcome.report.comparison.shapes.iter().filter(|(_, tally)| tally.real == 0);
    for (shape, tally) in never.filter(|(_, tally)| tally.ideal >= IDEAL_HITS_MIN) {
        failures.push(format!("{shape}: nothing of {} was answered from memory that could be", tally.ideal));
    }
    if outcome.troubles.denied > 0 {
        failures.push(format!("{} logins with the right password were denied", outcome.troubles.denied));
    }
    for (at, kind) in ["restarts", "cuts", "stalls"].into_iter().enumerate() {
        if workload.disturb.every[at].is_some() && outcome.disturbances.counts[at] == 0 {
            failures.push(format!("there were no {kind}"));
        }
    }
    failures
}

/// Says where it is, and obeys until it is ended.
fn relay(arguments: RelayArguments) -> Result<ExitCode, Failure> {
    let relay = Relay::before(arguments.server)?;
    let orders = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    writeln!(std::io::stdout(), "relay {} control {}", relay.address, orders.local_addr()?)?;
    relay.obey(&orders)?;
    Ok(ExitCode::SUCCESS)
}

fn oracle(arguments: OracleArguments) -> Result<ExitCode, Failure> {
    let Common { freshet, server, schema, seed, seconds } = arguments.common;
    let duration = Duration::from_secs(seconds);
    let oracle = Oracle { freshet, server, schema, seed, duration, questions: arguments.questions };
    let findings = oracle.run()?;
    write!(std::io::stdout(), "{findings}")?;
    Ok(if findings.different == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
