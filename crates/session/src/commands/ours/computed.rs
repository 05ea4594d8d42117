//! The value of an assignment, computed.

use freshet_protocol::ErrPacket;
use freshet_sql::{AssignedValue, Effects, Reads};

use crate::session::Session;

/// MYSQL_TYPE_TINY, SHORT, LONG, LONGLONG and INT24.
const INTEGER_KINDS: [u8; 5] = [1, 2, 3, 8, 9];
/// MYSQL_TYPE_VARCHAR, the four BLOBs, VAR_STRING and STRING; and TIMESTAMP, DATE, TIME and DATETIME, which are texts to a SET.
const TEXT_KINDS: [u8; 11] = [15, 249, 250, 251, 252, 253, 254, 7, 10, 11, 12];
/// MYSQL_TYPE_NULL.
const NULL_KIND: u8 = 6;

/// ER_NOT_SUPPORTED_YET.
const NOT_SUPPORTED: u16 = 1235;

/// Returns the value of an assignment. The server computes an expression, including what the expression reads of tables. A value that runs
/// code is returned as it is written.
///
/// # Errors
/// The server's error; and 1235 if the value reads a table in a transaction, because that read would open the transaction's snapshot.
pub(super) async fn computed(
    session: &mut Session,
    value: &AssignedValue,
) -> Result<AssignedValue, ErrPacket> {
    let AssignedValue::Other(written) = value else { return Ok(value.clone()) };
    let asked = format!("SELECT {written}");
    let effects = freshet_sql::effects(asked.as_bytes(), session.modes());
    let reads_nothing = effects.reads.is_nothing();
    let is_readable = matches!(effects.reads, Reads::Tables(_));
    if !is_readable || (Effects { reads: Reads::NOTHING, ..effects }) != Effects::none() {
        return Ok(value.clone());
    }
    if !reads_nothing && !session.state.tx.surely_autocommits() {
        let message =
            "This version of Freshet doesn't yet support 'a SET whose value reads a table, in a transaction'";
        return Err(ErrPacket::new(NOT_SUPPORTED, "42000", message));
    }
    session.connect().await.map_err(|error| error.to_err_packet())?;
    let rows = session.ask(&asked).await.map_err(|error| error.to_err_packet())?;
    let text = rows.text(0, 0).map(str::to_owned);
    let kind = rows.columns.first().map_or(NULL_KIND, |column| column.kind);
    let is_text = TEXT_KINDS.contains(&kind);
    Ok(match text {
        Some(text) if INTEGER_KINDS.contains(&kind) => match text.parse() {
            Ok(number) => AssignedValue::Int(number),
            Err(_) => AssignedValue::Other(text),
        },
        Some(text) if is_text => AssignedValue::Text(text),
        Some(text) => AssignedValue::Real(text),
        // MariaDB does the same for its own cache.
        None if INTEGER_KINDS.contains(&kind) => AssignedValue::Int(0),
        None if is_text || kind == NULL_KIND => AssignedValue::Other("NULL".to_owned()),
        None => AssignedValue::Real("NULL".to_owned()),
    })
}
