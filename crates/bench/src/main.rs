//! A load generator that costs little: it measures a proxy, so it must not be the bottleneck itself.
//!
//! It knows the wire protocol from `freshet_protocol` and nothing else of the product. Each client is one connection that sends a
//! statement, reads the answer to its end, and sends the next. All clients share one event loop. Answers are followed by their packet
//! headers and never decoded. Statements are written into one buffer, which is reused.
//!
//! It has this form because the ratios matter. Two or three targets are driven in turns, round by round, so that any other work on the
//! machine affects all of them alike. The processor time of given servers is read from the system before and after each round.

// The command line, and the targets of a measurement.
mod args;
mod target;

// A connection: its bytes, its login, and the ends of answers.
mod wire;
mod tls;
mod login;
mod answer;
mod reply;

// What clients send: statements, the rows that they ask for, and their encoding.
mod load;
mod mix;
mod statement;
mod statements;
mod keys;
mod texts;
mod question;
mod asker;

// A measurement: clients in rounds, and what is counted in a round.
mod crew;
mod pace;
mod round;
mod latency;
mod counters;
mod processor;

// The data that is measured, and the results in print.
mod table;
mod report;

// The other subcommands: the report with plots, and single measurements.
mod benchmark;
mod lag;
mod neighbours;
mod definitions;
mod employees;

// Servers to compare with: one that writes a ready answer, and one that only copies.
mod floor;
mod copier;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use args::{Args, Command};
use crew::Crew;
use target::Failure;

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "freshet-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), Failure> {
    if let Some(Command::Report(options)) = &args.command {
        return in_one_thread(benchmark::run(options));
    }
    if let Some(address) = args.floor {
        return floor::serve(address, args.threads);
    }
    in_one_thread(async {
        if let (Some(address), Some(server)) = (args.copier, args.targets.first()) {
            return copier::serve(address, &args.account, server).await;
        }
        if args.employees {
            return employees::prepare(args).await;
        }
        if args.prepare {
            table::prepare(args).await?;
        }
        if let Some(rate) = args.lag {
            return lag::measure(args, rate).await;
        }
        if let Some(rate) = args.definitions {
            return definitions::measure(args, rate).await;
        }
        if args.neighbours {
            return neighbours::measure(args).await;
        }
        in_turns(args).await
    })
}

/// Runs a measurement with all clients in this thread.
fn in_one_thread(what: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, what)
}

/// Drives the targets in turns, and prints the results.
async fn in_turns(args: &Args) -> Result<(), Failure> {
    let length = Duration::from_secs(u64::from(args.seconds));
    let mut crews = Vec::new();
    for target in args.targets.iter().filter(|_| !args.connect) {
        crews.push(Crew::open(&args.account, target, &args.load, 0).await?);
    }
    let mut rounds = report::Report::new(args);
    rounds.head()?;
    for number in 1..=args.rounds {
        for (at, target) in args.targets.iter().enumerate() {
            let outcome = match crews.get_mut(at) {
                Some(crew) => round::run(&args.account, target, crew, length).await?,
                None => round::come_and_go(&args.account, target, &args.load, length).await?,
            };
            rounds.add(number, target, &outcome)?;
        }
    }
    rounds.summary()
}
