//! The state that all logins share.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use freshet_protocol::{Capabilities, ErrPacket, Greeting, rsa};
use freshet_upstream::net::Stream;
use freshet_upstream::{Connection, Dialled, Error, Preference, Rows, UpstreamConfig};
use rustls::ServerConfig;
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;

use super::admitted::Admitted;
use super::begun::LoginBegun;
use super::knowledge::{Epoch, Knowledge};
use super::secrets::{LoginKind, Secrets};
use super::spare::Spares;
use crate::bounds::{self, Bounds};
use crate::counters;
use crate::environment::Environment;
use crate::full::FullServer;
use crate::wire::Wire;

/// Freshet's connection ids start here, so that they differ from a server's thread ids.
pub const CONNECTION_ID_MIN: u32 = 0x8000_0000;

/// How long a login may take by default: the server's own `connect_timeout`.
pub const LOGIN_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a client beyond the limit may take to read the refusal.
const REFUSAL_MAX: Duration = Duration::from_secs(1);

/// Capabilities that Freshet never offers a client: result sets without column definitions, because Freshet's own
/// questions on the same connection need the definitions, and because an answer from memory has to contain them; and
/// further factors, because each needs a packet of its own kind. TLS is offered if Freshet has a certificate, whatever the server has.
const NEVER_OFFERED: Capabilities = Capabilities::OPTIONAL_RESULTSET_METADATA
    .union(Capabilities::MARIADB_CACHE_METADATA)
    .union(Capabilities::MULTI_FACTOR_AUTHENTICATION)
    .union(Capabilities::CAPABILITY_EXTENSION)
    .union(Capabilities::SSL);

/// Capabilities that are agreed on with a client only, and not with the server.
const NEVER_UPSTREAM: Capabilities =
    NEVER_OFFERED.union(Capabilities::COMPRESS).union(Capabilities::ZSTD_COMPRESSION_ALGORITHM);

/// Capabilities that a connection to the server always has, whatever the client has: the relay depends on them.
const ALWAYS_UPSTREAM: Capabilities = Capabilities::PROTOCOL_41
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::PLUGIN_AUTH)
    .union(Capabilities::SESSION_TRACK);

/// The settings of logins.
#[derive(Clone, Debug)]
pub struct LoginOptions {
    /// The longest time from the accepted connection to the OK packet.
    pub login_timeout: Duration,
    /// Whether clients without TLS or a unix socket are refused.
    pub require_tls: bool,
    /// The server's capabilities that Freshet may offer.
    pub offered: Capabilities,
    /// How many bytes a packet may have after the login.
    pub max_allowed_packet: usize,
    /// The bounds of a client in memory and time, from its first byte on.
    pub bounds: bounds::Limits,
}

impl Default for LoginOptions {
    fn default() -> Self {
        Self {
            login_timeout: LOGIN_TIMEOUT,
            require_tls: false,
            offered: Capabilities::all(),
            max_allowed_packet: 64 << 20,
            bounds: bounds::Limits::default(),
        }
    }
}

/// The state that all logins of one upstream share.
pub struct Gate {
    pub(super) config: Arc<UpstreamConfig>,
    pub(super) tls: Option<Arc<ServerConfig>>,
    pub(super) options: LoginOptions,
    pub(super) secrets: Secrets,
    pub(super) spares: Spares,
    knowledge: Arc<dyn Knowledge>,
    /// The server's greeting, from the last connection to it. Written when it changes: at the first contact and
    /// when the server is upgraded; read once per login.
    face: RwLock<Option<Arc<Greeting>>>,
    key: OnceCell<Option<rsa::PrivateKey>>,
    next_id: AtomicU32,
    bounds: Arc<Bounds>,
    dials: Dials,
    /// Whom to tell that the server has no more connections.
    full: OnceLock<Arc<FullServer>>,
}

/// How often a connection to the server was asked for and opened, and how often it failed.
#[derive(Debug, Default)]
pub(crate) struct Dials {
    pub(crate) answered: AtomicU64,
    pub(crate) failed: AtomicU64,
}

impl Gate {
    /// `tls` holds Freshet's certificate; without it clients are offered no TLS.
    pub fn new(
        config: Arc<UpstreamConfig>,
        knowledge: Arc<dyn Knowledge>,
        tls: Option<Arc<ServerConfig>>,
        options: LoginOptions,
    ) -> Self {
        Self {
            bounds: Arc::new(Bounds::new(&options.bounds)),
            config,
            tls,
            options,
            secrets: Secrets::default(),
            spares: Spares::default(),
            knowledge,
            face: RwLock::new(None),
            key: OnceCell::new(),
            next_id: AtomicU32::new(CONNECTION_ID_MIN),
            dials: Dials::default(),
            full: OnceLock::new(),
        }
    }

    /// Sets whom to tell that the server has no more connections.
    pub(crate) fn heeds(&self, full: Arc<FullServer>) {
        let _ = self.full.set(full);
    }

    /// Notes that the server has no more connections. Returns whether sessions have some to give up.
    pub(super) fn note_full(&self) -> bool {
        self.full.get().is_some_and(|full| {
            full.note();
            full.can_make_room()
        })
    }

    /// Returns how often clients' connections to the server were opened, and how often they failed.
    pub(crate) const fn dials(&self) -> &Dials {
        &self.dials
    }

    /// Returns the connections to the server that are kept for the next login of their users: the user of each, and for how many
    /// milliseconds.
    pub(crate) fn spare_connections(&self) -> Vec<(String, u64)> {
        self.spares.list()
    }

    /// Returns how many connections to the server are kept for the next login of their users.
    pub(crate) fn spares(&self) -> usize {
        self.spares.count()
    }

    /// Makes in advance what the first login would otherwise wait for.
    pub async fn prepare(&self) {
        let _ = self.key().await;
    }

    /// Takes over the server's greeting from a connection that somebody else has opened.
    pub fn remember_greeting(&self, greeting: &Greeting) {
        let known = self.face();
        if known.is_some_and(|known| same_face(&known, greeting)) {
            return;
        }
        let mut face = self.face.write().unwrap_or_else(PoisonError::into_inner);
        *face = Some(Arc::new(greeting.clone()));
    }

    /// Whether a client can be greeted without a connection to the server.
    pub(crate) fn knows_greeting(&self) -> bool {
        self.face.read().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Returns the bounds that all clients share, before and after their login.
    pub(crate) fn bounds(&self) -> &Arc<Bounds> {
        &self.bounds
    }

    /// Returns the next client's connection id.
    pub(super) fn next_id(&self) -> u32 {
        // The ids only need to be unique among the present clients, which are fewer than 2³¹.
        CONNECTION_ID_MIN | self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// See [`Knowledge::epoch`].
    pub(crate) fn epoch(&self) -> Option<Epoch> {
        self.knowledge.epoch()
    }

    /// See [`Knowledge::ask`].
    ///
    /// # Errors
    /// The server cannot be asked just now, or refuses.
    pub(super) async fn ask(&self, sql: &str) -> Result<Rows, Error> {
        self.knowledge.ask(sql).await
    }

    /// Whether the server offers TLS, as far as is known.
    pub(super) fn server_has_tls(&self) -> bool {
        self.face().is_none_or(|face| face.capabilities.contains(Capabilities::SSL))
    }

    /// Returns the key with which a client on a channel that others can read may hand its password over. The key is made at the first
    /// need, unless [`Gate::prepare`] has made it. `None` if it could not be made.
    pub(super) async fn key(&self) -> Option<&rsa::PrivateKey> {
        let make = async || spawn_blocking(rsa::PrivateKey::generate).await.ok()?.ok();
        self.key.get_or_init(make).await.as_ref()
    }

    /// Returns the server's greeting; asks the server if the greeting is unknown.
    ///
    /// # Errors
    /// The server cannot be reached and never was.
    pub(super) async fn greeting(&self) -> Result<Arc<Greeting>, Error> {
        if let Some(face) = self.face() {
            return Ok(face);
        }
        let dialled = self.dial(Preference::Nowhere, Capabilities::empty(), 0).await?;
        let greeting = Arc::new(dialled.greeting().clone());
        Ok(greeting)
    }

    /// Opens a new connection to the server for a client with these capabilities.
    ///
    /// # Errors
    /// As [`Connection::dial`].
    pub(super) async fn dial(
        &self,
        preference: Preference,
        client: Capabilities,
        collation: u8,
    ) -> Result<Dialled, Error> {
        let want = client.difference(NEVER_UPSTREAM).union(ALWAYS_UPSTREAM);
        let dialled = Connection::dial_preferring(preference, &self.config, want, collation).await;
        let of = if dialled.is_ok() { &self.dials.answered } else { &self.dials.failed };
        counters::count(of);
        let dialled = dialled?;
        self.remember_greeting(dialled.greeting());
        // The client was greeted for another server than the present one: it has to begin again.
        if !dialled.capabilities().contains(client.difference(NEVER_UPSTREAM)) {
            return Err(Error::Unexpected {
                question: "the handshake: the server offers less than it did before",
            });
        }
        Ok(dialled)
    }

    /// Returns the capabilities that a client is offered, for a server that offers `server`.
    pub(super) fn offer(&self, server: Capabilities) -> Capabilities {
        let mut offer = server.intersection(self.options.offered).difference(NEVER_OFFERED);
        offer.set(Capabilities::SSL, self.tls.is_some());
        offer
    }

    fn face(&self) -> Option<Arc<Greeting>> {
        self.face.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Whether two greetings agree in all that Freshet's own greeting repeats.
fn same_face(a: &Greeting, b: &Greeting) -> bool {
    a.server_version == b.server_version
        && a.capabilities == b.capabilities
        && a.collation == b.collation
        && a.auth_plugin == b.auth_plugin
}

/// Refuses a client before any greeting, as the server does when `max_connections` are open.
pub async fn refuse_too_many(stream: Stream, bounds: &Arc<Bounds>) {
    let mut wire = Wire::new(stream, 0, bounds);
    wire.put(
        &ErrPacket::new(ErrPacket::TOO_MANY_CONNECTIONS, "08004", "Too many connections")
            .without_sqlstate()
            .encode(),
    );
    // One attempt is enough.
    let _ = tokio::time::timeout(REFUSAL_MAX, wire.close()).await;
}

impl Gate {
    /// Returns the environment in which sessions of this kind of login begin, if one of them began at most `age_ms_max` ago.
    pub(crate) fn beginning(&self, admitted: &Admitted, age_ms_max: u64) -> Option<Arc<Environment>> {
        let kind = LoginKind::of(&admitted.login, admitted.channel);
        self.secrets.beginning(&admitted.user, &kind, self.epoch()?, age_ms_max)
    }

    /// Whether another connection could be opened for this login: its password is known, and its account has no limits on logins.
    pub(crate) fn could_open(&self, admitted: &Admitted) -> bool {
        let repeats = |epoch| self.secrets.repeats(&admitted.user, epoch) == Some(true);
        admitted.credential.is_some() && self.epoch().is_some_and(repeats)
    }

    /// Notes the environment of a session in which nothing has happened since its login.
    pub(crate) fn begins(&self, admitted: &Admitted, begun: LoginBegun, environment: &Arc<Environment>) {
        if environment.begins_alike {
            let kind = LoginKind::of(&admitted.login, admitted.channel);
            self.secrets.begins(&admitted.user, kind, environment, begun);
        }
    }
}
