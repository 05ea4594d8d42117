//! One round against one target.

use std::fmt::Write;
use std::rc::Rc;
use std::time::{Duration, Instant};

use freshet_protocol::{ErrPacket, HEADER_LEN};
use tokio::task::JoinSet;

use crate::answer::{Step, Walk};
use crate::args::{Args, Failure, Target};
use crate::keys::Keys;
use crate::latency::Latency;
use crate::wire::Wire;
use crate::{login, processor};

/// COM_QUERY.
const QUERY: u8 = 3;

/// What came of a round.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// How long the answers took, reads and writes.
    pub latency: Latency,
    /// How long the round was.
    pub elapsed: Duration,
    /// Processor time of the target's servers.
    pub server_us: u64,
    /// Processor time of this program.
    pub own_us: u64,
}

/// What all clients of a round share.
struct Plan {
    table: String,
    writes: u8,
    until: Instant,
}

/// Drives the target for one round.
pub async fn run(args: &Args, target: &Target) -> Result<Outcome, Failure> {
    let mut wires = Vec::new();
    for _ in 0..args.clients {
        wires.push(login::open(args, target, &args.database).await?);
    }
    let own = [std::process::id()];
    let (server_us, own_us) = (processor::used_us(&target.pids), processor::used_us(&own));
    let started = Instant::now();
    let until = started + Duration::from_secs(u64::from(args.seconds));
    let plan = Rc::new(Plan { table: args.table.clone(), writes: args.writes, until });
    let mut clients = JoinSet::new();
    for (number, wire) in wires.into_iter().enumerate() {
        let keys = Keys::new(number as u64, args.keys, args.distribution);
        clients.spawn_local(drive(wire, keys, Rc::clone(&plan)));
    }
    let mut latency = Latency::default();
    while let Some(client) = clients.join_next().await {
        latency.merge(&client??);
    }
    Ok(Outcome {
        latency,
        elapsed: started.elapsed(),
        server_us: processor::used_us(&target.pids).saturating_sub(server_us),
        own_us: processor::used_us(&own).saturating_sub(own_us),
    })
}

/// One client: asks and reads until the round is over.
async fn drive(mut wire: Wire, mut keys: Keys, plan: Rc<Plan>) -> Result<Latency, String> {
    let mut latency = Latency::default();
    let mut question = String::new();
    let mut packet = Vec::new();
    let mut now = Instant::now();
    while now < plan.until {
        ask(&mut question, &mut keys, &plan);
        query_packet(&mut packet, &question);
        wire.send_raw(&packet).await.map_err(|error| error.to_string())?;
        read_answer(&mut wire).await?;
        let answered = Instant::now();
        latency.add(answered - now);
        now = answered;
    }
    Ok(latency)
}

fn ask(question: &mut String, keys: &mut Keys, plan: &Plan) {
    let key = keys.next_key();
    let table = &plan.table;
    question.clear();
    // Writing to a string cannot fail.
    let _ = if plan.writes > 0 && keys.percent() < plan.writes {
        write!(question, "UPDATE {table} SET k=k+1 WHERE id={key}")
    } else {
        write!(question, "SELECT c FROM {table} WHERE id={key}")
    };
}

/// A COM_QUERY packet; questions here are far below the size that would split it.
pub fn query_packet(packet: &mut Vec<u8>, question: &str) {
    packet.clear();
    let [a, b, c, ..] = (question.len() + 1).to_le_bytes();
    packet.extend([a, b, c, 0, QUERY]);
    packet.extend(question.as_bytes());
}

/// Reads to the end of an answer.
pub async fn read_answer(wire: &mut Wire) -> Result<(), String> {
    let mut walk = Walk::default();
    loop {
        wire.fill().await.map_err(|error| error.to_string())?;
        let step = walk.step(wire.buffer());
        match step {
            Step::More(walked) => drop(wire.buffer().split_to(walked)),
            Step::End(end) => {
                drop(wire.buffer().split_to(end));
                return Ok(());
            }
            Step::Err(at) => return Err(said(&wire.buffer()[at + HEADER_LEN..])),
        }
    }
}

fn said(payload: &[u8]) -> String {
    match ErrPacket::parse(payload) {
        Ok(error) => format!("the server said {}: {}", error.code, String::from_utf8_lossy(&error.message)),
        Err(error) => error.to_string(),
    }
}
