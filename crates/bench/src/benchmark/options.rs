//! What is wanted of the report.

use std::path::PathBuf;
use std::time::Duration;

use crate::keys::{Distribution, Draw, Rest};
use crate::target::{Account, Target};

/// Measures the tables of the report side by side, and writes it. `scripts/benchmark` starts what this needs
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// What is measured side by side, as NAME=HOST:PORT[,PID of the server][,+PID of what is before it]. The names GROUP:direct,
    /// GROUP:native and GROUP:freshet make a group, which is compared with its direct; `floor` is beside all of them, and any other
    /// name is beside the group whose server it has behind it
    #[arg(long = "column", required = true, num_args = 1)]
    pub columns: Vec<Target>,
    #[command(flatten)]
    pub account: Account,
    /// Where the report is written
    #[arg(long, default_value = ".freshet/benchmark")]
    pub out: PathBuf,
    /// Fewer numbers of clients, and shorter rounds: for a look at the form
    #[arg(long)]
    pub quick: bool,
    /// Only these tables: 1, 2, 3, 4, 5, pk, range, connect, or one part, as 3c
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<String>,
    /// Numbers of clients; 1,8,64,256 if nothing is said, and 1024 too in tables that the article has; 1,64 with --quick; 16 for logins
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub clients: Vec<u32>,
    /// Rounds for each number of clients and each column
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: u32,
    /// Milliseconds of a round; 1500 if nothing is said, and 400 with --quick
    #[arg(long, value_parser = clap::value_parser!(u32).range(100..=600_000))]
    pub round_ms: Option<u32>,
    /// Percent of the keys that are hot in table 5
    #[arg(long, default_value_t = 20.0)]
    pub hot: f64,
    /// Percent of the keys that are hot in the other tables that have hot keys; 1 if nothing is said
    #[arg(long)]
    pub hot_keys: Option<f64>,
    /// Percent of all draws that are of hot keys, in all tables that have some; 75 if nothing is said
    #[arg(long, value_parser = clap::value_parser!(u8).range(0..=100))]
    pub hot_draws: Option<u8>,
    /// How the other draws of these tables are drawn; gaussian if nothing is said
    #[arg(long, value_enum)]
    pub rest: Option<Rest>,
    /// Stock sysbench's scripts too, which must be installed
    #[arg(long)]
    pub sysbench: bool,
    /// All tables with prepared statements
    #[arg(long)]
    pub prepared: bool,
    /// A line of the report's head, as "command: scripts/benchmark"
    #[arg(long = "says", num_args = 1)]
    pub says: Vec<String>,
}

/// Clients of what is measured at one number of clients only.
pub const CLIENTS: u32 = 64;

impl Options {
    /// Returns the numbers of clients of most tables.
    pub fn clients(&self) -> Vec<u32> {
        match (self.clients.is_empty(), self.quick) {
            (false, _) => self.clients.clone(),
            (true, true) => vec![1, CLIENTS],
            (true, false) => vec![1, 8, CLIENTS, 256],
        }
    }

    /// Returns a table's draws, with what the options say of hot keys.
    pub fn draw(&self, draw: Draw) -> Draw {
        if draw.distribution != Distribution::Special {
            return draw;
        }
        Draw {
            hot_keys: self.hot_keys.unwrap_or(draw.hot_keys),
            hot_draws: self.hot_draws.unwrap_or(draw.hot_draws),
            rest: self.rest.unwrap_or(draw.rest),
            ..draw
        }
    }

    /// Returns how long a round is.
    pub fn round(&self) -> Duration {
        let default = if self.quick { 400 } else { 1_500 };
        Duration::from_millis(u64::from(self.round_ms.unwrap_or(default)))
    }

    /// Returns how long the clients of a column ask before each number of clients is measured.
    pub fn settle(&self) -> Duration {
        self.round() / 5
    }

    /// Returns how long they ask before a table is measured, so that what is asked for again and again is in memory.
    pub fn warm(&self) -> Duration {
        self.round() * 3
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Wanted {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn hot_keys_are_those_of_the_options() {
        let special =
            Draw { distribution: Distribution::Special, hot_keys: 1.0, hot_draws: 75, rest: Rest::Gaussian };
        let uniform = Draw { distribution: Distribution::Uniform, ..special };
        let draws = |said: &[&str]| {
            let options = Wanted::parse_from(["test", "--column", "a:direct=a:1"].iter().chain(said)).options;
            [special, uniform].map(|draw| options.draw(draw))
        };
        assert_eq!(draws(&[]), [special, uniform]);
        let said = Draw { hot_keys: 5.0, hot_draws: 90, rest: Rest::Uniform, ..special };
        assert_eq!(draws(&["--hot-keys", "5", "--hot-draws", "90", "--rest", "uniform"]), [said, uniform]);
    }
}
