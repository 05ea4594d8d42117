//! What must never be answered from memory.

use freshet_tests::cached::{Counted, connect, fresh_schema, run};
use freshet_tests::{Flavor, with_each};

const SCHEMA: &str = "fresh_never";
/// How often each is asked: with the control's one or two, a cached one would long have hit.
const REPETITIONS: u32 = 4;

const SETUP: &[&str] = &[
    "CREATE TABLE t (id INT PRIMARY KEY, v INT, w VARCHAR(20))",
    "INSERT INTO t VALUES (1,10,'a'),(2,20,'b')",
    "CREATE TABLE m (id INT PRIMARY KEY) ENGINE=MEMORY",
    "INSERT INTO m VALUES (1)",
    "CREATE VIEW clock AS SELECT id, NOW() AS n FROM t",
    "CREATE VIEW inmemory AS SELECT id FROM m",
    "CREATE FUNCTION det(x INT) RETURNS INT DETERMINISTIC NO SQL RETURN x + 1",
    "CREATE VIEW called AS SELECT det(v) AS d FROM t",
];

const EVERYWHERE: &[&str] = &[
    "SELECT NOW(), v FROM t WHERE id = 1",
    "SELECT v FROM t WHERE id = 1 AND CURDATE() > '2000-01-01'",
    "SELECT CURRENT_TIMESTAMP, v FROM t",
    "SELECT SYSDATE(), v FROM t",
    "SELECT UNIX_TIMESTAMP(), v FROM t",
    "SELECT UTC_TIMESTAMP(), v FROM t",
    "SELECT LOCALTIME, v FROM t",
    "SELECT RAND(), v FROM t",
    "SELECT RAND(1), v FROM t",
    "SELECT v FROM t ORDER BY RAND()",
    "SELECT UUID(), v FROM t",
    "SELECT UUID_SHORT(), v FROM t",
    "SELECT IS_USED_LOCK('never'), CONNECTION_ID(), v FROM t",
    "SELECT USER(), v FROM t",
    "SELECT CURRENT_USER(), v FROM t",
    "SELECT CURRENT_USER, v FROM t",
    "SELECT DATABASE(), v FROM t",
    "SELECT SCHEMA(), v FROM t",
    "SELECT FOUND_ROWS(), v FROM t",
    "SELECT ROW_COUNT(), v FROM t",
    "SELECT LAST_INSERT_ID(), v FROM t",
    "SELECT SLEEP(0), v FROM t",
    "SELECT BENCHMARK(1, 1), v FROM t",
    "SELECT GET_LOCK('fresh_never', 0), v FROM t WHERE id = 1",
    "SELECT RELEASE_LOCK('fresh_never'), v FROM t",
    "SELECT IS_FREE_LOCK('fresh_never'), v FROM t",
    "SELECT LOAD_FILE('/etc/hostname'), v FROM t",
    "SELECT @x, v FROM t",
    "SELECT @x := v FROM t",
    "SELECT v FROM t WHERE v > @x",
    "SELECT @@sql_mode, v FROM t",
    "SELECT @@session.sort_buffer_size, v FROM t",
    "SELECT v FROM t WHERE id = 1 FOR UPDATE",
    "SELECT v FROM t WHERE id = 1 LOCK IN SHARE MODE",
    "SELECT SQL_NO_CACHE v FROM t",
    "SELECT v FROM t WHERE id = 1 INTO @y",
    "SELECT 1",
    "SELECT 1 FROM dual",
    "SELECT det(v) FROM t",
    "SELECT fresh_never.det(1) FROM t",
    "SELECT d FROM called",
    "SELECT id, n FROM clock",
    "SELECT id FROM m",
    "SELECT id FROM inmemory",
    "SELECT t.id FROM t JOIN m ON t.id = m.id",
    "SELECT id FROM t WHERE id IN (SELECT id FROM m)",
    "SELECT table_name FROM information_schema.tables WHERE table_schema = 'fresh_never'",
    "SELECT v, (SELECT COUNT(*) FROM information_schema.schemata) FROM t",
    "SELECT user FROM mysql.user",
    "SELECT * FROM performance_schema.setup_actors",
    "SELECT v + 'x' FROM t",
    "SELECT v / 0 FROM t WHERE id = 1 AND CAST('1x' AS SIGNED) = 1",
    "SELECT nothing FROM t",
    "SELECT v FROM missing",
    "SHOW TABLES",
    "SHOW CREATE TABLE t",
    "SHOW WARNINGS",
    "EXPLAIN SELECT v FROM t",
    "DESCRIBE t",
    "CHECKSUM TABLE t",
    "CHECK TABLE t",
    "HANDLER t OPEN",
    "DO 1",
    "SELECT v FROM t; SELECT v FROM t",
];

const ON_MARIADB: &[&str] = &[
    "SELECT NEXTVAL(sq), v FROM t",
    "SELECT NEXT VALUE FOR sq, v FROM t",
    "SELECT LASTVAL(sq), v FROM t",
    "SELECT * FROM sq",
    "SELECT seq, v FROM seq_1_to_2, t",
    "SELECT v FROM t WHERE id = 1 INTO OUTFILE '/nowhere/at/all'",
    "SELECT * FROM t PROCEDURE ANALYSE()",
    "SELECT v, ROWNUM() FROM t",
    "SELECT v FROM vol",
    "SELECT DEFAULT(u), v FROM made",
    "SELECT v FROM made WHERE ts < DEFAULT(ts)",
    "SELECT u FROM anew",
];
const ON_MYSQL: &[&str] = &[
    "SELECT v FROM t WHERE id = 1 FOR SHARE",
    "SELECT v FROM t WHERE id = 1 FOR UPDATE SKIP LOCKED",
    "SELECT /*+ SET_VAR(sort_buffer_size = 16M) */ CURRENT_ROLE(), v FROM t",
    "TABLE t",
];

#[test]
fn what_must_never_be_answered_from_memory() {
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        let mut direct = fresh_schema(server, SCHEMA);
        run(&mut direct, SETUP);
        let own = match server.flavor {
            Flavor::MariaDb => {
                run(
                    &mut direct,
                    &[
                        "CREATE SEQUENCE sq",
                        "CREATE TABLE vol (id INT PRIMARY KEY, v INT, n VARCHAR(40) AS (CONCAT(CONNECTION_ID(), '')) VIRTUAL)",
                        "INSERT INTO vol (id, v) VALUES (1, 1)",
                        "CREATE TABLE made (v INT, u CHAR(36) DEFAULT (UUID()), ts DATETIME(6) DEFAULT NOW(6))",
                        "INSERT INTO made (v) VALUES (1)",
                        "CREATE VIEW anew AS SELECT DEFAULT(u) AS u FROM made",
                    ],
                );
                ON_MARIADB
            }
            Flavor::MySql => ON_MYSQL,
        };
        let mut counted = Counted::of(freshet);
        let mut wrong = Vec::new();
        for statement in EVERYWHERE.iter().chain(own) {
            let mut reader = connect(freshet.target(), SCHEMA);
            // The cache works here and now, so that an answer not cached means something.
            let _ = counted.prime(&mut reader, "SELECT v FROM t WHERE id = 2");
            let found = counted.hits_of(&mut reader, statement, REPETITIONS);
            if found > 0 {
                wrong.push(format!("{found} hits: {statement}"));
            }
        }
        assert!(wrong.is_empty(), "{:?}:\n{}", server.flavor, wrong.join("\n"));
    });
}

#[test]
fn what_users_expect_to_be_cached_is() {
    with_each(|server, freshet| {
        let mut direct = fresh_schema(server, "fresh_always");
        run(
            &mut direct,
            &[
                "CREATE TABLE t (id INT PRIMARY KEY, v INT, w VARCHAR(20), d DATETIME)",
                "INSERT INTO t VALUES (1,10,'a','2026-01-02 03:04:05'),(2,20,'b',NULL)",
                "CREATE VIEW w AS SELECT id, v FROM t",
            ],
        );
        let mut reader = connect(freshet.target(), "fresh_always");
        let mut counted = Counted::of(freshet);
        for statement in [
            "SELECT * FROM t",
            "  SELECT v FROM t WHERE id = 1 ; ",
            "(SELECT v FROM t WHERE id = 1)",
            "/* hello */ SELECT v FROM t",
            "SELECT v /* in the middle */ FROM t -- and at the end",
            "select V from T as t where ID = 1 and 1".to_lowercase().as_str(),
            "SELECT VERSION(), SHA2(w, 256), UPPER(w) FROM t",
            "SELECT DATE_FORMAT(d, '%Y') FROM t",
            "SELECT DISTINCT v FROM t ORDER BY v LIMIT 1 OFFSET 1",
            "SELECT v FROM w WHERE id = 1",
            "SELECT a.v FROM t a LEFT JOIN t b USING (id) WHERE b.w LIKE 'a%'",
            "SELECT v, COUNT(*) FROM t GROUP BY v HAVING COUNT(*) > 0",
            "SELECT v FROM t UNION SELECT id FROM t",
            "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i, v FROM n JOIN t ON t.id = n.i",
            "SELECT v, ROW_NUMBER() OVER (ORDER BY id) FROM t",
            "SELECT CASE WHEN v > 10 THEN 'x' ELSE 'y' END FROM t WHERE w IN ('a', 'b') AND d IS NULL",
            "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM w WHERE w.id = t.id)",
            "SELECT COALESCE(d, '2000-01-01'), IF(v > 1, v, 0), CONCAT_WS(',', id, w) FROM t",
            "SELECT JSON_OBJECT('v', v) FROM t",
            "SELECT v FROM t WHERE w = _utf8mb4'a' COLLATE utf8mb4_bin",
            "SELECT v FROM fresh_always.t",
        ] {
            let got = counted.prime(&mut reader, statement);
            assert_eq!(got, freshet_tests::cached::answer(&mut direct, statement), "{statement}");
        }
    });
}
