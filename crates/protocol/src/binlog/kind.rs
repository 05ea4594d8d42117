//! The numbers of the event types, as both servers assign them.

pub(super) const QUERY: u8 = 2;
pub(super) const STOP: u8 = 3;
pub(super) const ROTATE: u8 = 4;
pub(super) const INTVAR: u8 = 5;
pub(super) const RAND: u8 = 13;
pub(super) const USER_VAR: u8 = 14;
pub(super) const FORMAT_DESCRIPTION: u8 = 15;
pub(super) const XID: u8 = 16;
pub(super) const TABLE_MAP: u8 = 19;
pub(super) const WRITE_ROWS_V1: u8 = 23;
pub(super) const UPDATE_ROWS_V1: u8 = 24;
pub(super) const DELETE_ROWS_V1: u8 = 25;
pub(super) const INCIDENT: u8 = 26;
pub(super) const HEARTBEAT: u8 = 27;
pub(super) const IGNORABLE: u8 = 28;
pub(super) const ROWS_QUERY: u8 = 29;
pub(super) const WRITE_ROWS: u8 = 30;
pub(super) const UPDATE_ROWS: u8 = 31;
pub(super) const DELETE_ROWS: u8 = 32;
pub(super) const GTID: u8 = 33;
pub(super) const ANONYMOUS_GTID: u8 = 34;
pub(super) const PREVIOUS_GTIDS: u8 = 35;
pub(super) const TRANSACTION_CONTEXT: u8 = 36;
pub(super) const VIEW_CHANGE: u8 = 37;
pub(super) const XA_PREPARE: u8 = 38;
pub(super) const PARTIAL_UPDATE_ROWS: u8 = 39;
pub(super) const TRANSACTION_PAYLOAD: u8 = 40;
pub(super) const HEARTBEAT_V2: u8 = 41;
pub(super) const GTID_TAGGED: u8 = 42;

pub(super) const MARIADB_ANNOTATE_ROWS: u8 = 160;
pub(super) const MARIADB_BINLOG_CHECKPOINT: u8 = 161;
pub(super) const MARIADB_GTID: u8 = 162;
pub(super) const MARIADB_GTID_LIST: u8 = 163;
pub(super) const MARIADB_START_ENCRYPTION: u8 = 164;
pub(super) const MARIADB_QUERY_COMPRESSED: u8 = 165;
pub(super) const MARIADB_WRITE_ROWS_COMPRESSED_V1: u8 = 166;
pub(super) const MARIADB_UPDATE_ROWS_COMPRESSED_V1: u8 = 167;
pub(super) const MARIADB_DELETE_ROWS_COMPRESSED_V1: u8 = 168;
pub(super) const MARIADB_WRITE_ROWS_COMPRESSED: u8 = 169;
pub(super) const MARIADB_UPDATE_ROWS_COMPRESSED: u8 = 170;
pub(super) const MARIADB_DELETE_ROWS_COMPRESSED: u8 = 171;

pub(super) const APPEND_BLOCK: u8 = 9;
pub(super) const DELETE_FILE: u8 = 11;
pub(super) const BEGIN_LOAD_QUERY: u8 = 17;
pub(super) const EXECUTE_LOAD_QUERY: u8 = 18;

/// The numbers of the column types.
pub(super) mod column {
    pub(crate) const TINY: u8 = 1;
    pub(crate) const SHORT: u8 = 2;
    pub(crate) const LONG: u8 = 3;
    pub(crate) const FLOAT: u8 = 4;
    pub(crate) const DOUBLE: u8 = 5;
    pub(crate) const TIMESTAMP: u8 = 7;
    pub(crate) const LONGLONG: u8 = 8;
    pub(crate) const INT24: u8 = 9;
    pub(crate) const DATE: u8 = 10;
    pub(crate) const TIME: u8 = 11;
    pub(crate) const DATETIME: u8 = 12;
    pub(crate) const YEAR: u8 = 13;
    pub(crate) const NEWDATE: u8 = 14;
    pub(crate) const VARCHAR: u8 = 15;
    pub(crate) const BIT: u8 = 16;
    pub(crate) const TIMESTAMP2: u8 = 17;
    pub(crate) const DATETIME2: u8 = 18;
    pub(crate) const TIME2: u8 = 19;
    pub(crate) const BLOB_COMPRESSED: u8 = 140;
    pub(crate) const VARCHAR_COMPRESSED: u8 = 141;
    pub(crate) const VECTOR: u8 = 242;
    pub(crate) const JSON: u8 = 245;
    pub(crate) const NEWDECIMAL: u8 = 246;
    pub(crate) const ENUM: u8 = 247;
    pub(crate) const SET: u8 = 248;
    pub(crate) const TINY_BLOB: u8 = 249;
    pub(crate) const BLOB: u8 = 252;
    pub(crate) const VAR_STRING: u8 = 253;
    pub(crate) const STRING: u8 = 254;
    pub(crate) const GEOMETRY: u8 = 255;
}
