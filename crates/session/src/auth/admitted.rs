//! A client whose login is to be judged, and one that is let in.

use freshet_protocol::{Capabilities, Login, OkPacket};
use freshet_upstream::{Channel, Connection, Credential};
use tokio::time::Instant;

use super::begun::LoginBegun;
use super::spare::Leave;

/// A client whose login is to be judged.
pub(super) struct Client {
    /// With the capabilities agreed on.
    pub(super) login: Login,
    pub(super) scrambles: Scrambles,
    pub(super) connection_id: u32,
    /// When the client's time for the login is over.
    pub(super) deadline: Instant,
}

/// A client that is let in.
#[derive(Debug)]
pub struct Admitted {
    /// The name it logged in with.
    pub user: Vec<u8>,
    /// Its login as it came, but for `capabilities`: those agreed on with the client.
    pub login: Login,
    /// The schema it named.
    pub database: Option<Vec<u8>>,
    /// It named the schema of our own tables, which is in no login at the server.
    pub chooses_ours: bool,
    /// The server's connection on which the login was made, if it took one.
    pub upstream: Option<Connection>,
    /// When the login on it was made, if its session has been no other's before.
    pub(crate) begun: Option<LoginBegun>,
    /// The connection may be kept when the client has left.
    pub(crate) leave: Option<Leave>,
    /// What proves the login, if it is known: it opens further connections.
    pub credential: Option<Credential>,
    /// The id the client was told, from [`CONNECTION_ID_MIN`] upwards.
    pub connection_id: u32,
    /// What the client's connection passed over when it logged in.
    pub channel: Channel,
    /// What the server said when it accepted this login, now or earlier: status flags and session state.
    pub ok: OkPacket,
    /// The scrambles with which the client may compute the proof of a later COM_CHANGE_USER.
    pub(crate) scrambles: Scrambles,
}

impl Admitted {
    /// The capabilities agreed on with the client.
    pub fn capabilities(&self) -> Capabilities {
        self.login.capabilities
    }
}

/// What the client was given to prove its password with.
#[derive(Clone, Debug)]
pub(crate) struct Scrambles {
    /// In our greeting.
    pub(super) greeting: [u8; 20],
    /// In the last request to switch plugins, if there was one: clients differ in which of the two they keep.
    pub(super) switch: Option<[u8; 20]>,
}

impl Scrambles {
    /// The one that the client has last been given.
    pub(super) fn latest(&self) -> [u8; 20] {
        self.switch.unwrap_or(self.greeting)
    }
}
