//! Measures what definitions cost other clients that only read and write rows.
//!
//! The readers and writers ask the second target, which is the cache. Each round is driven three times: without definitions, with
//! definitions made on the first target, which is the server itself, and with the same definitions made through the cache. The
//! definitions concern a table in another schema, so nothing that the readers and writers use changes.

use std::cell::Cell;
use std::io::{Write, stdout};
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::args::Args;
use crate::crew::Crew;
use crate::report::Report;
use crate::target::{Failure, Target};
use crate::wire::Wire;
use crate::{login, round, table};

/// One way of a round: its name, and the target that gets the definitions.
type Way<'a> = (&'static str, Option<&'a Target>);

/// Measures and prints. `rate` is in definitions a minute.
///
/// # Errors
/// If there are not two targets, or one of them does not answer.
pub async fn measure(args: &Args, rate: u32) -> Result<(), Failure> {
    let [server, cache] = &args.targets[..] else { return Err("--definitions needs two targets".into()) };
    let ways: [Way<'_>; 3] = [("none", None), ("around", Some(server)), ("through", Some(cache))];
    let named = |name: &str| Target { name: name.to_owned(), ..cache.clone() };
    let args = Args { targets: ways.iter().map(|(name, _)| named(name)).collect(), ..args.clone() };
    let mut made = [0_u64; 3];
    let mut report = Report::new(&args);
    report.head()?;
    for number in 1..=args.rounds {
        for ((target, (_, by)), made) in args.targets.iter().zip(ways).zip(&mut made) {
            let definer = match by {
                Some(by) => Some(Definer::start(&args, by, rate).await?),
                None => None,
            };
            let mut crew = Crew::open(&args.account, target, &args.load, 0).await?;
            let length = Duration::from_secs(u64::from(args.seconds));
            report.add(number, target, &round::run(&args.account, target, &mut crew, length).await?)?;
            if let Some(definer) = definer {
                *made += definer.stop().await?;
            }
        }
    }
    report.summary()?;
    let minutes = f64::from(args.rounds * args.seconds) / 60.0;
    let [_, around, through] = made.map(|made| made as f64 / minutes);
    Ok(writeln!(stdout(), "{around:.0} definitions a minute around, {through:.0} through")?)
}

/// A connection that makes and drops a table.
struct Definer {
    over: Rc<Cell<bool>>,
    task: tokio::task::JoinHandle<Result<u64, String>>,
}

impl Definer {
    async fn start(args: &Args, by: &Target, rate: u32) -> Result<Definer, Failure> {
        let mut wire = login::open(&args.account, by, "").await?;
        let schema = format!("{}_defined", args.account.database);
        table::say(&mut wire, &format!("CREATE DATABASE IF NOT EXISTS {schema}")).await?;
        table::say(&mut wire, &format!("DROP TABLE IF EXISTS {schema}.a")).await?;
        let over = Rc::new(Cell::new(false));
        let task = tokio::task::spawn_local(define(wire, schema, rate, Rc::clone(&over)));
        Ok(Definer { over, task })
    }

    /// Stops, and returns how many definitions were made.
    async fn stop(self) -> Result<u64, Failure> {
        self.over.set(true);
        Ok(self.task.await??)
    }
}

async fn define(mut wire: Wire, schema: String, rate: u32, over: Rc<Cell<bool>>) -> Result<u64, String> {
    let pair =
        [format!("CREATE TABLE {schema}.a (id INT PRIMARY KEY, v INT)"), format!("DROP TABLE {schema}.a")];
    let mut made = 0;
    let mut due = Instant::now();
    while !over.get() {
        for statement in &pair {
            due += Duration::from_secs(60) / rate;
            tokio::time::sleep_until(due.into()).await;
            table::say(&mut wire, statement).await.map_err(|error| error.to_string())?;
            made += 1;
        }
    }
    Ok(made)
}
