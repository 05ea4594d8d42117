//! Connections of Freshet's own account in the environments of clients, to repeat their questions.

use freshet_protocol::{Capabilities, Command};
use freshet_upstream::{Connection, Error, control};

use crate::created::StoredResult;
use crate::environment::{Environment, are_alike_but_for_account, modes_of_server, path_but_for_account};
use crate::reading::without_hint;
use crate::relay::{Capture, Filter, Lost, Relay, Relayed};
use crate::session::{FORM, follow};
use crate::shared::Shared;

/// How many connections are kept, one for each environment.
const CONNECTIONS_MAX: usize = 4;

/// The open connections; the one that was used last stands last.
#[derive(Default)]
pub(super) struct OwnSessions(Vec<OwnSession>);

/// A connection in the environment of clients.
pub(super) struct OwnSession {
    connection: Connection,
    /// The environment's identity.
    environment: u32,
    /// The form of answers.
    form: Capabilities,
}

impl OwnSessions {
    /// Closes all connections.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns a connection in the client's environment; `None` if there can be none.
    pub(super) async fn of(
        &mut self,
        shared: &Shared,
        result: &StoredResult,
    ) -> Result<Option<&mut OwnSession>, Error> {
        let sessions = &mut self.0;
        let Some(form) = result.environment.form() else { return Ok(None) };
        let environment = result.environment.id;
        let is_like = |session: &OwnSession| session.environment == environment && session.form == form;
        if let Some(at) = sessions.iter().position(is_like) {
            // The connection that is unused for longest is the first.
            let session = sessions.remove(at);
            sessions.push(session);
        } else {
            let Some(session) = OwnSession::open(shared, &result.environment, form).await? else {
                return Ok(None);
            };
            if sessions.len() == CONNECTIONS_MAX {
                sessions.remove(0);
            }
            sessions.push(session);
        }
        Ok(sessions.last_mut())
    }
}

impl OwnSession {
    async fn open(shared: &Shared, like: &Environment, form: Capabilities) -> Result<Option<Self>, Error> {
        let mut connection = control::connect_in_form(shared.upstream.config(), form).await?;
        if connection.capabilities().intersection(FORM) != form {
            return Ok(None);
        }
        let version = connection.greeting().server_version.clone();
        let Some(query) = shared.vector(&version) else { return Ok(None) };
        let server = modes_of_server(&version);
        let environment = async |connection: &mut Connection| {
            let rows = connection.query(query.sql()).await?;
            let row = rows.rows.first().map(Vec::as_slice).unwrap_or_default();
            Ok::<_, Error>(Environment::read(&query, &[], row, server))
        };
        let begun = environment(&mut connection).await?;
        let Some(path) = path_but_for_account(&query, &begun, like) else { return Ok(None) };
        for statement in path {
            match connection.query(&statement).await {
                Ok(_) => {}
                Err(Error::Server(_)) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        let reached = environment(&mut connection).await?;
        let is_there = are_alike_but_for_account(&query, &reached, like);
        Ok(is_there.then_some(Self { connection, environment: like.id, form }))
    }

    /// Returns the server's answer, with a copy if it may be stored.
    pub(super) async fn answer(&mut self, shared: &Shared, result: &StoredResult) -> Result<Relayed, Error> {
        let stripped = without_hint(&result.text, result.environment.modes);
        let text = stripped.as_deref().unwrap_or(&result.text);
        let capabilities = self.connection.capabilities();
        self.connection.send_command(&[&[Command::Query.byte()], text].concat()).await?;
        let filter = Filter { capabilities, begun: None, told: None, schema: "" };
        let mut relay = Relay::new(&filter, Command::Query, capabilities);
        let bytes_max = shared.cache.limit().min(shared.cache.size());
        relay.capture(Some(Capture::new(bytes_max, &shared.bounds().fill).warned(result.warnings)));
        match follow(&mut self.connection, &mut relay).await {
            Ok(()) => Ok(relay.finish()),
            Err(Lost::Upstream(error)) => Err(error.into()),
            Err(_) => Err(Error::Frame("an answer that cannot be followed".to_owned())),
        }
    }
}
