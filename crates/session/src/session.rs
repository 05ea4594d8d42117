//! One client's session: its parts, and what all parts need. The session's life is in `session/life.rs`.

// What Freshet knows of a session, and of its transaction.
mod tx;
mod view;
mod temporary;
mod hidden_tables;
mod reports;
mod user_variables;
mod found_rows;
mod last_statement;
mod locks;
mod prepared;
mod texts;
mod known_environment;
mod past_deeds;
mod state;
mod seen;
mod ruled;

// What Freshet knows of one statement or command.
mod facts;
mod command;

// What Freshet knows of the server's connection, and why the session keeps it.
mod traces;
mod tracking;
mod lease;
mod lanes;
mod turn;
mod turn_ahead;
mod hold;
mod without_connection;

// How a statement is answered: from memory, or by the server.
pub(crate) mod hit;
mod environ;
mod hidden;
mod begun;
mod reporting;
mod exchange;
mod making;
mod found;
mod forward;
mod replay;
mod conclude;
mod counted;
mod destination;

// What query rules do to a statement.
mod decide;
mod paced;
mod logged;
mod repeat;

// What is done without a connection, and to be without one.
mod setting;
mod shown;
mod resting;
mod openings;
mod lending;
mod giving_up;
mod pool;

// How the rights that the session has change its keys.
mod keeper;

// The client's life, and what the client leaves behind.
mod leaving;
mod life;

use std::net::SocketAddr;
use std::sync::Arc;

use freshet_cache::Position;
use freshet_protocol::{Capabilities, ChangeUser, Command, ErrPacket, OkPacket, StateChange, StatusFlags};
use freshet_sql::Modes;
use freshet_upstream::now_ms;

use crate::auth::{AdmitError, Admitted};
use crate::fences::Thread;
use crate::registry::{Handle, Registry};
use crate::relay::Lost;
use crate::shared::Shared;
use crate::variables::Locals;
use crate::wire::Wire;

pub(crate) use command::{Deeds, ExecutionFacts, Forward, Message, Passing, Touches};
pub(crate) use destination::Destination;
pub(crate) use environ::{FORM, is_select_of_its_own};
pub(crate) use exchange::{follow, query_prefix};
pub(crate) use facts::{Missed, StatementFacts, Unfound};
pub(crate) use found::is_question;
pub(crate) use hold::{Hold, SessionHolds};
pub use lanes::at_server;
pub(crate) use lanes::{Carriage, Expected, Ride, SharedView};
pub(crate) use lease::Lease;
pub(crate) use lending::LaneWait;
pub use life::serve;
pub(crate) use logged::Logged;
pub(crate) use making::{ServerStatement, unknown_statement};
pub(crate) use openings::LaneWaits;
pub(crate) use prepared::{
    AGAIN_BYTES_MAX, Again, Carriable, ControlStatement, Executed, LAST_PREPARED, OwedCommand, Prepared,
    PreparedSelect, SELECT_BYTES_MAX, ZoneAt,
};
pub(crate) use reports::{Gtids, Reports, TransactionTracking};
pub(crate) use ruled::{Came, Storing};
pub(crate) use setting::Setting;
pub(crate) use state::State;
pub(crate) use temporary::TemporaryTables;
pub(crate) use texts::{Text, begins_with_execute, is_plain};
pub(crate) use turn::{INTERRUPTED, Turn, Waited};
pub(crate) use user_variables::UserValue;
pub(crate) use view::Mark;

/// Whether a session goes on after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    Continue,
    Close,
}

/// One client that has logged in.
pub(crate) struct Session {
    pub(crate) shared: Arc<Shared>,
    pub(crate) wire: Wire,
    pub(crate) admitted: Box<Admitted>,
    pub(crate) state: State,
    /// The session's hold on a server connection.
    pub(crate) lease: Lease,
    pub(crate) handle: Arc<Handle>,
    /// How the query rules apply to this session.
    pub(crate) ruled: ruled::Ruled,
    /// What this client has been shown, also before a reset of the session.
    seen: seen::SeenWrites,
    /// Where the session's last statement was answered.
    pub(crate) destination: destination::LastDestination,
    /// The turn of the statement under way, if the statement has had it before it has a connection.
    ahead: turn_ahead::TurnAhead,
    /// The buffer in which the keys of executions are put together.
    pub(crate) execution_key: Vec<u8>,
}

/// Returns the client's address, if the client came over TCP.
fn client_of(wire: &Wire) -> Option<SocketAddr> {
    wire.ends().map(|(client, _)| client)
}

impl Session {
    fn new(shared: Arc<Shared>, mut wire: Wire, mut admitted: Admitted, rights_from: Position) -> Self {
        let lease = Lease::of(&mut admitted, rights_from);
        let handle = shared.registry.handle(admitted.user.clone(), client_of(&wire), now_ms());
        handle.set_thread_id(lease.thread_id());
        shared.register(admitted.connection_id, &handle);
        wire.obey(&handle);
        let schema = schema_of(admitted.database.as_deref());
        let state = State::new(admitted.ok.status, Locals::of(&shared.globals), schema);
        handle.asks(state.environment.schema(), b"");
        let ruled = ruled::Ruled::new(&wire);
        let admitted = Box::new(admitted);
        let (seen, destination, ahead, execution_key) = Default::default();
        Self { shared, wire, admitted, state, lease, handle, ruled, seen, destination, ahead, execution_key }
    }

    /// Returns the capabilities that the client and Freshet agreed on.
    pub(crate) fn capabilities(&self) -> Capabilities {
        self.admitted.capabilities()
    }

    /// Returns the modes by which statements are read here, as far as they are known; see [`Session::certain`] for statements that may have
    /// changed them.
    pub(crate) fn modes(&self) -> Modes {
        self.state.environment.modes().unwrap_or_else(|| self.modes_of_server())
    }

    /// Appends an ERR packet.
    pub(crate) fn put_error(&mut self, error: &ErrPacket) {
        self.state.last.warnings.refuse(error);
        self.wire.put(&error.encode());
    }

    /// Appends an OK packet that Freshet makes itself.
    pub(crate) fn put_ok(&mut self, warnings: u16) {
        let ok = OkPacket { status: self.state.status_for_answers(), warnings, ..OkPacket::default() };
        let encoded = ok.encode(self.capabilities(), 0);
        self.wire.put(&encoded);
    }

    /// Appends an OK packet that Freshet makes itself, with these reports.
    pub(crate) fn put_reports(&mut self, changes: Vec<StateChange>) {
        let mut ok = OkPacket { status: self.state.status_for_answers(), changes, ..OkPacket::default() };
        ok.status.set(StatusFlags::SESSION_STATE_CHANGED, !ok.changes.is_empty());
        let encoded = ok.encode(self.capabilities(), 0);
        self.wire.put(&encoded);
    }

    /// Ends a command with an error of Freshet's own; the session goes on.
    pub(crate) fn refuse(&mut self, error: &ErrPacket) -> Result<Flow, Lost> {
        self.put_error(error);
        Ok(Flow::Continue)
    }

    /// COM_CHANGE_USER: replaces this login by another.
    ///
    /// # Errors
    /// The client is not let in. The client has been told, and the session is over.
    pub(crate) async fn change_user(&mut self, change: ChangeUser) -> Result<(), AdmitError> {
        let rights_from = self.shared.freshness().valid_from();
        let before = Admitted { upstream: self.lease.take(), ..self.admitted.hand_over() };
        let id = before.connection_id;
        *self.admitted =
            crate::auth::reauthenticate(&mut self.wire, before, change, &self.shared.gate).await?;
        self.admitted.connection_id = id;
        let (user, client) = (self.admitted.user.clone(), client_of(&self.wire));
        self.handle = Registry::next_handle(&self.handle, user, client, now_ms());
        self.lease.note_login_replaced(&mut self.admitted, rights_from);
        self.handle.set_thread_id(self.lease.thread_id());
        self.shared.register(id, &self.handle);
        self.wire.obey(&self.handle);
        Ok(())
    }

    /// Returns the thread of the server's connection.
    pub(crate) fn thread(&self) -> Thread {
        Thread { id: self.handle.thread_id(), opened_ms: self.lease.opened_ms() }
    }

    /// Notes that the client is alive.
    pub(crate) fn active(&self, now_ms: u64) {
        self.handle.active(now_ms);
    }

    /// Notes the text of a statement that is not answered from memory.
    pub(crate) fn note_asked(&self, text: &[u8]) {
        self.handle.asks(self.state.environment.schema(), text);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shared.registry.remove(self.admitted.connection_id);
    }
}

/// Returns a schema's name as Freshet compares it. A name that is not UTF-8 counts as no schema.
pub(crate) fn schema_of(name: Option<&[u8]>) -> Option<String> {
    name.filter(|name| !name.is_empty()).and_then(|name| std::str::from_utf8(name).ok()).map(str::to_owned)
}

/// Splits a command packet into the command and the rest; an empty packet is no command.
pub(crate) fn split(payload: &[u8]) -> (Command, &[u8]) {
    match payload.split_first() {
        Some((byte, rest)) => (Command::from_byte(*byte), rest),
        None => (Command::from_byte(0), &[]),
    }
}
