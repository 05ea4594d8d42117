//! Freshet, the program: configuration, wiring, subcommands.
//!
//! It knows all the other crates and nothing of their work: it reads settings, makes the shared parts, starts one event loop a core and
//! the binlog's thread, deals the clients out, and takes everything down again in order. It looks at no packet and no statement.
//!
//! Its shape follows its life: the typed settings become a [`config::Config`] or a refusal in one line; then one of the subcommands runs
//! with that and nothing else; then there is an [`exit::Exit`] code.

// The typed settings, and the configuration.
mod settings;
mod cli;
mod config;
mod exit;

// The needs of the process before anything runs.
mod logs;
mod limits;
mod tls;

// Serving clients: from the listeners to the sessions, and the end in order.
mod listen;
mod worker;
mod scheduling;
mod sessions;
mod admin;
mod introspection;
mod metrics;
mod shutdown;
mod serve;

// The other subcommands: those that reach the server, and those that do not.
mod check;
mod explain;
mod why;
mod import;
mod digest;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::ArgMatches;

use config::{Config, Refusal, Typed};
use exit::{Exit, Report};

/// An allocator that scales over threads; it returns freed memory to the system within a second.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let matches = match cli::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => {
            let exit = if error.use_stderr() { Exit::Refused } else { Exit::Done };
            let _ = error.print();
            return exit.into();
        }
    };
    run(&matches).into()
}

fn run(matches: &ArgMatches) -> Exit {
    let (subcommand, matches) = matches.subcommand().unwrap_or(("serve", matches));
    if subcommand == "settings" {
        return print(&cli::reference());
    }
    let statement = || matches.get_one::<String>(cli::STATEMENT).map_or("", String::as_str);
    if subcommand == "digest" {
        return print(&digest::of(statement()));
    }
    if subcommand == "import" {
        let file = matches.get_one::<String>(cli::FILE).map_or("", String::as_str);
        return match state_dir(matches) {
            Ok(directory) => print_report(import::run(&directory, file)),
            Err(refusal) => refuse(&refusal),
        };
    }
    match configure(matches) {
        Ok(config) if subcommand == "check" => print_report(check::run(&config)),
        Ok(config) if subcommand == "explain-plan" => print_report(explain::run(&config, statement())),
        Ok(config) if subcommand == "advise" => print_report(why::advise(&config)),
        Ok(config) if subcommand == "why" => print_report(why::run(&config, statement())),
        Ok(config) => serve(config),
        Err(refusal) => refuse(&refusal),
    }
}

fn refuse(refusal: &Refusal) -> Exit {
    let _ = writeln!(std::io::stderr(), "freshet: {refusal}");
    Exit::Refused
}

/// Returns the directory of the admin port's tables, for subcommands that need no server.
fn state_dir(matches: &ArgMatches) -> Result<PathBuf, Refusal> {
    config::state_dir(&Typed::gather(matches)?)
}

fn configure(matches: &ArgMatches) -> Result<Config, Refusal> {
    Config::new(&Typed::gather(matches)?)
}

fn print_report(Report { text, exit }: Report) -> Exit {
    match print(&text) {
        Exit::Done => exit,
        failed => failed,
    }
}

fn serve(config: Config) -> Exit {
    logs::start(&config);
    match serve::run(config) {
        Ok(()) => Exit::Done,
        Err(error) => {
            tracing::error!(%error, "freshet ends");
            Exit::Failed
        }
    }
}

/// Writes to standard output; a reader that has gone away is not worth a message.
fn print(text: &str) -> Exit {
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => Exit::Done,
        Err(_) => Exit::Failed,
    }
}
