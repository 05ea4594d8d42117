//! One round against one target.

use std::time::{Duration, Instant};

use bytes::Buf as _;
use freshet_protocol::{ErrPacket, FrameHeader, HEADER_LEN};
use tokio::task::JoinSet;

use crate::answer::{Step, Walk};
use crate::args::{Args, Failure, Target};
use crate::counters::Counters;
use crate::keys::Keys;
use crate::latency::Latency;
use crate::mix::Statements;
use crate::question::{put_query, query_packet};
use crate::wire::Wire;
use crate::{login, processor};

/// What clients do to each other: two insert the same row, or wait for each other's locks.
const EXPECTED_ERRORS: [u16; 3] = [1062, 1205, 1213];

/// COM_QUIT.
const QUIT: u8 = 1;
/// What came of a round.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// How long the answers took, reads and writes.
    pub latency: Latency,
    /// How many of them were reads.
    pub reads: u64,
    /// What the target counted.
    pub counters: Counters,
    /// How long the round was.
    pub elapsed: Duration,
    /// Processor time of the target's servers.
    pub server_us: u64,
    /// Processor time of this program.
    pub own_us: u64,
}

/// Drives the target for one round.
pub async fn run(args: &Args, target: &Target) -> Result<Outcome, Failure> {
    let before = Counters::read(args, target).await?;
    let mut wires = Vec::new();
    for _ in 0..if args.connect { 0 } else { args.clients } {
        wires.push(login::open(args, target, &args.database).await?);
    }
    let own = [std::process::id()];
    let (server_us, own_us) = (processor::used_us(&target.pids), processor::used_us(&own));
    let started = Instant::now();
    let until = started + Duration::from_secs(u64::from(args.seconds));
    let mut clients = JoinSet::new();
    let mut wires = wires.into_iter();
    for number in 0..args.clients {
        let keys = Keys::new(u64::from(number), args.keys, args.distribution);
        let statements = Statements::new(args.mix, &args.table, args.tables, args.writes, keys);
        match wires.next() {
            Some(wire) => clients.spawn_local(drive(wire, statements, args.pipeline, until)),
            None => clients.spawn_local(come_and_go(args.clone(), target.clone(), statements, until)),
        };
    }
    let (mut latency, mut reads) = (Latency::default(), 0);
    while let Some(client) = clients.join_next().await {
        let (of_client, reads_of_client) = client??;
        latency.merge(&of_client);
        reads += reads_of_client;
    }
    let counters = Counters::read(args, target).await?.since(before);
    Ok(Outcome {
        latency,
        reads,
        counters,
        elapsed: started.elapsed(),
        server_us: processor::used_us(&target.pids).saturating_sub(server_us),
        own_us: processor::used_us(&own).saturating_sub(own_us),
    })
}

/// One client: asks `depth` statements at once and reads their answers, until the round is over.
async fn drive(
    mut wire: Wire,
    mut statements: Statements,
    depth: u32,
    until: Instant,
) -> Result<(Latency, u64), String> {
    let (mut latency, mut reads) = (Latency::default(), 0);
    let mut question = String::new();
    let mut packet = Vec::new();
    let mut now = Instant::now();
    while now < until {
        packet.clear();
        for _ in 0..depth {
            reads += u64::from(statements.next(&mut question));
            put_query(&mut packet, &question);
        }
        wire.send_raw(&packet).await.map_err(|error| error.to_string())?;
        for _ in 0..depth {
            read_answer(&mut wire).await?;
        }
        let answered = Instant::now();
        (0..depth).for_each(|_| latency.add(answered - now));
        now = answered;
    }
    Ok((latency, reads))
}

/// Clients one after another: each connects, asks once and leaves.
async fn come_and_go(
    args: Args,
    target: Target,
    mut statements: Statements,
    until: Instant,
) -> Result<(Latency, u64), String> {
    let (mut latency, mut reads) = (Latency::default(), 0);
    let mut question = String::new();
    let mut packet = Vec::new();
    let mut now = Instant::now();
    while now < until {
        let mut wire =
            login::open(&args, &target, &args.database).await.map_err(|error| error.to_string())?;
        reads += u64::from(statements.next(&mut question));
        query_packet(&mut packet, &question);
        wire.send_raw(&packet).await.map_err(|error| error.to_string())?;
        read_answer(&mut wire).await?;
        wire.send(0, &[QUIT]).await.map_err(|error| error.to_string())?;
        let left = Instant::now();
        latency.add(left - now);
        now = left;
    }
    Ok((latency, reads))
}

/// The length of the packet that begins here.
fn error_len(packet: &[u8]) -> usize {
    FrameHeader::parse(packet).map_or(0, |header| header.len)
}

/// Reads to the end of an answer, which is none of the errors that are not expected.
pub async fn read_answer(wire: &mut Wire) -> Result<(), String> {
    match read_any(wire).await? {
        Some(error) if !EXPECTED_ERRORS.contains(&error.code) => {
            Err(format!("the server said {}: {}", error.code, String::from_utf8_lossy(&error.message)))
        }
        _ => Ok(()),
    }
}

/// Reads to the end of an answer. Gives the error if it is one.
pub async fn read_any(wire: &mut Wire) -> Result<Option<ErrPacket>, String> {
    let mut walk = Walk::default();
    loop {
        // What came behind the answer before is looked at first.
        if wire.buffer().is_empty() {
            wire.fill().await.map_err(|error| error.to_string())?;
        }
        let step = walk.step(wire.buffer());
        match step {
            Step::More(walked) => {
                wire.buffer().advance(walked);
                if !wire.buffer().is_empty() {
                    wire.fill().await.map_err(|error| error.to_string())?;
                }
            }
            Step::End(end) => {
                wire.buffer().advance(end);
                return Ok(None);
            }
            Step::Err(at) => {
                let error =
                    ErrPacket::parse(&wire.buffer()[at + HEADER_LEN..]).map_err(|error| error.to_string())?;
                let end = wire.buffer().len().min(at + HEADER_LEN + error_len(&wire.buffer()[at..]));
                wire.buffer().advance(end);
                return Ok(Some(error));
            }
        }
    }
}
