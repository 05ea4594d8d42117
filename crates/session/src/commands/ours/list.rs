//! The rows of Freshet's own in SHOW VARIABLES and SHOW STATUS, alone and among the server's.

use freshet_sql::{Flavor, Lists, Ours, Scope, ShowFilter};

use super::values::{quoted, target};
use crate::commands::text::{self, TextQuery};
use crate::relay::{Listed, Lost};
use crate::session::{Flow, Forward, Session};
use crate::status;
use crate::variables::{VARIABLES, Variable};

/// Returns the names of Freshet's own variables or status values, in their order.
fn names(lists: Lists) -> Vec<&'static str> {
    match lists {
        Lists::Variables => VARIABLES.iter().map(|variable| variable.name).collect(),
        Lists::Status => status::STATUS.iter().map(|value| value.name).collect(),
    }
}

/// Returns names and values, ordered by name, of the wanted rows. Some values take work to compute.
pub(super) fn rows(
    session: &mut Session,
    lists: Lists,
    scope: Scope,
    is_wanted: impl Fn(&str) -> bool,
) -> Vec<(String, String)> {
    match lists {
        Lists::Variables => {
            let target = target(session);
            let shown = |variable: &Variable| (variable.name.to_owned(), variable.shown(&target, scope));
            VARIABLES.iter().filter(|variable| is_wanted(variable.name)).map(shown).collect()
        }
        Lists::Status => {
            let served = &session.state.served;
            let shown =
                |value: &status::Status| (value.name.to_owned(), (value.read)(&session.shared, served));
            status::STATUS.iter().filter(|value| is_wanted(value.name)).map(shown).collect()
        }
    }
}

/// Returns Freshet's rows for a SHOW that the server answers.
pub(in crate::commands) async fn listed(session: &mut Session, shown: Ours) -> Option<Listed> {
    let (lists, ours) = match shown {
        Ours::ShowVariables { scope, like } => {
            (Lists::Variables, rows(session, Lists::Variables, scope, |name| like.matches(name)))
        }
        Ours::ShowStatus { scope, like } => {
            (Lists::Status, rows(session, Lists::Status, scope, |name| like.matches(name)))
        }
        Ours::ShowAll { lists, scope, filter } => (lists, filtered(session, lists, scope, &filter).await),
        _ => return None,
    };
    Some(Listed::new(&names(lists), &ours))
}

/// Returns names and values of the rows that a SHOW asks for.
async fn filtered(
    session: &mut Session,
    lists: Lists,
    scope: Scope,
    filter: &ShowFilter,
) -> Vec<(String, String)> {
    match filter {
        ShowFilter::All => rows(session, lists, scope, |_| true),
        ShowFilter::Names(like) => rows(session, lists, scope, |name| like.matches(name)),
        ShowFilter::Where(condition) => {
            let all = rows(session, lists, scope, |_| true);
            chosen(session, condition, all).await
        }
    }
}

/// Carries out a SHOW that lists the server's rows, with Freshet's rows among them.
pub(in crate::commands) async fn all(
    session: &mut Session,
    query: TextQuery<'_>,
    lists: Lists,
    scope: Scope,
    filter: &ShowFilter,
) -> Result<Flow, Lost> {
    let ours = filtered(session, lists, scope, filter).await;
    among_the_servers(session, query, lists, ours).await
}

/// Answers a read of all rows of the table of the session's status values. The read is sent as it is; some values are corrected on their way.
pub(in crate::commands) async fn session_status(
    session: &mut Session,
    query: TextQuery<'_>,
) -> Result<Flow, Lost> {
    let mut ours = rows(session, Lists::Status, Scope::Session, |_| true);
    if session.flavor() == Flavor::MariaDb {
        ours.iter_mut().for_each(|(name, _)| name.make_ascii_uppercase());
    }
    among_the_servers(session, query, Lists::Status, ours).await
}

async fn among_the_servers(
    session: &mut Session,
    query: TextQuery<'_>,
    lists: Lists,
    ours: Vec<(String, String)>,
) -> Result<Flow, Lost> {
    let text = query.text();
    let effects = session.certain(text, freshet_sql::effects(text, session.modes()));
    let mut forward = Forward::new(query.message(), &effects);
    forward.passing.listed = (!ours.is_empty()).then(|| Listed::new(&names(lists), &ours));
    text::forward(session, forward).await
}

/// Returns the rows of Freshet's own for which the condition holds. The server evaluates the condition. If the server cannot, its answer to
/// the statement itself gives the error. A condition that reads tables or runs code is only used for the server's rows.
async fn chosen(
    session: &mut Session,
    condition: &[u8],
    ours: Vec<(String, String)>,
) -> Vec<(String, String)> {
    let Ok(condition) = std::str::from_utf8(condition) else { return Vec::new() };
    let row = |(name, value): &(String, String)| {
        let selected = [
            b"SELECT ",
            &*quoted(session, name.as_bytes()),
            b" AS Variable_name, ",
            &*quoted(session, value.as_bytes()),
            b" AS Value",
        ];
        String::from_utf8_lossy(&selected.concat()).into_owned()
    };
    let rows: Vec<String> = ours.iter().map(row).collect();
    let asked =
        format!("SELECT Variable_name FROM ({}) AS listed WHERE ({condition})", rows.join(" UNION ALL "));
    if !freshet_sql::effects(asked.as_bytes(), session.modes()).is_plain() {
        return Vec::new();
    }
    let Ok(found) = session.ask(&asked).await else { return Vec::new() };
    let is_found =
        |(name, _): &(String, String)| found.texts().any(|row| row.first() == Some(&name.as_str()));
    ours.into_iter().filter(is_found).collect()
}
