//! Writes, and what they touch.
use super::*;

fn show(text: &str, modes: Modes) -> String {
    show_write(row_write(text.as_bytes(), modes).as_ref())
}

fn show_given(given: &Given) -> String {
    match given {
        Given::Value(datum) => datum.to_string(),
        Given::Taken { from, column, pins } => format!("{from}.{column}[{}]", show_pins(pins)),
        Given::Other => "_".to_owned(),
    }
}

fn show_assigned(assigned: &[(String, Datum)]) -> String {
    let each = assigned.iter().map(|(column, value)| format!("{column}:={}", value));
    each.collect::<Vec<_>>().join(",")
}

/// Returns what is written, as `t! a:=1 [id=5]`; `-` if nothing is known.
pub(super) fn show_write(write: Option<&RowWrite>) -> String {
    match write {
        None => "-".to_owned(),
        Some(RowWrite::Fill { table, columns, given, on_duplicate }) => {
            let columns = columns.as_ref().map_or("*".to_owned(), |columns| columns.join(","));
            let given: Vec<String> = given.iter().map(show_given).collect();
            let behind = match on_duplicate {
                OnDuplicate::Refused => String::new(),
                OnDuplicate::Replaced => " replaced".to_owned(),
                OnDuplicate::Updated(assigned) => format!(" {}", show_assigned(assigned)),
            };
            format!("{}+ {columns} ({}){behind}", table.name, given.join(","))
        }
        Some(RowWrite::Insert { table, columns, rows }) => {
            let columns = columns.as_ref().map_or("*".to_owned(), |columns| columns.join(","));
            let rows: Vec<String> = rows.iter().map(|row| format!("({})", show_data(row))).collect();
            format!("{}+ {columns} {}", table.name, rows.join(""))
        }
        Some(RowWrite::Upsert { table, columns, rows, assigned }) => {
            let columns = columns.as_ref().map_or("*".to_owned(), |columns| columns.join(","));
            let rows: Vec<String> = rows.iter().map(|row| format!("({})", show_data(row))).collect();
            let assigned = assigned.as_deref().map_or("replaced".to_owned(), show_assigned);
            format!("{}+! {columns} {} {assigned}", table.name, rows.join(""))
        }
        Some(RowWrite::Update { table, assigned, pins }) => {
            format!("{}! {} [{}]", table.name, show_assigned(assigned), show_pins(pins))
        }
        Some(RowWrite::Delete { table, pins }) => format!("{}- [{}]", table.name, show_pins(pins)),
    }
}

fn both(text: &str) -> String {
    let shown = show(text, MYSQL);
    assert_eq!(shown, show(text, MARIADB), "{text}");
    shown
}

const WRITES: &[(&str, &str)] = &[
    ("INSERT INTO t (A, `b`) VALUES (1, 'x'), (?, NULL)", "t+ a,b (1,'x')(?0,NULL)"),
    ("INSERT t VALUES (1, DEFAULT, NOW(), -2.5, 1+1)", "t+ * (1,_,_,-2.5,_)"),
    ("INSERT LOW_PRIORITY IGNORE INTO s.t VALUES (1)", "t+ * (1)"),
    ("INSERT INTO t () VALUES ()", "t+  ()"),
    ("INSERT INTO t VALUES (), ()", "t+  ()()"),
    ("INSERT INTO t VALUES (1, (2))", "t+ * (1,_)"),
    ("INSERT INTO t SET a = 1, t.b = 'x', a = 2", "t+ a,b (_,'x')"),
    ("INSERT INTO t (a, b) VALUES (1)", "-"),
    ("INSERT INTO t VALUES (1), (1, 2)", "-"),
    ("INSERT INTO t VALUES (1,)", "-"),
    ("INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 1", "t+! * (1) a:=1"),
    ("INSERT INTO t SET a = 1 ON DUPLICATE KEY UPDATE t.B = VALUES(b), c = ?", "t+! a (1) b:=_,c:=?0"),
    (
        "INSERT IGNORE INTO s.t (a, b) VALUES (1, ?), (2, 3) ON DUPLICATE KEY UPDATE a = a + 1",
        "t+! a,b (1,?0)(2,3) a:=_",
    ),
    ("INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = (SELECT 1)", "t+! * (1) a:=_"),
    ("INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = stored()", "-"),
    ("INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 1 WHERE a = 2", "-"),
    ("INSERT INTO t VALUES (1) ON DUPLICATE KEY", "-"),
    ("INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE", "-"),
    ("INSERT INTO t SELECT 1 ON DUPLICATE KEY UPDATE a = 1", "-"),
    ("UPDATE t SET a = 1 ON DUPLICATE KEY UPDATE a = 1", "-"),
    ("INSERT INTO t VALUES (1) AS new", "-"),
    ("INSERT INTO t SELECT 1", "-"),
    ("INSERT INTO t (a) (SELECT 1)", "-"),
    ("INSERT INTO t VALUES ((SELECT 1))", "t+ * (_)"),
    ("INSERT INTO t (SELECT 1)", "-"),
    ("INSERT INTO t (TABLE u)", "-"),
    ("INSERT INTO t (VALUES ROW(1))", "-"),
    ("INSERT INTO t (WITH c AS (SELECT 1) SELECT 1)", "-"),
    ("REPLACE INTO t (a) (SELECT 1)", "-"),
    ("INSERT INTO t SET a = 1, b = (SELECT MAX(b) FROM u WHERE u.id = ?), c = ?", "t+ a,b,c (1,_,?1)"),
    ("INSERT INTO t TABLE u", "-"),
    ("INSERT DELAYED INTO t VALUES (1)", "-"),
    ("INSERT INTO t PARTITION (p) VALUES (1)", "-"),
    ("INSERT INTO t VALUES (stored(1))", "-"),
    ("INSERT INTO t VALUES (GET_LOCK('x', 1))", "-"),
    ("INSERT INTO t VALUES (@a := 1)", "-"),
    ("INSERT INTO t VALUES (@a)", "t+ * (_)"),
    ("INSERT INTO t VALUES (1); DELETE FROM t", "-"),
    ("REPLACE INTO t VALUES (1)", "t+! * (1) replaced"),
    ("REPLACE LOW_PRIORITY s.t (a, b) VALUES (1, 'x'), (?, 2)", "t+! a,b (1,'x')(?0,2) replaced"),
    ("REPLACE t SET a = 1, b = NOW()", "t+! a,b (1,_) replaced"),
    ("REPLACE DELAYED INTO t VALUES (1)", "-"),
    ("REPLACE INTO t SELECT 1", "-"),
    ("REPLACE INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 1", "-"),
    ("REPLACE INTO t PARTITION (p) VALUES (1)", "-"),
    ("UPDATE t SET a = 1 WHERE id = 5", "t! a:=1 [id=5]"),
    (
        "UPDATE LOW_PRIORITY IGNORE s.t SET A = a + 1, b = ? WHERE id = ? AND c < 3",
        "t! a:=_,b:=?0 [id=?1 & c:..3)]",
    ),
    ("UPDATE t x SET x.a = 'b' WHERE x.id IN (1,2) AND t.id = 3 ORDER BY a LIMIT 2", "t! a:='b' [id=1,2]"),
    ("UPDATE t AS x SET a = 1", "t! a:=1 []"),
    ("UPDATE t SET a = 1, a = 2 WHERE t.id = 1", "t! a:=_ [id=1]"),
    ("UPDATE t SET a = b = 1 WHERE id = 1 OR b = 2", "t! a:=_ []"),
    ("UPDATE t SET a = 1 WHERE id = 1 AND b IN (SELECT 1)", "t! a:=1 [id=1]"),
    ("UPDATE t SET a = (SELECT c FROM u WHERE id = 2 LIMIT 1) WHERE id = ? LIMIT 1", "t! a:=_ [id=?0]"),
    ("UPDATE t SET a = 1 WHERE id = (SELECT 1) AND id IN (2, (SELECT 3))", "t! a:=1 []"),
    ("UPDATE t SET a = 1 WHERE id = 1 OR EXISTS (SELECT 1 FROM u WHERE id = 2)", "t! a:=1 []"),
    ("UPDATE t SET a = 1 WHERE id = 1 AND b IN (SELECT stored(1))", "-"),
    ("UPDATE t SET a = 1 WHERE id = 1 AND b IN (SELECT @a := 1)", "-"),
    (
        "DELETE FROM t WHERE id = ? AND EXISTS (SELECT 1 FROM u JOIN w ON u.a = w.a WHERE u.id = ? AND id = 7)",
        "t- [id=?0]",
    ),
    ("DELETE FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.id = t.id)", "t- []"),
    ("UPDATE t, u SET a = 1 WHERE id = 1", "-"),
    ("UPDATE t JOIN u ON 1 SET a = 1", "-"),
    ("UPDATE t PARTITION (p) SET a = 1", "-"),
    ("UPDATE t FOR PORTION OF p FROM 1 TO 2 SET a = 1", "-"),
    ("UPDATE t SET a = stored() WHERE id = 1", "-"),
    ("UPDATE t SET a = 1 WHERE stored(id)", "-"),
    ("WITH c AS (SELECT 1) UPDATE t SET a = 1", "-"),
    ("UPDATE t SET a WHERE id = 1", "-"),
    ("UPDATE t SET a = WHERE id = 1", "-"),
    ("DELETE FROM t WHERE id = 5", "t- [id=5]"),
    ("DELETE QUICK IGNORE FROM s.t WHERE s.t.id = 5 AND a BETWEEN 1 AND 2 LIMIT 3", "t- [id=5 & a:[1..2]]"),
    ("DELETE FROM t WHERE a = b AND b = 2", "t- [b=2 & a=2<0.b]"),
    ("DELETE FROM t WHERE NOT id = 5", "t- []"),
    ("DELETE FROM t", "t- []"),
    ("DELETE FROM t WHERE current_user = 'x'", "t- []"),
    ("DELETE FROM t PARTITION (p) WHERE id = 1", "-"),
    ("DELETE FROM t USING t JOIN u WHERE t.id = 1", "-"),
    ("DELETE t FROM t WHERE id = 1", "-"),
    ("DELETE FROM t, u USING t, u", "-"),
    ("DELETE HISTORY FROM t", "-"),
    ("DELETE FROM t FOR PORTION OF p FROM 1 TO 2", "-"),
    ("TRUNCATE t", "-"),
    ("SELECT 1", "-"),
];

#[test]
fn writes() {
    check(WRITES, both);
}

#[test]
fn returning_is_of_mariadb() {
    for (text, expected) in [
        ("DELETE FROM t WHERE id = 1 RETURNING a, b", "t- [id=1]"),
        ("DELETE FROM t RETURNING *", "t- []"),
        ("INSERT INTO t VALUES (1) RETURNING id", "t+ * (1)"),
        ("INSERT INTO t SET a = 1 RETURNING id", "t+ a (1)"),
        ("DELETE FROM t WHERE id = 1 RETURNING stored(a)", "-"),
    ] {
        assert_eq!(show(text, MARIADB), expected, "{text}");
        assert_eq!(show(text, MYSQL), "-", "{text}");
    }
}

#[test]
fn names_of_the_new_row_are_of_mysql() {
    for (text, expected) in [
        ("INSERT INTO t VALUES (1) AS new ON DUPLICATE KEY UPDATE a = new.a", "t+! * (1) a:=_"),
        ("INSERT INTO t (a) VALUES (1) AS new (b) ON DUPLICATE KEY UPDATE a = 2", "t+! a (1) a:=2"),
        ("INSERT INTO t SET a = 1 AS new ON DUPLICATE KEY UPDATE a = 3", "t+! a (1) a:=3"),
    ] {
        assert_eq!(show(text, MYSQL), expected, "{text}");
        assert_eq!(show(text, MARIADB), "-", "{text}");
    }
}

#[test]
fn long_writes_are_bounded() {
    let insert = |rows: usize| format!("INSERT INTO t VALUES {}", vec!["(1)"; rows].join(","));
    assert!(row_write(insert(256).as_bytes(), MYSQL).is_some());
    assert!(row_write(insert(257).as_bytes(), MYSQL).is_none());
}
