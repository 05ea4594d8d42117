//! An attacker: each row of a table is one attack, carried out on the server itself and then through Freshet.
//!
//! A row fails where Freshet gives more than the server does, holds more memory than the row's bound, or is more than
//! twice as slow. It knows Freshet as its users do, and needs a server that nobody else uses, since it kills it, empties
//! its binlog and edits its accounts: `scripts/attack` starts one.
//!
//! Its shape: `ground` is what attacks stand on, `found` judges and prints; the attacks are in one file for each thing
//! that is attacked.

mod found;
mod ground;

mod accounts;
mod crowds;
mod hello;
mod outages;
mod readers;
mod statements;
mod tls;

use std::process::ExitCode;

use found::Found;
use freshet_tests::{Flavor, Freshet};
use ground::Ground;

/// One attack.
struct Attack {
    name: &'static str,
    /// It is a part of the short form.
    short: bool,
    /// Flags of Freshet.
    flags: &'static [&'static str],
    /// The only flavor that it concerns.
    only: Option<Flavor>,
    run: fn(&Ground, &Freshet) -> Found,
}

const fn attack(name: &'static str, short: bool, run: fn(&Ground, &Freshet) -> Found) -> Attack {
    Attack { name, short, flags: &[], only: None, run }
}

/// A cache that the invented results fill.
const FULL: &[&str] = &["--query-cache-size", "16M"];
/// A cache that is small beside the answers under way.
const SMALL: &[&str] = &["--query-cache-size", "4M", "--query-cache-limit", "4M"];
const LARGE: &[&str] = &["--query-cache-limit", "16M", "--query-cache-size", "256M"];

/// Every attack, in the order in which they are carried out.
const ATTACKS: &[Attack] = &[
    attack("random connections", true, hello::random_connections),
    attack("malformed handshakes", true, hello::malformed),
    attack("login packets cut at each byte", true, hello::cut_logins),
    attack("half packets of 59 MB", true, hello::half_packets),
    attack("oversized packets", true, hello::oversized),
    attack("unknown command bytes", true, hello::unknown_commands),
    attack("compressed bombs", true, hello::compressed_bombs),
    attack("deep nesting", true, statements::nesting),
    attack("long statements of bad kinds", false, statements::long_ones),
    Attack {
        flags: &["--query-cache-strip-comments", "on"],
        ..attack("texts that nearly are a cached one", true, statements::near_misses)
    },
    attack("bulk INSERT with markers", true, statements::bulk_insert),
    Attack { flags: &["--log-level", "trace"], ..attack("secrets in logs", true, statements::secrets) },
    Attack { flags: FULL, ..attack("invented digests beside hits", true, crowds::digests) },
    attack("invented users", true, crowds::users),
    attack("connection storm", true, crowds::storm),
    attack("TLS connection storm", true, tls::storm),
    attack("idle clients", true, crowds::idle),
    attack("open transactions", true, crowds::open_transactions),
    Attack { flags: LARGE, ..attack("clients that do not read hits", true, readers::silent) },
    Attack { flags: SMALL, ..attack("slow fills", true, readers::slow_fills) },
    Attack { flags: LARGE, ..attack("KILL of one that does not read", true, readers::killed) },
    attack("clients that vanish in SLEEP", true, readers::vanish_in_sleep),
    attack("clients that vanish in GET_LOCK", false, readers::vanish_in_lock),
    attack("REQUIRE SSL in clear", true, accounts::require_ssl),
    attack("REQUIRE X509 in clear", true, accounts::require_x509),
    attack("wrong accounts", true, accounts::wrong),
    attack("changed password", true, accounts::changed_password),
    attack("expired password", true, accounts::expired_password),
    attack("DROP USER while connected", true, accounts::dropped),
    attack("grant tables edited, FLUSH LOCAL PRIVILEGES", true, accounts::local_flush),
    Attack {
        only: Some(Flavor::MySql),
        ..attack("mandatory_roles emptied", true, accounts::mandatory_roles)
    },
    attack("binlog_format changed", true, outages::binlog_format),
    attack("binlog purged", true, outages::purged),
    attack("binlog reset", false, outages::reset),
    attack("server stopped (SIGSTOP)", false, outages::stopped),
    attack("server killed (kill -9)", false, outages::killed),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let short = words.iter().any(|word| word == "--short");
    let only: Vec<&String> = words.iter().filter(|word| *word != "--short").collect();
    let ground = Ground::from_environment(short);
    println!("| attack ({}) | direct | through | memory | verdict |\n|---|---|---|---|---|", ground.name());
    let (mut passed, mut failed) = (0, 0);
    for attack in ATTACKS.iter().filter(|attack| wanted(attack, &ground, &only)) {
        let found = ground.carry_out(attack.flags, attack.run);
        println!("{}", found.row(attack.name));
        if found.is_in_order() { passed += 1 } else { failed += 1 }
    }
    println!("{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn wanted(attack: &Attack, ground: &Ground, only: &[&String]) -> bool {
    let named = only.is_empty() || only.iter().any(|word| attack.name.contains(word.as_str()));
    let has_time = attack.short || !ground.short || !only.is_empty();
    named && has_time && attack.only.is_none_or(|flavor| flavor == ground.server.flavor)
}
