//! session

pub mod auth;
pub mod wire;
