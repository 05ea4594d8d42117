//! Statements that begin, mark and end transactions: answered here as long as the server need not know of the transaction.

use freshet_protocol::Command;
use freshet_sql::{Completion, Effects, TransactionControl, TransactionEffect};

use super::refusals::unavailable;
use crate::reading::LONG_BYTES_MIN;
use crate::relay::Controls;
use crate::relay::Lost;
use crate::session::{Flow, Forward, Mark, Message, Session};

/// Returns what a text does, if it controls transactions. A long text is not read on the event loop: no statement of this kind needs to be
/// long.
pub(super) fn read(session: &Session, text: &[u8]) -> Option<TransactionControl> {
    if text.len() < LONG_BYTES_MIN { freshet_sql::transaction_control(text, session.modes()) } else { None }
}

/// Carries out a text that controls transactions and does not end the session, if that needs no server. Most other texts cost no look.
pub(super) fn from_memory(session: &mut Session, text: &[u8]) -> bool {
    let control = freshet_sql::may_control_transaction(text).then(|| read(session, text)).flatten();
    let is_plain = |control: &TransactionControl| match control {
        TransactionControl::Commit(completion) | TransactionControl::Rollback(completion) => {
            !session.releases(*completion)
        }
        _ => true,
    };
    control.filter(is_plain).is_some_and(|control| answered(session, &control, Command::Query).is_some())
}

/// Carries out a statement that controls transactions, if that needs no server.
pub(super) fn answered(
    session: &mut Session,
    control: &TransactionControl,
    command: Command,
) -> Option<Flow> {
    let goes_on = |is_done: bool| is_done.then_some(Flow::Continue);
    let (flow, counts) = match control {
        TransactionControl::Begin { read_only, snapshot: false } => {
            (goes_on(session.begins(*read_only)), Controls::Begin)
        }
        TransactionControl::Begin { .. } => return None,
        TransactionControl::Commit(completion) => (session.ends(*completion), Controls::Commit),
        TransactionControl::Rollback(completion) => (session.ends(*completion), Controls::Rollback),
        TransactionControl::Savepoint(name) => {
            (goes_on(session.marks(&Mark::Set(name))), Controls::Savepoint)
        }
        TransactionControl::RollbackTo(name) => {
            (goes_on(session.marks(&Mark::BackTo(name))), Controls::RollbackTo)
        }
        TransactionControl::Release(name) => (goes_on(session.marks(&Mark::Remove(name))), Controls::Release),
        TransactionControl::Characterize(said) => (goes_on(session.characterizes(*said)), Controls::Set),
    };
    if flow.is_some() {
        session.state.served.controls(counts, command == Command::StmtExecute);
    }
    flow
}

/// Begins a transaction that could not begin here because Freshet does not know the isolation level. Freshet asks for the level if the
/// question loses nothing; otherwise the server begins the transaction, and Freshet asks later.
pub(super) async fn begin(
    session: &mut Session,
    message: Message<'_>,
    control: &TransactionControl,
) -> Result<Option<Flow>, Lost> {
    match control {
        TransactionControl::Begin { snapshot: true, read_only } => {
            return snapshot(session, message, *read_only).await.map(Some);
        }
        TransactionControl::Commit(completion) | TransactionControl::Rollback(completion) => {
            return completed(session, message, control, *completion).await;
        }
        TransactionControl::Begin { .. } if session.environment().is_none() => {}
        TransactionControl::RollbackTo(name) if session.state.view().savepoints.is_early(name) => {
            session.goes_back(message, name).await?;
            return Ok(Some(Flow::Continue));
        }
        _ => return Ok(None),
    }
    if let Err(error) = Box::pin(session.learn_quietly()).await {
        return unavailable(session, &error).map(Some);
    }
    if let Some(flow) = answered(session, control, message.command) {
        return Ok(Some(flow));
    }
    let Some(version) = session.begins_undecided() else { return Ok(None) };
    let effects = Effects { transaction: TransactionEffect::Begins, ..Effects::none() };
    // The statement is sent without its text: it is not counted as a statement of the client, like a transaction that begins here.
    let relayed = session.forward(Forward::new(Message { text: &[], ..message }, &effects)).await?;
    if relayed.error.is_none() {
        session.has_begun_undecided(version);
    }
    Ok(Some(Flow::Continue))
}

/// Has the server open a snapshot for the client. From then on Freshet knows the moment that the transaction reads.
async fn snapshot(
    session: &mut Session,
    message: Message<'_>,
    read_only: Option<bool>,
) -> Result<Flow, Lost> {
    if session.begins_as_of_now(read_only).await? {
        session.state.served.controls(Controls::Begin, message.command == Command::StmtExecute);
        return Ok(Flow::Continue);
    }
    let effects = Effects { transaction: TransactionEffect::Begins, ..Effects::none() };
    let opening = session.opens_snapshot();
    // Without the text, as in `begin`.
    let relayed = session.forward(Forward::new(Message { text: &[], ..message }, &effects)).await?;
    if relayed.error.is_none() {
        session.has_opened_snapshot(opening);
    }
    Ok(Flow::Continue)
}

/// Has the server end a transaction and the session, or begin another transaction whose isolation level is known. `None` in all other cases.
async fn completed(
    session: &mut Session,
    message: Message<'_>,
    control: &TransactionControl,
    completion: Completion,
) -> Result<Option<Flow>, Lost> {
    let (releases, next) = (session.releases(completion), session.chains_on(completion));
    if !releases && next.is_none() {
        return Ok(None);
    }
    let commits = matches!(control, TransactionControl::Commit(_));
    let transaction = if commits { TransactionEffect::Ends } else { TransactionEffect::RollsBack };
    let effects = Effects { transaction, ..Effects::none() };
    let relayed = session.forward(Forward::new(message, &effects)).await?;
    match (relayed.error, next) {
        (None, _) if releases => return Ok(Some(Flow::Close)),
        (None, Some(next)) => session.has_chained(next),
        _ => {}
    }
    Ok(Some(Flow::Continue))
}
