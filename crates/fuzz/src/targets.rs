//! The targets, one file each.

// Packets.
mod frames;
mod login;
mod commands;
mod answer;

// Events of the binlog.
mod binlog;

// Statements.
mod statements;
mod lexer;
mod readings;
mod pins;
mod growth;

// Settings.
mod config;
mod libconfig;

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
