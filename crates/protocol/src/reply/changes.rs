//! Changes of the session's state, as an OK packet reports them.

use ::bytes::BufMut;

use crate::{Malformed, Put, Reader};

/// One change of the session's state. Both servers use the same numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateChange {
    /// A tracked variable has a new value.
    SystemVariable {
        /// Its name.
        name: Vec<u8>,
        /// Its value, as text.
        value: Vec<u8>,
    },
    /// The schema is now this one.
    Schema(Vec<u8>),
    /// Some state has changed (`"1"`), of a kind that is not tracked by name.
    SessionState(Vec<u8>),
    /// The GTIDs of what was committed, as text.
    Gtids(Vec<u8>),
    /// The statements that would restore the transaction's characteristics.
    TransactionCharacteristics(Vec<u8>),
    /// Eight characters that say what the open transaction has done.
    TransactionState(Vec<u8>),
    /// A kind that is not known here.
    Other {
        /// Its number.
        kind: u8,
        /// Its content, raw.
        data: Vec<u8>,
    },
}

const SYSTEM_VARIABLES: u8 = 0;
const SCHEMA: u8 = 1;
const SESSION_STATE: u8 = 2;
const GTIDS: u8 = 3;
const TRANSACTION_CHARACTERISTICS: u8 = 4;
const TRANSACTION_STATE: u8 = 5;

/// How the GTIDs are encoded: as text, the only encoding there is.
const GTIDS_AS_TEXT: u8 = 0;

/// Reads all changes of an OK packet.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<StateChange>, Malformed> {
    let reader = &mut Reader::new(bytes);
    let mut changes = Vec::new();
    while !reader.is_empty() {
        let kind = reader.u8()?;
        parse_one(kind, reader.lenenc_bytes()?, &mut changes)?;
    }
    Ok(changes)
}

fn parse_one(kind: u8, data: &[u8], changes: &mut Vec<StateChange>) -> Result<(), Malformed> {
    let reader = &mut Reader::new(data);
    changes.push(match kind {
        SYSTEM_VARIABLES => return parse_variables(reader, changes),
        SCHEMA => StateChange::Schema(reader.lenenc_bytes()?.to_vec()),
        // The one kind whose text has no length of its own.
        SESSION_STATE => StateChange::SessionState(data.to_vec()),
        GTIDS if reader.peek() == Some(GTIDS_AS_TEXT) => {
            reader.u8()?;
            StateChange::Gtids(reader.lenenc_bytes()?.to_vec())
        }
        TRANSACTION_CHARACTERISTICS => {
            StateChange::TransactionCharacteristics(reader.lenenc_bytes()?.to_vec())
        }
        TRANSACTION_STATE => StateChange::TransactionState(reader.lenenc_bytes()?.to_vec()),
        kind => StateChange::Other { kind, data: data.to_vec() },
    });
    Ok(())
}

/// Reads a block of variables: MySQL sends one in each, MariaDB several.
fn parse_variables(reader: &mut Reader<'_>, changes: &mut Vec<StateChange>) -> Result<(), Malformed> {
    while !reader.is_empty() {
        let name = reader.lenenc_bytes()?.to_vec();
        let value = reader.lenenc_bytes()?.to_vec();
        changes.push(StateChange::SystemVariable { name, value });
    }
    Ok(())
}

/// Appends all changes, each in a block of its own as MySQL sends them.
pub(super) fn put(out: &mut Vec<u8>, changes: &[StateChange]) {
    let mut block = Vec::new();
    for change in changes {
        block.clear();
        let kind = put_one(&mut block, change);
        out.put_u8(kind);
        out.put_lenenc_bytes(&block);
    }
}

/// Appends one change's content and returns its kind.
fn put_one(block: &mut Vec<u8>, change: &StateChange) -> u8 {
    let (kind, text) = match change {
        StateChange::SystemVariable { name, value } => {
            block.put_lenenc_bytes(name);
            (SYSTEM_VARIABLES, value)
        }
        StateChange::Schema(name) => (SCHEMA, name),
        StateChange::SessionState(state) => {
            block.put_slice(state);
            return SESSION_STATE;
        }
        StateChange::Gtids(gtids) => {
            block.put_u8(GTIDS_AS_TEXT);
            (GTIDS, gtids)
        }
        StateChange::TransactionCharacteristics(text) => (TRANSACTION_CHARACTERISTICS, text),
        StateChange::TransactionState(state) => (TRANSACTION_STATE, state),
        StateChange::Other { kind, data } => {
            block.put_slice(data);
            return *kind;
        }
    };
    block.put_lenenc_bytes(text);
    kind
}
