//! The handshake: who is there, what both can do, and the exchange of proofs.

mod auth_exchange;
mod change_user;
mod greeting;
mod login;

#[cfg(test)]
mod tests;

pub use auth_exchange::{AuthReply, auth_more, auth_switch, scramble_in};
pub use change_user::ChangeUser;
pub use greeting::{Greeting, ServerHello};
pub use login::{ClientHello, Login, SslRequest};

/// SHA-1 of the password, scrambled.
pub const MYSQL_NATIVE_PASSWORD: &str = "mysql_native_password";
/// SHA-256 of the password, scrambled, with a cache on the server.
pub const CACHING_SHA2_PASSWORD: &str = "caching_sha2_password";
/// The password itself, over TLS or encrypted with the server's RSA key.
pub const SHA256_PASSWORD: &str = "sha256_password";
/// The password itself, as it is.
pub const MYSQL_CLEAR_PASSWORD: &str = "mysql_clear_password";

/// The length of a scramble (the server's challenge), in bytes.
pub const SCRAMBLE_LEN: usize = 20;
