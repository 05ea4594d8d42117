//! Tells the progress of the report to the user.

use std::io::{Write, stderr};

use crate::target::Failure;

/// Prints one line.
pub fn progress(line: &str) -> Result<(), Failure> {
    Ok(writeln!(stderr(), "benchmark: {line}")?)
}
