//! How a password is proven without being sent, and how it is encrypted where
//! it must be sent without TLS.

pub mod caching_sha2;
mod digest;
pub mod native;
mod pem;
pub mod rsa;
mod scramble;

#[cfg(test)]
mod tests;

pub use scramble::random_scramble;
