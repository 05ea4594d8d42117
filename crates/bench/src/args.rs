//! The command line.

use std::net::SocketAddr;

use clap::{Parser, Subcommand};

use crate::benchmark::Options;
use crate::load::Load;
use crate::target::{Account, Target};

/// Measures reads and writes of sysbench tables over many connections.
#[derive(Debug, Clone, Parser)]
#[command(name = "freshet-bench", args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,
    /// What is measured: NAME=HOST:PORT or NAME=/SOCKET, with ,PID for each server process whose processor time counts, and ,+PID
    /// for each process before the server; several are driven in turns
    #[arg(long = "target", required_unless_present = "floor", num_args = 1)]
    pub targets: Vec<Target>,
    #[command(flatten)]
    pub account: Account,
    #[command(flatten)]
    pub load: Load,
    /// Length of a round
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=3_600))]
    pub seconds: u32,
    /// Rounds for each target
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub rounds: u32,
    /// Measures instead for how long the second target goes on showing what was before a commit on the first, which is the
    /// server itself, while so many rows a second are changed there, in commits of 50
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u32).range(50..=1_000_000))]
    pub lag: Option<u32>,
    /// Measures instead what so many definitions a minute cost those who ask the second target, which is the cache: made on the
    /// first target, which is the server itself, and made through the cache
    #[arg(long, value_name = "RATE", value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub definitions: Option<u32>,
    /// Measures instead what each of many statements costs another client's hits and latencies, who reads a table that the statement
    /// does not touch. Needs one target, which is the cache, before a server that is for tests: schemas and accounts whose names
    /// begin with freshet_ are made and dropped there, and --user must be allowed to
    #[arg(long)]
    pub neighbours: bool,
    /// Measures instead how many clients a second connect, ask one point select and leave; the numbers are of those
    #[arg(long)]
    pub connect: bool,
    /// Serves there instead, with an answer that lies ready, until it is ended: what any server costs at least. To be named as
    /// a target of another run
    #[arg(long, value_name = "IP:PORT")]
    pub floor: Option<SocketAddr>,
    /// Serves there instead, and only copies between its clients and the first target, over two connections for all of them, until
    /// it is ended: what any proxy costs at least. For statements that concern no session
    #[arg(long, value_name = "IP:PORT")]
    pub copier: Option<SocketAddr>,
    /// Threads of the floor
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub threads: u32,
    /// Makes instead the schema of the public sample of employees and salaries, through the first target: 300,024 and 2,844,047 rows, made up
    #[arg(long)]
    pub employees: bool,
    /// Makes the tables first, through the first target
    #[arg(long)]
    pub prepare: bool,
}

/// What is done instead of driving targets in turns.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Measures the tables of the report
    Report(Options),
}
