//! A client whose login is to be judged, and a client that is let in.

use freshet_protocol::{Capabilities, Login, OkPacket};
use freshet_upstream::{Channel, Connection, Credential};
use tokio::time::Instant;

use super::begun::LoginBegun;
use super::spare::Leave;

/// A client whose login is to be judged.
pub(super) struct LoginClient {
    /// The login, with the capabilities that were agreed on.
    pub(super) login: Login,
    pub(super) scrambles: Scrambles,
    pub(super) connection_id: u32,
    /// When the client's time for the login ends.
    pub(super) deadline: Instant,
}

/// A client that is let in.
#[derive(Debug)]
pub struct Admitted {
    /// The name with which the client logged in.
    pub user: Vec<u8>,
    /// The login as it was sent, except for `capabilities`: those agreed on with the client.
    pub login: Login,
    /// The schema that the login named.
    pub database: Option<Vec<u8>>,
    /// The login named the schema `freshet`. The server's login does not contain that name.
    pub chooses_ours: bool,
    /// The server's connection on which the login was made, if one was needed.
    pub upstream: Option<Connection>,
    /// When the connection's login was made, if the connection has served no other session before.
    pub(crate) begun: Option<LoginBegun>,
    /// The connection may be kept when the client has left.
    pub(crate) leave: Option<Leave>,
    /// What proves the login, if it is known: further connections are opened with it.
    pub credential: Option<Credential>,
    /// The client's id, from [`CONNECTION_ID_MIN`] upwards.
    pub connection_id: u32,
    /// The channel of the client's connection at the login.
    pub channel: Channel,
    /// The server's OK packet for this login, now or earlier: status flags and session state.
    pub ok: OkPacket,
    /// The scrambles with which the client may compute the proof of a later COM_CHANGE_USER.
    pub(crate) scrambles: Scrambles,
}

impl Admitted {
    /// Returns the capabilities agreed on with the client.
    pub fn capabilities(&self) -> Capabilities {
        self.login.capabilities
    }
}

/// The scrambles by which the client proves its password.
#[derive(Clone, Debug)]
pub(crate) struct Scrambles {
    /// The scramble in Freshet's greeting.
    pub(super) greeting: [u8; 20],
    /// In the last request to switch plugins, if there was one: clients differ in which of the two they keep.
    pub(super) switch: Option<[u8; 20]>,
}

impl Scrambles {
    /// Returns the scramble that the client was given last.
    pub(super) fn latest(&self) -> [u8; 20] {
        self.switch.unwrap_or(self.greeting)
    }
}
