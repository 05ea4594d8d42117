//! Logging in with a password that we know.

use freshet_protocol::{
    CACHING_SHA2_PASSWORD, MYSQL_CLEAR_PASSWORD, MYSQL_NATIVE_PASSWORD, SCRAMBLE_LEN, SHA256_PASSWORD,
    caching_sha2, native, rsa, scramble_in,
};

use crate::error::Error;
use crate::responder::{Challenge, Responder};
use crate::secret::{Credential, Secret};

/// The byte with which sha256_password asks for the server's RSA key; caching_sha2_password has another one.
const SHA256_REQUEST_PUBLIC_KEY: u8 = 1;

/// Answers the server with a known password: `mysql_native_password`, `caching_sha2_password`, `sha256_password`, and
/// `mysql_clear_password` where nobody can read it on the way. If only the password's SHA1 is known, `mysql_native_password` alone.
///
/// The password itself is sent only where nobody can read it: over TLS, over a unix socket, or encrypted for the RSA key that the server
/// hands out. That key is not verified, so on a plain connection an attacker who can change what we receive could learn the password. TLS
/// with a verified certificate prevents that.
#[derive(Debug)]
pub struct Password {
    credential: Credential,
    /// The scramble of the plugin that runs, which the RSA exchange needs again.
    scramble: [u8; SCRAMBLE_LEN],
}

impl Password {
    /// Answers with this password, or with its hash.
    pub fn new(credential: impl Into<Credential>) -> Self {
        Self { credential: credential.into(), scramble: [0; SCRAMBLE_LEN] }
    }

    /// Answers with this password from here on, where the plugin already runs and was given this scramble. With another scramble the RSA
    /// exchange would be wrong, and the server would refuse the right password.
    pub fn resumed(secret: Secret, scramble: [u8; SCRAMBLE_LEN]) -> Self {
        Self { credential: secret.into(), scramble }
    }

    fn start(&self, plugin: &str, secure: bool) -> Result<Vec<u8>, Error> {
        let secret = match &self.credential {
            Credential::Password(secret) => secret,
            Credential::NativeHash(hash) if plugin == MYSQL_NATIVE_PASSWORD => {
                return Ok(native::token_by_hash(hash.expose(), &self.scramble).to_vec());
            }
            Credential::NativeHash(_) => return Err(needs_password(plugin)),
        };
        match plugin {
            MYSQL_NATIVE_PASSWORD => Ok(native::token(secret.expose(), &self.scramble)),
            CACHING_SHA2_PASSWORD => Ok(caching_sha2::token(secret.expose(), &self.scramble)),
            SHA256_PASSWORD if secure || secret.is_empty() => Ok(secret.with_nul().to_vec()),
            SHA256_PASSWORD => Ok(vec![SHA256_REQUEST_PUBLIC_KEY]),
            MYSQL_CLEAR_PASSWORD if secure => Ok(secret.with_nul().to_vec()),
            MYSQL_CLEAR_PASSWORD => Err(refusal(
                plugin,
                "the password would be sent in clear: use TLS (ssl-mode=required) or a unix socket",
            )),
            _ => Err(refusal(
                plugin,
                "not supported for Freshet's own account: give that account caching_sha2_password, \
                 mysql_native_password or a unix socket",
            )),
        }
    }

    fn go_on(&self, plugin: &str, data: &[u8], secure: bool) -> Result<Option<Vec<u8>>, Error> {
        let Credential::Password(secret) = &self.credential else { return Err(needs_password(plugin)) };
        match (plugin, data) {
            (CACHING_SHA2_PASSWORD, [caching_sha2::FAST_AUTH_OK]) => Ok(None),
            (CACHING_SHA2_PASSWORD, [caching_sha2::FULL_AUTH]) if secure => {
                Ok(Some(secret.with_nul().to_vec()))
            }
            (CACHING_SHA2_PASSWORD, [caching_sha2::FULL_AUTH]) => {
                Ok(Some(vec![caching_sha2::REQUEST_PUBLIC_KEY]))
            }
            (CACHING_SHA2_PASSWORD | SHA256_PASSWORD, pem) if !secure => {
                let masked = caching_sha2::mask(&secret.with_nul(), &self.scramble);
                rsa::encrypt(pem, &masked)
                    .map(Some)
                    .ok_or_else(|| refusal(plugin, "the server's RSA key cannot be used: use TLS"))
            }
            _ => Err(refusal(plugin, "the server asks something that the plugin does not")),
        }
    }
}

impl Responder for Password {
    async fn answer(
        &mut self,
        plugin: &str,
        challenge: Challenge<'_>,
        secure: bool,
    ) -> Result<Option<Vec<u8>>, Error> {
        match challenge {
            Challenge::Switch(data) => {
                self.scramble = scramble_in(data).unwrap_or_default();
                self.start(plugin, secure).map(Some)
            }
            Challenge::More(data) => self.go_on(plugin, data, secure),
        }
    }
}

fn needs_password(plugin: &str) -> Error {
    refusal(plugin, "only what proves mysql_native_password is known, and not the password")
}

fn refusal(plugin: &str, why: &'static str) -> Error {
    Error::Authentication { plugin: plugin.to_owned(), why }
}

#[cfg(test)]
mod tests;
