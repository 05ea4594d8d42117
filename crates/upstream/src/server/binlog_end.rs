//! Where the binlog ends.

use super::{ServerInfo, Version};
use crate::connection::Connection;
use crate::error::Error;

/// The first MySQL that knows the new words; 8.4 no longer knows the old ones.
const NEW_WORDS_SINCE: (u8, u8, u8) = (8, 2, 0);

/// Returns the file and the offset at which the binlog ends.
///
/// # Errors
/// When the server refuses, or its answer has another form.
pub async fn ask_end(server: &ServerInfo, connection: &mut Connection) -> Result<(Vec<u8>, u64), Error> {
    let has_new_words = !server.is_mariadb() && server.version >= Version::from(NEW_WORDS_SINCE);
    let question = if has_new_words { "SHOW BINARY LOG STATUS" } else { "SHOW MASTER STATUS" };
    let rows = connection.query(question).await?;
    let offset = rows.first("Position").and_then(|text| text.parse().ok());
    match (rows.first("File"), offset) {
        (Some(file), Some(offset)) => Ok((file.as_bytes().to_vec(), offset)),
        _ => Err(Error::Unexpected { question: "the binlog's end" }),
    }
}
