//! A load generator that costs little: it measures a proxy, so it must not be what is slow.
//!
//! It knows the wire protocol from `freshet_protocol` and nothing else of the product. Each client is one connection
//! that asks, reads to the end of the answer and asks again; all of them share one event loop. Answers are walked by
//! their packet headers and never decoded, questions are written into one buffer that is kept.
//!
//! It has this shape because ratios are what matters: two or three targets are driven in turns, round by round, so that
//! whatever else the machine does hits all of them alike, and the processor time of given servers is read from the
//! system before and after each round.

mod args;

mod answer;
mod login;
mod tls;
mod wire;

mod counters;
mod definitions;
mod employees;
mod floor;
mod keys;
mod lag;
mod latency;
mod mix;
mod neighbours;
mod processor;
mod question;

mod report;
mod round;
mod table;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use args::{Args, Failure};

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
    if let Some(address) = args.floor {
        return floor::serve(address, args.threads);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, async {
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
        let mut rounds = report::Report::new(args);
        rounds.head()?;
        for number in 1..=args.rounds {
            for target in &args.targets {
                rounds.add(number, target, round::run(args, target).await?)?;
            }
        }
        rounds.summary()
    })
}
