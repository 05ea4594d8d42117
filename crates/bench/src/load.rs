//! What clients do.

use crate::keys::Draw;
use crate::mix::Mix;

/// What clients do, and how many there are.
#[derive(Debug, Clone, clap::Args)]
pub struct Load {
    /// Table, or with several tables what their names begin with
    #[arg(long, default_value = "sbtest1")]
    pub table: String,
    /// How many tables, numbered from 1
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub tables: u32,
    /// What is asked
    #[arg(long, value_enum, default_value_t = Mix::Points)]
    pub mix: Mix,
    /// Each client prepares its statements and executes them, in place of texts
    #[arg(long)]
    pub prepared: bool,
    /// BEGIN and COMMIT around each cycle of the mix
    #[arg(long)]
    pub transactions: bool,
    /// Connections
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub clients: u32,
    /// Statements that each connection sends at once, before it reads their answers: the latency is that of all of them
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub pipeline: u32,
    /// Cycles a second of all clients together; a latency counts from when its cycle was due. Without it, each client asks as soon as
    /// it has its answer
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub rate: Option<u32>,
    /// Rows that are asked for: ids 1 to this
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub keys: u32,
    /// Which of them how often
    #[command(flatten)]
    pub draw: Draw,
    /// Percent of the statements that are updates, among points
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=100))]
    pub writes: u8,
}

#[cfg(test)]
pub mod tests;
