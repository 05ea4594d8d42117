//! The counters of a target: how many statements it answered from memory, and what invalidation cost.

use freshet_protocol::{HEADER_LEN, Reader};

use crate::answer::{EOF_BYTES_MAX, Step, Walk};
use crate::login;
use crate::question::query_packet;
use crate::target::{Account, Failure, Target};
use crate::wire::Wire;

/// The first bytes of an EOF packet, and of a value that is NULL.
const EOF: u8 = 0xfe;
const NULL: u8 = 0xfb;

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

/// Returns the second column of an answer's first row, if it is a number.
pub async fn second(wire: &mut Wire, question: &str) -> Result<Option<u64>, Failure> {
    let value = rows(wire, question).await?.into_iter().next().and_then(|row| row.into_iter().nth(1));
    Ok(value.flatten().and_then(|value| value.parse().ok()))
}

/// Returns the first column of an answer's first row.
pub async fn first(wire: &mut Wire, question: &str) -> Result<Option<String>, Failure> {
    Ok(rows(wire, question).await?.into_iter().next().and_then(|row| row.into_iter().next()).flatten())
}

/// The values of a row as texts; `None` is NULL.
type Row = Vec<Option<String>>;

/// Returns the rows of an answer.
pub async fn rows(wire: &mut Wire, question: &str) -> Result<Vec<Row>, Failure> {
    let mut sent = Vec::new();
    query_packet(&mut sent, question);
    wire.send_raw(&sent).await?;
    loop {
        wire.fill().await?;
        // From the front each time: these answers are a few packets.
        match Walk::default().step(wire.buffer()) {
            Step::More(_) => {}
            Step::End(end) => return Ok(rows_in(&wire.buffer().split_to(end))),
            Step::Err(_) => return Err(format!("{question} is answered by an error").into()),
        }
    }
}

/// Returns the rows in a whole answer: what stands between its two EOF packets.
fn rows_in(answer: &[u8]) -> Vec<Row> {
    let (mut rest, mut found, mut eofs) = (answer, Vec::new(), 0);
    while let Some((payload, after)) = packet(rest) {
        rest = after;
        match payload.first() {
            Some(&EOF) if payload.len() < EOF_BYTES_MAX => eofs += 1,
            _ if eofs == 1 => found.push(values(payload)),
            _ => {}
        }
    }
    found
}

fn values(payload: &[u8]) -> Row {
    let (mut reader, mut values) = (Reader::new(payload), Vec::new());
    while let Some(first) = reader.peek() {
        let value = if first == NULL { reader.u8().map(|_| None) } else { reader.lenenc_bytes().map(Some) };
        let Ok(value) = value else { break };
        values.push(value.map(|value| String::from_utf8_lossy(value).into_owned()));
    }
    values
}

fn packet(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let &[a, b, c, _] = bytes.first_chunk::<HEADER_LEN>()?;
    bytes.get(HEADER_LEN..)?.split_at_checked(u32::from_le_bytes([a, b, c, 0]) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_between_two_eofs() {
        let packets: [&[u8]; 6] =
            [b"\x02", b"\x03def", b"\xfe\0\0\x02\0", b"\x03abc\x0242", b"\xfb\x00", b"\xfe\0\0\x02\0"];
        let framed = |payload: &&[u8]| [&[payload.len() as u8, 0, 0, 1], *payload].concat();
        let answer: Vec<u8> = packets.iter().flat_map(framed).collect();
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(rows_in(&answer), [vec![text("abc"), text("42")], vec![None, text("")]]);
        assert!(rows_in(b"\x07\0\0\x01\0\0\0\x02\0\0\0").is_empty());
    }
}
