//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Parser;

use crate::keys::Distribution;
use crate::mix::Mix;

/// Whatever ends a measurement early.
pub type Failure = Box<dyn std::error::Error>;

/// Measures reads and writes of sysbench tables over many connections.
#[derive(Debug, Clone, Parser)]
#[command(name = "freshet-bench")]
pub struct Args {
    /// What is measured: NAME=HOST:PORT or NAME=/SOCKET, with ,PID for each server process whose processor time counts;
    /// up to three, driven in turns
    #[arg(long = "target", required_unless_present = "floor", num_args = 1)]
    pub targets: Vec<Target>,
    /// Account
    #[arg(long, default_value = "bench")]
    pub user: String,
    /// Its password: mysql_native_password, or caching_sha2_password that the server has cached, has over a unix
    /// socket, or that is empty
    #[arg(long, default_value = "")]
    pub password: String,
    /// Schema
    #[arg(long, default_value = "sbtest")]
    pub database: String,
    /// Table, or with several tables what their names begin with
    #[arg(long, default_value = "sbtest1")]
    pub table: String,
    /// How many tables, numbered from 1
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub tables: u32,
    /// What is asked
    #[arg(long, value_enum, default_value_t = Mix::Points)]
    pub mix: Mix,
    /// Connections
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub clients: u32,
    /// Statements that each connection sends at once, before it reads their answers: the latency is that of all of them
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub pipeline: u32,
    /// Length of a round
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=3_600))]
    pub seconds: u32,
    /// Rounds for each target
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub rounds: u32,
    /// Rows that are asked for: ids 1 to this
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub keys: u32,
    /// Which of them how often
    #[arg(long, value_enum, default_value_t = Distribution::Uniform)]
    pub distribution: Distribution,
    /// Percent of the statements that are updates, among points
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=100))]
    pub writes: u8,
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
    /// Threads of the floor
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub threads: u32,
    /// TLS, with any certificate, and without resuming: each client is a new one
    #[arg(long)]
    pub tls: bool,
    /// Makes instead the schema of the public sample of employees and salaries, through the first target: 300,024 and 2,844,047 rows, made up
    #[arg(long)]
    pub employees: bool,
    /// Makes the tables first, through the first target
    #[arg(long)]
    pub prepare: bool,
}

/// One thing that is measured.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its name in the report.
    pub name: String,
    /// Where it listens.
    pub address: Address,
    /// Whose processor time is counted.
    pub pids: Vec<u32>,
}

/// Where a target listens.
#[derive(Debug, Clone)]
pub enum Address {
    /// `host:port`.
    Tcp(String),
    /// The path of a unix socket.
    Unix(PathBuf),
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Target, String> {
        let wrong = || format!("{text:?} is not NAME=HOST:PORT[,PID...] or NAME=/SOCKET[,PID...]");
        let (name, rest) = text.split_once('=').ok_or_else(wrong)?;
        let mut parts = rest.split(',');
        let address = parts.next().filter(|address| address.contains([':', '/'])).ok_or_else(wrong)?;
        let pids = parts.map(|pid| pid.parse().map_err(|_| wrong())).collect::<Result<_, _>>()?;
        let address = if address.starts_with('/') {
            Address::Unix(address.into())
        } else {
            Address::Tcp(address.to_owned())
        };
        Ok(Target { name: name.to_owned(), address, pids })
    }
}
