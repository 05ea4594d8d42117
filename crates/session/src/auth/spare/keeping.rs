//! The permission to keep a connection, and the number of kept connections.

use std::sync::atomic::Ordering;

use freshet_protocol::Login;
use freshet_upstream::{Connection, Error};
use tokio::time::timeout;

use super::{GLOBALS, Leave, LoginFit, PLACES, PLACES_LIMIT, Room};
use crate::auth::account::{definition, is_bounded};
use crate::auth::asker::{LoginAsker, unhex};
use crate::auth::gate::Gate;

impl Gate {
    /// Keeps a connection whose client has left, and that has nothing of its session left.
    pub(crate) fn keep(&self, leave: Leave, connection: Connection) {
        self.spares.put(leave, connection);
    }

    /// Closes the connections that have been kept for long enough, and asks whether the server has places for further ones.
    /// Called about once a second.
    pub async fn look_after_spares(&self) {
        self.spares.sweep(self.epoch());
        if !self.spares.wanted.swap(false, Ordering::Relaxed) {
            return;
        }
        match self.room().await {
            Some(room) => self.spares.set_room(Some(room)),
            None => self.spares.clear(),
        }
    }

    async fn room(&self) -> Option<Room> {
        let (most, taken) = self.places().await?;
        Room::of(most, taken)
    }

    /// Whether the server has a place for one more connection, or does not say.
    pub(in crate::auth) async fn has_place(&self) -> bool {
        self.places().await.is_none_or(|(most, taken)| taken < most)
    }

    /// Returns how many connections the server has places for, and how many are taken.
    async fn places(&self) -> Option<(usize, usize)> {
        let rows = timeout(PLACES_LIMIT, self.ask(PLACES)).await.ok()?.ok()?;
        let number = |column| rows.text(0, column).and_then(|text| text.parse().ok());
        Some((number(0)?, number(1)?))
    }
}

impl LoginAsker<'_> {
    /// Returns the permission to keep the connection of a login that the server has just accepted, if its account and the global variables
    /// allow that. They are read once per epoch.
    ///
    /// # Errors
    /// The connection is lost.
    pub(in crate::auth) async fn leave(
        self,
        connection: &mut Connection,
        login: &Login,
    ) -> Result<Option<Leave>, Error> {
        let Some(epoch) = self.epoch else { return Ok(None) };
        let may_keep = match self.gate.secrets.may_keep(&login.user, epoch) {
            Some(known) => known,
            None => {
                let Some((account, definition)) = definition(connection).await? else { return Ok(None) };
                let may_keep = !is_bounded(&definition) && globals_allow(connection).await?;
                // The session must begin as if nobody had asked it anything.
                connection.forget_row_count().await?;
                self.gate.secrets.set_may_keep(&login.user, &unhex(&account), may_keep, epoch);
                may_keep
            }
        };
        Ok(may_keep.then(|| Leave { fit: LoginFit::of(login, self.channel), epoch }))
    }
}

/// Whether the server's global variables make a kept connection equal to a new one.
async fn globals_allow(connection: &mut Connection) -> Result<bool, Error> {
    match connection.query(GLOBALS).await {
        Err(Error::Server(_)) => Ok(false),
        rows => Ok(rows?.text(0, 0) == Some("1")),
    }
}
