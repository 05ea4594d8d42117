//! A SET of Freshet's variables and of the server's in one statement.

use freshet_sql::Assignment;

use super::{Snapshot, assign, persist};
use crate::commands::text::TextQuery;
use crate::relay::Lost;
use crate::session::{Flow, Forward, Message, Session};

/// Carries out a SET of Freshet's variables and of the server's: all of it, or nothing.
pub(in crate::commands) async fn mixed(
    session: &mut Session,
    query: TextQuery<'_>,
    assignments: &[Assignment],
    rest: &[u8],
) -> Result<Flow, Lost> {
    let before = Snapshot::of(session);
    let kept = match assign(session, assignments).await? {
        Ok(kept) => persist::write(session, kept).await,
        Err(error) => Err(error),
    };
    let undo = match kept {
        Ok(undo) => undo,
        Err(error) => {
            before.restore(session);
            return session.refuse(&error);
        }
    };
    let effects = session.certain(rest, freshet_sql::effects(rest, session.modes()));
    let payload = query.with_text(rest);
    let forward = Forward::new(Message::query(&payload, rest), &effects);
    if session.forward(forward).await?.error.is_some() {
        before.restore(session);
        // The client has its answer. A change that could not be taken back here is in the file, and the values that were set are in the log.
        let _ = persist::write(session, undo).await;
    }
    Ok(Flow::Continue)
}
