//! Starting a stream, so that every change is either visible already or will be streamed.
//!
//! * *MySQL with GTIDs.* The transactions in `gtid_executed` have taken effect in the engine. We read that set and ask for all
//!   transactions outside of it. A stream from the end of the binlog, as its status tells it, would miss transactions that are flushed to
//!   the binlog and not yet committed in the engine at that moment: they become visible a little later and their events lie before the
//!   start, so they would never be stamped.
//! * *MariaDB.* The status `binlog_snapshot_%` is never ahead of what is visible, so the stream from there brings everything that is not
//!   visible yet.
//! * *MySQL without GTIDs.* Only the end of the binlog is known. A transaction that was flushed and not committed at that moment is not
//!   streamed. Instead nothing counts as visible until the quarantine is over; by then such a transaction has taken effect, unless its
//!   commit takes longer than the quarantine, as a semi-synchronous one can.

use std::collections::VecDeque;
use std::time::Duration;

use freshet_cache::Position;
use freshet_protocol::binlog::{
    BinlogFlavor, Decoder, GtidSet, Replica, binlog_dump, binlog_dump_gtid, register_replica,
};
use freshet_protocol::{ErrPacket, random_scramble};
use freshet_sql::Flavor;
use freshet_upstream::connection::{HANDSHAKE_PACKET_BYTES_MAX, within};
use freshet_upstream::server::ask_end;
use freshet_upstream::{Connection, Error, ServerInfo, now_ms};
use tokio::try_join;

use crate::applier::StreamTraits;
use crate::probe::{GtidQueue, Visible, snapshot_coordinate};
use crate::settle::AppliedGtids;
use crate::timeline::Timeline;

/// The time allowed for each question that a start takes.
const QUESTION_LIMIT: Duration = Duration::from_secs(10);

/// The identity under which we ask for the stream. It stays the same for the life of the process. So when we come back, the server ends
/// the dump on a connection of ours that it does not know to be broken.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    server_id: u32,
    uuid: String,
}

impl Identity {
    /// Makes an identity with this server id, or with a random one that is above those that people choose.
    pub(crate) fn new(server_id: u32) -> Self {
        let random = random_scramble();
        let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let uuid =
            format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..32]);
        let chosen = u32::from_le_bytes([random[16], random[17], random[18], random[19]]) | 1 << 31;
        Self { server_id: if server_id == 0 { chosen } else { server_id }, uuid }
    }
}

/// How we join the server's replicas.
#[derive(Clone, Copy)]
pub(crate) struct Joining<'a> {
    pub(crate) identity: &'a Identity,
    /// The time between two signs of life while nothing changes.
    pub(crate) heartbeat: Duration,
    /// As a replica for whose acknowledgement the server's commits wait, if the server can do that.
    pub(crate) semisync: bool,
}

/// A stream that has been asked for and not read from.
pub(crate) struct Opened {
    pub(crate) connection: Connection,
    pub(crate) decoder: Decoder,
    /// It stands at the start of the stream.
    pub(crate) timeline: Timeline,
    pub(crate) traits: StreamTraits,
    pub(crate) visible: Visible,
    pub(crate) executed: AppliedGtids,
    /// Everything up to the start is visible; if not, the start waits in `visible`.
    pub(crate) starts_visible: bool,
    /// We asked to join as a semi-synchronous replica.
    pub(crate) semisync: bool,
}

/// The start of a stream.
struct Start {
    timeline: Timeline,
    visible: Visible,
    executed: AppliedGtids,
    starts_visible: bool,
    dump: Vec<u8>,
}

/// Opens the stream on `connection`. `prober` is asked for the start; `timeline` is above all positions that were given out.
pub(crate) async fn open(
    joining: Joining<'_>,
    server: &ServerInfo,
    mut connection: Connection,
    prober: &mut Connection,
    timeline: Timeline,
) -> Result<Opened, Error> {
    let both = async { try_join!(who(prober), who(&mut connection)) };
    let (one, other) = within(QUESTION_LIMIT, "comparing two connections", both).await?;
    if one != other {
        // An address that stands for several servers would mix up their binlogs.
        return Err(Error::Unexpected { question: "which server two connections have reached" });
    }
    let starting = start(server, prober, timeline, joining.identity);
    let ((), start) = try_join!(
        prepare(&mut connection, joining, server.flavor),
        within(QUESTION_LIMIT, "reading the binlog's position", starting),
    )?;
    connection.send_command(&start.dump).await?;
    let wire = if server.flavor == Flavor::MariaDb { BinlogFlavor::MariaDb } else { BinlogFlavor::MySql };
    Ok(Opened {
        connection,
        decoder: Decoder::new(wire),
        timeline: start.timeline,
        traits: StreamTraits {
            flavor: server.flavor,
            needs_gtids: starts_at_gtids(server),
            folds_names: server.folds_names(),
        },
        visible: start.visible,
        executed: start.executed,
        starts_visible: start.starts_visible,
        semisync: joining.semisync,
    })
}

/// Tells the server what it has to know of a replica. Both the old and the new names of the variables are set; a server ignores those
/// that it does not know, as variables like any other.
async fn prepare(
    connection: &mut Connection,
    Joining { identity, heartbeat, semisync }: Joining<'_>,
    flavor: Flavor,
) -> Result<(), Error> {
    let heartbeat_ns = heartbeat.as_nanos();
    let uuid = &identity.uuid;
    let mut settings = format!(
        "SET @master_binlog_checksum = @@GLOBAL.binlog_checksum, @source_binlog_checksum = @@GLOBAL.binlog_checksum, \
         @master_heartbeat_period = {heartbeat_ns}, @source_heartbeat_period = {heartbeat_ns}, \
         @slave_uuid = '{uuid}', @replica_uuid = '{uuid}'"
    );
    if flavor == Flavor::MariaDb {
        // We understand GTIDs, so the server need not rewrite events that have them.
        settings.push_str(", @mariadb_slave_capability = 4");
    }
    if semisync {
        settings.push_str(", @rpl_semi_sync_slave = 1, @rpl_semi_sync_replica = 1");
    }
    let replica = Replica { server_id: identity.server_id, host: b"freshet".to_vec(), ..Replica::default() };
    let registered = async {
        connection.query(&settings).await?;
        connection.send_command(&register_replica(&replica)).await?;
        let answer = connection.read_packet(HANDSHAKE_PACKET_BYTES_MAX).await?;
        match answer.payload.first() {
            Some(0x00) => Ok(()),
            Some(0xFF) => Err(Error::Server(ErrPacket::parse(&answer.payload)?)),
            _ => Err(Error::Unexpected { question: "COM_REGISTER_REPLICA" }),
        }
    };
    within(QUESTION_LIMIT, "registering as a replica", registered).await
}

/// Whether the stream starts at a set of GTIDs. MySQL has such a set that tells what is visible. MariaDB has one too, but it runs ahead.
fn starts_at_gtids(server: &ServerInfo) -> bool {
    !server.is_mariadb() && server.has_gtids()
}

/// Returns values that tell one server from another, and from itself with another binlog.
async fn who(connection: &mut Connection) -> Result<Vec<Vec<Option<Vec<u8>>>>, Error> {
    const QUESTION: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_uuid', 'server_uid', 'server_id', \
         'hostname', 'port', 'datadir', 'log_bin_basename')";
    Ok(connection.query(QUESTION).await?.rows)
}

async fn start(
    server: &ServerInfo,
    prober: &mut Connection,
    mut timeline: Timeline,
    identity: &Identity,
) -> Result<Start, Error> {
    // Asked for in any case: fences will need it, and a missing privilege has to show now.
    let end = ask_end(server, prober).await?;
    if starts_at_gtids(server) {
        let rows = prober.query("SELECT @@GLOBAL.gtid_executed").await?;
        let text = rows.text(0, 0).ok_or(Error::Unexpected { question: "gtid_executed" })?;
        let executed =
            GtidSet::parse(text.as_bytes()).map_err(|_| Error::Unexpected { question: "gtid_executed" })?;
        let dump = binlog_dump_gtid(identity.server_id, &executed);
        let visible = Visible::Gtids(GtidQueue::default());
        return Ok(Start {
            timeline,
            visible,
            executed: AppliedGtids::MySql(executed),
            starts_visible: true,
            dump,
        });
    }
    let is_mariadb = server.is_mariadb();
    let (file, offset) = if is_mariadb {
        let rows = prober.query("SHOW STATUS LIKE 'binlog_snapshot_%'").await?;
        snapshot_coordinate(&rows.rows).ok_or(Error::Unexpected { question: "binlog_snapshot_position" })?
    } else {
        end
    };
    let unusable = |_| Error::Unexpected { question: "the binlog's position" };
    timeline.rotate(&file, offset).map_err(unusable)?;
    // The command holds 32 bits. A longer file is closed with the transaction that made it so long.
    let from = u32::try_from(offset).map_err(|_| Error::Unexpected { question: "a position below 4 GiB" })?;
    let dump = binlog_dump(&file, from, identity.server_id, 0);
    let here = timeline.here();
    if is_mariadb {
        let visible = Visible::Snapshot(here);
        return Ok(Start {
            timeline,
            visible,
            executed: AppliedGtids::mariadb(),
            starts_visible: true,
            dump,
        });
    }
    let mut visible = Visible::Quarantine(VecDeque::new());
    visible.received(None, here, Position::ZERO, now_ms());
    Ok(Start { timeline, visible, executed: AppliedGtids::Untold, starts_visible: false, dump })
}
