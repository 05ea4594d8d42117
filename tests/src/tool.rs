//! The clients of other languages, run as their users would, and judged by what they print.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::{Target, leave_out};

/// Where `scripts/tools` puts the drivers: FRESHET_TEST_TOOLS, or `.freshet/tools`.
pub fn folder() -> PathBuf {
    let default = || concat!(env!("CARGO_MANIFEST_DIR"), "/../.freshet/tools").into();
    std::env::var_os("FRESHET_TEST_TOOLS").map_or_else(default, PathBuf::from)
}

/// The folder of the client programs' sources.
pub fn sources() -> PathBuf {
    concat!(env!("CARGO_MANIFEST_DIR"), "/clients").into()
}

/// Whether a program can be found; if not, the test is left out or fails.
pub fn is_there(program: &str) -> bool {
    let there = if program.contains('/') {
        PathBuf::from(program).exists()
    } else {
        std::env::var_os("PATH")
            .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(program).exists()))
    };
    if !there {
        leave_out(&format!("{program} is not installed; scripts/tools installs it"));
    }
    there
}

/// Runs a program to its end and gives what it printed; fails if the program does.
pub fn run(program: &str, args: &[String]) -> String {
    let output = Command::new(program).args(args).stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program} {args:?} ended with {}:\n{out}\n{err}", output.status);
    out.into_owned()
}

/// Host, port, user, password, schema and further words, as our client programs take them.
pub fn arguments(target: &Target, schema: &str, words: &[&str]) -> Vec<String> {
    let port = target.port.to_string();
    let first = [target.host.as_str(), &port, &target.user, &target.password, schema];
    first.iter().chain(words).map(|&word| word.to_owned()).collect()
}

/// Fails with the first line in which two transcripts differ.
pub fn assert_same(direct: &str, through: &str) {
    let mut direct_lines = direct.lines();
    for (number, line) in through.lines().enumerate() {
        let expected = direct_lines.next().unwrap_or("(nothing)");
        assert!(expected == line, "line {}:\ndirect:  {expected:.2000}\nthrough: {line:.2000}", number + 1);
    }
    assert_eq!(direct_lines.next(), None, "the run through freshet ended early");
}
