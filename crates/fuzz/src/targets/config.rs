//! The settings: the upstream's URL, the configuration file, sizes and times.

use std::path::Path;

use crate::program::config::{Config, Typed, units};
use crate::target::{Outcome, Target, behaviour, hold};

/// The target.
pub static TARGET: Target = Target {
    name: "config",
    promise: "settings are usable or refused in one line, and no refusal shows a password",
    is_text: true,
    seeds,
    check,
};

const URLS: [&str; 10] = [
    "mysql://root:hunter2@db.example:3307/shop",
    "mariadb://root@db",
    "mysql://a%40b:p%3aw%2f%25@h/",
    "mysql://u:%ff@[::1]:3310/x",
    "mysql://u:p@/db?socket=/run/my.sock",
    "unix:///run/my.sock?user=root&password=hunter2",
    "mysql://u:p@h?ssl-mode=verify-ca&ssl-ca=/x&connect-timeout=5",
    "postgres://u:hunter2@h",
    "mysql://u:p@h:99999/",
    "mysql://u:p@h/?connect-timeout=600s",
];
const FILES: [&str; 4] = [
    "upstream = \"mysql://u:hunter2@h/\"\nlisten = [\"127.0.0.1:3307\", \"/run/f.sock\"]\nquery_cache_size = \"64M\"\n",
    "query_cache_type = 1\nidle_timeout = \"8h\"\nlog_format = \"json\"\nthreads = 2\n",
    "[table]\nlisten = 1\n",
    "freshness = 'eventual'\nmax_staleness = 1.5\nsemisync = true\nlog_level = \"info,freshet=debug\"\n",
];
const QUANTITIES: [&str; 6] = ["4096", "64K", "1MiB", "10s", "200 ms", "18446744073709551615G"];
/// The password in the inputs; no refusal may show it.
const SECRET: &str = "hunter2";

/// A letter that says what it is, then the text.
fn seeds() -> Vec<Vec<u8>> {
    let all = [("u", &URLS[..]), ("f", &FILES[..]), ("q", &QUANTITIES[..])];
    all.iter()
        .flat_map(|(letter, texts)| texts.iter().map(move |text| format!("{letter}{text}").into_bytes()))
        .collect()
}

fn check(input: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(input);
    let mut chars = text.chars();
    match chars.next() {
        Some('u') => url(chars.as_str()),
        Some('q') => quantity(chars.as_str()),
        _ => file(chars.as_str()),
    }
}

fn url(text: &str) -> Outcome {
    match freshet_upstream::UpstreamConfig::from_url(text) {
        Ok(config) => {
            let shown = format!("{config:?}");
            let named = [config.user.as_str(), config.database.as_deref().unwrap_or_default()];
            // What stands in another place as well is no secret.
            let elsewhere = named.iter().any(|part| part.contains(SECRET))
                || format!("{:?}", config.address).contains(SECRET);
            let tls = format!("{:?}", config.tls_ca).contains(SECRET);
            hold!(elsewhere || tls || !shown.contains(SECRET), "a password is not shown", "{shown}");
            hold!(config.validate().is_ok(), "what is taken is valid", "{shown}");
            Ok(behaviour(std::mem::discriminant(&config.address)))
        }
        Err(error) => {
            let said = error.to_string();
            hold!(!said.contains('\n') || text.contains('\n'), "a refusal is one line", "{said}");
            // A password stands between ':' and '@', or behind "password=".
            let in_account = text.contains(":hunter2@") && text.matches(SECRET).count() == 1;
            let in_parameter = text.contains("password=hunter2") && text.matches(SECRET).count() == 1;
            let begins = ["mysql://", "mariadb://", "unix:", "postgres://"]
                .iter()
                .any(|scheme| text.starts_with(scheme));
            hold!(
                !(begins && (in_account || in_parameter)) || !said.contains(SECRET),
                "a refusal shows no password",
                "{said}"
            );
            Ok(behaviour(said.split('\'').next().map(str::to_owned)))
        }
    }
}

fn file(text: &str) -> Outcome {
    let mut typed = Typed::default();
    if let Err(refusal) = typed.take_toml(Path::new("freshet.toml"), text) {
        let said = refusal.to_string();
        // A key is named.
        let is_key = said.contains("is no setting");
        hold!(is_key || !said.contains(":hunter2@"), "a refusal shows no password", "{said}");
        return Ok(behaviour(said.len()));
    }
    match Config::new(&typed) {
        Ok(config) => {
            hold!(!config.listen.is_empty() && config.threads > 0, "a configuration is usable", "{config:?}");
            hold!(config.query_cache_size % 1024 == 0, "a cache's size is in steps", "{config:?}");
            Ok(1)
        }
        Err(refusal) => {
            let said = refusal.to_string();
            hold!(!said.contains(":hunter2@"), "a refusal shows no password", "{said}");
            Ok(behaviour(said.split(' ').take(3).map(str::to_owned).collect::<Vec<_>>()))
        }
    }
}

fn quantity(text: &str) -> Outcome {
    let (bytes, time) = (units::bytes(text), units::milliseconds(text));
    let plain =
        text.trim().parse::<u64>().ok().filter(|_| text.trim().bytes().all(|byte| byte.is_ascii_digit()));
    if let Some(number) = plain {
        hold!(bytes == Some(number), "a bare number is bytes", "{text:?}: {bytes:?}");
        hold!(time == number.checked_mul(1000), "a bare number is seconds", "{text:?}: {time:?}");
    }
    Ok(behaviour((bytes.is_some(), time.is_some())))
}
