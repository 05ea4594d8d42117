//! Writes of several tables, from queries, and through views.
use super::writes::show_write;
use super::*;

/// Returns what is written, a table at a time, each with its place among the tables named.
fn show(text: &str, modes: Modes) -> String {
    let Some(writes) = row_writes(text.as_bytes(), modes, &columns_of) else { return "-".to_owned() };
    let shown = writes.writes.iter().map(|(at, write)| {
        assert_eq!(&writes.tables[*at], write.table(), "{text}");
        format!("{at}:{}", show_write(Some(write)))
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn both(text: &str) -> String {
    let shown = show(text, MYSQL);
    assert_eq!(shown, show(text, MARIADB), "{text}");
    shown
}

const UPDATES: &[(&str, &str)] = &[
    (
        "UPDATE t JOIN u ON u.tid = t.id SET t.a = 1, u.x = ? WHERE t.id = 5",
        "0:t! a:=1 [id=5] 1:u! x:=?0 [tid=5<0.id]",
    ),
    ("UPDATE t, u SET t.a = u.x WHERE u.tid = t.id AND u.tid = 5", "0:t! a:=_ [id=5<1.tid]"),
    ("UPDATE t JOIN u ON u.tid = t.id SET a = 1, x = 2, a = 3 WHERE y = 4", "0:t! a:=_ [] 1:u! x:=2 [y=4]"),
    // Both have it, and which is meant the server refuses to say.
    ("UPDATE t JOIN u ON u.tid = t.id SET id = 1", "-"),
    (
        "UPDATE t AS p LEFT JOIN u AS q ON q.tid = p.id AND q.x = 3 SET p.a = 1, q.y = 2 WHERE p.id IN (1, 2)",
        "0:t! a:=1 [id=1,2] 1:u! y:=2 [x=3 & tid=1,2<0.id]",
    ),
    ("UPDATE t LEFT JOIN u ON u.tid = t.id AND t.id = 5 SET t.a = 1", "0:t! a:=1 []"),
    ("UPDATE t p JOIN t q ON p.a = q.id SET p.b = 1 WHERE q.id = 5", "0:t! b:=1 [a=5<1.id]"),
    (
        "UPDATE t JOIN (SELECT tid FROM u WHERE x = 1) d ON d.tid = t.id SET t.a = 1 WHERE d.tid = 2",
        "0:t! a:=1 [id=2<1.tid]",
    ),
    ("UPDATE t SET a = 1 WHERE id = 5 AND EXISTS (SELECT 1 FROM u WHERE u.tid = t.id)", "0:t! a:=1 [id=5]"),
    ("UPDATE t JOIN u USING (id) SET t.a = 1 WHERE t.id = 5", "0:t! a:=1 [id=5]"),
    ("UPDATE t JOIN u USING (id) SET a = 1 WHERE id = 5", "-"),
    ("UPDATE t SET a = 1 WHERE id = 5 OR b = 2", "0:t! a:=1 [id=5] 0:t! a:=1 [b=2]"),
    (
        "UPDATE t JOIN u ON u.tid = t.id SET t.a = 1, u.x = 2 WHERE t.id = 5 OR t.id = 6 AND u.y = 7",
        "0:t! a:=1 [id=5,6 & id=5] 0:t! a:=1 [id=5,6 & id=6] 1:u! x:=2 [tid=5,6<0.id & tid=5<0.id] 1:u! x:=2 [y=7 & tid=5,6<0.id & tid=6<0.id]",
    ),
    ("UPDATE t JOIN u ON u.tid = t.id SET t.a = stored() WHERE t.id = 5", "-"),
    ("UPDATE t JOIN gone ON gone.tid = t.id SET t.a = 1 WHERE t.id = 5", "-"),
    ("UPDATE t JOIN v_lost ON v_lost.id = t.id SET t.a = 1 WHERE t.id = 5", "-"),
    ("UPDATE t JOIN u ON u.tid = t.id SET d.a = 1", "-"),
    ("UPDATE t PARTITION (p) SET a = 1 WHERE id = 3", "0:t! a:=1 [id=3]"),
    ("UPDATE t FOR PORTION OF p FROM 1 TO 2 SET a = 1", "-"),
    // Through views.
    ("UPDATE v_plain SET z = 3 WHERE id = 5", "1:t! a:=3 [id=5]"),
    ("UPDATE v_own SET a = 3 WHERE id = 5", "1:t! a:=3 [b=7 & c~'x%' & id=5]"),
    ("UPDATE v_over SET a = 3", "2:t! a:=3 [b=7 & c~'x%' & a=2]"),
    ("UPDATE v_join SET x = 1 WHERE id = 5", "2:u! x:=1 [tid=5<1.id]"),
    (
        "UPDATE v_plain JOIN u ON u.tid = v_plain.id SET u.x = 1 WHERE v_plain.z = 2 AND u.tid = 3",
        "2:u! x:=1 [tid=3]",
    ),
    ("UPDATE v_list SET a = 1", "1:t! b:=1 []"),
];

const DELETES: &[(&str, &str)] = &[
    ("DELETE t, u FROM t JOIN u ON u.tid = t.id WHERE t.id = 5", "0:t- [id=5] 1:u- [tid=5<0.id]"),
    ("DELETE FROM q, p USING t AS p JOIN u AS q ON q.tid = p.id WHERE q.x = 2", "1:u- [x=2] 0:t- []"),
    ("DELETE t.* FROM t LEFT JOIN u ON u.tid = t.id WHERE u.id IS NULL AND t.a = ?", "0:t- [a=?0]"),
    ("DELETE s.t FROM s.t JOIN u ON u.tid = t.id WHERE t.id = 5", "0:t- [id=5]"),
    ("DELETE QUICK IGNORE p FROM t p WHERE p.id = 5", "0:t- [id=5]"),
    ("DELETE t FROM t AS p WHERE p.id = 5", "-"),
    ("DELETE s.p FROM t AS p WHERE p.id = 5", "-"),
    ("DELETE FROM t WHERE id = 5", "0:t- [id=5]"),
    ("DELETE FROM t, u WHERE id = 5", "-"),
    ("DELETE FROM v_own WHERE id = 5", "1:t- [b=7 & c~'x%' & id=5]"),
    ("DELETE FROM v_join WHERE id = 5", "-"),
    ("DELETE HISTORY FROM t", "-"),
    ("DELETE t FROM t JOIN u ON u.tid = t.id WHERE t.id = stored()", "-"),
];

const FILLS: &[(&str, &str)] = &[
    ("INSERT INTO w (id, uid) SELECT id, 7 FROM u WHERE id = 5", "0:w+ id,uid (1.id[id=5],7)"),
    ("INSERT INTO w SELECT u.id, ? AS k, NULL FROM u WHERE u.tid = ?", "0:w+ * (1.id[],?0,NULL)"),
    (
        "INSERT INTO w (id) SELECT tid FROM t JOIN u ON u.tid = t.id WHERE t.id = 5",
        "0:w+ id (2.tid[tid=5<1.id])",
    ),
    (
        "INSERT INTO w (id) (SELECT id FROM u WHERE id BETWEEN 1 AND 3 ORDER BY x LIMIT 2)",
        "0:w+ id (1.id[id:[1..3]])",
    ),
    ("INSERT INTO w (id, z) SELECT id + 1, x FROM u WHERE id = 5", "0:w+ id,z (_,1.x[])"),
    ("INSERT INTO w (id) SELECT t.id FROM u LEFT JOIN t ON t.id = u.tid AND t.id = 3", "0:w+ id (_)"),
    ("INSERT INTO w (id, z) SELECT id, COUNT(*) FROM u WHERE id = 5", "0:w+ id,z (_,_)"),
    ("INSERT INTO w (id, z) SELECT id, COUNT(*) FROM u WHERE id = 5 GROUP BY id", "0:w+ id,z (1.id[id=5],_)"),
    ("INSERT INTO w (id) SELECT id FROM u WHERE id = 5 UNION SELECT 3", "0:w+ id (1.id[id=5]) 0:w+ id (3)"),
    ("INSERT INTO w (id) SELECT * FROM u WHERE id = 5", "-"),
    ("INSERT INTO w (id, z) SELECT id FROM u", "-"),
    ("INSERT INTO w (id) SELECT id FROM gone", "-"),
    ("INSERT INTO w (id) SELECT stored(id) FROM u", "-"),
    ("INSERT INTO w PARTITION (p) (id) SELECT id FROM u", "-"),
    ("INSERT INTO w (id) WITH c AS (SELECT id FROM u WHERE id = 5) SELECT id FROM c", "0:w+ id (_)"),
    (
        "INSERT INTO w (id, z) SELECT id, 1 FROM u WHERE id = 5 ON DUPLICATE KEY UPDATE w.Z = 2",
        "0:w+ id,z (1.id[id=5],1) z:=2",
    ),
    (
        "INSERT INTO w (id) SELECT t.id FROM t JOIN u ON u.id = 3 ON DUPLICATE KEY UPDATE id = ?",
        "0:w+ id (1.id[]) id:=?0",
    ),
    ("REPLACE INTO w (id) SELECT id FROM u WHERE id = 5", "0:w+ id (1.id[id=5]) replaced"),
    ("REPLACE LOW_PRIORITY w SELECT 1, 2, 3", "0:w+ * (1,2,3) replaced"),
    // Through views.
    ("INSERT INTO v_plain (z, id) VALUES (1, 2)", "1:t+ a,id (1,2)"),
    ("INSERT INTO v_plain VALUES (1, 2, 3)", "1:t+ id,a,b (1,2,3)"),
    ("REPLACE INTO v_own (id, a) VALUES (1, 2)", "1:t+! id,a (1,2) replaced"),
    ("INSERT INTO v_own SET id = 1 ON DUPLICATE KEY UPDATE a = 2", "1:t+! id (1) a:=2"),
    ("INSERT INTO v_plain (z) SELECT x FROM u WHERE x = 1", "1:t+ a (2.x[x=1])"),
    ("INSERT INTO v_join (id) VALUES (1)", "-"),
    ("INSERT INTO v_lost (id) VALUES (1)", "-"),
];

#[test]
fn updates() {
    check(UPDATES, both);
}

#[test]
fn deletes() {
    check(DELETES, both);
}

#[test]
fn fills() {
    check(FILLS, both);
}
