//! Every statement that changes data or its definition, through Freshet and around it.

use freshet_tests::Flavor;

use crate::freshness::cases::{Case, run_all, run_on};

const CREATE: &str = "CREATE TABLE t (id INT PRIMARY KEY, v INT, w VARCHAR(20))";
const FILL: &str = "INSERT INTO t VALUES (1,10,'a'),(2,20,'b')";
const TABLE: &[&str] = &[CREATE, FILL];
const ALL: &str = "SELECT id, v, w FROM t ORDER BY id";
const ONE: &str = "SELECT v FROM t WHERE id = 1";

const fn case<'a>(name: &'a str, setup: &'a [&'a str], read: &'a str, change: &'a [&'a str]) -> Case<'a> {
    Case { name, setup, read, change }
}

const ROWS: &[Case<'static>] = &[
    case("insert", TABLE, ALL, &["INSERT INTO t VALUES (3,30,'c')"]),
    case(
        "insert of a missing key",
        TABLE,
        "SELECT v FROM t WHERE id = 7",
        &["INSERT INTO t VALUES (7,0,'')"],
    ),
    case(
        "insert on duplicate",
        TABLE,
        ONE,
        &["INSERT INTO t VALUES (1,0,'') ON DUPLICATE KEY UPDATE v = 11"],
    ),
    case("insert ignore", TABLE, ALL, &["INSERT IGNORE INTO t VALUES (1,0,''),(4,0,'')"]),
    case("update", TABLE, ONE, &["UPDATE t SET v = v + 1 WHERE id = 1"]),
    case("update by another column", TABLE, ONE, &["UPDATE t SET v = 12 WHERE w = 'a'"]),
    case("update of the key", TABLE, ONE, &["UPDATE t SET id = 9 WHERE id = 1"]),
    case("update with limit", TABLE, ALL, &["UPDATE t SET v = 0 ORDER BY id DESC LIMIT 1"]),
    case("delete", TABLE, ONE, &["DELETE FROM t WHERE id = 1"]),
    case("delete of all", TABLE, ALL, &["DELETE FROM t"]),
    case("replace", TABLE, ONE, &["REPLACE INTO t VALUES (1,13,'z')"]),
    case("replace select", TABLE, ONE, &["REPLACE INTO t SELECT 1, 14, 'y'"]),
    case("truncate", TABLE, ALL, &["TRUNCATE TABLE t"]),
    case(
        "insert select",
        &[CREATE, FILL, "CREATE TABLE s SELECT 5 AS id, 50 AS v, 'e' AS w"],
        ALL,
        &["INSERT INTO t SELECT * FROM s"],
    ),
    case(
        "multi-table update",
        &[CREATE, FILL, "CREATE TABLE s (id INT PRIMARY KEY, v INT)", "INSERT INTO s VALUES (1,99)"],
        ONE,
        &["UPDATE s JOIN t ON s.id = t.id SET t.v = s.v, s.v = 0"],
    ),
    case(
        "multi-table delete",
        &[CREATE, FILL, "CREATE TABLE s (id INT PRIMARY KEY, v INT)", "INSERT INTO s VALUES (1,99)"],
        ONE,
        &["DELETE s, t FROM s JOIN t ON s.id = t.id"],
    ),
    case("several statements in one", TABLE, ONE, &["SELECT 1; UPDATE t SET v = 15 WHERE id = 1; SELECT 2"]),
    case("a write behind a comment", TABLE, ONE, &["/* SELECT */ UPDATE t SET v = 16 WHERE id = 1"]),
    case("an executable comment", TABLE, ONE, &["/*!50000 UPDATE t SET v = 17 WHERE id = 1 */"]),
    case(
        "a text-prepared write",
        TABLE,
        ONE,
        &["PREPARE s FROM 'UPDATE t SET v = ? WHERE id = 1'", "SET @v = 18", "EXECUTE s USING @v"],
    ),
    case(
        "another schema's name",
        TABLE,
        ONE,
        &["USE mysql", "UPDATE fresh_rows.t SET v = 19 WHERE id = 1", "USE fresh_rows"],
    ),
    case(
        "an index by a string",
        TABLE,
        "SELECT COUNT(*) FROM t WHERE w = 'A'",
        &["UPDATE t SET w = 'á' WHERE id = 2"],
    ),
    case(
        "a join",
        TABLE,
        "SELECT a.v + b.v FROM t a JOIN t b ON b.id = a.id + 1",
        &["UPDATE t SET v = 5 WHERE id = 2"],
    ),
    case(
        "an aggregate",
        TABLE,
        "SELECT COUNT(*), SUM(v) FROM t WHERE v BETWEEN 5 AND 25",
        &["UPDATE t SET v = 30 WHERE id = 2"],
    ),
    case(
        "a subquery",
        TABLE,
        "SELECT id FROM t WHERE v = (SELECT MAX(v) FROM t)",
        &["UPDATE t SET v = 1 WHERE id = 2"],
    ),
    case(
        "a common table expression",
        TABLE,
        "WITH c AS (SELECT SUM(v) s FROM t) SELECT s FROM c",
        &["DELETE FROM t WHERE id = 2"],
    ),
    case(
        "a union",
        TABLE,
        "SELECT v FROM t WHERE id = 1 UNION ALL SELECT v FROM t WHERE id = 2",
        &["UPDATE t SET v = 0 WHERE id = 2"],
    ),
];

/// A write to a MERGE table is one to its parts, which nothing in the statement names.
const PARTS: &[&str] = &[
    "CREATE TABLE t (id INT, v INT, KEY (id)) ENGINE=MyISAM",
    "CREATE TABLE whole (id INT, v INT, KEY (id)) ENGINE=MERGE UNION=(t) INSERT_METHOD=LAST",
    "INSERT INTO t VALUES (1,10)",
];

const MERGED: &[Case<'static>] = &[
    case("update of a whole", PARTS, ONE, &["UPDATE whole SET v = v + 1 WHERE id = 1"]),
    case("insert into a whole", PARTS, "SELECT v FROM t WHERE id = 2", &["INSERT INTO whole VALUES (2,20)"]),
    case("delete from a whole", PARTS, ONE, &["DELETE FROM whole WHERE id = 1"]),
    case("truncate of a whole", PARTS, ONE, &["TRUNCATE TABLE whole"]),
];

/// What a MERGE table shows is what its parts have, and which these are its definition says.
const WHOLE: &[&str] = &[
    "CREATE TABLE t (id INT, v INT, KEY (id)) ENGINE=MyISAM",
    "CREATE TABLE u (id INT, v INT, KEY (id)) ENGINE=MyISAM",
    "CREATE TABLE whole (id INT, v INT, KEY (id)) ENGINE=MERGE UNION=(t, u) INSERT_METHOD=LAST",
    "CREATE VIEW seen AS SELECT id, v FROM whole WHERE id < 100",
    "CREATE PROCEDURE adds() INSERT INTO whole VALUES (3,30)",
    "INSERT INTO t VALUES (1,10)",
    "INSERT INTO u VALUES (2,20)",
];

const OF_WHOLE: &str = "SELECT v FROM whole WHERE id = 1";
const ALL_OF_WHOLE: &str = "SELECT SUM(v) FROM whole";

const READ_MERGED: &[Case<'static>] = &[
    case("insert into a part", WHOLE, ALL_OF_WHOLE, &["INSERT INTO u VALUES (3,30)"]),
    case("update of a part", WHOLE, OF_WHOLE, &["UPDATE t SET v = v + 1 WHERE id = 1"]),
    case("delete from a part", WHOLE, OF_WHOLE, &["DELETE FROM t WHERE id = 1"]),
    case("truncate of a part", WHOLE, ALL_OF_WHOLE, &["TRUNCATE TABLE u"]),
    case("insert into it", WHOLE, ALL_OF_WHOLE, &["INSERT INTO whole VALUES (3,30)"]),
    case("update of it", WHOLE, OF_WHOLE, &["UPDATE whole SET v = v + 1 WHERE id = 1"]),
    case("delete from it", WHOLE, OF_WHOLE, &["DELETE FROM whole WHERE id = 1"]),
    case("truncate of it", WHOLE, ALL_OF_WHOLE, &["TRUNCATE TABLE whole"]),
    case("it is made of others", WHOLE, ALL_OF_WHOLE, &["ALTER TABLE whole UNION=(t)"]),
    case(
        "a part is another table",
        WHOLE,
        ALL_OF_WHOLE,
        &["RENAME TABLE u TO before_u", "CREATE TABLE u (id INT, v INT, KEY (id)) ENGINE=MyISAM"],
    ),
    case("a view of it", WHOLE, "SELECT SUM(v) FROM seen", &["UPDATE u SET v = v + 1"]),
    case("a write through a view of it", WHOLE, "SELECT SUM(v) FROM u", &["UPDATE seen SET v = v + 1"]),
    case("a procedure that writes to it", WHOLE, "SELECT SUM(v) FROM u", &["CALL adds()"]),
];

#[test]
fn merged_tables() {
    run_all("directed_merged", MERGED);
    run_all("directed_whole", READ_MERGED);
}

#[test]
fn statements_that_change_rows() {
    run_all("fresh_rows", ROWS);
}

const DEFINITIONS: &[Case<'static>] = &[
    case("add column", TABLE, "SELECT * FROM t WHERE id = 1", &["ALTER TABLE t ADD COLUMN x INT DEFAULT 7"]),
    case("drop column", TABLE, "SELECT * FROM t WHERE id = 1", &["ALTER TABLE t DROP COLUMN w"]),
    case("change type", TABLE, ONE, &["ALTER TABLE t MODIFY v DECIMAL(10,2)"]),
    case(
        "change default charset",
        TABLE,
        "SELECT COUNT(*) FROM t WHERE w = 'A'",
        &["ALTER TABLE t MODIFY w VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"],
    ),
    case("drop table", TABLE, ONE, &["DROP TABLE t"]),
    case(
        "drop and create",
        TABLE,
        ONE,
        &["DROP TABLE t", "CREATE TABLE t (id INT, v INT)", "INSERT INTO t VALUES (1, 77)"],
    ),
    case("rename away", TABLE, ONE, &["RENAME TABLE t TO u"]),
    case("alter rename", TABLE, ONE, &["ALTER TABLE t RENAME TO u"]),
    case(
        "rename swap",
        &[CREATE, FILL, "CREATE TABLE u LIKE t", "INSERT INTO u VALUES (1,1000,'u')"],
        ONE,
        &["RENAME TABLE t TO x, u TO t"],
    ),
    case(
        "drop database",
        TABLE,
        "SELECT v FROM fresh_ddl.t WHERE id = 1",
        &["DROP DATABASE fresh_ddl", "CREATE DATABASE fresh_ddl"],
    ),
    case(
        "partition exchange",
        &[
            "CREATE TABLE t (id INT PRIMARY KEY, v INT) PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (100))",
            "INSERT INTO t VALUES (1, 10)",
            "CREATE TABLE u (id INT PRIMARY KEY, v INT)",
            "INSERT INTO u VALUES (1, 1000)",
        ],
        ONE,
        &["ALTER TABLE t EXCHANGE PARTITION p WITH TABLE u"],
    ),
    case(
        "partition truncate",
        &[
            "CREATE TABLE t (id INT PRIMARY KEY, v INT) PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (100))",
            "INSERT INTO t VALUES (1, 10)",
        ],
        ONE,
        &["ALTER TABLE t TRUNCATE PARTITION p"],
    ),
    case(
        "a stored generated column",
        &[
            "CREATE TABLE t (id INT PRIMARY KEY, a INT, v INT AS (a * 2) STORED)",
            "INSERT INTO t (id, a) VALUES (1, 5)",
        ],
        ONE,
        &["UPDATE t SET a = 6 WHERE id = 1"],
    ),
    case(
        "a virtual generated column",
        &[
            "CREATE TABLE t (id INT PRIMARY KEY, a INT, v INT AS (a * 2) VIRTUAL)",
            "INSERT INTO t (id, a) VALUES (1, 5)",
        ],
        ONE,
        &["UPDATE t SET a = 6 WHERE id = 1"],
    ),
];

#[test]
fn statements_that_change_definitions() {
    run_all("fresh_ddl", DEFINITIONS);
}

const VIEWS: &[&str] = &[
    "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
    "INSERT INTO t VALUES (1,10),(2,20)",
    "CREATE VIEW low AS SELECT id, v FROM t WHERE v < 100",
    "CREATE VIEW top AS SELECT id, v * 2 AS v FROM low",
];

#[test]
fn views() {
    run_all(
        "fresh_views",
        &[
            case(
                "the table below",
                VIEWS,
                "SELECT v FROM low WHERE id = 1",
                &["UPDATE t SET v = 11 WHERE id = 1"],
            ),
            case(
                "the table below the view below",
                VIEWS,
                "SELECT v FROM top WHERE id = 1",
                &["UPDATE t SET v = 11 WHERE id = 1"],
            ),
            case(
                "a write through the view",
                VIEWS,
                "SELECT v FROM t WHERE id = 1",
                &["UPDATE low SET v = 12 WHERE id = 1"],
            ),
            case(
                "create or replace",
                VIEWS,
                "SELECT v FROM low WHERE id = 1",
                &["CREATE OR REPLACE VIEW low AS SELECT id, -v AS v FROM t"],
            ),
            case(
                "alter view",
                VIEWS,
                "SELECT v FROM low WHERE id = 1",
                &["ALTER VIEW low AS SELECT id, -v AS v FROM t"],
            ),
            case(
                "the view below replaced",
                VIEWS,
                "SELECT v FROM top WHERE id = 1",
                &["CREATE OR REPLACE VIEW low AS SELECT id, -v AS v FROM t"],
            ),
            case("drop view", VIEWS, "SELECT v FROM top WHERE id = 1", &["DROP VIEW low"]),
            case(
                "a view in a table's place",
                VIEWS,
                "SELECT v FROM t WHERE id = 1",
                &["RENAME TABLE t TO u", "CREATE VIEW t AS SELECT id, v + 1 AS v FROM u"],
            ),
        ],
    );
}

#[test]
fn triggers_and_procedures() {
    let setup = &[
        CREATE,
        FILL,
        "CREATE TABLE src (id INT PRIMARY KEY)",
        "CREATE TRIGGER tr AFTER INSERT ON src FOR EACH ROW UPDATE t SET v = v + 100 WHERE id = 1",
        "CREATE PROCEDURE p() UPDATE t SET v = 55 WHERE id = 1",
        "CREATE FUNCTION f() RETURNS INT MODIFIES SQL DATA BEGIN UPDATE t SET v = 56 WHERE id = 1; RETURN 1; END",
    ];
    // A function that writes must be declared so, or trusted, where the binlog is on.
    with_trust(true);
    run_all(
        "fresh_programs",
        &[
            case("a trigger's target", setup, ONE, &["INSERT INTO src VALUES (1)"]),
            case("a procedure", setup, ONE, &["CALL p()"]),
            case("a function in SELECT", setup, ONE, &["SELECT f()"]),
            case("a function in SET", setup, ONE, &["SET @x = f()"]),
            case("a function in DO", setup, ONE, &["DO f()"]),
            case(
                "a compound statement's prepared text",
                setup,
                ONE,
                &["PREPARE s FROM 'CALL p()'", "EXECUTE s"],
            ),
        ],
    );
}

fn with_trust(on: bool) {
    for server in freshet_tests::server::all() {
        let set = format!("SET GLOBAL log_bin_trust_function_creators = {}", u8::from(on));
        freshet_tests::cached::run(&mut server.target.connect(), &[&set]);
    }
}

const FAMILY: &[&str] = &[
    "DROP DATABASE IF EXISTS fresh_family_far",
    "CREATE DATABASE fresh_family_far",
    "CREATE TABLE p (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE ON UPDATE CASCADE)",
    "ALTER TABLE c ADD UNIQUE KEY (p)",
    "CREATE TABLE g (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES c (p) ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE TABLE n (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE SET NULL ON UPDATE SET NULL)",
    "CREATE TABLE fresh_family_far.f (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES fresh_family.p (id) ON DELETE CASCADE ON UPDATE CASCADE)",
    "INSERT INTO p VALUES (1,10),(2,20)",
    "INSERT INTO c VALUES (11,1),(12,2)",
    "INSERT INTO g VALUES (21,1),(22,2)",
    "INSERT INTO n VALUES (31,1),(32,2)",
    "INSERT INTO fresh_family_far.f VALUES (41,1),(42,2)",
];

#[test]
fn foreign_keys_that_cascade() {
    const CHILD: &str = "SELECT id, p FROM c ORDER BY id";
    const GRANDCHILD: &str = "SELECT p FROM g WHERE id = 21";
    const NULLED: &str = "SELECT p FROM n WHERE id = 31";
    const FAR: &str = "SELECT p FROM fresh_family_far.f WHERE id = 41";
    const DELETE: &[&str] = &["DELETE FROM p WHERE id = 1"];
    const UPDATE: &[&str] = &["UPDATE p SET id = 3 WHERE id = 1"];
    run_all(
        "fresh_family",
        &[
            case("delete to the child", FAMILY, CHILD, DELETE),
            case("delete to the grandchild", FAMILY, GRANDCHILD, DELETE),
            case("delete sets null", FAMILY, NULLED, DELETE),
            case("delete across schemas", FAMILY, FAR, DELETE),
            case("update to the child", FAMILY, CHILD, UPDATE),
            case("update to the grandchild", FAMILY, GRANDCHILD, UPDATE),
            case("update sets null", FAMILY, NULLED, UPDATE),
            case("update across schemas", FAMILY, FAR, UPDATE),
            case(
                "multi-table delete",
                FAMILY,
                GRANDCHILD,
                &["DELETE p FROM p JOIN n ON n.p = p.id WHERE n.id = 31"],
            ),
        ],
    );
    // MySQL 9 updates the parent in place here, and no child goes.
    let replace = case("replace of the parent", FAMILY, GRANDCHILD, &["REPLACE INTO p VALUES (1, 99)"]);
    run_on(Flavor::MariaDb, "fresh_family", &[replace]);
    // The end of a row is logged as an update, and its children not at all.
    let versioned = &[
        "CREATE TABLE p (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING",
        "CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE)",
        "INSERT INTO p VALUES (1,10),(2,20)",
        "INSERT INTO c VALUES (11,1),(12,2)",
    ];
    run_on(Flavor::MariaDb, "fresh_ended", &[case("delete of a versioned parent", versioned, CHILD, DELETE)]);
    let shown = &[
        "CREATE TABLE p (id INT PRIMARY KEY, v INT, f TIMESTAMP(6) GENERATED ALWAYS AS ROW START, \
         u TIMESTAMP(6) GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (f, u)) WITH SYSTEM VERSIONING",
        versioned[1],
        "INSERT INTO p (id, v) VALUES (1,10),(2,20)",
        versioned[3],
    ];
    run_on(Flavor::MariaDb, "fresh_ended", &[case("the same with its period shown", shown, CHILD, DELETE)]);
    // What hangs on the family's tables must go first.
    for server in freshet_tests::server::all() {
        let drops = ["DROP DATABASE IF EXISTS fresh_family_far", "DROP DATABASE IF EXISTS fresh_family"];
        freshet_tests::cached::run(&mut server.target.connect(), &drops);
    }
}

const LOGGED: &[Case<'static>] = &[
    case(
        "statement format",
        TABLE,
        ONE,
        &["SET SESSION binlog_format = 'STATEMENT'", "UPDATE t SET v = 21 WHERE id = 1"],
    ),
    case(
        "statement format, a procedure",
        &[CREATE, FILL, "CREATE PROCEDURE p() UPDATE t SET v = 22 WHERE id = 1"],
        ONE,
        &["SET SESSION binlog_format = 'STATEMENT'", "CALL p()"],
    ),
    case(
        "mixed format",
        TABLE,
        ONE,
        &["SET SESSION binlog_format = 'MIXED'", "UPDATE t SET v = 23 WHERE id = 1"],
    ),
    case(
        "minimal images",
        TABLE,
        ONE,
        &["SET SESSION binlog_row_image = 'MINIMAL'", "UPDATE t SET v = 24 WHERE id = 1"],
    ),
    case(
        "noblob images",
        TABLE,
        ALL,
        &["SET SESSION binlog_row_image = 'NOBLOB'", "UPDATE t SET w = 'nb' WHERE id = 1"],
    ),
    case(
        "a big transaction",
        TABLE,
        ALL,
        &[
            "INSERT INTO t SELECT a.id * 1000 + b.id * 100 + c.id * 10 + d.id, 1, REPEAT('x', 20) FROM t a, t b, t c, t d",
        ],
    ),
];

const LOGGED_BY_MYSQL: &[Case<'static>] = &[
    case(
        "a compressed transaction",
        TABLE,
        ONE,
        &["SET SESSION binlog_transaction_compression = ON", "UPDATE t SET v = 25 WHERE id = 1"],
    ),
    case(
        "partial JSON",
        &[
            "CREATE TABLE t (id INT PRIMARY KEY, v JSON)",
            "INSERT INTO t VALUES (1, '{\"a\": 1, \"b\": \"long enough to be worth it\"}')",
        ],
        ONE,
        &[
            "SET SESSION binlog_row_value_options = 'PARTIAL_JSON'",
            "UPDATE t SET v = JSON_SET(v, '$.a', 2) WHERE id = 1",
        ],
    ),
];

const LOGGED_BY_MARIADB: &[Case<'static>] = &[
    case("insert returning", TABLE, ALL, &["INSERT INTO t VALUES (5, 5, 'e') RETURNING id"]),
    case("delete returning", TABLE, ALL, &["DELETE FROM t WHERE id = 1 RETURNING v"]),
    case("create or replace table", TABLE, ONE, &["CREATE OR REPLACE TABLE t (id INT, v INT)"]),
    case("a compound statement", TABLE, ONE, &["BEGIN NOT ATOMIC UPDATE t SET v = 26 WHERE id = 1; END"]),
    case("execute immediate", TABLE, ONE, &["EXECUTE IMMEDIATE 'UPDATE t SET v = 27 WHERE id = 1'"]),
    case(
        "set statement",
        TABLE,
        ONE,
        &["SET STATEMENT max_statement_time = 10 FOR UPDATE t SET v = 28 WHERE id = 1"],
    ),
];

#[test]
fn writes_that_are_logged_in_other_forms() {
    run_all("fresh_logged", LOGGED);
    run_on(Flavor::MySql, "fresh_logged_my", LOGGED_BY_MYSQL);
    run_on(Flavor::MariaDb, "fresh_logged_ma", LOGGED_BY_MARIADB);
}
