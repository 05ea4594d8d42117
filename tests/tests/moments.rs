//! Expressions at random, asked of the server at three moments: what is another answer at another time must not be cacheable.
//!
//! FRESHET_TEST_SEED makes other expressions, and FRESHET_TEST_STATEMENTS so many: a hunt.

use std::fmt::Write as _;

use freshet_tests::built_in::list;
use freshet_tests::cached::{connect, fresh_schema, run};
use freshet_tests::{Flavor, with_each};
use mysql::prelude::Queryable;
use mysql::{Conn, Row, Value};

const SCHEMA: &str = "moments";
/// How many statements are made up for each server. About half of them are none.
const STATEMENTS: u64 = 10_000;
/// Of those that are the same at all times, one in so many is looked at, too.
const LOOKED_AT: usize = 25;
/// Seconds since 1970: three days.
const MOMENTS: [u32; 3] = [1_000_000_000, 1_700_000_000, 1_700_100_000];

const SETUP: &[&str] = &[
    "SET sql_mode = ''",
    "CREATE TABLE t (id INT PRIMARY KEY, tm TIME, tf TIME(3), d DATE, dt DATETIME, ts TIMESTAMP NULL, y YEAR, w VARCHAR(30), \
     i INT, f DOUBLE, dc DECIMAL(10,2), j JSON, b BLOB, e ENUM('10:11','x'))",
    "INSERT INTO t VALUES (1, '10:11:12', '-20:11:12.5', '2024-02-03', '2024-02-03 04:05:06', '2024-02-03 04:05:06', 2024, \
     '10:11:12', 101112, 101112.5, 20.5, '{\"a\":\"10:11:12\"}', '10:11:12', '10:11')",
    "INSERT INTO t VALUES (2, '00:00:01', '100:00:00', '2020-12-31', '2020-12-31 23:59:59', '2020-12-31 00:00:00', 1999, \
     '2020-12-31 10:00:00', 20201231, -1.5, -3, '[1,\"2020-01-01\"]', '2020-01-01', 'x')",
];

const ATOMS: &[&str] = &[
    "tm",
    "tf",
    "d",
    "dt",
    "ts",
    "y",
    "w",
    "i",
    "f",
    "dc",
    "j",
    "b",
    "e",
    "'10:11:12'",
    "'2024-02-03'",
    "'%H:%i'",
    "'%Y-%m-%d'",
    "1",
    "101112",
    "20240203",
    "TIME'10:00:00'",
    "DATE'2024-02-03'",
    "{t '10:00:00'}",
    "NULL",
    "'UTC'",
    "'+02:00'",
    "INTERVAL 1 HOUR",
    "INTERVAL 1 DAY",
    "CAST(tm AS CHAR)",
    "SEC_TO_TIME(i)",
    "MAKETIME(1,2,3)",
    "tm+0",
    "CAST(w AS TIME)",
    "CURRENT_DATE",
    "NOW()",
];

/// An operator or a function with places for what it is given.
const FORMS: &[&str] = &[
    "CAST(% AS DATETIME)",
    "CAST(% AS DATE)",
    "CAST(% AS TIME)",
    "CAST(% AS CHAR)",
    "CAST(% AS SIGNED)",
    "CAST(% AS TIME(3))",
    "EXTRACT(DAY FROM %)",
    "EXTRACT(YEAR FROM %)",
    "CONVERT(%, DATETIME)",
    "% BETWEEN % AND %",
    "% = %",
    "% < %",
    "% IN (%, %)",
    "% <=> %",
    "CASE WHEN % THEN % ELSE % END",
    "% + INTERVAL 1 DAY",
    "% - INTERVAL 1 MONTH",
    "IF(1, %, %)",
    "MAX(%)",
    "GROUP_CONCAT(%)",
    "TIMESTAMPDIFF(DAY, %, %)",
    "TIMESTAMPADD(DAY, 1, %)",
    "% + %",
    "% LIKE %",
    "FIELD(%, %, %)",
    "(%, %) = (%, %)",
    "GREATEST(%, %)",
    "COALESCE(%, %)",
    "NULLIF(%, %)",
    "INTERVAL(%, %, %)",
    "(SELECT % UNION SELECT % LIMIT 1)",
    "STR_TO_DATE(%, %)",
    "ADDTIME(%, %)",
    "TIMEDIFF(%, %)",
    "DATEDIFF(%, %)",
    "CONVERT_TZ(%, %, %)",
    "UNIX_TIMESTAMP(%)",
    "FROM_UNIXTIME(%)",
    "TIMESTAMP(%, %)",
    "TIMESTAMP(%)",
    "DATE(%)",
    "YEAR(%)",
    "LAST_DAY(%)",
    "TO_DAYS(%)",
];

const AROUND: &[&str] = &[
    "SELECT % FROM t",
    "SELECT id FROM t WHERE %",
    "SELECT id FROM t ORDER BY %",
    "SELECT x FROM (SELECT % AS x FROM t) q",
    "SELECT COUNT(*) FROM t GROUP BY %",
];

/// The same numbers each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    fn filled(&mut self, form: &str, functions: &[&str], depth: usize) -> String {
        let mut text = String::new();
        let mut parts = form.split('%');
        text.push_str(parts.next().unwrap_or_default());
        for part in parts {
            text.push_str(&self.expression(functions, depth));
            text.push_str(part);
        }
        text
    }

    fn expression(&mut self, functions: &[&str], depth: usize) -> String {
        let kind = if depth == 0 { 0 } else { self.below(10) };
        match kind {
            0..3 => self.pick(ATOMS).to_owned(),
            3..6 => {
                let form = self.pick(FORMS);
                self.filled(form, functions, depth - 1)
            }
            _ => {
                let mut call = format!("{}(", self.pick(functions));
                for at in 0..1 + self.below(5) / 2 {
                    let argument = self.expression(functions, depth - 1);
                    let _ = write!(call, "{}{argument}", if at > 0 { ", " } else { "" });
                }
                call + ")"
            }
        }
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a whole number")))
}

/// What the server answers at each moment; `None` if it is an error at one of them.
fn answers(conn: &mut Conn, statement: &str) -> Option<Vec<Vec<Vec<Value>>>> {
    let ask = |moment: &u32| {
        conn.query_drop(format!("SET timestamp = {moment}")).expect("the time is set");
        let rows: Vec<Row> = conn.query(statement).ok()?;
        Some(rows.into_iter().map(Row::unwrap).collect())
    };
    MOMENTS.iter().map(ask).collect()
}

/// Whether EXPLAIN FRESHET says that it is cacheable.
fn is_cacheable(conn: &mut Conn, statement: &str) -> Option<bool> {
    let told: Vec<(String, String)> = conn.query(format!("EXPLAIN FRESHET {statement}")).ok()?;
    let verdict = told.iter().find(|(item, _)| item == "verdict").expect("there is a verdict");
    Some(verdict.1 == "cacheable")
}

#[test]
fn what_is_another_answer_at_another_time_is_not_cacheable() {
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let mut direct = fresh_schema(server, SCHEMA);
        run(&mut direct, &["USE moments"]);
        run(&mut direct, SETUP);
        let mut conn = connect(freshet.target(), SCHEMA);
        run(&mut conn, &["SET sql_mode = ''"]);
        let own = if server.flavor == Flavor::MariaDb { "PURE_MARIADB" } else { "PURE_MYSQL" };
        let functions = [list("PURE"), list(own)].concat();
        let mut dice = Dice(number("FRESHET_TEST_SEED").unwrap_or(7));
        let statements = number("FRESHET_TEST_STATEMENTS").unwrap_or(STATEMENTS);
        let (mut wrong, mut differing, mut same, mut cacheable) = (Vec::new(), 0, 0, 0);
        for _ in 0..statements {
            let around = dice.pick(AROUND);
            let statement = dice.filled(around, &functions, 3);
            let Some(answers) = answers(&mut direct, &statement) else { continue };
            if answers.windows(2).any(|pair| pair[0] != pair[1]) {
                differing += 1;
                if is_cacheable(&mut conn, &statement) == Some(true) {
                    wrong.push(statement);
                }
            } else if dice.below(LOOKED_AT) == 0 {
                same += 1;
                cacheable += u32::from(is_cacheable(&mut conn, &statement) == Some(true));
            }
        }
        println!("{:?}: {differing} differ, {cacheable} of {same} others are cacheable", server.flavor);
        assert_eq!(wrong, [""; 0]);
        assert!(differing > 100, "{differing} statements are other answers at another time");
        assert!(cacheable * 4 > same, "{cacheable} of {same} that are always the same are cacheable");
    });
}
