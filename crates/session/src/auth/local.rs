//! Whether a login proves a password that Freshet knows, or knows enough of.

use freshet_protocol::{
    CACHING_SHA2_PASSWORD, Capabilities, Login, MYSQL_NATIVE_PASSWORD, SCRAMBLE_LEN, caching_sha2, native,
};
use freshet_upstream::Credential;

use super::admitted::Scrambles;

/// A valid proof, and what the client waits for after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verified {
    /// The OK packet.
    Plain,
    /// The mark of a fast login, then the OK packet.
    Fast,
}

/// Checks the proof in the login itself, made with one of Freshet's scrambles. `None` if it proves nothing.
pub(super) fn verify(login: &Login, scrambles: &Scrambles, credential: &Credential) -> Option<Verified> {
    let token = login.auth_response.as_slice();
    if is_empty(token) || credential.is_empty() {
        return (is_empty(token) && credential.is_empty()).then_some(Verified::Plain);
    }
    let holds = |verify: &dyn Fn(&[u8; SCRAMBLE_LEN]) -> bool| {
        std::iter::once(&scrambles.greeting).chain(&scrambles.switch).any(verify)
    };
    match (plugin(login), credential) {
        (MYSQL_NATIVE_PASSWORD, Credential::Password(password)) => {
            holds(&|scramble| native::verify(token, scramble, password.expose())).then_some(Verified::Plain)
        }
        (MYSQL_NATIVE_PASSWORD, Credential::NativeHash(hash)) => {
            holds(&|scramble| native::verify_by_hash(token, scramble, hash.expose()))
                .then_some(Verified::Plain)
        }
        (CACHING_SHA2_PASSWORD, Credential::Password(password)) => {
            holds(&|scramble| caching_sha2::verify(token, scramble, password.expose()))
                .then_some(Verified::Fast)
        }
        _ => None,
    }
}

/// Returns the plugin with which the client computed its proof.
pub(super) fn plugin(login: &Login) -> &str {
    if !login.capabilities.contains(Capabilities::PLUGIN_AUTH) {
        return MYSQL_NATIVE_PASSWORD;
    }
    let named = login.auth_plugin.as_deref().unwrap_or_default();
    std::str::from_utf8(named).unwrap_or_default()
}

/// Whether the token says, in one of the two ways, that there is no password.
pub(super) fn is_empty(token: &[u8]) -> bool {
    matches!(token, [] | [0])
}
