//! The command line, made from the table of settings.

use clap::{Arg, Command};

use crate::settings::{self, Setting};

/// The text behind the list of options in the help.
const EXIT_CODES: &str = "Exit codes: 0 ended as asked; 1 failed while running; 2 wrong usage or configuration; \
                          3 `check` found something missing, `explain-plan` no plan form, or `why` a statement \
                          that the server refuses.";

/// The argument of `explain-plan`, `why` and `digest`.
pub const STATEMENT: &str = "statement";

/// The argument of `import`.
pub const FILE: &str = "file";

/// Returns the whole command line.
pub fn command() -> Command {
    Command::new("freshet")
        .about("A transparent query cache for MySQL and MariaDB that is never stale")
        .version(env!("CARGO_PKG_VERSION"))
        .after_help(EXIT_CODES)
        .args_override_self(true)
        .subcommand(Command::new("serve").about("Serves clients; what is done when no command is named"))
        .subcommand(Command::new("check").about("Tells what the server lacks for Freshet, and what mends it"))
        .subcommand(
            Command::new("explain-plan")
                .about("Tells whether a statement's answers may be cached, what they depend on, and its plan form")
                .arg(Arg::new(STATEMENT).required(true).value_name("SELECT").help(
                    "One statement; names without a schema are of the schema in the server's URL",
                )),
        )
        .subcommand(
            Command::new("why")
                .about("Asks the Freshet that runs here why a SELECT is, or is not, answered from memory (EXPLAIN FRESHET)")
                .arg(Arg::new(STATEMENT).required(true).value_name("SELECT").help(
                    "One statement; names without a schema are of the schema in the server's URL, with whose account it is asked",
                )),
        )
        .subcommand(
            Command::new("advise")
                .about("Asks the Freshet that runs here what to set, by what it and the server have counted (freshet.advice)"),
        )
        .subcommand(
            Command::new("digest")
                .about("Prints a statement's digest and digest text, as ProxySQL's rules and statistics have them")
                .arg(Arg::new(STATEMENT).required(true).value_name("STATEMENT").help("One statement of any kind")),
        )
        .subcommand(
            Command::new("import")
                .about("Takes a configuration file of ProxySQL's over into the tables of state_dir, which no running Freshet may have")
                .arg(Arg::new(FILE).required(true).value_name("PROXYSQL.CNF").help("The file")),
        )
        .subcommand(Command::new("settings").about("Prints the reference of all settings, in Markdown"))
        .args(settings::ALL.iter().copied().map(argument))
}

fn argument(setting: &'static Setting) -> Arg {
    let mut help = format!("{} [{}]", setting.doc, setting.allowed);
    if let Some(default) = setting.default.filter(|default| !default.is_empty()) {
        help.push_str(&format!(" [default: {default}]"));
    }
    Arg::new(setting.name)
        .long(setting.flag())
        .env(setting.env)
        .hide_env_values(true)
        .allow_hyphen_values(true)
        .value_name("VALUE")
        .global(true)
        .help(help)
}

/// Returns the reference of all settings, in Markdown.
pub fn reference() -> String {
    let mut text =
        String::from("| setting | flag | environment | default | allowed | |\n|---|---|---|---|---|---|\n");
    for s in settings::ALL {
        let default =
            s.default.map_or("must be set".to_owned(), |value| format!("`{value}`").replace("``", ""));
        let row = [&format!("`{}`", s.name), &format!("`--{}`", s.flag()), &format!("`{}`", s.env), &default];
        let row: Vec<&str> = row.into_iter().map(String::as_str).chain([s.allowed, s.doc]).collect();
        text.push_str(&format!("| {} |\n", row.join(" | ")));
    }
    text
}
