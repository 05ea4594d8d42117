//! A session whose client is silent gives its connection up, if many sessions have one, even if the last statement ran there. Freshet first
//! asks the server for the counts of that statement, and brings them about elsewhere for a statement that asks about them.
//!
//! | left by the last statement | elsewhere |
//! |---|---|
//! | rows of a SELECT | a SELECT of as many rows (`replay.rs`) |
//! | the number of changed rows | is put into a text that asks for it by `ROW_COUNT()` |
//! | warnings | the session keeps its connection |
//!
//! If the server has no more connections for a session, all other sessions rest that can.

use std::pin::pin;
use std::time::Duration;

use freshet_cache::Position;
use freshet_sql::Flavor;
use freshet_upstream::Error;
use tokio::time::timeout;

use super::Session;
use super::exchange::unless_killed;
use super::giving_up::Asks;
use super::pool::makes_room;
use super::turn::interrupted;
use crate::full::{FULL_FOR, Looks, is_refused_as_full};

/// For how long a session looks for a connection if the server has no more for the account.
const ACCOUNT_FULL_FOR: Duration = Duration::from_secs(1);
/// For how long others wait while the session that is to ask for them opens its connection.
const OPENING_MAX: Duration = Duration::from_secs(1);
/// The most rows of a SELECT that Freshet makes up.
const ROWS_MAX: u32 = 100_000;
/// ER_TOO_MANY_USER_CONNECTIONS.
const ACCOUNT_FULL: u16 = 1203;

impl Session {
    /// Gives the connection up, if the session can go on without it. Called between two commands.
    pub(super) async fn rests(&mut self) {
        if !self.shared.may_rest()
            || !self.lease.is_ready()
            || self.state.tx.may_be_open_at_server()
            || !self.leaves_nothing_elsewhere(Asks::Nothing, true)
            || self.admitted.credential.is_none()
        {
            return;
        }
        let is_last_there = !self.state.last.is_only_here() && !self.lease.is_untouched();
        if is_last_there && self.learns_what_is_left().await.is_none() || self.learn().await.is_err() {
            return;
        }
        if self.learns_insert_id().await.is_none() || !self.meets_account().await {
            return;
        }
        let Some(environment) = self.can_go_on_elsewhere(Asks::Back) else { return };
        if let Some(left) = self.parts_with_lease(environment) {
            left.put(&self.shared);
        }
    }

    /// Opens a connection of the session's own. If the server has no more, waits a little for the unused ones.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses.
    pub(super) async fn opens_own(&mut self) -> Result<ConnectionOrigin, Error> {
        let mut looks = Looks::begin();
        loop {
            let rights_from = self.shared.upstream.rights_from();
            let error = match self.opens_once().await {
                Ok(()) => return Ok(ConnectionOrigin::Own(rights_from)),
                Err(error) => error,
            };
            let most = match &error {
                error if is_refused_as_full(error) => FULL_FOR,
                Error::Server(error) if error.code == ACCOUNT_FULL => ACCOUNT_FULL_FOR,
                _ => return Err(error),
            };
            let pause = looks.next(most).filter(|_| self.shared.full.may_have_room());
            let Some(pause) = pause else { return Err(error) };
            // Those who wait for this statement's answer may have a connection.
            self.ends_turn();
            self.shared.full.note();
            match self.waits_unless_interrupted(tokio::time::sleep(pause)).await {
                Ok(Some(())) => {}
                Ok(None) => return Err(Error::Server(interrupted())),
                Err(_) => return Err(error),
            }
            if self.takes_over().await {
                return Ok(ConnectionOrigin::Another);
            }
            makes_room();
        }
    }

    /// Opens a connection. If that takes long, those who wait for this session's statement open connections too: one after the other, each of
    /// them could wait as long.
    async fn opens_once(&mut self) -> Result<(), Error> {
        let Self { shared, admitted, ahead, handle, .. } = self;
        let opening = unless_killed(handle, crate::auth::open(&shared.gate, admitted));
        let mut opening = pin!(async { opening.await.unwrap_or(Err(Error::Closed)) });
        if let Ok(opened) = timeout(OPENING_MAX, opening.as_mut()).await {
            return opened;
        }
        ahead.lets_all_ask();
        opening.await
    }

    /// Asks what the last statement has left, and notes it as known only here. `None` if it cannot be brought about elsewhere.
    async fn learns_what_is_left(&mut self) -> Option<()> {
        let asked = self.ask("SELECT ROW_COUNT(), FOUND_ROWS(), LAST_INSERT_ID()").await.ok()?;
        let number = |at: usize| asked.text(0, at)?.parse::<i64>().ok();
        let is_told = number(0).is_some() && number(1).is_some();
        let (changed, found) = (number(0).unwrap_or(0), number(1).unwrap_or(0));
        // The value was asked for: in any case, the connection has a new one now.
        self.lease.note_insert_id(asked.text(0, 2).and_then(|id| id.parse().ok()));
        let found = u32::try_from(found).unwrap_or(u32::MAX);
        let changed = u32::try_from(changed).ok();
        self.state.last.note_left_behind(rows_of(found.min(ROWS_MAX)), found, changed);
        if self.flavor() == Flavor::MySql {
            // MySQL gives a warning for that question.
            self.ask("DO 0").await.ok()?;
        }
        (is_told && found <= ROWS_MAX && !self.shows_older_diagnostics()).then_some(())
    }
}

/// Where the connection comes from.
pub(super) enum ConnectionOrigin {
    /// The connection was opened. The rights of its login are those of this position or of a later one.
    Own(Position),
    /// Another session has given the connection up.
    Another,
}

/// Returns a SELECT that finds this many rows.
fn rows_of(rows: u32) -> String {
    const SIDE: u32 = 64;
    if rows == 0 {
        return "SELECT 1 LIMIT 0".to_owned();
    }
    let all = |rows: u32| vec!["SELECT 1"; rows as usize].join(" UNION ALL ");
    let mut from = format!("({}) AS t", all(rows.min(SIDE)));
    let (mut most, mut sides) = (u64::from(SIDE), 0);
    while most < u64::from(rows) {
        (most, sides) = (most * u64::from(SIDE), sides + 1);
        from.push_str(&format!(", ({}) AS t{sides}", all(SIDE)));
    }
    format!("SELECT 1 FROM {from} LIMIT {rows}")
}

#[cfg(test)]
mod tests {
    use super::rows_of;

    #[test]
    fn as_many_rows_are_made_up_as_were_found() {
        assert_eq!(rows_of(0), "SELECT 1 LIMIT 0");
        assert_eq!(rows_of(2), "SELECT 1 FROM (SELECT 1 UNION ALL SELECT 1) AS t LIMIT 2");
        for (rows, sides) in [(64, 1), (65, 2), (4096, 2), (4097, 3), (u32::MAX, 6)] {
            let text = rows_of(rows);
            assert_eq!(text.matches(" AS t").count(), sides, "{rows}");
            assert!(text.ends_with(&format!(" LIMIT {rows}")), "{text}");
        }
    }
}
