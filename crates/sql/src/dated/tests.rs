use std::collections::BTreeSet;

use crate::{Flavor, Modes, Tokens};

const MODES: Modes = Modes::new(Flavor::MariaDb);

/// Of a table with the TIMEs `tm` and `end`, and other columns.
fn is_dated(text: &str) -> bool {
    let mut times = BTreeSet::from(["tm".to_owned(), "end".to_owned()]);
    Tokens::cut(text.as_bytes(), MODES).is_dated(&mut times)
}

#[test]
fn a_time_by_itself_or_beside_literals_is_one_on_all_days() {
    for text in [
        "SELECT tm FROM t",
        "SELECT * FROM t",
        "SELECT t.*, d FROM t WHERE id = 7",
        "SELECT id, t.tm, `tm` AS x, dt FROM t ORDER BY x DESC, tm LIMIT 7",
        "SELECT DISTINCT tm a FROM t WHERE d = '2026-01-01' AND tm > '10:00' GROUP BY tm",
        "SELECT id FROM t WHERE tm BETWEEN '10:00' AND '11:00' AND dt > '2026-01-01'",
        "SELECT id FROM t WHERE (tm = ? OR tm IS NOT NULL) AND tm NOT IN ('10:00', '11:00')",
        "SELECT IF(tm < 100000, dt, d) FROM t",
        "SELECT CASE WHEN tm < '12:00' THEN dt ELSE d END FROM t",
        "SELECT COUNT(tm), MIN(tm), MAX(tm) AS last, HOUR(tm), TIME_FORMAT(tm, '%H'), CONCAT(d, ' ', tm) FROM t",
        "SELECT SEC_TO_TIME(SUM(n)), TIMESTAMP(d, tm), CAST(dt AS TIME), TIME(dt) FROM t",
        "SELECT id FROM t WHERE TIME(dt) > '10:00' AND EXISTS (SELECT tm FROM t)",
        "SELECT id FROM t WHERE id IN (SELECT id FROM t WHERE d = dt)",
        "SELECT * FROM t WHERE id IN (SELECT id FROM u)",
        "SELECT tm, (SELECT MAX(dt) FROM u) FROM t WHERE tm > '10:00' AND id IN (SELECT a FROM u WHERE a IN (SELECT b FROM v))",
        "SELECT tm, n FROM t JOIN (SELECT id, COUNT(*) AS n FROM u GROUP BY id) q ON q.id = t.id",
        "SELECT GROUP_CONCAT(tm ORDER BY tm SEPARATOR ';') FROM t",
        "SELECT dt, CAST(d AS DATETIME), d = dt FROM t",
        "SELECT tm.id FROM t AS tm_",
        "SELECT id, dt FROM t UNION ALL SELECT a, d FROM u ORDER BY dt LIMIT 7",
        "(SELECT id FROM t WHERE d > '2026-01-01') UNION SELECT (SELECT COUNT(*) FROM u) FROM t",
        "SELECT CAST(TIME'10:00' AS TIME(3)), CONVERT(tm, TIME), CONVERT(dt, TIME(3)), TIME '10:00' FROM t",
    ] {
        assert!(!is_dated(text), "{text}");
    }
}

#[test]
fn a_time_that_is_taken_as_a_date_and_time_is_another_one_tomorrow() {
    for text in [
        "SELECT tm = dt FROM t",
        "SELECT id FROM t WHERE dt > tm",
        "SELECT id FROM t WHERE tm > TIMESTAMP '2026-01-01 10:00:00'",
        "SELECT id FROM t WHERE tm BETWEEN dt AND '11:00'",
        "SELECT id FROM t WHERE dt BETWEEN '2026-01-01' AND tm",
        "SELECT id FROM t WHERE dt BETWEEN '2026-01-01' AND tm = '10:00'",
        "SELECT id FROM t WHERE tm IN ('10:00', dt)",
        "SELECT id FROM t WHERE (tm, id) = (dt, 1)",
        "SELECT CAST(tm AS DATETIME), id FROM t",
        "SELECT DATE(tm) FROM t",
        "SELECT CAST(TIME'10:00:00' AS DATETIME) FROM u",
        "SELECT CAST( {t '10:00'} AS DATE) FROM u",
        "SELECT CONVERT(TIME '10:00:00', DATETIME) FROM u",
        "SELECT CAST(TIME(20240203) AS DATETIME), CAST(TIME'10:00' AS YEAR) FROM u",
        "SELECT CAST(CAST(a AS TIME) AS DATETIME) FROM u",
        "SELECT CASE dt WHEN tm THEN 1 END FROM t",
        "SELECT CASE WHEN id THEN tm ELSE dt END FROM t",
        "SELECT COALESCE(tm, dt) FROM t",
        "SELECT LEAST(dt, MIN(tm)) FROM t",
        "SELECT tm FROM t UNION SELECT dt FROM t",
        "SELECT * FROM t UNION SELECT * FROM u",
        "TABLE t UNION TABLE u",
        "SELECT id FROM t WHERE tm > '10:00' UNION SELECT id FROM u",
        "SELECT id FROM t NATURAL JOIN u",
        "SELECT * FROM t NATURAL JOIN u",
        "SELECT id FROM t JOIN u USING (tm)",
        "SELECT id FROM t WHERE dt = (SELECT tm FROM t)",
        "(SELECT TIME(a) FROM t) UNION (SELECT dt FROM t)",
        "SELECT id FROM t WHERE tm IN (SELECT dt FROM u)",
        "SELECT id FROM t WHERE tm = ANY (SELECT dt FROM u)",
        "SELECT id FROM t WHERE (tm, id) IN (SELECT dt, id FROM u)",
        "SELECT COALESCE(tm, (SELECT MAX(dt) FROM u)) FROM t",
        "SELECT CASE WHEN id IN (SELECT id FROM u) THEN tm ELSE dt END FROM t",
        "SELECT id FROM t WHERE (SELECT MAX(dt) FROM u) > tm",
        "SELECT id FROM t JOIN (SELECT dt AS tm FROM u) q USING (tm)",
        "SELECT * FROM t JOIN (SELECT * FROM u) q ON q.x = t.dt",
        "SELECT id FROM t WHERE dt IN (SELECT * FROM t)",
        "SELECT x FROM (SELECT tm AS x, dt FROM t) q WHERE x = dt",
        "WITH q AS (SELECT tm x FROM t) SELECT x FROM q",
        "SELECT tm AS x, dt FROM t HAVING x = dt",
        "SELECT tm x FROM t ORDER BY x > dt",
        "SELECT MIN(tm) x FROM t HAVING MIN(tm) < dt",
        "SELECT tm AS 'x' FROM t HAVING x = dt",
        "SELECT TIME(a) = dt FROM u",
        "SELECT SEC_TO_TIME(a) FROM u UNION SELECT dt FROM u",
        "SELECT dt > TIME '10:00' FROM u",
        "SELECT dt > {t '10:00'} FROM u",
        "SELECT CONVERT(a, TIME) < dt FROM u",
        "SELECT YEAR(CAST(a AS TIME)) FROM u",
        "SELECT DATEDIFF(`tm`, d) FROM t",
        "SELECT t.`end` + INTERVAL 1 DAY FROM t",
        "SELECT EXTRACT(DAY FROM tm) FROM t",
        "SELECT UNIX_TIMESTAMP(tm) FROM t",
        "SELECT TIMESTAMP(tm, tm) FROM t",
        "SELECT `t\u{e4}m`, tm FROM t",
    ] {
        assert!(is_dated(text), "{text}");
    }
}

#[test]
fn its_names_are_told() {
    let mut times = BTreeSet::from(["tm".to_owned()]);
    assert!(!Tokens::cut(b"SELECT tm AS `a`, SEC_TO_TIME(n) b FROM t", MODES).is_dated(&mut times));
    assert_eq!(times, BTreeSet::from(["a".to_owned(), "b".to_owned(), "tm".to_owned()]));
}

/// Many calls within each other take no long time, and no deep stack.
#[test]
fn deep_and_long_texts_are_read_in_time() {
    let deep = format!("SELECT {}tm{} FROM t", "MIN(".repeat(5_000), ")".repeat(5_000));
    assert!(is_dated(&deep));
    let long = format!("SELECT {} tm FROM t", "TIME(a), ".repeat(5_000));
    assert!(is_dated(&long));
}
