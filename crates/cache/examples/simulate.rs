//! The simulation, for as long as it is wanted: `simulate [first seed] [seeds] [steps]`.
//!
//! Prints what was done; ends with an error at the first promise that is not kept, naming seed and step.
#![allow(clippy::print_stdout, missing_docs)]

#[path = "../tests/simulation/keyed.rs"]
mod keyed;
#[path = "../tests/simulation/oracle.rs"]
mod oracle;
#[path = "../tests/simulation/random.rs"]
mod random;
#[path = "../tests/simulation/server.rs"]
mod server;
#[path = "../tests/simulation/world.rs"]
mod world;

use std::time::Instant;

fn main() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let mut next = |default| arguments.next().unwrap_or(Ok(default)).map_err(|error| error.to_string());
    let (first, seeds, steps) = (next(0)?, next(1000)?, next(10_000)?);
    for broken in world::ALL_BROKEN {
        let noticed = (first..first + seeds).find_map(|seed| world::run(seed, steps, broken).err());
        println!("{broken:?}: {}", noticed.as_deref().unwrap_or("NOT NOTICED"));
    }
    for broken in world::BROKEN_FOR_TRANSACTIONS {
        let run = |seed| world::run_with_transactions(seed, steps, broken).err();
        println!("{broken:?}: {}", (first..first + seeds).find_map(run).as_deref().unwrap_or("NOT NOTICED"));
    }
    let start = Instant::now();
    let mut sum = world::Summary::default();
    for seed in first..first + seeds {
        sum += world::run(seed, steps, world::Broken::Nothing)?;
        sum += world::run_with_transactions(seed, steps, world::Broken::Nothing)?;
    }
    println!("{sum:#?}\n{} steps in {:.1?}: every promise was kept", 2 * seeds * steps, start.elapsed());
    Ok(())
}
