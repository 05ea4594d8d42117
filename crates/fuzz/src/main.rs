//! Fuzzing: random inputs for every reader of foreign bytes, with a seed and a time.
//!
//! It knows the product's readers and refuses to know connections and servers. It is not part of the product.
//!
//! Its shape: `targets` has one file for each target, which says what holds of every input; `run` makes inputs out of
//! real ones with `mutate`, keeps those that show a new behaviour, and makes a finding small with `minimise`. No part of
//! it needs a compiler that counts branches: a target tells the behaviour itself, as a number.

// The targets, and what holds of their inputs.
mod target;
mod targets;
mod evaluation;

// Inputs: what they are made of, and how new ones are made.
mod random;
mod input;
mod corpus;
mod mutate;

// A run, and what becomes of a finding.
mod run;
mod watch;
mod minimise;

// Readers that their crates keep to themselves, from their sources. They name their neighbours as `crate::…`.
#[allow(dead_code, unused_imports, missing_docs, clippy::all)]
#[path = "../../sql/src"]
mod sql {
    pub mod lex;
    pub mod modes;
    pub mod multi_byte;
    pub mod token;
}
#[allow(dead_code, unused_imports, missing_docs, clippy::all)]
#[path = "../../freshet/src"]
mod program {
    pub mod config;
    pub mod settings;
}
use program::settings;
use sql::{modes, multi_byte, token};

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

/// Feeds one target random inputs until the time is up.
#[derive(Parser)]
struct Arguments {
    /// The target; `all` lists them.
    target: String,
    /// How long, in seconds.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// The same seed gives the same inputs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where findings are kept.
    #[arg(long, default_value = ".freshet/fuzz")]
    folder: std::path::PathBuf,
    /// Runs this one input and nothing else.
    #[arg(long)]
    input: Option<std::path::PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.target == "all" {
        targets::ALL.iter().for_each(|target| println!("{:10} {}", target.name, target.promise));
        return ExitCode::SUCCESS;
    }
    let Some(target) = targets::ALL.iter().find(|target| target.name == arguments.target) else {
        eprintln!("freshet-fuzz: no target is named {}", arguments.target);
        return ExitCode::from(2);
    };
    run::hush_panics();
    if let Some(path) = &arguments.input {
        return run::once(target, path);
    }
    run::run(target, Duration::from_secs(arguments.seconds), arguments.seed, &arguments.folder)
}
