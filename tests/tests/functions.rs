//! The lists of built-in functions, asked of the servers: a name in them must never be a stored function's.

use freshet_tests::built_in::list;
use freshet_tests::cached::{fresh_schema, run};
use freshet_tests::{Flavor, server};
use mysql::Conn;
use mysql::prelude::Queryable;

/// Calls with up to so many arguments are tried.
const ARGUMENTS_MAX: usize = 3;

/// Whether a server calls the stored function of this name, which takes so many arguments.
fn calls_the_stored_one(conn: &mut Conn, name: &str, arguments: usize, blank: &str) -> bool {
    let values = vec!["1"; arguments].join(",");
    conn.query_drop("SET @called = 0").expect("it is set");
    // Most are refused: they are the built-in function, with other arguments than it takes.
    let _ = conn.query_drop(format!("SELECT {name}{blank}({values})"));
    conn.query_first("SELECT @called").expect("it is answered") == Some(1)
}

#[test]
fn no_built_in_name_calls_a_stored_function() {
    let adjacent = list("NEED_ADJACENT_PARENTHESIS");
    for server in server::all() {
        let mut conn = fresh_schema(&server, "functions");
        run(&mut conn, &["USE functions", "SET sql_log_bin = 0"]);
        let is_mariadb = server.flavor == Flavor::MariaDb;
        let own: &[&str] = match server.flavor {
            Flavor::MariaDb => &["PURE_MARIADB", "VOLATILE_MARIADB"],
            _ => &["PURE_MYSQL", "VOLATILE_MYSQL"],
        };
        let shared = ["PURE", "VOLATILE", "LAST_STATEMENT", "SESSION", "GRAMMAR"];
        let names = shared.iter().chain(own).flat_map(|name| list(name));
        let (mut wrong, mut tried) = (Vec::new(), 0);
        for name in names {
            // With a blank before the parenthesis these are a stored function's, and are known as that.
            let blanks: &[&str] = if adjacent.contains(&name) { &[""] } else { &["", " "] };
            for arguments in 0..=ARGUMENTS_MAX {
                let parameters: Vec<String> = (0..arguments).map(|number| format!("p{number} INT")).collect();
                let create = format!(
                    "CREATE FUNCTION `{name}`({}) RETURNS INT NO SQL BEGIN SET @called = 1; RETURN 1; END",
                    parameters.join(",")
                );
                run(&mut conn, &[&create]);
                let is_geometry = match name {
                    "POINT" => arguments != 2,
                    "GEOMETRYCOLLECTION" | "LINESTRING" | "MULTILINESTRING" | "MULTIPOINT"
                    | "MULTIPOLYGON" | "POLYGON" => arguments == 0,
                    _ => false,
                };
                for blank in blanks {
                    tried += 1;
                    let called = calls_the_stored_one(&mut conn, name, arguments, blank);
                    if called != (is_geometry && is_mariadb) {
                        wrong.push(format!("{name}{blank}({arguments}): {called}"));
                    }
                }
                run(&mut conn, &[&format!("DROP FUNCTION `{name}`")]);
            }
        }
        assert!(tried > 2000, "{tried}");
        assert_eq!(wrong, [""; 0], "{}", server.url);
    }
}
