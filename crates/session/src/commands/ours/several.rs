//! Statements of Freshet's own among several statements in one text.
//!
//! The server is sent the text with a substitute for each statement of Freshet's own: a statement with the same answer (`DO 0`, or the rows
//! of a SHOW), or one that raises the statement's error. Freshet's statements are carried out first, in their order, so that the statements
//! after them see their values. Freshet takes back the statements that the server did not reach.

use freshet_protocol::ErrPacket;
use freshet_sql::{Lists, Ours, Piece};

use super::values::quoted;
use super::{Snapshot, assign, empty, heed_several, list, mention, persist};
use crate::commands::text::TextQuery;
use crate::persisted::Changes;
use crate::privileges::{self, Privilege};
use crate::relay::Lost;
use crate::session::{Flow, Forward, Message, SELECT_BYTES_MAX, Session};

/// The changes of one of Freshet's statements, taken back if the server does not reach that statement.
struct UndoRecord {
    /// The statement's place in the text.
    at: usize,
    before: Snapshot,
    undo: Changes,
}

/// Returns the statements of a text of several, if some are Freshet's own.
pub(in crate::commands) fn pieces(session: &Session, query: &TextQuery<'_>) -> Option<Vec<Piece>> {
    let is_short = query.long.is_none() && query.text().len() <= SELECT_BYTES_MAX;
    is_short.then(|| freshet_sql::pieces(query.text(), session.modes())).flatten()
}

/// Carries out a text of several statements, some of which are Freshet's own.
pub(in crate::commands) async fn several(
    session: &mut Session,
    query: TextQuery<'_>,
    pieces: &[Piece],
) -> Result<Flow, Lost> {
    session.state.last.warnings.begin(session.flavor());
    let text = query.text();
    let (mut made, mut behind, mut done): (Vec<u8>, usize, Vec<UndoRecord>) = (Vec::new(), 0, Vec::new());
    let mut empties = None;
    let mut has_failed = false;
    for (at, piece) in pieces.iter().enumerate() {
        made.extend_from_slice(text.get(behind..piece.at.start).unwrap_or_default());
        behind = piece.at.end;
        let written = text.get(piece.at.clone()).unwrap_or_default();
        let instead = if has_failed {
            Ok(written.to_vec()) // The server does not come to it.
        } else {
            match &piece.ours {
                Some(Ours::FlushQueryCache | Ours::ResetQueryCache) => {
                    if piece.ours == Some(Ours::ResetQueryCache) {
                        empties = empties.or(Some(at));
                    }
                    let allowed = privileges::require(session, Privilege::Reload).await?;
                    allowed.map(|()| b"DO 0".to_vec())
                }
                Some(ours) => in_its_place(session, ours, at, &mut done).await?,
                None => with_values(session, written).await?,
            }
        };
        has_failed |= instead.is_err();
        made.extend(instead.unwrap_or_else(|error| signal(session, &error)));
    }
    made.extend_from_slice(text.get(behind..).unwrap_or_default());
    session.state.texts.forget_those_in(&made);
    let effects = session.certain(&made, freshet_sql::effects(&made, session.modes()));
    let payload = query.with_text(&made);
    let relayed = session.forward(Forward::new(Message::query(&payload, &made), &effects)).await?;
    let came_to = |at: usize| relayed.error.is_none() || at < relayed.results as usize;
    if let Some(first) = done.iter().position(|done| !came_to(done.at)) {
        let mut left = done.split_off(first).into_iter();
        if let Some(UndoRecord { before, undo, .. }) = left.next() {
            before.restore(session);
            let undone = left.fold(undo, |first, next| next.undo.into_iter().chain(first).collect());
            // The client has its answer. A change that could not be taken back here is in the file, and the values that were set are in the
            // log.
            let _ = persist::write(session, undone).await;
        }
    }
    if empties.is_some_and(came_to) {
        empty(session).await;
    }
    heed_several(session, &made).await;
    Ok(Flow::Continue)
}

/// Carries out a statement of Freshet's own, and returns a statement to which the server gives the same answer.
async fn in_its_place(
    session: &mut Session,
    ours: &Ours,
    at: usize,
    done: &mut Vec<UndoRecord>,
) -> Result<Result<Vec<u8>, ErrPacket>, Lost> {
    let (assignments, rest) = match ours {
        Ours::SetVariables(assignments) => (assignments, "DO 0"),
        Ours::SetMixed { ours, rest } => (ours, rest.as_str()),
        shown => return Ok(Ok(rows_of(session, shown))),
    };
    let before = Snapshot::of(session);
    let kept = match assign(session, assignments).await? {
        Ok(kept) => persist::write(session, kept).await,
        Err(error) => Err(error),
    };
    Ok(match kept {
        Ok(undo) => {
            done.push(UndoRecord { at, before, undo });
            Ok(rest.as_bytes().to_vec())
        }
        Err(error) => {
            before.restore(session);
            Err(error)
        }
    })
}

/// Returns a statement for the server, with Freshet's values as they are at that point.
async fn with_values(session: &mut Session, written: &[u8]) -> Result<Result<Vec<u8>, ErrPacket>, Lost> {
    let mentions = mention::mentions(session, written);
    let may_process = mention::may_process(session, &mentions).await?;
    Ok(mention::filled(session, written, &mentions, may_process))
}

/// Returns a SELECT of the rows that a SHOW of Freshet's own has.
fn rows_of(session: &mut Session, shown: &Ours) -> Vec<u8> {
    let rows = match shown {
        Ours::ShowVariables { scope, like } => {
            list::rows(session, Lists::Variables, *scope, |name| like.matches(name))
        }
        Ours::ShowStatus { scope, like } => {
            list::rows(session, Lists::Status, *scope, |name| like.matches(name))
        }
        _ => Vec::new(),
    };
    let mut query =
        b"SELECT * FROM (SELECT '' AS `Variable_name`, '' AS `Value` FROM DUAL WHERE 1 = 0".to_vec();
    for (name, value) in rows {
        let (name, value) = (quoted(session, name.as_bytes()), quoted(session, value.as_bytes()));
        query.extend([b" UNION ALL SELECT ", &*name, b", ", &*value].concat());
    }
    query.extend_from_slice(b") AS `shown`");
    query
}

/// Returns a statement that ends with this error at the server.
fn signal(session: &Session, error: &ErrPacket) -> Vec<u8> {
    let message = quoted(session, &error.message);
    let sqlstate = error.sqlstate.unwrap_or(*b"HY000");
    let sqlstate = String::from_utf8_lossy(&sqlstate);
    let head = format!("SIGNAL SQLSTATE '{sqlstate}' SET MYSQL_ERRNO = {}, MESSAGE_TEXT = ", error.code);
    [head.as_bytes(), &*message].concat()
}
