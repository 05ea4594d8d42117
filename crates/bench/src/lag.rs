//! Measures how long a change that goes around a cache stays invisible through it.
//!
//! One row is written by nobody else. First the row is asked for until the answer comes from memory. Then it is changed on the server
//! itself, and asked for through the cache until the answer shows the change. Meanwhile other rows are changed at a given rate.

use std::io::{Write, stdout};
use std::time::{Duration, Instant};

use crate::args::Args;
use crate::counters::{second, status};
use crate::latency::Latency;
use crate::target::{Failure, Target};
use crate::wire::Wire;
use crate::{login, mix, table};

/// Rows changed by each commit of the load.
const COMMIT_ROWS: u32 = 50;
/// The time between two changes of the observed row.
const PAUSE: Duration = Duration::from_millis(5);
/// A change that is not seen within this is an error.
const SEEN_WITHIN: Duration = Duration::from_secs(30);

/// Measures and prints.
///
/// # Errors
/// If there are not two targets, or one of them does not answer.
pub async fn measure(args: &Args, rate: u32) -> Result<(), Failure> {
    let [server, cache] = &args.targets[..] else { return Err("--lag needs two targets".into()) };
    let until = Instant::now() + Duration::from_secs(u64::from(args.seconds));
    let name = mix::name(&args.load.table, args.load.tables, 1);
    let load = login::open(&args.account, server, &args.account.database).await?;
    let load = tokio::task::spawn_local(change(load, name.clone(), args.load.keys, rate, until));
    let lags = look(args, server, cache, &name, until).await?;
    let changed = load.await??;
    let ms = |share| lags.quantile_us(share) / 1_000.0;
    writeln!(
        stdout(),
        "{} rows a second; {} changes seen after: median {:.2} ms, p95 {:.2} ms, p99 {:.2} ms, most {:.2} ms",
        changed / u64::from(args.seconds),
        lags.count(),
        ms(0.5),
        ms(0.95),
        ms(0.99),
        ms(1.0),
    )?;
    Ok(())
}

/// Changes the rows of the load in turn: all rows except the last. Returns how many were changed.
async fn change(mut wire: Wire, name: String, keys: u32, rate: u32, until: Instant) -> Result<u64, String> {
    let mut ticks = tokio::time::interval(Duration::from_secs(1) * COMMIT_ROWS / rate);
    let (mut first, mut changed) = (1, 0);
    while Instant::now() < until {
        ticks.tick().await;
        let last = (first + COMMIT_ROWS - 1).min(keys - 1);
        let statement = format!("UPDATE {name} SET k = k + 1 WHERE id BETWEEN {first} AND {last}");
        table::say(&mut wire, &statement).await.map_err(|error| error.to_string())?;
        changed += u64::from(last + 1 - first);
        first = if last + 1 >= keys { 1 } else { last + 1 };
    }
    Ok(changed)
}

/// Returns for each change of the last row how long it was not seen.
async fn look(
    args: &Args,
    server: &Target,
    cache: &Target,
    name: &str,
    until: Instant,
) -> Result<Latency, Failure> {
    let mut writer = login::open(&args.account, server, &args.account.database).await?;
    let mut reader = login::open(&args.account, cache, &args.account.database).await?;
    let question = format!("SELECT id, k FROM {name} WHERE id = {}", args.load.keys);
    let mut lags = Latency::default();
    for value in 1_000_000.. {
        if Instant::now() >= until {
            break;
        }
        until_from_memory(&mut reader, &question).await?;
        let update = format!("UPDATE {name} SET k = {value} WHERE id = {}", args.load.keys);
        table::say(&mut writer, &update).await?;
        let written = Instant::now();
        while second(&mut reader, &question).await? != Some(value) {
            if written.elapsed() > SEEN_WITHIN {
                return Err(format!("{} does not show what was committed", cache.name).into());
            }
        }
        lags.add(written.elapsed());
        tokio::time::sleep(PAUSE).await;
    }
    Ok(lags)
}

/// Asks until the answer comes from memory.
async fn until_from_memory(reader: &mut Wire, question: &str) -> Result<(), Failure> {
    let began = Instant::now();
    while began.elapsed() < SEEN_WITHIN {
        let before = status(reader, "Qcache_hits").await?;
        second(reader, question).await?;
        if status(reader, "Qcache_hits").await? > before {
            return Ok(());
        }
    }
    Err("the second target answers nothing from memory".into())
}
