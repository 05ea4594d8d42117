//! How the program ends.

use std::process::ExitCode;

/// How the program ends; the numbers are part of its interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It did what was asked.
    Done = 0,
    /// It failed while running.
    Failed = 1,
    /// Wrong usage or configuration: nothing was started.
    Refused = 2,
    /// `check` found something missing.
    Missing = 3,
}

/// The output of a subcommand, and the exit of the program after it.
pub struct Report {
    /// What is printed.
    pub text: String,
    /// The exit of the program if the text could be printed.
    pub exit: Exit,
}

impl Report {
    /// Returns the report of a subcommand that prints `text` and ends with `exit`.
    pub const fn new(text: String, exit: Exit) -> Self {
        Self { text, exit }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}
