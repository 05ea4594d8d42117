//! The most that a read view shows. The server is asked right after the statement that opens the read view.
//!
//! The reply comes with that statement's answer. If the stream has applied all of it, as is usual, the read view is settled, and nobody
//! has to ask for the end of the binlog.

use std::sync::atomic::Ordering;

use freshet_follow::ShownGtids;

use crate::registry::Handle;
use crate::relay::Lost;
use crate::session::Lease;
use crate::session::view::{ReadView, ViewQuestions};
use crate::shared::Shared;

/// A longer reply, in bytes, is not worth its cost.
const ANSWER_BYTES_MAX: usize = 1024;

/// What a session needs to have a read view opened and proven, apart from its client's side: that side may be waiting for a command.
pub(in crate::session) struct ServerSide<'a> {
    pub(in crate::session) handle: &'a Handle,
    pub(in crate::session) lease: &'a mut Lease,
    pub(in crate::session) view: &'a mut ReadView,
}

/// Returns the questions after the last of this many statements, which opens the read view. Notes the questions.
pub(super) fn questions(view: &mut ReadView, shared: &Shared, statements: usize) -> Vec<String> {
    if shared.settling.is_asked_in_vain.load(Ordering::Relaxed) {
        return Vec::new();
    }
    let questions = ShownGtids::questions(is_mariadb(shared));
    view.note_asked(ViewQuestions {
        count: questions.len(),
        statements_before: statements.saturating_sub(1),
        applied_before: shared.upstream.applied_count(),
    });
    questions.iter().map(|question| (*question).to_owned()).collect()
}

/// Reads the replies, if they come next.
///
/// # Errors
/// The server is lost, or the session has ended.
pub(super) async fn read(
    ServerSide { handle, lease, view }: ServerSide<'_>,
    shared: &Shared,
) -> Result<(), Lost> {
    let ViewQuestions { count, applied_before, .. } = view.take_asked();
    let mut answers = Vec::with_capacity(count);
    for _ in 0..count {
        let rows = lease.next_answer(handle).await?.unwrap_or_default().rows;
        answers.extend(rows.into_iter().next().and_then(|row| row.into_iter().next()).flatten());
    }
    let is_mysql_without = !is_mariadb(shared) && answers.iter().all(Vec::is_empty);
    if count > 0 && (is_mysql_without || answers.iter().any(|answer| answer.len() > ANSWER_BYTES_MAX)) {
        shared.settling.is_asked_in_vain.store(true, Ordering::Relaxed);
    }
    if let Some(shown) = ShownGtids::read(is_mariadb(shared), &answers) {
        view.shows(shown, applied_before);
    }
    Ok(())
}

fn is_mariadb(shared: &Shared) -> bool {
    shared.upstream.server().is_some_and(|server| server.is_mariadb())
}
