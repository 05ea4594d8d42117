//! Measures what each pass over a text costs, for texts that are made to cost much: `cargo run --profile quick -p freshet-sql --example
//! hostile [-- MIB]`. The default is 64 MiB.
#![allow(clippy::print_stdout)]

use freshet_sql::{Flavor, Modes, RowReads};
use std::time::Instant;

/// Returns a text: `front`, then `unit` repeated up to about `len` bytes, then `end`.
fn text(len: usize, front: &str, unit: &str, end: &str) -> Vec<u8> {
    let times = len.saturating_sub(front.len() + end.len()) / unit.len().max(1);
    [front.as_bytes(), &unit.as_bytes().repeat(times), end.as_bytes()].concat()
}

/// Returns such a text with a number in each unit, in the place of `#`.
fn numbered(len: usize, front: &str, unit: &str, end: &str) -> Vec<u8> {
    let mut out = front.as_bytes().to_vec();
    for n in 0.. {
        if out.len() >= len {
            break;
        }
        out.extend_from_slice(unit.replace('#', &n.to_string()).as_bytes());
    }
    out.extend_from_slice(end.as_bytes());
    out
}

fn texts(len: usize) -> Vec<(&'static str, Vec<u8>)> {
    let names: String = (0..255).map(|n| format!("a#_{n},")).collect();
    let update = format!("UPDATE {names}b# SET c=1;");
    let select = format!("SELECT 1 FROM {names}b#;");
    vec![
        ("one string", text(len, "INSERT INTO t VALUES ('", "x", "')")),
        ("rows", text(len, "INSERT INTO t VALUES (1)", ",(1)", "")),
        ("markers", text(len, "INSERT INTO t VALUES (?)", ",(?)", "")),
        ("IN list", text(len, "SELECT * FROM t WHERE a IN (1", ",1", ")")),
        ("AND", text(len, "SELECT * FROM t WHERE a=1", " AND a=1", "")),
        ("equalities", numbered(len, "SELECT * FROM t WHERE a=1", " AND a#=b#", "")),
        ("chain", numbered(len, "SELECT * FROM t WHERE a=b", " AND c#=a", "")),
        ("columns", numbered(len, "SELECT a", ",a#", " FROM t")),
        ("tables", numbered(len, "SELECT 1 FROM t", ",t#", "")),
        ("self-joins", text(len, "SELECT 1 FROM t", ",t", "")),
        ("assignments", numbered(len, "UPDATE t SET a=1", ",a#=1", " WHERE id=1")),
        ("parentheses", text(len, "SELECT ", "(", "")),
        ("nested", {
            let half = text(len / 2, "SELECT ", "(", "1");
            [half.clone(), vec![b')'; half.len() - 8]].concat()
        }),
        ("subqueries", text(len, "SELECT ", "(SELECT ", "1")),
        ("calls", numbered(len, "SELECT ", "f#(", "1")),
        ("open comment", text(len, "SELECT 1 /*", "x", "")),
        ("comments", text(len, "SELECT 1 ", "/**/", "")),
        ("version comments", text(len, "SELECT 1 ", "/*!", "")),
        ("lines", text(len, "SELECT 1 ", "#\n", "")),
        ("dashes", text(len, "SELECT 1 ", "-", "")),
        ("open string", text(len, "SELECT '", "x", "")),
        ("open name", text(len, "SELECT `", "x", "")),
        ("names", text(len, "SELECT ", "`a`", "")),
        ("doubled", text(len, "SELECT `", "``", "`")),
        ("dots", text(len, "SELECT a", ".a", "")),
        ("signs", text(len, "SELECT ", "- ", "1")),
        ("semicolons", text(len, "SELECT 1", ";", "")),
        ("statements", text(len, "SELECT 1", ";SELECT 1", "")),
        ("statements of tables", numbered(len, "", &select, "")),
        ("updates of tables", numbered(len, "", &update, "")),
        ("creates", numbered(len, "", "CREATE TEMPORARY TABLE t#(a int);", "")),
        ("sets", numbered(len, "SET @a=1", ",@a#=1", "")),
        ("our sets", text(len, "SET query_cache_type=1", ",query_cache_type=1", "")),
        ("CALL", text(len, "CALL p(1", ",1", ")")),
        ("BEGIN NOT ATOMIC", text(len, "BEGIN NOT ATOMIC ", "SELECT 1;", "END")),
        ("SQL_CACHE", text(len, "SELECT ", "SQL_CACHE ", "1")),
        ("words", text(len, "SELECT ", "a ", "")),
        ("long word", text(len, "SELECT ", "a", "")),
        ("dollars", text(len, "SELECT ", "$", "")),
        ("blanks", text(len, "SELECT", " ", "1")),
        ("blanks first", text(len, "", " ", "SELECT 1")),
        ("opening first", text(len, "", "(", "SELECT 1")),
        ("beyond ASCII", text(len, "SELECT ", "é", "")),
        ("DROP", numbered(len, "DROP TABLE t", ",t#", "")),
        ("RENAME", numbered(len, "RENAME TABLE t TO s", ",t# TO s#", "")),
        ("UPDATE joins", numbered(len, "UPDATE t", " JOIN t#", " SET a=1")),
        ("CASE", text(len, "SELECT * FROM t WHERE ", "CASE ", "1")),
        ("INTERVAL", text(len, "SELECT a FROM t WHERE b > c", " + INTERVAL 1", " DAY")),
        ("UNION", text(len, "SELECT a FROM t", " UNION SELECT a FROM t", "")),
        ("WITH", numbered(len, "WITH a AS (SELECT 1)", ",a# AS (SELECT 1)", " SELECT * FROM a")),
        ("JOIN ON", numbered(len, "SELECT 1 FROM t", " JOIN t a# ON a#.a=t.a", "")),
        ("OR", text(len, "SELECT * FROM t WHERE a=1", " OR a=1", "")),
        ("GROUP BY", numbered(len, "SELECT 1 FROM t GROUP BY a", ",a#", "")),
        ("ON DUPLICATE", numbered(len, "INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a=1", ",a#=1", "")),
    ]
}

fn timed(what: &'static str, pass: impl FnOnce()) -> (f64, &'static str) {
    let start = Instant::now();
    pass();
    (start.elapsed().as_secs_f64() * 1000.0, what)
}

fn main() {
    let mib: f64 = std::env::args().nth(1).and_then(|arg| arg.parse().ok()).unwrap_or(64.0);
    let modes = Modes::new(Flavor::MariaDb);
    println!("milliseconds for each pass over {mib} MiB");
    for (name, text) in texts((mib * 1_048_576.0) as usize) {
        let text = text.as_slice();
        let mut passes = [
            timed("read", || drop(freshet_sql::read(text, modes))),
            timed("effects", || drop(freshet_sql::effects(text, modes))),
            timed("row_write", || drop(freshet_sql::row_write(text, modes))),
            timed("shape", || drop(freshet_sql::shape(text, modes))),
            timed("analyse", || drop(freshet_sql::analyse(text, modes))),
            timed("row_reads", || drop::<Option<RowReads>>(freshet_sql::row_reads(text, modes, &|_| None))),
            timed("key_text", || drop(freshet_sql::key_text(text, modes, true))),
            timed("hint_error", || drop(freshet_sql::hint_error(text, modes))),
            timed("strip_hint", || drop(freshet_sql::strip_hint(text, modes))),
        ];
        passes.sort_by(|a, b| b.0.total_cmp(&a.0));
        let all: f64 = passes.iter().map(|(ms, _)| ms).sum();
        let worst: Vec<String> = passes.iter().take(5).map(|(ms, what)| format!("{what} {ms:.1}")).collect();
        println!("{name:>22} {all:>9.1}  {}", worst.join(", "));
    }
}
