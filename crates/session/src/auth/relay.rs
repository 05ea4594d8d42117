//! Answers the server's questions during a login by asking the client.

use freshet_protocol::{
    CACHING_SHA2_PASSWORD, Capabilities, MYSQL_CLEAR_PASSWORD, MYSQL_NATIVE_PASSWORD, SCRAMBLE_LEN,
    SHA256_PASSWORD, auth_more, auth_switch, caching_sha2, native,
};
use freshet_upstream::{Challenge, Credential, Error, Password, Responder, Secret};
use tokio::time::timeout_at;
use zeroize::Zeroizing;

use super::admitted::LoginClient;
use super::error::AdmitError;
use super::full::{self, PasswordReply};
use super::gate::Gate;
use super::local::{self, is_empty};
use crate::wire::Wire;

/// The length of a `mysql_native_password` proof.
const NATIVE_PROOF_BYTES: usize = 20;
/// The length of a `caching_sha2_password` proof.
const SHA2_PROOF_BYTES: usize = 32;
/// The length of an answer to an unknown plugin: that of a signature.
const OTHER_PROOF_BYTES: usize = 64;
/// The byte that fills an answer that proves nothing: it begins no request.
const NOTHING: u8 = 0xFF;
/// The header of a switch to another plugin.
const SWITCH: u8 = 0xFE;

/// Relays the server's questions and the client's answers, during one login.
pub(super) struct LoginRelay<'a> {
    wire: &'a mut Wire,
    gate: &'a Gate,
    client: &'a mut LoginClient,
    /// The client's answer to the server, if it is the whole password.
    password: Option<Password>,
    /// The facts that the answer shows, to be remembered if the server accepts it.
    learned: Option<Learned>,
    /// Whether the server has asked for something. If it accepts without a question, it has not judged the client at all.
    challenged: bool,
    /// Whether the server has accepted the client's proof, which nobody else can check.
    is_proven: bool,
    /// Whether the client has answered with something.
    has_password: bool,
    /// Why the client's side ended the login.
    failure: Option<AdmitError>,
}

/// What the answers of a client show about its password.
pub(super) enum Learned {
    /// As much as further logins need.
    Known(Credential),
    /// The same, together with the server's stored value.
    Native {
        /// The scramble of the proof.
        scramble: [u8; SCRAMBLE_LEN],
        /// The client's answer.
        proof: [u8; native::TOKEN_LEN],
    },
}

/// The outcome of a relayed login.
pub(super) struct RelayedLogin {
    /// What the client's last answer showed about its password.
    pub(super) learned: Option<Learned>,
    /// See [`LoginRelay::challenged`].
    pub(super) challenged: bool,
    /// See [`LoginRelay::is_proven`].
    pub(super) is_proven: bool,
    /// See [`LoginRelay::has_password`].
    pub(super) has_password: bool,
    /// Why the client's side ended the login, if it did: this error comes before the server's.
    pub(super) failure: Option<AdmitError>,
}

impl<'a> LoginRelay<'a> {
    pub(super) fn new(wire: &'a mut Wire, gate: &'a Gate, client: &'a mut LoginClient) -> Self {
        let has_password = !is_empty(&client.login.auth_response);
        Self {
            wire,
            gate,
            client,
            password: None,
            learned: None,
            challenged: false,
            is_proven: false,
            has_password,
            failure: None,
        }
    }

    pub(super) fn finish(self) -> RelayedLogin {
        RelayedLogin {
            learned: self.learned,
            challenged: self.challenged,
            is_proven: self.is_proven,
            has_password: self.has_password,
            failure: self.failure,
        }
    }

    /// Whether the client has been asked for an answer to the server's challenge.
    pub(super) fn has_asked(&self) -> bool {
        self.challenged
    }

    async fn asked(
        &mut self,
        plugin: &str,
        challenge: Challenge<'_>,
        secure: bool,
    ) -> Result<Option<Vec<u8>>, AdmitError> {
        match challenge {
            Challenge::Switch(data) => self.switched(plugin, data, secure).await,
            Challenge::More(data) => self.more(plugin, data, secure).await,
        }
    }

    async fn switched(
        &mut self,
        plugin: &str,
        data: &[u8],
        secure: bool,
    ) -> Result<Option<Vec<u8>>, AdmitError> {
        self.challenged = true;
        if self.password.is_some() && is_stored_by_server(plugin) {
            return self.by_password(plugin, Challenge::Switch(data), secure).await;
        }
        // With several plugins, the last one lets the client in.
        self.learned = None;
        if !self.client.login.capabilities.contains(Capabilities::PLUGIN_AUTH) {
            return self.cannot_switch();
        }
        if self.may_be_asked_outright(plugin) {
            let scramble = self.client.scrambles.greeting;
            return self.ask_password(plugin, Challenge::Switch(data), scramble, secure).await;
        }
        match plugin {
            CACHING_SHA2_PASSWORD => self.caching_sha2(data, secure).await,
            MYSQL_NATIVE_PASSWORD => self.native(data).await,
            SHA256_PASSWORD => self.sha256(data, secure).await,
            MYSQL_CLEAR_PASSWORD => self.clear(data, secure).await,
            _ => Ok(Some(self.switch_client(plugin, data).await?.to_vec())),
        }
    }

    async fn more(&mut self, plugin: &str, data: &[u8], secure: bool) -> Result<Option<Vec<u8>>, AdmitError> {
        if self.password.is_some() && is_stored_by_server(plugin) {
            return self.by_password(plugin, Challenge::More(data), secure).await;
        }
        match (plugin, data) {
            (CACHING_SHA2_PASSWORD, [caching_sha2::FAST_AUTH_OK]) => {
                self.is_proven = true;
                self.wire.put(&auth_more(data));
                Ok(None)
            }
            (CACHING_SHA2_PASSWORD, [caching_sha2::FULL_AUTH]) => {
                let scramble = self.client.scrambles.latest();
                self.ask_password(plugin, Challenge::More(data), scramble, secure).await
            }
            _ => {
                self.wire.put(&auth_more(data));
                Ok(Some(self.client_answer().await?.to_vec()))
            }
        }
    }

    /// Whether the client may be asked for its password at once. On a secure channel, a client that has begun `caching_sha2_password` with
    /// Freshet's greeting gives its password when it hears that its proof did not suffice. That saves a round trip, and one password serves
    /// every plugin whose accounts the server keeps itself.
    fn may_be_asked_outright(&self, plugin: &str) -> bool {
        self.wire.is_secure()
            && is_stored_by_server(plugin)
            && self.client.scrambles.switch.is_none()
            && local::plugin(&self.client.login) == CACHING_SHA2_PASSWORD
            && !is_empty(&self.client.login.auth_response)
    }

    async fn caching_sha2(&mut self, data: &[u8], secure: bool) -> Result<Option<Vec<u8>>, AdmitError> {
        let proof = self.switch_client(CACHING_SHA2_PASSWORD, data).await?;
        if is_empty(&proof) {
            self.learned = Some(Learned::Known(Secret::default().into()));
        } else if self.wire.is_secure() {
            let scramble = self.client.scrambles.latest();
            return self.ask_password(CACHING_SHA2_PASSWORD, Challenge::Switch(data), scramble, secure).await;
        } else {
            self.learned = self.with_our_password(&proof, data);
        }
        Ok(Some(proof.to_vec()))
    }

    /// Returns what a proof shows that was made with the password of Freshet's own account. Only the server can tell which other password a
    /// proof was made with.
    fn with_our_password(&self, proof: &[u8], data: &[u8]) -> Option<Learned> {
        let ours = &self.gate.config.password;
        let scramble = <[u8; SCRAMBLE_LEN]>::try_from(data).ok()?;
        let is_ours = !ours.is_empty() && caching_sha2::verify(proof, &scramble, ours.expose());
        is_ours.then(|| Learned::Known(ours.clone().into()))
    }

    async fn native(&mut self, data: &[u8]) -> Result<Option<Vec<u8>>, AdmitError> {
        let proof = self.switch_client(MYSQL_NATIVE_PASSWORD, data).await?;
        self.learned = match (<[u8; SCRAMBLE_LEN]>::try_from(data), <[u8; _]>::try_from(proof.as_slice())) {
            _ if is_empty(&proof) => Some(Learned::Known(Secret::default().into())),
            (Ok(scramble), Ok(proof)) => Some(Learned::Native { scramble, proof }),
            _ => None,
        };
        Ok(Some(proof.to_vec()))
    }

    async fn sha256(&mut self, data: &[u8], secure: bool) -> Result<Option<Vec<u8>>, AdmitError> {
        let first = self.switch_client(SHA256_PASSWORD, data).await?;
        if is_empty(&first) {
            return Ok(Some(first.to_vec()));
        }
        let scramble = self.client.scrambles.latest();
        let reply = full::read_reply(self.wire, self.gate, &scramble, first).await?;
        self.with_reply(SHA256_PASSWORD, Challenge::Switch(data), reply, secure).await
    }

    /// Passes on a password in clear, only where nobody can read it, on both sides of Freshet. The password is not remembered, because
    /// it is judged outside of the server, where it may change without a trace.
    async fn clear(&mut self, data: &[u8], secure: bool) -> Result<Option<Vec<u8>>, AdmitError> {
        if !self.wire.is_secure() || !secure {
            let text = "Authentication requires a secure connection: the password would be sent in clear";
            return Err(AdmitError::refused(1045, "28000", text));
        }
        Ok(Some(self.switch_client(MYSQL_CLEAR_PASSWORD, data).await?.to_vec()))
    }

    /// Without plugins a client cannot get another scramble than the greeting's. It can still have no password.
    fn cannot_switch(&self) -> Result<Option<Vec<u8>>, AdmitError> {
        if is_empty(&self.client.login.auth_response) {
            return Ok(Some(Vec::new()));
        }
        let text = "LoginClient does not support authentication protocol requested by server; consider upgrading MySQL client";
        Err(AdmitError::refused(1251, "08004", text))
    }

    async fn ask_password(
        &mut self,
        plugin: &str,
        challenge: Challenge<'_>,
        scramble: [u8; 20],
        secure: bool,
    ) -> Result<Option<Vec<u8>>, AdmitError> {
        let reply = full::ask(self.wire, self.gate, &scramble).await?;
        self.with_reply(plugin, challenge, reply, secure).await
    }

    async fn with_reply(
        &mut self,
        plugin: &str,
        challenge: Challenge<'_>,
        reply: PasswordReply,
        secure: bool,
    ) -> Result<Option<Vec<u8>>, AdmitError> {
        match reply {
            PasswordReply::Password(secret) => {
                self.learned = Some(Learned::Known(secret.clone().into()));
                // The server's own scramble, which the client was given too.
                self.password = Some(Password::resumed(secret, self.client.scrambles.latest()));
                self.by_password(plugin, challenge, secure).await
            }
            // The client encrypted the password for a server whose key it had; that server may read it.
            PasswordReply::Sealed(bytes) => Ok(Some(bytes)),
        }
    }

    async fn by_password(
        &mut self,
        plugin: &str,
        challenge: Challenge<'_>,
        secure: bool,
    ) -> Result<Option<Vec<u8>>, AdmitError> {
        let Some(password) = &mut self.password else { return Ok(None) };
        password.answer(plugin, challenge, secure).await.map_err(AdmitError::Upstream)
    }

    /// Makes the client change to the account's plugin, and returns its first answer.
    async fn switch_client(&mut self, plugin: &str, data: &[u8]) -> Result<Zeroizing<Vec<u8>>, AdmitError> {
        match <[u8; SCRAMBLE_LEN]>::try_from(data) {
            Ok(scramble) => {
                self.client.scrambles.switch = Some(scramble);
                self.wire.put(&auth_switch(plugin, &scramble));
            }
            // Only a scramble ends with a NUL: another plugin's challenge is passed on byte by byte.
            Err(_) => self.wire.put(&plain_switch(plugin, data)),
        }
        self.client_answer().await
    }

    async fn client_answer(&mut self) -> Result<Zeroizing<Vec<u8>>, AdmitError> {
        self.wire.flush().await?;
        let answer = full::answer(self.wire).await?;
        self.has_password = !is_empty(&answer);
        Ok(answer)
    }
}

impl Responder for LoginRelay<'_> {
    async fn answer(
        &mut self,
        plugin: &str,
        challenge: Challenge<'_>,
        secure: bool,
    ) -> Result<Option<Vec<u8>>, Error> {
        if self.failure.is_some() {
            return Ok(Some(no_proof(plugin)));
        }
        // The client's time may run out, but the exchange with the server is completed.
        let answer = timeout_at(self.client.deadline, self.asked(plugin, challenge, secure)).await;
        let answer = answer.unwrap_or(Err(AdmitError::TimedOut));
        Ok(answer.unwrap_or_else(|failure| {
            self.failure = Some(failure);
            Some(no_proof(plugin))
        }))
    }

    /// A client answers one challenge for each login.
    fn may_begin_again(&self) -> bool {
        !self.challenged
    }
}

/// Returns an answer that proves nothing, for a server whose client has failed. The server should refuse the login, and not
/// see a broken connection: it counts those against Freshet's host, and blocks the host for everybody after `max_connect_errors`.
fn no_proof(plugin: &str) -> Vec<u8> {
    let len = match plugin {
        MYSQL_NATIVE_PASSWORD => NATIVE_PROOF_BYTES,
        CACHING_SHA2_PASSWORD => SHA2_PROOF_BYTES,
        _ => OTHER_PROOF_BYTES,
    };
    vec![NOTHING; len]
}

/// Whether the server keeps the passwords of this plugin itself: they change only with a trace in the binlog, and the
/// password alone suffices to answer.
fn is_stored_by_server(plugin: &str) -> bool {
    matches!(plugin, MYSQL_NATIVE_PASSWORD | CACHING_SHA2_PASSWORD | SHA256_PASSWORD)
}

/// Returns the packet that makes the client start again with `plugin` and exactly this challenge.
fn plain_switch(plugin: &str, data: &[u8]) -> Vec<u8> {
    let mut payload = vec![SWITCH];
    payload.extend_from_slice(plugin.as_bytes());
    payload.push(0);
    payload.extend_from_slice(data);
    payload
}
