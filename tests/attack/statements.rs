//! Attacks by statements.

use std::time::Duration;

use freshet_tests::cached::answer;
use freshet_tests::raw::error_code;
use freshet_tests::{Freshet, Target};
use mysql::prelude::Queryable;

use crate::found::Found;
use crate::ground::{Ground, SCHEMA, alive, attacker};

/// What opens, what stands in the middle, and what closes.
const SHAPES: [(&str, &str, &str, &str); 22] = [
    ("SELECT ", "(", "1", ")"),
    ("SELECT ", "(SELECT ", "1", ")"),
    ("SELECT ", "-", "1", ""),
    ("SELECT ", "NOT ", "1", ""),
    ("SELECT ", "!", "1", ""),
    ("SELECT ", "~", "1", ""),
    ("SELECT ", "1+", "1", ""),
    ("SELECT ", "1 AND (", "1", ")"),
    ("SELECT ", "ABS(", "1", ")"),
    ("SELECT ", "CASE WHEN 1 THEN ", "1", " END"),
    ("SELECT ", "IF(1,", "1", ",2)"),
    ("SELECT ", "CAST(", "1", " AS SIGNED)"),
    ("SELECT * FROM ", "(", "t", ")"),
    ("SELECT * FROM ", "(SELECT * FROM ", "t", ") d"),
    ("SELECT * FROM t WHERE id IN ", "(", "1", ")"),
    ("SELECT * FROM t WHERE ", "EXISTS (SELECT 1 FROM t WHERE ", "1", ")"),
    ("SELECT * FROM t ", "JOIN t ON 1 ", "", ""),
    ("SELECT 1 ", "UNION SELECT 1 ", "", ""),
    ("", "(", "SELECT 1", ")"),
    ("WITH c AS (SELECT 1) ", "SELECT (", "SELECT 1", ")"),
    ("", "EXPLAIN ", "SELECT 1", ""),
    ("", "/* ", "SELECT 1", " */"),
];

/// What stands in front of a statement, and could stand there again.
const PREFIXES: [&str; 4] = ["ANALYZE ", "EXPLAIN ANALYZE ", "SET STATEMENT a = 1 FOR (", "EXPLAIN "];
/// So often: a reader that follows each of them has no stack left.
const PREFIXES_REPEATED: usize = 100_000;

/// Nesting of 22 shapes, at two depths each.
pub fn nesting(ground: &Ground, freshet: &Freshet) -> Found {
    ground
        .both(freshet, |target| {
            let mut said = String::new();
            for depth in [6, ground.count(20_000, 5_000)] {
                for (before, opens, inner, closes) in SHAPES {
                    let text = format!("{before}{}{inner}{}", opens.repeat(depth), closes.repeat(depth));
                    said += &said_to(target, text.as_bytes());
                    said += " ";
                }
            }
            for prefix in PREFIXES {
                said += &said_to(target, format!("{}SELECT 1", prefix.repeat(PREFIXES_REPEATED)).as_bytes());
                said += " ";
            }
            said + &alive(target)
        })
        // The longest of these texts has 2.5 MB.
        .memory_max(128 << 20)
}

/// The server itself reads tens of megabytes for half a minute, where others use the machine too.
const READ_MAX: Duration = Duration::from_secs(300);

/// The code of the answer to one statement, on a connection of its own.
fn said_to(target: &Target, text: &[u8]) -> String {
    let mut raw = attacker(target);
    raw.stream().set_read_timeout(Some(READ_MAX)).expect("it can be set");
    let heard = raw.send(3, text).and_then(|()| raw.packet());
    match heard {
        Ok(packet) => error_code(&packet).map_or("ok".to_owned(), |code| code.to_string()),
        Err(_) => "end".to_owned(),
    }
}

/// Texts that differ from a cached one where the server does not bear it.
pub fn near_misses(ground: &Ground, freshet: &Freshet) -> Found {
    const READ: &str = "SELECT v FROM t WHERE id = 1";
    let texts = [
        READ.to_owned(),
        format!(";{READ}"),
        format!("/*!50000;*/{READ}"),
        format!("{READ};;"),
        format!("{READ};\0"),
        format!("{READ}\0"),
        format!("{READ} --#\n"),
        format!("{READ} -- x"),
        format!("{READ} /* open"),
        format!("{READ} */"),
        format!("({READ})"),
        format!("\u{a0}{READ}"),
        READ.replace(' ', "\u{a0}"),
        READ.replace(' ', "\0"),
        READ.replace("id", "iD"),
        READ.replace(" t ", " T "),
        READ.replace('1', "'1"),
    ];
    // The same kind of client as those that follow: others have other results.
    let mut reader = attacker(freshet.target());
    (0..3).for_each(|_| drop(reader.query(READ)));
    ground.both(freshet, |target| {
        texts.iter().map(|text| said_to(target, text.as_bytes())).collect::<Vec<_>>().join(" ")
    })
}

/// The longest lists, in bytes.
const LIST_BYTES_MAX: usize = 12 << 20;

/// Statements as long as they may be.
pub fn long_ones(ground: &Ground, freshet: &Freshet) -> Found {
    let bytes = ground.count(60 << 20, 8 << 20);
    let long = |bytes: usize, before: &str, piece: &str, after: &str| {
        [before.as_bytes(), &piece.as_bytes().repeat(bytes / piece.len()), after.as_bytes()].concat()
    };
    let filled = |before: &str, piece: &str, after: &str| long(bytes, before, piece, after);
    // The servers hold up to 500 bytes for each item of a list: more would be too much for the machine.
    let listed =
        |before: &str, piece: &str, after: &str| long(LIST_BYTES_MAX.min(bytes), before, piece, after);
    let kinds = [
        filled("SELECT 'a", "a", ""),
        filled("SELECT 1 /* ", "a", ""),
        filled("SELECT 1 -- ", "a", ""),
        filled("SELECT ", "(", ""),
        filled("SELECT 1", " ", ""),
        filled("SELECT 1", ";", ""),
        filled("SELECT ", "x", " FROM t"),
        filled("SELEC ", "1,", "1"),
        listed("INSERT INTO nowhere VALUES ", "(1),", "(1)"),
        listed("SELECT * FROM nowhere WHERE id IN (", "1,", "1)"),
    ];
    ground
        .both(freshet, |target| {
            let said: Vec<String> = kinds.iter().map(|text| said_to(target, text)).collect();
            format!("{} {}", said.join(" "), alive(target))
        })
        // The statement itself, once as it comes and once as it is read.
        .memory_max(3 * bytes as u64 + (64 << 20))
}

/// Prepared INSERTs of thousands of rows.
pub fn bulk_insert(ground: &Ground, freshet: &Freshet) -> Found {
    ground.both(freshet, |target| {
        let mut conn = target.try_connect(SCHEMA).expect("it lets in");
        let mut done = 0;
        for markers in [1_000, 4_000, 16_000, 60_000] {
            for _ in 0..ground.count(8, 2) {
                let rows = vec!["(?)"; markers].join(",");
                conn.query_drop("CREATE TEMPORARY TABLE IF NOT EXISTS many (a INT)").expect("it is made");
                let values: Vec<mysql::Value> = (0..markers).map(|at| mysql::Value::Int(at as i64)).collect();
                conn.exec_drop(format!("INSERT INTO many VALUES {rows}"), values).expect("it is inserted");
                done += markers;
            }
        }
        format!("{done} rows")
    })
}

/// Passwords in every place where one can stand: none may be logged, at any level.
pub fn secrets(ground: &Ground, freshet: &Freshet) -> Found {
    const SECRETS: [&str; 4] = ["Hush-aa-1", "Hush-bb-2", "Hush-cc-3", "Hush-dd-4"];
    let [first, second, third, wrong] = SECRETS;
    ground
        .both_once(freshet, |target| {
            let mut conn = target.connect();
            let statements = [
                "DROP USER IF EXISTS attack_secret".to_owned(),
                format!("CREATE USER attack_secret IDENTIFIED BY '{first}'"),
                format!("ALTER USER attack_secret IDENTIFIED BY '{second}'"),
                format!("SET @password = '{third}'"),
            ];
            let said: Vec<bool> = statements.iter().map(|text| answer(&mut conn, text).is_ok()).collect();
            let login = |password: &str| {
                let login =
                    Target { user: "attack_secret".into(), password: password.into(), ..target.clone() };
                login.try_connect("").is_ok()
            };
            format!("{said:?} {} {}", login(second), login(wrong))
        })
        .expect(!SECRETS.iter().any(|secret| freshet.log().contains(secret)), "a password is in the log")
}
