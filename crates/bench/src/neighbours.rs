//! Measures what one client's statements cost another client that reads a table which these statements do not touch.
//!
//! One connection repeats one action without a pause, and another asks 16 point selects in turn. Short rounds with and without the first
//! connection alternate, and the medians over the rounds are printed. Hits are counted from the target's status. The last statement is a
//! control: it writes the rows that are read, and shows that a loss would be seen.

mod noise;

use std::cell::Cell;
use std::io::{Write, stdout};
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::args::Args;
use crate::counters::{second, status};
use crate::latency::Latency;
use crate::question::{QUIT, put_command, query_packet};
use crate::reply::{read_answer, read_any};
use crate::report::median;
use crate::target::{Account, Failure, Target};
use crate::wire::Wire;
use crate::{login, table};
use noise::{Again, CLEANUP, NEAR, NOISE, Noise, READS, SETUP, Servers};

/// Rows that are read.
const KEYS: u32 = 16;
/// How long a round lasts.
const ROUND: Duration = Duration::from_millis(250);
/// How long an idle neighbour waits each time.
const PAUSE: Duration = Duration::from_millis(1);
/// A target that has not answered from memory within this is an error.
const HITS_WITHIN: Duration = Duration::from_secs(30);

/// One round of the reader.
#[derive(Debug, Clone, Copy)]
struct Reads {
    /// Percent of the reads that were answered from memory.
    hits: f64,
    p50_us: f64,
    p99_us: f64,
}

/// The work of the neighbour: how often it sent all of its statements, and how many of them were answered by an error.
#[derive(Debug, Clone, Copy, Default)]
struct Done {
    times: u64,
    refused: u64,
}

/// Measures and prints one line for each statement.
///
/// # Errors
/// If there is not one target, if the account may not make schemas and accounts there, or if the target does not answer.
pub async fn measure(args: &Args) -> Result<(), Failure> {
    let [target] = &args.targets[..] else { return Err("--neighbours needs one target".into()) };
    let mut owner = login::open(&args.account, target, "").await?;
    let mariadb = second(&mut owner, "SELECT 0, VERSION() LIKE '%MariaDB%'").await? == Some(1);
    let servers = if mariadb { Servers::MariaDb } else { Servers::MySql };
    prepare(&mut owner).await?;
    let mut reader = Reader::new(args, target).await?;
    let mut out = stdout();
    writeln!(
        out,
        "{KEYS} point selects, {} rounds of {ROUND:?} without and beside each statement",
        args.rounds
    )?;
    writeln!(
        out,
        "{:>7} {:>17} {:>17} {:>9} {:>9}  statement",
        "share %", "p50 us", "p99 us", "times/s", "refused %"
    )?;
    for noise in NOISE.iter().filter(|noise| [Servers::All, servers].contains(&noise.on)) {
        compare(args, target, &mut reader, *noise).await?;
    }
    all(&mut owner, CLEANUP).await
}

async fn all(wire: &mut Wire, statements: &[&str]) -> Result<(), Failure> {
    for statement in statements {
        table::say(wire, statement).await?;
    }
    Ok(())
}

async fn prepare(owner: &mut Wire) -> Result<(), Failure> {
    all(owner, CLEANUP).await?;
    table::say(owner, &format!("CREATE DATABASE {NEAR}")).await?;
    table::say(owner, &format!("USE {NEAR}")).await?;
    table::make(owner, "quiet", KEYS).await?;
    all(owner, SETUP).await
}

/// Measures one statement and prints its line.
async fn compare(args: &Args, target: &Target, reader: &mut Reader, noise: Noise) -> Result<(), Failure> {
    let (mut without, mut beside, mut done) = (Vec::new(), Vec::new(), Done::default());
    for _ in 0..args.rounds {
        reader.prime().await?;
        without.push(reader.round().await?);
        let neighbour = Neighbour::start(args, target, noise).await?;
        beside.push(reader.round().await?);
        let of_round = neighbour.stop().await?;
        done = Done { times: done.times + of_round.times, refused: done.refused + of_round.refused };
    }
    let of = |rounds: &[Reads], number: fn(&Reads) -> f64| median(rounds.iter().map(number).collect());
    let pair = |number| format!("{:.0} -> {:.0}", of(&without, number), of(&beside, number));
    let share = 100.0 * of(&beside, |reads| reads.hits) / of(&without, |reads| reads.hits);
    let seconds = ROUND.as_secs_f64() * f64::from(args.rounds);
    Ok(writeln!(
        stdout(),
        "{share:>7.1} {:>17} {:>17} {:>9.0} {:>9.0}  {}",
        pair(|reads| reads.p50_us),
        pair(|reads| reads.p99_us),
        done.times as f64 / seconds,
        100.0 * done.refused as f64 / (done.times * noise.answers()).max(1) as f64,
        noise.name(),
    )?)
}

/// The client whose hits are counted.
struct Reader {
    wire: Wire,
    counting: Wire,
    packets: Vec<Vec<u8>>,
}

impl Reader {
    async fn new(args: &Args, target: &Target) -> Result<Reader, Failure> {
        let packet = |id| {
            let mut packet = Vec::new();
            query_packet(&mut packet, &format!("SELECT c FROM quiet WHERE id={id}"));
            packet
        };
        Ok(Reader {
            wire: login::open(&args.account, target, NEAR).await?,
            counting: login::open(&args.account, target, "").await?,
            packets: (1..=KEYS).map(packet).collect(),
        })
    }

    async fn hits(&mut self) -> Result<u64, Failure> {
        status(&mut self.counting, "Qcache_hits")
            .await?
            .ok_or_else(|| "the target counts no Qcache_hits".into())
    }

    /// Asks all questions until all of them are hits.
    async fn prime(&mut self) -> Result<(), Failure> {
        let began = Instant::now();
        while began.elapsed() < HITS_WITHIN {
            let before = self.hits().await?;
            for packet in &self.packets {
                self.wire.send_raw(packet).await?;
                read_answer(&mut self.wire).await?;
            }
            if self.hits().await? - before >= u64::from(KEYS) {
                return Ok(());
            }
        }
        Err("the target does not answer from memory".into())
    }

    async fn round(&mut self) -> Result<Reads, Failure> {
        let before = self.hits().await?;
        let mut latency = Latency::default();
        let until = Instant::now() + ROUND;
        let mut now = Instant::now();
        for packet in self.packets.iter().cycle() {
            self.wire.send_raw(packet).await?;
            read_answer(&mut self.wire).await?;
            let answered = Instant::now();
            latency.add(answered - now);
            now = answered;
            if now >= until {
                break;
            }
        }
        let hits = self.hits().await? - before;
        Ok(Reads {
            hits: 100.0 * hits as f64 / latency.count().max(1) as f64,
            p50_us: latency.quantile_us(0.5),
            p99_us: latency.quantile_us(0.99),
        })
    }
}

/// The client that repeats one action without a pause.
struct Neighbour {
    over: Rc<Cell<bool>>,
    task: tokio::task::JoinHandle<Result<Done, String>>,
}

impl Neighbour {
    /// Returns the neighbour after its action has run once.
    async fn start(args: &Args, target: &Target, noise: Noise) -> Result<Neighbour, Failure> {
        let mut account = args.account.clone();
        if noise.denied {
            account = Account { user: READS.to_owned(), password: String::new(), ..account };
        }
        let mut client =
            Client { wire: login::open(&account, target, NEAR).await?, account, target: target.clone() };
        for statement in noise.first {
            client.say(statement).await?;
        }
        client.once(noise.again).await?;
        let over = Rc::new(Cell::new(false));
        let task = tokio::task::spawn_local(client.go_on(noise.again, Rc::clone(&over)));
        Ok(Neighbour { over, task })
    }

    /// Ends the neighbour and its connection.
    async fn stop(self) -> Result<Done, Failure> {
        self.over.set(true);
        Ok(self.task.await??)
    }
}

/// The neighbour's connection, and the means to open another.
struct Client {
    wire: Wire,
    account: Account,
    target: Target,
}

impl Client {
    async fn go_on(mut self, again: Again, over: Rc<Cell<bool>>) -> Result<Done, String> {
        let mut done = Done::default();
        while !over.get() {
            done.refused += self.once(again).await.map_err(|error| error.to_string())?;
            done.times += 1;
        }
        leave(self.wire).await.map_err(|error| error.to_string())?;
        Ok(done)
    }

    /// Runs the action once, and returns how many errors came back.
    async fn once(&mut self, again: Again) -> Result<u64, Failure> {
        let mut refused = 0;
        match again {
            Again::Say(statements) => {
                for statement in statements {
                    refused += u64::from(self.say(statement).await?);
                }
            }
            Again::Command(command) => {
                refused = 1;
                let mut packet = Vec::new();
                put_command(&mut packet, command, "");
                self.wire.send_raw(&packet).await?;
                // Some servers close the connection.
                if read_any(&mut self.wire).await.is_err() {
                    self.wire = login::open(&self.account, &self.target, NEAR).await?;
                }
            }
            Again::Login => leave(login::open(&self.account, &self.target, NEAR).await?).await?,
            Again::Idle => tokio::time::sleep(PAUSE).await,
        }
        Ok(refused)
    }

    /// Sends a statement. Returns whether the answer is an error.
    async fn say(&mut self, statement: &str) -> Result<bool, Failure> {
        let mut packet = Vec::new();
        query_packet(&mut packet, statement);
        self.wire.send_raw(&packet).await?;
        Ok(read_any(&mut self.wire).await?.is_some())
    }
}

/// Leaves, and waits until the target has closed the connection.
async fn leave(mut wire: Wire) -> Result<(), Failure> {
    wire.send(0, &[QUIT]).await?;
    while wire.fill().await.is_ok() {}
    Ok(())
}
