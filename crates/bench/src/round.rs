//! One round against one target.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::counters::{Counters, status};
use crate::crew::{Crew, Tally};
use crate::load::Load;
use crate::login;
use crate::processor::{self, Machine, Time};
use crate::question::QUIT;
use crate::reply::{Done, read_answer};
use crate::statements::Statements;
use crate::target::{Account, Failure, Target};
use crate::texts::Texts;
use crate::wire::Wire;

/// The result of a round.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The counts of the clients.
    pub tally: Tally,
    /// The counters of the target.
    pub counters: Counters,
    /// How long the round was.
    pub elapsed: Duration,
    /// Processor time.
    pub used: Used,
    /// The memory of the target's processes at the end.
    pub memory: Memory,
    /// The connections that the server had amidst the round, with the one that asks for their number, where this is known.
    pub connections: Option<u64>,
}

/// Memory in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Memory {
    /// The memory of the target's servers.
    pub server: u64,
    /// The memory of the processes before them.
    pub proxy: u64,
}

impl Memory {
    /// Returns the present memory.
    pub fn now(target: &Target) -> Memory {
        Memory {
            server: processor::resident_bytes(&target.servers),
            proxy: processor::resident_bytes(&target.proxies),
        }
    }
}

/// Processor time, in microseconds: up to a moment, or between two.
#[derive(Debug, Clone, Copy, Default)]
pub struct Used {
    /// The time of the target's servers.
    pub server: u64,
    /// The time of the processes before them.
    pub proxy: Time,
    /// The time of this program.
    pub own: u64,
    /// The times of the whole machine.
    pub machine: Machine,
}

impl Used {
    /// Returns the time used up to now.
    pub fn now(target: &Target) -> Used {
        Used {
            server: Time::of(&target.servers).all(),
            proxy: Time::of(&target.proxies),
            own: Time::of(&[std::process::id()]).all(),
            machine: Machine::now(),
        }
    }

    /// Returns the time used since `before`.
    pub fn since(self, before: Used) -> Used {
        Used {
            server: self.server.saturating_sub(before.server),
            proxy: self.proxy.since(before.proxy),
            own: self.own.saturating_sub(before.own),
            machine: self.machine.since(before.machine),
        }
    }
}

/// Drives a target's clients for one round.
pub async fn run(
    account: &Account,
    target: &Target,
    crew: &mut Crew,
    length: Duration,
) -> Result<Outcome, Failure> {
    measure(account, target, length, crew.round(length)).await
}

/// Drives clients that connect, ask once and leave, one after another, for one round.
pub async fn come_and_go(
    account: &Account,
    target: &Target,
    load: &Load,
    length: Duration,
) -> Result<Outcome, Failure> {
    let clients = async {
        let until = Instant::now() + length;
        let mut clients = JoinSet::new();
        for number in 0..load.clients {
            let statements = Statements::new(load, u64::from(number));
            let (account, target) = (account.clone(), target.clone());
            clients.spawn_local(Visits { account, target, texts: Texts::new(load), statements }.until(until));
        }
        let mut tally = Tally::default();
        while let Some(client) = clients.join_next().await {
            tally.merge(&client??);
        }
        Ok(tally)
    };
    measure(account, target, length, clients).await
}

/// Drives clients for one round, and reads what the system and the target have counted meanwhile.
async fn measure(
    account: &Account,
    target: &Target,
    length: Duration,
    clients: impl Future<Output = Result<Tally, Failure>>,
) -> Result<Outcome, Failure> {
    let mut watch = login::open(account, target, "").await?;
    let before = Counters::read(account, target).await?;
    let (used, started) = (Used::now(target), Instant::now());
    let (tally, connections) = tokio::join!(clients, connections_after(&mut watch, length / 2));
    let (used, elapsed) = (Used::now(target).since(used), started.elapsed());
    let counters = Counters::read(account, target).await?.since(before);
    Ok(Outcome { tally: tally?, counters, elapsed, used, memory: Memory::now(target), connections })
}

/// Returns how many connections the server has after a time, with the one that asks; `None` if it does not say.
async fn connections_after(watch: &mut Wire, time: Duration) -> Option<u64> {
    tokio::time::sleep(time).await;
    status(watch, "Threads_connected").await.ok().flatten()
}

/// Clients that come one after another.
struct Visits {
    account: Account,
    target: Target,
    texts: Texts,
    statements: Statements,
}

impl Visits {
    /// Each client connects, asks once and leaves, and then the next one comes.
    async fn until(mut self, until: Instant) -> Result<Tally, String> {
        let mut tally = Tally::default();
        let mut packet = Vec::new();
        let mut now = Instant::now();
        while now < until {
            let login = login::open(&self.account, &self.target, &self.account.database);
            let mut wire = login.await.map_err(|error| error.to_string())?;
            let statement = self.statements.next();
            tally.reads += u64::from(statement.reads());
            packet.clear();
            self.texts.put(&mut packet, &statement);
            wire.send_raw(&packet).await.map_err(|error| error.to_string())?;
            tally.refused += u64::from(read_answer(&mut wire).await? == Done::Refused);
            wire.send(0, &[QUIT]).await.map_err(|error| error.to_string())?;
            let left = Instant::now();
            tally.statements += 1;
            tally.latency.add(left - now);
            now = left;
        }
        Ok(tally)
    }
}
