use clap::Parser;

use super::Load;

#[derive(Parser)]
struct Defaults {
    #[command(flatten)]
    load: Load,
}

/// Returns a load as it is if nothing is said.
pub fn load() -> Load {
    Defaults::parse_from(["test"]).load
}
