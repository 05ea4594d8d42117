//! The clients of one target, connected from one round to the next.

use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::asker::Asker;
use crate::latency::Latency;
use crate::load::Load;
use crate::login;
use crate::pace::Pace;
use crate::reply::{Done, read_answer};
use crate::statements::Statements;
use crate::target::{Account, Failure, Target};
use crate::texts::Texts;
use crate::wire::Wire;

/// All clients of a target.
pub struct Crew {
    clients: Vec<Client>,
    depth: u32,
    rate: Option<u32>,
}

/// One client: its connection, its statements, and its way of sending them.
struct Client {
    wire: Wire,
    statements: Statements,
    asker: Asker,
}

/// The counts of the clients in a round.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// The number of statements that were answered.
    pub statements: u64,
    /// The latencies. With a given rate, this includes statements that were due but not even sent when the round ended.
    pub latency: Latency,
    /// The latencies of those statements that write, or commit what was written.
    pub writes: Latency,
    /// The number of statements that were reads.
    pub reads: u64,
    /// The number of statements that were refused with an expected error.
    pub refused: u64,
}

impl Tally {
    /// Adds the counts of another tally.
    pub fn merge(&mut self, other: &Tally) {
        self.statements += other.statements;
        self.latency.merge(&other.latency);
        self.writes.merge(&other.writes);
        self.reads += other.reads;
        self.refused += other.refused;
    }
}

impl Crew {
    /// Connects all clients. Clients with the same number and seed send the same statements.
    pub async fn open(account: &Account, target: &Target, load: &Load, seed: u64) -> Result<Crew, Failure> {
        let texts = Rc::new(Texts::new(load));
        let mut clients = Vec::new();
        for number in 0..load.clients {
            let mut wire = login::open(account, target, &account.database).await?;
            let asker = Asker::new(load, &texts, &mut wire).await?;
            let statements = Statements::new(load, seed + u64::from(number));
            clients.push(Client { wire, statements, asker });
        }
        Ok(Crew { clients, depth: load.pipeline, rate: load.rate })
    }

    /// Drives all clients for one round.
    pub async fn round(&mut self, length: Duration) -> Result<Tally, Failure> {
        let until = Instant::now() + length;
        let pace = self.rate.map(|_| Pace::new());
        let mut driven = JoinSet::new();
        for client in self.clients.drain(..) {
            driven.spawn_local(client.drive(self.depth, pace.clone(), until));
        }
        let mut all = Tally::default();
        if let (Some(pace), Some(rate)) = (pace, self.rate) {
            for due in pace.keep(rate, until).await? {
                all.latency.add(until.saturating_duration_since(due));
            }
        }
        while let Some(client) = driven.join_next().await {
            let (client, tally) = client??;
            self.clients.push(client);
            all.merge(&tally);
        }
        Ok(all)
    }
}

impl Client {
    /// Sends `depth` statements at once and reads their answers, until the round is over. A transaction that has begun is finished.
    async fn drive(
        mut self,
        depth: u32,
        pace: Option<Rc<Pace>>,
        until: Instant,
    ) -> Result<(Client, Tally), String> {
        let mut tally = Tally::default();
        let mut packet = Vec::new();
        let mut now = Instant::now();
        while now < until || !self.statements.begins() {
            if let Some(pace) = pace.as_ref().filter(|_| self.statements.begins()) {
                let Some(due) = pace.next().await else { break };
                now = due;
            }
            packet.clear();
            let mut writes = 0;
            for _ in 0..depth {
                let statement = self.statements.next();
                tally.reads += u64::from(statement.reads());
                writes += u32::from(self.statements.writes(&statement));
                self.asker.put(&mut packet, &statement);
            }
            self.wire.send_raw(&packet).await.map_err(|error| error.to_string())?;
            for _ in 0..depth {
                tally.refused += u64::from(read_answer(&mut self.wire).await? == Done::Refused);
            }
            let answered = Instant::now();
            tally.statements += u64::from(depth);
            (0..depth).for_each(|_| tally.latency.add(answered - now));
            (0..writes).for_each(|_| tally.writes.add(answered - now));
            now = answered;
        }
        Ok((self, tally))
    }
}
