//! The checker: see the library for what it judges and how.
//!
//! It runs against a Freshet and the server behind it, prints what it found, and ends with exit code 0 if every promise held,
//! 1 if one was broken, and 2 if it could not be told.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use freshet_checker::Failure;
use freshet_checker::judge::Level;
use freshet_checker::oracle::Oracle;
use freshet_checker::target::Target;
use freshet_checker::workload::Workload;

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
    let workload = Workload {
        freshet,
        server,
        schema,
        seed,
        duration: Duration::from_secs(seconds),
        level,
        lag_ms: arguments.lag,
        readers: arguments.readers,
        writers: arguments.writers,
        around: arguments.around,
        with_definitions: !arguments.no_definitions,
        stops_early: arguments.stop_early,
    };
    let outcome = workload.run()?;
    let mut out = std::io::stdout();
    write!(out, "{}", outcome.report)?;
    let [hits, fenced, stale] = outcome.hits;
    writeln!(out, "hits: {hits}; refused by a fence: {fenced}, by a stamp: {stale}")?;
    for failure in &outcome.failures {
        writeln!(out, "failure: {failure}")?;
    }
    Ok(match (outcome.report.broken(), outcome.failures.is_empty()) {
        (0, true) => ExitCode::SUCCESS,
        (0, false) => ExitCode::from(2),
        _ => ExitCode::FAILURE,
    })
}

fn oracle(arguments: OracleArguments) -> Result<ExitCode, Failure> {
    let Common { freshet, server, schema, seed, seconds } = arguments.common;
    let duration = Duration::from_secs(seconds);
    let oracle = Oracle { freshet, server, schema, seed, duration, questions: arguments.questions };
    let findings = oracle.run()?;
    write!(std::io::stdout(), "{findings}")?;
    Ok(if findings.different == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
