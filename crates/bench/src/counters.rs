//! The counters of a target: how many statements it answered from memory, and what invalidation cost.

use freshet_protocol::{HEADER_LEN, Reader};

use crate::answer::{Step, Walk};
use crate::login;
use crate::question::query_packet;
use crate::target::{Account, Failure, Target};
use crate::wire::Wire;

/// Counters since the target's start, or the difference of two readings. Zero where a target has no such counter.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counters {
    /// Statements answered from memory.
    pub hits: u64,
    /// Results found stale and stored anew.
    pub refilled: u64,
    /// Refilled results that had not changed.
    pub needless: u64,
    /// Lookups refused because a write was under way.
    pub fenced: u64,
}

impl Counters {
    /// Asks a target, over a connection of its own.
    pub async fn read(account: &Account, target: &Target) -> Result<Counters, Failure> {
        let mut wire = login::open(account, target, "").await?;
        let mut counters = Counters::default();
        for (name, counter) in [
            ("Qcache_hits", &mut counters.hits),
            ("Freshet_refilled", &mut counters.refilled),
            ("Freshet_needless", &mut counters.needless),
            ("Freshet_fenced", &mut counters.fenced),
        ] {
            *counter = status(&mut wire, name).await?.unwrap_or_default();
        }
        Ok(counters)
    }

    /// Returns what was counted since `before`.
    pub fn since(self, before: Counters) -> Counters {
        Counters {
            hits: self.hits.saturating_sub(before.hits),
            refilled: self.refilled.saturating_sub(before.refilled),
            needless: self.needless.saturating_sub(before.needless),
            fenced: self.fenced.saturating_sub(before.fenced),
        }
    }
}

/// Returns a status value that is a number, if there is one of this name.
pub async fn status(wire: &mut Wire, name: &str) -> Result<Option<u64>, Failure> {
    second(wire, &format!("SHOW GLOBAL STATUS LIKE '{name}'")).await
}

/// Returns the second column of the only row of an answer of two columns, if it is a number.
pub async fn second(wire: &mut Wire, question: &str) -> Result<Option<u64>, Failure> {
    const ROW: usize = 4;
    let row = row(wire, question, ROW).await?;
    let value = |row: &[u8]| {
        let mut reader = Reader::new(row);
        reader.lenenc_bytes().ok()?;
        std::str::from_utf8(reader.lenenc_bytes().ok()?).ok()?.parse().ok()
    };
    Ok(row.and_then(|row| value(&row)))
}

/// Returns the only value of an answer of one column.
pub async fn first(wire: &mut Wire, question: &str) -> Result<Option<String>, Failure> {
    const ROW: usize = 3;
    let row = row(wire, question, ROW).await?;
    let value = |row: &[u8]| String::from_utf8(Reader::new(row).lenenc_bytes().ok()?.to_vec()).ok();
    Ok(row.and_then(|row| value(&row)))
}

/// Returns the only row of an answer: the packet of that number, counted from 0, behind the count, the definitions and an EOF.
async fn row(wire: &mut Wire, question: &str, at: usize) -> Result<Option<Vec<u8>>, Failure> {
    let mut sent = Vec::new();
    query_packet(&mut sent, question);
    wire.send_raw(&sent).await?;
    loop {
        wire.fill().await?;
        // From the front each time: these answers are a few packets.
        match Walk::default().step(wire.buffer()) {
            Step::More(_) => {}
            Step::End(end) => return Ok(packet_at(&wire.buffer().split_to(end), at)),
            Step::Err(_) => return Err(format!("{question} is answered by an error").into()),
        }
    }
}

/// Returns the packet of a number, if another one follows.
fn packet_at(answer: &[u8], at: usize) -> Option<Vec<u8>> {
    let mut rest = answer;
    for _ in 0..at {
        rest = packet(rest)?.1;
    }
    let (row, after) = packet(rest)?;
    packet(after)?;
    Some(row.to_vec())
}

fn packet(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let &[a, b, c, _] = bytes.first_chunk::<HEADER_LEN>()?;
    bytes.get(HEADER_LEN..)?.split_at_checked(u32::from_le_bytes([a, b, c, 0]) as usize)
}
