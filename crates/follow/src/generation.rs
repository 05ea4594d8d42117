//! Reading the stream.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use freshet_cache::Position;
use freshet_protocol::ErrPacket;
use freshet_protocol::binlog::{Decoder, Event, EventBody};
use freshet_upstream::connection::within;
use freshet_upstream::{Connection, Error, now_ms};

use crate::applier::{Applier, Broken, Progress};
use crate::feed::Feed;
use crate::over::Over;
use crate::probe::Visible;
use crate::proven::EndsAsked;
use crate::replica::Joined;
use crate::shared::{Following, StreamCounters};
use crate::stamps::Stamps;

/// The longest event that is read, in bytes: `max_allowed_packet` of a replica can be 1 GiB. A longer event ends the generation.
const EVENT_BYTES_MAX: usize = (1 << 30) + (1 << 16);

/// A silent stream is given up after this many times the time for which it counts as live.
const SILENCE: u32 = 5;

/// The most events that are applied before the other parts of the thread get their turn, while more can be read.
const EVENTS_IN_A_ROW_MAX: u32 = 64;

/// The limit of sending an acknowledgement: if it takes longer, the connection counts as lost.
const ACK_LIMIT: Duration = Duration::from_secs(10);

/// The first byte of a packet in the stream that holds an event.
const EVENT: u8 = 0x00;
const EOF: u8 = 0xFE;
const ERR: u8 = 0xFF;

/// The sinks, in the order of their calls: the stamps first, since the news of definitions must follow them; readers of rows last.
pub(crate) type Sinks = (Stamps, (Arc<Following>, Feed));

/// The state that the parts of one generation share. They run on one thread and borrow it between awaits only.
pub(crate) struct Generation {
    pub(crate) shared: Arc<Following>,
    pub(crate) applier: RefCell<Applier<Arc<Following>, Sinks>>,
    pub(crate) visible: RefCell<Visible>,
    /// Questions for the binlog's end whose answers are not applied yet.
    pub(crate) ends: RefCell<EndsAsked>,
    pub(crate) semisync: Joined,
}

impl Generation {
    /// Reads the stream until it breaks.
    pub(crate) async fn read(&self, stream: &mut Connection, mut decoder: Decoder) -> Result<(), Over> {
        let live_limit = self.shared.config.live_limit();
        let mut in_a_row = 0;
        loop {
            let next = stream.read_packet(EVENT_BYTES_MAX);
            let packet = within(live_limit * SILENCE, "waiting for the binlog", next).await?;
            let (event, wants_ack) = self.semisync.split(event_bytes(&packet.payload)?)?;
            let event = decoder.event(event).map_err(Error::from)?;
            self.take(event, live_limit)?;
            if wants_ack {
                self.acknowledge(stream).await?;
            }
            in_a_row += 1;
            if in_a_row >= EVENTS_IN_A_ROW_MAX {
                in_a_row = 0;
                tokio::task::yield_now().await;
            }
        }
    }

    fn take(&self, event: Event, live_limit: Duration) -> Result<(), Over> {
        let shared = &self.shared;
        self.note(&event);
        let mut applier = self.applier.borrow_mut();
        let step = applier.apply(event)?;
        shared.counters.offset.store(applier.timeline().offset(), Ordering::Relaxed);
        drop(applier);
        self.ends.borrow_mut().applied(&shared.freshness, &shared.proven);
        let now = now_ms();
        // Fences are lifted after the position for which they wait was published.
        match &step {
            Progress::Inside => {}
            Progress::Passed(at) => shared.settling.passed(*at),
            Progress::Ended { gtid, at } => {
                StreamCounters::count(&shared.counters.transactions);
                self.visible.borrow_mut().received(gtid.as_ref(), *at, shared.freshness.visible(), now);
                shared.settling.applied(gtid.as_ref(), *at, now);
                shared.prober.notify_one();
            }
        }
        shared.freshness.lives_until(now + millis(live_limit));
        Ok(())
    }

    /// Acknowledges to the server everything that it has sent. The stamps are set, so nothing older is served once the commits that wait
    /// for this become visible.
    async fn acknowledge(&self, stream: &mut Connection) -> Result<(), Over> {
        let offset = self.applier.borrow().timeline().offset();
        let ack = self.semisync.ack(offset);
        Ok(within(ACK_LIMIT, "acknowledging a transaction", stream.send_command(&ack)).await?)
    }

    fn note(&self, event: &Event) {
        let counters = &self.shared.counters;
        StreamCounters::count(&counters.events);
        match &event.body {
            EventBody::Rotate { file, .. } => {
                self.shared.set_file(file);
                self.semisync.in_file(file);
            }
            EventBody::Heartbeat { .. } => counters.lag_ms.store(0, Ordering::Relaxed),
            _ if event.header.timestamp != 0 && !event.header.is_artificial() => {
                counters.lag_ms.store(age_ms(event.header.timestamp), Ordering::Relaxed);
            }
            _ => {}
        }
    }

    /// Publishes the stamps of changes that are in no binlog, if the stream does not pass them by itself.
    pub(crate) fn step(&self) -> Result<(), Over> {
        let shared = &self.shared;
        let Some(at) = self.applier.borrow_mut().step()? else { return Ok(()) };
        shared.settling.passed(at);
        let visible = self.visible.borrow_mut().stepped(at, shared.freshness.visible());
        visible.into_iter().for_each(|at| shared.publish_visible(at));
        Ok(())
    }

    /// Whether something received is not known to be visible yet.
    pub(crate) fn is_behind(&self) -> bool {
        self.visible.borrow().is_behind(self.shared.freshness.visible())
    }

    /// Returns the position of a coordinate that the server reported.
    pub(crate) fn locate(&self, file: &[u8], offset: u64) -> Result<Option<Position>, Over> {
        let located = self.applier.borrow_mut().timeline_mut().locate(file, offset);
        Ok(located.map_err(Broken::from)?)
    }
}

fn event_bytes(packet: &[u8]) -> Result<&[u8], Error> {
    match packet.split_first() {
        Some((&EVENT, event)) => Ok(event),
        Some((&ERR, _)) => Err(Error::Server(ErrPacket::parse(packet)?)),
        Some((&EOF, _)) => Err(Error::Closed),
        _ => Err(Error::Unexpected { question: "the binlog" }),
    }
}

/// Returns the age of an event in milliseconds. The binlog tells only seconds, so an age below two of them counts as 0.
fn age_ms(timestamp: u32) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let age = now.as_secs().saturating_sub(u64::from(timestamp));
    if age < 2 { 0 } else { age * 1_000 }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX / 2)
}
