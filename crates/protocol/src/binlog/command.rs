//! The commands with which a replica asks for the stream.

use super::gtid_set::GtidSet;

const COM_BINLOG_DUMP: u8 = 0x12;
const COM_REGISTER_REPLICA: u8 = 0x15;
const COM_BINLOG_DUMP_GTID: u8 = 0x1e;

/// `COM_BINLOG_DUMP_GTID`: start after the set that follows.
const THROUGH_GTID: u16 = 4;
/// The offset of the first event in every binlog file.
const FIRST_POSITION: u64 = 4;

/// What a replica tells of itself; the server shows it in `SHOW REPLICAS`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replica {
    /// Unique among all servers and replicas of the topology; not 0.
    pub server_id: u32,
    /// Reported host name, cut to 60 bytes.
    pub host: Vec<u8>,
    /// Reported user name, cut to 16 bytes. There is no field for a password:
    /// the server would show it to anyone who may see its replicas.
    pub user: Vec<u8>,
    /// Reported port.
    pub port: u16,
}

/// Bytes of a host name that every server accepts.
const HOST_LEN_MAX: usize = 60;
/// Bytes of a user name that every server accepts.
const USER_LEN_MAX: usize = 16;

/// `COM_REGISTER_REPLICA`: announces a replica before it asks for the stream.
pub fn register_replica(replica: &Replica) -> Vec<u8> {
    let mut out = vec![COM_REGISTER_REPLICA];
    out.extend_from_slice(&replica.server_id.to_le_bytes());
    put_short(&mut out, &replica.host, HOST_LEN_MAX);
    put_short(&mut out, &replica.user, USER_LEN_MAX);
    put_short(&mut out, b"", 0);
    out.extend_from_slice(&replica.port.to_le_bytes());
    // The recovery rank was never used, and the server fills in its own id.
    out.extend_from_slice(&[0; 8]);
    out
}

fn put_short(out: &mut Vec<u8>, bytes: &[u8], max: usize) {
    let bytes = &bytes[..bytes.len().min(max)];
    // Cannot truncate: both bounds above are below 256.
    out.push(bytes.len() as u8);
    out.extend_from_slice(bytes);
}

/// `COM_BINLOG_DUMP`: the stream from an offset in a file.
///
/// An empty `file` means the first that the server has. With MariaDB the
/// position is ignored when the session has set `@slave_connect_state`.
pub fn binlog_dump(file: &[u8], position: u32, server_id: u32, flags: u16) -> Vec<u8> {
    let mut out = vec![COM_BINLOG_DUMP];
    out.extend_from_slice(&position.to_le_bytes());
    out.extend_from_slice(&flags.to_le_bytes());
    out.extend_from_slice(&server_id.to_le_bytes());
    out.extend_from_slice(file);
    out
}

/// `COM_BINLOG_DUMP_GTID` (MySQL): the stream of all transactions that are not
/// in `set`.
///
/// The set is sent in the form of 8.3 only if a tag in it needs that, so older
/// servers understand every set that they can have.
pub fn binlog_dump_gtid(server_id: u32, set: &GtidSet) -> Vec<u8> {
    let set = set.encode();
    let mut out = vec![COM_BINLOG_DUMP_GTID];
    out.extend_from_slice(&THROUGH_GTID.to_le_bytes());
    out.extend_from_slice(&server_id.to_le_bytes());
    // No file name: the server finds the file by the set.
    out.extend_from_slice(&0u32.to_le_bytes());
    out.extend_from_slice(&FIRST_POSITION.to_le_bytes());
    // A set stands for a server's whole history and stays far below 4 GiB.
    out.extend_from_slice(&u32::try_from(set.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(&set);
    out
}

#[cfg(test)]
mod tests;
