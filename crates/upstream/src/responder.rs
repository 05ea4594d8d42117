//! Answers to the server's questions during a login.

use crate::error::Error;

/// A question of the server during a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Challenge<'a> {
    /// A plugin starts: in the greeting, at COM_CHANGE_USER, or by an AuthSwitch. The bytes are its
    /// scramble, without the NUL that follows it on the wire.
    Switch(&'a [u8]),
    /// A further message of the plugin that has started.
    More(&'a [u8]),
}

/// Answers the server's questions during a login: from a known password, or by asking a client.
#[allow(
    async_fn_in_trait,
    reason = "logins run on single-threaded event loops and are never spawned as Send"
)]
pub trait Responder {
    /// Answers one challenge of the plugin named.
    ///
    /// `secure` says that nobody can read the bytes on their way to the server: TLS, or a unix socket. `Ok(None)` means that nothing is
    /// to be sent: the server goes on by itself.
    ///
    /// # Errors
    /// [`Error::Authentication`] if the plugin is not known or its question cannot be answered
    /// safely.
    async fn answer(
        &mut self,
        plugin: &str,
        challenge: Challenge<'_>,
        secure: bool,
    ) -> Result<Option<Vec<u8>>, Error>;

    /// Whether the login can be made once more, on another connection.
    fn may_begin_again(&self) -> bool {
        true
    }
}
