//! Configuration files of ProxySQL's.

// The reader, from its source.
#[allow(dead_code, unused_imports, missing_docs, clippy::all)]
#[path = "../../../admin/src"]
mod admin {
    pub mod libconfig;
}

use admin::libconfig::{ConfigValue, parse, write};

use crate::target::{Outcome, Target, behaviour, hold};

/// The target.
pub static TARGET: Target = Target {
    name: "libconfig",
    promise: "what is written of a configuration is read as the same, and a refusal names a line that there is",
    is_text: true,
    seeds,
    check,
};

const FILES: [&str; 6] = [
    "datadir=\"/var/lib/proxysql\"\nadmin_variables=\n{\n admin_credentials=\"admin:admin\"\n debug=true\n}\n",
    "mysql_variables= { threads=4; max=0x7FL, delay=-1 real = 1.5e3 s=\"a\" /* x */ \"b\\\"\\\\\\n\\x41\\d\" }",
    "mysql_servers = ( { address=\"10.0.0.1\", port=3306 } , { hostgroup = 1; } )\nmysql_users: ()",
    "# comment\n// another\n/* and\nmore */ a = [ 1, 2, 3 ]; b = ( ( ), { c = ( { } ) } )",
    "mysql_query_rules = ( { rule_id=1 active=1 match_pattern=\"^SELECT .* FOR UPDATE$\" apply=1 } )",
    "@include \"other.cnf\"\na = \"größe\"",
];

fn seeds() -> Vec<Vec<u8>> {
    FILES.iter().map(|file| file.as_bytes().to_vec()).collect()
}

fn check(input: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(input);
    let settings = match parse(&text) {
        Ok(settings) => settings,
        Err(wrong) => {
            let lines = 1 + text.matches('\n').count();
            hold!((1..=lines).contains(&wrong.line), "a refusal names a line that there is", "{wrong}");
            return Ok(behaviour(wrong.what));
        }
    };
    let written = write(&settings);
    match parse(&written) {
        Ok(again) => {
            hold!(again == settings, "what is written is read as the same", "{settings:?}\n{written}")
        }
        Err(wrong) => hold!(false, "what is written is read", "{wrong} in {written}"),
    }
    Ok(behaviour(settings.iter().map(|setting| shape(&setting.value)).collect::<Vec<_>>()))
}

/// Returns what kinds of values it has, to a depth that tells behaviours apart.
fn shape(value: &ConfigValue) -> u64 {
    match value {
        ConfigValue::Bool(_) => 1,
        ConfigValue::Integer(number) => 2 + u64::from(*number < 0),
        ConfigValue::Real(_) => 4,
        ConfigValue::Text(text) => 5 + u64::from(text.contains(['\\', '"', '\n'])),
        ConfigValue::List(values) => {
            behaviour(("list", values.iter().take(3).map(shape).collect::<Vec<_>>()))
        }
        ConfigValue::Group(settings) => {
            behaviour(("group", settings.iter().take(3).map(|it| shape(&it.value)).collect::<Vec<_>>()))
        }
    }
}
