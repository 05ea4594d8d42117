//! The proof of a password without sending it, and the encryption of a password that must be sent without TLS.

pub mod caching_sha2;
mod digest;
pub mod native;
mod pem;
pub mod rsa;
mod scramble;

#[cfg(test)]
mod tests;

pub use scramble::random_scramble;
