//! The targets, one file each.

mod answer;
mod binlog;
mod commands;
mod config;
mod frames;
mod growth;
mod lexer;
mod libconfig;
mod login;
mod pins;
mod readings;
mod statements;

use crate::target::Target;

/// Every target.
pub static ALL: [&Target; 11] = [
    &frames::TARGET,
    &commands::TARGET,
    &login::TARGET,
    &answer::TARGET,
    &binlog::TARGET,
    &lexer::TARGET,
    &readings::TARGET,
    &pins::TARGET,
    &growth::TARGET,
    &config::TARGET,
    &libconfig::TARGET,
];
