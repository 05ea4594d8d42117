//! SHOW PROCESSLIST and COM_PROCESS_INFO: the server's list, followed by the clients of Freshet that have no connection to the server.

use freshet_protocol::Command;
use freshet_sql::{Effects, Flavor, process_list};

use super::refusals::unavailable;
use super::text::{self, TextQuery};
use crate::privileges::{self, Privilege};
use crate::registry::Process;
use crate::relay::{Listed, Lost, listed_process};
use crate::session::{Flow, Forward, Message, Session};

/// Answers a SHOW PROCESSLIST; `None` if the text is none.
pub(super) async fn show(session: &mut Session, query: TextQuery<'_>) -> Option<Result<Flow, Lost>> {
    let text = query.text();
    process_list(text, session.modes()).filter(|list| list.is_whole)?;
    Some(Box::pin(listed(session, Command::Query, query.packet, text)).await)
}

/// Answers COM_PROCESS_INFO, which MariaDB has.
pub(super) async fn info(session: &mut Session, packet: &[u8]) -> Result<Flow, Lost> {
    if let Err(error) = session.connect().await {
        return unavailable(session, &error);
    }
    listed(session, Command::ProcessInfo, packet, b"SHOW PROCESSLIST").await
}

async fn listed(session: &mut Session, command: Command, packet: &[u8], text: &[u8]) -> Result<Flow, Lost> {
    let sees_all = privileges::require(session, Privilege::Process).await?.is_ok();
    let is_listed = |process: &Process| {
        process.server_id == 0 && (sees_all || process.user.as_bytes() == &*session.admitted.user)
    };
    let mut processes = session.shared.processes();
    processes.retain(is_listed);
    processes.sort_unstable_by_key(|process| process.id);
    let shows_progress = session.flavor() == Flavor::MariaDb && !processes.is_empty() && {
        let old = session.ask("SELECT @@old_mode LIKE '%NO_PROGRESS_INFO%'").await;
        old.is_ok_and(|old| old.text(0, 0) == Some("0"))
    };
    let rows = processes.iter().map(|process| listed_process(process, shows_progress)).collect();
    let effects = Effects::none();
    let mut forward = Forward::new(Message { text, ..Message::bare(command, packet) }, &effects);
    forward.passing.listed = Some(Listed::behind(rows));
    text::forward(session, forward).await
}
