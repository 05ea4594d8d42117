//! What whoever waits for the report is told.

use std::io::{Write, stderr};

use crate::target::Failure;

/// Says one line.
pub fn progress(line: &str) -> Result<(), Failure> {
    Ok(writeln!(stderr(), "benchmark: {line}")?)
}
