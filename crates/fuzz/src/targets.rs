//! The targets, one file each.

mod answer;
mod binlog;
mod commands;
mod config;
mod frames;
mod growth;
mod lexer;
mod login;
mod pins;
mod readings;
mod statements;

use crate::target::Target;

/// Every target.
pub static ALL: [&Target; 10] = [
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
];

/// The bytes that hexadecimal digits stand for.
fn unhex(digits: &str) -> Vec<u8> {
    let nibbles: Vec<u8> = digits.chars().filter_map(|c| c.to_digit(16)).map(|n| n as u8).collect();
    nibbles.chunks_exact(2).map(|two| two[0] << 4 | two[1]).collect()
}

/// The first `N` bytes of an input, zeros where there are none, and the rest.
fn head<const N: usize>(input: &[u8]) -> ([u8; N], &[u8]) {
    let (first, rest) = input.split_at(input.len().min(N));
    let mut out = [0; N];
    out[..first.len()].copy_from_slice(first);
    (out, rest)
}
