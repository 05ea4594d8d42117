use super::*;
use crate::modes::Flavor;

const MYSQL: Modes = Modes::new(Flavor::MySql);
const MARIADB: Modes = Modes::new(Flavor::MariaDb);

/// Returns the effects in short: writes, transaction, temporary, and the flags that are set.
fn short(text: &str, modes: Modes) -> String {
    let effects = effects(text.as_bytes(), modes);
    let list = |names: &[TableName]| {
        let full = |table: &TableName| match &table.schema {
            Some(schema) => format!("{schema}.{}", table.name),
            None => table.name.clone(),
        };
        names.iter().map(full).collect::<Vec<_>>().join(",")
    };
    let mut parts = vec![match &effects.writes {
        Writes::Nothing => "-".to_owned(),
        Writes::Tables(names) => list(names),
        Writes::Schema(schema) => format!("{schema}.*"),
        Writes::Accounts(users) => format!("@{}", users.join(",")),
        Writes::Everything => "*".to_owned(),
    }];
    match effects.transaction {
        TransactionEffect::None => {}
        other => parts.push(format!("{other:?}")),
    }
    match &effects.temporary {
        Temporary::None => {}
        Temporary::Creates(names) => parts.push(format!("temp+{}", list(names))),
        Temporary::Drops(names) => parts.push(format!("temp-{}", list(names))),
        Temporary::Unknown => parts.push("temp?".to_owned()),
    }
    match &effects.calls {
        Calls::Unknown if effects.writes == Writes::Everything => {}
        Calls::Unknown => parts.push("calls?".to_owned()),
        Calls::Named(calls) => {
            let full = |name: &TableName| {
                name.schema.iter().map(|s| format!("{s}.")).collect::<String>() + &name.name
            };
            parts.extend(calls.iter().map(|call| format!("{:?}={}", call.kind, full(&call.name))));
        }
    }
    match &effects.defines {
        Defines::Nothing => {}
        Defines::Tables(names) if effects.writes == Writes::Tables(names.clone()) => {}
        Defines::Tables(names) => parts.push(format!("defines={}", list(names))),
        Defines::Schema(Some(schema)) if effects.writes == Writes::Schema(schema.clone()) => {}
        Defines::Schema(schema) => parts.push(format!("defines={}.*", schema.as_deref().unwrap_or_default())),
        Defines::Routine => parts.push("defines".to_owned()),
        Defines::Everything if effects.writes == Writes::Everything => {}
        Defines::Everything => parts.push("defines*".to_owned()),
    }
    let flags = [
        (effects.session, "session"),
        (effects.locks_tables == Some(true), "lock"),
        (effects.locks_tables == Some(false), "unlock"),
        (effects.reads_last_statement, "last"),
        (effects.tracking != TrackingEffect::None, "tracking"),
        (effects.unlogged, "unlogged"),
        (effects.redirects, "redirects"),
        (effects.refused, "refused"),
    ];
    parts.extend(flags.iter().filter(|(set, _)| *set).map(|(_, name)| (*name).to_owned()));
    parts.join(" ")
}

const WORST: &str = "* MayCommit temp? session last";

const BOTH: &[(&str, &str)] = &[
    ("UPDATE {oj w LEFT JOIN u ON w.id = u.id} SET w.a = 1", "*"),
    ("", "-"),
    ("  -- nothing\n;;", "-"),
    // Rows
    ("SELECT 1", "-"),
    ("(SELECT a FROM t)", "-"),
    ("SELECT a FROM t FOR UPDATE", "-"),
    ("SELECT my_f(a) FROM t", "- Function=my_f"),
    ("SELECT db.f(1), DB.`F`(2)", "- Function=db.f Function=DB.F"),
    ("SELECT a.b.c(1)", "- calls?"),
    ("SELECT fä(1)", "- calls?"),
    ("SELECT 1 + f(g(1)), f(3)", "- Function=f Function=g"),
    ("SELECT count (1)", "- Function=count"),
    (
        "SELECT COUNT(*), NOW(), RAND(), CAST(a AS CHAR(10)) FROM t WHERE b IN (1) AND (c) AND EXISTS (SELECT 1)",
        "-",
    ),
    ("SELECT SLEEP(1), UUID()", "-"),
    ("SELECT FOUND_ROWS()", "- last"),
    ("SELECT ROW_COUNT(), @@warning_count", "- last"),
    ("SELECT @@session.error_count", "- last"),
    ("SELECT LAST_INSERT_ID()", "- last"),
    ("SELECT GET_LOCK('a', 1)", "- session"),
    ("SELECT @a := 1", "- session"),
    ("SELECT a INTO @x FROM t", "- session"),
    ("SELECT a FROM t WHERE b = @x", "-"),
    ("SELECT a INTO OUTFILE 'x' FROM t", "-"),
    ("WITH c AS (SELECT 1) SELECT * FROM c", "-"),
    ("WITH c AS (SELECT 1) UPDATE t JOIN c SET t.a = 1", "t,c"),
    ("WITH c AS (SELECT 1) DELETE FROM t WHERE a IN (SELECT * FROM c)", "t"),
    ("INSERT INTO t VALUES (1, 'a')", "t"),
    ("INSERT INTO t(a, b) VALUES (1, NOW()), (2, f2)", "t"),
    ("INSERT INTO db.t (a) SELECT b FROM u", "db.t"),
    ("INSERT LOW_PRIORITY IGNORE t SET a = 1 ON DUPLICATE KEY UPDATE a = VALUES(a) + 1", "t"),
    ("INSERT INTO t (a) VALUES (1) AS new(m) ON DUPLICATE KEY UPDATE a = m", "t"),
    ("INSERT INTO t VALUES (f(1))", "t Function=f"),
    ("INSERT INTO t VALUES (1) RETURNING id", "t"),
    ("REPLACE DELAYED INTO `t` VALUES (1)", "t"),
    ("INSERT INTO t PARTITION (p0) VALUES (1)", "t"),
    ("INSERT INTO tä VALUES (1)", "*"),
    ("UPDATE t SET a = 1 WHERE b = 2", "t"),
    ("UPDATE IGNORE db.t AS x, u y JOIN (SELECT 1 FROM z) d ON x.a = d.b SET x.a = 1", "db.t,u,z"),
    ("UPDATE t LEFT JOIN u USING (id) SET u.x = 1", "t,u,id"),
    ("UPDATE t SET a = f(1)", "t Function=f"),
    ("DELETE FROM t WHERE a = d.f(b)", "t Function=d.f"),
    ("UPDATE t PARTITION (p1) SET a = 1 ORDER BY b LIMIT 3", "t,p1"),
    ("DELETE FROM t WHERE a = 1", "t"),
    ("DELETE FROM t", "t"),
    ("DELETE a.*, db.b FROM t AS a JOIN db.b USING (x) WHERE a.y = 1", "a,db.b,t,x"),
    ("DELETE FROM a USING t AS a, u WHERE a.x = u.x", "a,t,u"),
    ("DELETE QUICK FROM t ORDER BY a LIMIT 1", "t"),
    (
        "LOAD DATA LOCAL INFILE 'x' REPLACE INTO TABLE db.t FIELDS TERMINATED BY ',' (a, @b) SET c = UPPER(@b)",
        "db.t",
    ),
    ("LOAD XML INFILE 'x' INTO TABLE t", "t"),
    ("DO SLEEP(1)", "-"),
    ("DO f(1)", "- Function=f"),
    ("CALL p(1)", "- Procedure=p last"),
    ("call d.`P`;", "- Procedure=d.P last"),
    ("CALL p(p(1), @x, (SELECT a FROM t))", "- Function=p Procedure=p session last"),
    ("CALL a.b.c()", WORST),
    ("CALL pä()", WORST),
    ("CALL p() x", "- Procedure=p last"),
    ("CALL p(); UPDATE t SET a = 1", WORST),
    ("SELECT 1; SELECT f()", WORST),
    ("CREATE PROCEDURE p() SELECT 1; CALL p()", WORST),
    ("DROP FUNCTION f; INSERT INTO t VALUES (1)", WORST),
    ("CREATE PROCEDURE p() DELETE FROM t WHERE f(1)", "- MayCommit defines"),
    ("CREATE FUNCTION d.f(x INT) RETURNS INT RETURN g(x)", "- MayCommit defines"),
    ("ALTER PROCEDURE p COMMENT 'x'", "- MayCommit defines"),
    ("DROP PROCEDURE IF EXISTS p", "- MayCommit defines"),
    ("CREATE FUNCTION f RETURNS STRING SONAME 'f.so'", "- MayCommit defines*"),
    ("CREATE PACKAGE BODY p AS x", "- MayCommit defines*"),
    ("HANDLER t OPEN", "- session"),
    ("TABLE t", "-"),
    // Definitions
    ("CREATE TABLE t (id INT PRIMARY KEY, KEY k (id))", "t MayCommit"),
    ("CREATE TABLE IF NOT EXISTS db.t LIKE u", "db.t MayCommit"),
    ("CREATE TABLE t (a INT, FOREIGN KEY (a) REFERENCES u (a) ON DELETE CASCADE)", "t MayCommit redirects"),
    ("CREATE TABLE t AS SELECT f(1)", "* MayCommit"),
    ("CREATE TABLE t SELECT a FROM u", "t MayCommit"),
    ("CREATE TEMPORARY TABLE t (id VARCHAR(20), KEY k (id))", "- temp+t"),
    ("CREATE TEMPORARY TABLE t SELECT f(a) FROM u", "* temp+t"),
    ("DROP TEMPORARY TABLE IF EXISTS t, u", "- temp-t,u"),
    ("DROP TABLE IF EXISTS t, db.u CASCADE", "t,db.u MayCommit temp-t,db.u"),
    ("ALTER TABLE t ADD COLUMN x INT, RENAME TO db.u", "t,db.u MayCommit temp+t,db.u"),
    ("ALTER TABLE t EXCHANGE PARTITION p WITH TABLE u", "t,u MayCommit temp+t,u"),
    ("ALTER TABLE t RENAME COLUMN a TO b, RENAME INDEX c TO d", "t MayCommit"),
    ("TRUNCATE t", "t MayCommit"),
    ("TRUNCATE TABLE db.t", "db.t MayCommit"),
    ("RENAME TABLE a TO b, c TO d", "a,b,c,d MayCommit redirects"),
    ("RENAME TABLE a TO b; INSERT INTO b VALUES (1)", WORST),
    ("CREATE UNIQUE INDEX i ON db.t (a)", "db.t MayCommit"),
    ("DROP INDEX `PRIMARY` ON t", "t MayCommit"),
    (
        "CREATE OR REPLACE ALGORITHM=MERGE DEFINER=`root`@`%` SQL SECURITY DEFINER VIEW v AS SELECT 1",
        "v MayCommit",
    ),
    ("ALTER VIEW db.v AS SELECT 1", "db.v MayCommit"),
    ("DROP VIEW v, w", "v,w MayCommit"),
    ("CREATE DATABASE IF NOT EXISTS d", "d.* MayCommit"),
    ("DROP SCHEMA d", "d.* MayCommit"),
    ("CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.a = 1", " MayCommit defines=t redirects"),
    ("CREATE TRIGGER d.g BEFORE INSERT ON t FOR EACH ROW SET NEW.a = 1", " MayCommit defines=d.t redirects"),
    ("DROP TRIGGER g", " MayCommit defines=.* redirects"),
    ("DROP TRIGGER IF EXISTS d.g", " MayCommit defines=d.* redirects"),
    ("CREATE USER u", "@u MayCommit"),
    ("GRANT SELECT ON a.* TO u", "@u MayCommit"),
    ("GRANT a TO 'B'@'%', c", "@b,%,c MayCommit"),
    ("GRANT SELECT ON a.* TO ''@'%'", "* MayCommit"),
    ("GRANT SELECT ON a.* TO PUBLIC", "* MayCommit"),
    ("ALTER USER CURRENT_USER() IDENTIFIED BY 'x'", "* MayCommit"),
    ("SET PASSWORD = 'x'", "* MayCommit session"),
    ("REVOKE ALL ON a.* FROM u", "@u MayCommit"),
    ("SET PASSWORD FOR u = 'x'", "@u,x MayCommit session"),
    // Transactions
    ("BEGIN", "- Begins"),
    ("BEGIN WORK", "- Begins"),
    ("START TRANSACTION READ ONLY, WITH CONSISTENT SNAPSHOT", "- Begins"),
    ("COMMIT", "- Ends"),
    ("COMMIT WORK AND NO CHAIN", "- Ends"),
    ("COMMIT AND CHAIN", "- Ends"),
    ("COMMIT RELEASE", "- Ends"),
    ("ROLLBACK", "- RollsBack"),
    ("ROLLBACK TO SAVEPOINT a", "-"),
    ("ROLLBACK AND CHAIN", "- RollsBack"),
    ("COMMIT AND NOTHING", "- MayCommit"),
    ("SAVEPOINT a", "-"),
    ("XA START 'a'", "- MayCommit session"),
    ("XA COMMIT 'a'", "* MayCommit session"),
    ("XA RECOVER", "-"),
    ("SET autocommit=0", "- MayCommit session"),
    ("SET @@session.autocommit = 1", "- MayCommit session"),
    ("SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "- session"),
    ("BEGIN; UPDATE t SET a = 1; COMMIT", "t MayCommit"),
    // The session
    ("SET NAMES utf8mb4", "- session"),
    ("SET GLOBAL time_zone = '+00:00'", "- session"),
    ("SET time_zone = 'global', @@PERSIST.sort_buffer_size = 1", "- session"),
    ("SET @@global.time_zone = @@session.time_zone; SET NAMES utf8mb4", "- session"),
    ("SET time_zone = 'global'", "- session"),
    ("SET @x = 1, @y = (SELECT f(1))", "- Function=f session"),
    ("SET sql_log_bin = 0", "- session unlogged"),
    ("SET insert_id = 7", "- session unlogged"),
    ("SET @@session.gtid_seq_no = 7", "- session unlogged"),
    ("PREPARE s FROM 'SET gtid_seq_no = 7'", "- session unlogged"),
    ("PREPARE s FROM 'SET @@insert_id = 7'", "- session unlogged"),
    ("PREPARE s FROM 'SELECT LAST_INSERT_ID()'", "- session"),
    ("SET SESSION session_track_gtids = OWN_GTID", "- session tracking"),
    ("USE db", "- session"),
    ("LOCK TABLES t READ", "- MayCommit session lock"),
    ("UNLOCK TABLES", "- MayCommit session unlock"),
    ("FLUSH TABLES WITH READ LOCK", "- MayCommit session lock"),
    ("FLUSH TABLES", "- MayCommit"),
    ("FLUSH PRIVILEGES", "* MayCommit"),
    ("PREPARE s FROM 'DELETE FROM t'", "- session"),
    ("EXECUTE s USING @a", WORST),
    ("EXECUTE IMMEDIATE 'DROP TABLE t'", WORST),
    ("DEALLOCATE PREPARE s", "- session"),
    ("GET DIAGNOSTICS @n = NUMBER", "- session last"),
    ("SHOW WARNINGS", "- last"),
    ("SHOW COUNT(*) ERRORS", "- last"),
    ("SHOW TABLES", "-"),
    ("SHOW STATUS LIKE 'Last_query_cost'", "- last"),
    ("EXPLAIN SELECT 1", "-"),
    ("EXPLAIN DELETE FROM t", "-"),
    ("DESC t", "-"),
    ("EXPLAIN ANALYZE UPDATE t, u SET t.a = 1", "t,u"),
    ("ANALYZE TABLE t, u", "t,u MayCommit"),
    ("OPTIMIZE LOCAL TABLE t", "t MayCommit"),
    ("CHECK TABLE t", "- MayCommit"),
    ("KILL 3", "-"),
    ("RESET MASTER", "* MayCommit"),
    // What is not understood
    ("FROB t", "- refused"),
    ("frob 'open", "- refused"),
    ("CREATE TABEL t (a INT)", "- refused"),
    ("DROP", "- refused"),
    ("INSERT INTO 5 VALUES (1)", "- refused"),
    ("UPDATE SET a = 1", "- refused"),
    ("frob: BEGIN", WORST),
    ("frob := 1", WORST),
    ("frob.x = 1", WORST),
    ("frob$ x", "- refused"),
    ("SELECT 'open", WORST),
    ("INSERT INTO t VALUES (1) /*!100500 x */", WORST),
    ("BINLOG 'abc'", WORST),
    ("SELECT 1; FROB", "- refused"),
    ("INSERT INTO a VALUES (1); FROB; DELETE FROM b", "a refused"),
    ("INSERT INTO a VALUES (1); INSERT INTO b VALUES (2)", "a,b"),
    ("/*!40000 INSERT INTO t VALUES (1) */", "t"),
    ("INSERT /*+ SET_VAR(foreign_key_checks=OFF) */ INTO t VALUES (1)", "t"),
];

const MARIADB_ONLY: &[(&str, &str)] = &[
    ("SET STATEMENT max_statement_time=1 FOR UPDATE t SET a = 1", "t session"),
    ("SET STATEMENT sql_log_bin=0 FOR DELETE FROM t", "t session unlogged"),
    ("BEGIN NOT ATOMIC DELETE FROM t; END", "t"),
    ("BEGIN NOT ATOMIC DELETE FROM t; PREPARE s FROM @a; END", WORST),
    ("BEGIN NOT ATOMIC DELETE FROM t; END; DELETE FROM u", WORST),
    ("ANALYZE FORMAT=JSON UPDATE t SET a = 1", "t"),
    ("ANALYZE DELETE FROM t", "t"),
    ("DELETE HISTORY FROM t", "t"),
    ("SELECT NEXT VALUE FOR s", "-"),
    ("SELECT NEXTVAL(s)", "-"),
    ("CREATE SEQUENCE s", "s MayCommit"),
    ("DROP SEQUENCE s", "s MayCommit temp-s"),
    ("CREATE OR REPLACE TABLE t (a INT)", "t MayCommit"),
    ("IF 1 THEN DELETE FROM t; END IF", "t"),
    ("/*M! INSERT INTO t VALUES (1) */", "t"),
    ("/*!50701 INSERT INTO t VALUES (1) */", "-"),
    ("BACKUP STAGE START", "- MayCommit session"),
];

#[test]
fn effects_of_statements() {
    for (text, expected) in BOTH {
        for modes in [MYSQL, MARIADB] {
            assert_eq!(short(text, modes), *expected, "{text}");
        }
    }
    for (text, expected) in MARIADB_ONLY {
        assert_eq!(short(text, MARIADB), *expected, "{text}");
    }
    assert_eq!(short("/*M! INSERT INTO t VALUES (1) */", MYSQL), "-");
    assert_eq!(short("SELECT 1", Modes { other_syntax: true, ..MYSQL }), WORST);
    assert_eq!(short("FROB t", Modes { other_syntax: true, ..MYSQL }), "- refused");
}

#[test]
fn a_bulk_insert_is_read_to_its_end_without_being_kept() {
    let rows = "(1, 'abc'), ".repeat(20_000);
    assert_eq!(short(&format!("INSERT INTO t VALUES {rows}(1, 'x')"), MYSQL), "t");
    assert_eq!(short(&format!("INSERT INTO t VALUES {rows}(1, f('x'))"), MYSQL), "t Function=f");
    let calls: String = (0..40).map(|n| format!("f{n}(), ")).collect();
    assert_eq!(short(&format!("SELECT {calls} 1"), MYSQL), "- calls?");
    assert_eq!(short(&format!("UPDATE {}t SET a = 1", "t, ".repeat(5000)), MYSQL), "*");
}

/// Whatever word stands anywhere, no table that is written may be missed.
#[test]
fn no_word_hides_a_written_table() {
    let forms = [
        ("UPDATE t #, u SET u.a = 1", "u"),
        ("UPDATE # JOIN u SET u.a = 1", "u"),
        ("UPDATE t AS # JOIN u USING (a) SET u.a = 1", "u"),
        ("DELETE x FROM t #, u AS x WHERE 1", "u"),
        ("DELETE x FROM # JOIN u AS x", "u"),
        ("DELETE #, x FROM t #, u x", "u"),
        ("DELETE FROM x USING t #, u AS x", "u"),
        ("DELETE FROM u # WHERE a = 1", "u"),
        ("INSERT INTO u (#) VALUES (1)", "u"),
        ("INSERT u SET # = 1", "u"),
        ("REPLACE INTO u SELECT # FROM t", "u"),
        ("WITH # AS (SELECT 1) UPDATE u SET a = 1", "u"),
        ("WITH # (a) AS (SELECT 1) DELETE FROM u", "u"),
        ("DROP TABLE IF EXISTS #, u", "u"),
        ("ALTER TABLE t ADD COLUMN # INT, RENAME TO u", "u"),
        ("TRUNCATE u", "u"),
    ];
    let free = |word: &&&str| !crate::reserved::is_reserved(word.as_bytes());
    for word in sqlparser::keywords::ALL_KEYWORDS.iter().filter(free) {
        let reserved_by_mariadb = *word == "RETURNING";
        for (form, table) in forms {
            for modes in [MYSQL, MARIADB] {
                if reserved_by_mariadb && modes == MARIADB {
                    continue;
                }
                let text = form.replace('#', word);
                let found = effects(text.as_bytes(), modes).writes;
                let named =
                    matches!(&found, Writes::Tables(names) if names.contains(&TableName::bare(table)));
                assert!(named || found == Writes::Everything, "{text}: {found:?}");
            }
        }
    }
    // A word that could be taken for a modifier is the table itself.
    assert_eq!(short("INSERT quick VALUES (1)", MYSQL), "quick");
    assert_eq!(short("INSERT INTO concurrent VALUES (1)", MYSQL), "concurrent");
    assert_eq!(short("DELETE FROM quick", MYSQL), "quick");
}

/// A text of many statements that name many tables each is taken for one that may read and write anything, before the
/// tables of all of them together are compared with each other.
#[test]
fn many_tables_of_many_statements_are_everything() {
    let names = |n: usize| (0..200).map(|at| format!("t{n}_{at}")).collect::<Vec<_>>().join(",");
    let text = |unit: &dyn Fn(usize) -> String, times: usize| (0..times).map(unit).collect::<String>();
    let updates = |times| text(&|n| format!("UPDATE {} SET a=1;", names(n)), times);
    let selects = |times| text(&|n| format!("SELECT 1 FROM {};", names(n)), times);
    let drops = |times| text(&|n| format!("DROP TEMPORARY TABLE {};", names(n)), times);
    let of = |text: String| effects(text.as_bytes(), Modes::new(Flavor::MySql));
    assert!(matches!(of(updates(3)).writes, Writes::Tables(tables) if tables.len() == 600));
    assert_eq!(of(updates(100)).writes, Writes::Everything);
    assert!(matches!(of(selects(3)).reads, Reads::Tables(tables) if tables.len() == 600));
    assert_eq!(of(selects(100)).reads, Reads::Unknown);
    assert!(matches!(of(drops(3)).temporary, Temporary::Drops(tables) if tables.len() == 600));
    assert_eq!(of(drops(100)).temporary, Temporary::Unknown);
}

#[test]
fn words_in_front_of_a_statement_are_followed_once() {
    for repeated in [
        "ANALYZE ",
        "EXPLAIN ANALYZE ",
        "ANALYZE (",
        "SET STATEMENT a = 1 FOR (",
        "DESC ANALYZE FORMAT = TREE ",
    ] {
        let text = format!("{}DELETE FROM t", repeated.repeat(100_000));
        assert_eq!(effects(text.as_bytes(), MARIADB).writes, Writes::Everything, "{repeated}");
    }
    let text = "SET STATEMENT a = 1 FOR ANALYZE DELETE FROM t";
    assert_eq!(effects(text.as_bytes(), MARIADB).writes, Writes::Tables(vec![TableName::bare("t")]));
}

#[test]
fn a_document_is_read_as_a_table_and_nothing_is_called() {
    let calls = |text: &str| match effects(text.as_bytes(), MARIADB).calls {
        Calls::Named(calls) => calls.into_iter().map(|call| call.name.name).collect::<Vec<_>>(),
        Calls::Unknown => vec!["?".to_owned()],
    };
    const TABLE: &str = "JSON_TABLE(j.doc, '$[*]' COLUMNS (a DECIMAL(9,2) PATH '$', NESTED PATH '$.b' COLUMNS (c INT PATH '$')))";
    assert_eq!(calls(&format!("SELECT x.a FROM j, {TABLE} AS x")), [""; 0]);
    assert_eq!(calls(&format!("SELECT f(x.a) FROM j, {TABLE} AS x")), ["f"]);
    assert_eq!(calls(&format!("SELECT json_table(1) FROM j, {TABLE} AS x")), ["JSON_TABLE"]);
    assert_eq!(
        calls(&format!("SELECT x.a FROM j, {TABLE} AS x WHERE json_table('a', columns(1))")),
        ["columns", "JSON_TABLE"]
    );
    assert_eq!(calls("SELECT json_table(columns(1))"), ["columns", "JSON_TABLE"]);
    assert_eq!(calls("SELECT json_table(1"), ["?"]);
}

#[test]
fn geometries_without_arguments_and_points_of_other_than_two_are_called() {
    let calls = |text: &str, modes| match effects(text.as_bytes(), modes).calls {
        Calls::Named(calls) => calls.into_iter().map(|call| call.name.name).collect::<Vec<_>>(),
        Calls::Unknown => vec!["?".to_owned()],
    };
    for (text, called) in [
        ("SELECT POINT(1, 2), LineString(POINT(1, f(2)), POINT(3, 4)), Polygon(a)", "f"),
        ("SELECT point(1) FROM t", "point"),
        ("SELECT point(1, (2), f(3, 4))", "f point"),
        ("SELECT linestring ( ) + POINT(1, (SELECT MAX(a) FROM t))", "linestring"),
        ("SELECT geometrycollection(), multipoint(), multilinestring(1)", "geometrycollection multipoint"),
        ("SELECT point(1, 2", "?"),
    ] {
        assert_eq!(calls(text, MARIADB).join(" "), called, "{text}");
    }
    assert_eq!(calls("SELECT point(1), linestring()", MYSQL), [""; 0]);
    for modes in [MYSQL, MARIADB] {
        assert_eq!(
            calls(
                "SELECT * FROM t, LATERAL (SELECT t.a) x JOIN LATERAL (WITH c AS (SELECT 1) TABLE c) y",
                modes
            ),
            [""; 0]
        );
        for text in ["SELECT lateral(1)", "SELECT a, lateral((SELECT 2)) FROM t"] {
            assert_eq!(calls(text, modes), ["lateral"]);
        }
    }
}

#[test]
fn functions_of_the_other_server_may_be_stored_ones() {
    let calls =
        |name: &str, modes| effects(format!("SELECT {name}(1)").as_bytes(), modes).calls != Calls::NOTHING;
    for name in ["BINLOG_GTID_POS", "DES_ENCRYPT", "ENCRYPT", "LASTVAL", "MASTER_GTID_WAIT", "ROWNUM"] {
        assert!(calls(name, MYSQL) && (name == "ROWNUM" || !calls(name, MARIADB)), "{name}");
    }
    for name in ["GTID_SUBSET", "GTID_SUBTRACT", "WAIT_FOR_EXECUTED_GTID_SET"] {
        assert!(calls(name, MARIADB) && !calls(name, MYSQL), "{name}");
    }
}

#[test]
fn to_advance_a_sequence_changes_nothing_that_is_cached() {
    assert_eq!(effects(b"SELECT NEXTVAL(s), NEXT VALUE FOR s, LASTVAL(s)", MARIADB), Effects::none());
    let Effects { writes, calls, .. } = effects(b"INSERT INTO t VALUES (NEXTVAL(s), 1)", MARIADB);
    assert_eq!((writes, calls), (Writes::Tables(vec![TableName::bare("t")]), Calls::NOTHING));
    let Effects { calls, .. } = effects(b"SELECT NEXTVAL(s)", MYSQL);
    assert!(!calls.is_nothing(), "it may be a stored function");
}

#[test]
fn what_no_binlog_tells_of() {
    for (text, expected) in [
        ("SET GLOBAL a = 1", Around::Globals),
        ("SET @@GLOBAL.a = 1", Around::Globals),
        ("SET b = 2, PERSIST a = 1", Around::Globals),
        ("SET SESSION b = 2, @@persist.a = 1", Around::Globals),
        ("SET GLOBAL TRANSACTION ISOLATION LEVEL READ COMMITTED", Around::Globals),
        ("SET a = @@GLOBAL.a", Around::Nothing),
        ("SET PERSIST_ONLY a = 1", Around::Nothing),
        ("SET SESSION a = 1", Around::Nothing),
        ("SELECT @@GLOBAL.a", Around::Nothing),
        ("FLUSH PRIVILEGES", Around::Rights),
        ("FLUSH NO_WRITE_TO_BINLOG HOSTS, PRIVILEGES", Around::Rights),
        ("FLUSH TABLES", Around::Nothing),
        ("GRANT SELECT ON a.* TO b", Around::Accounts),
        ("SET PASSWORD = 'x'", Around::Accounts),
        ("SET DEFAULT ROLE r FOR u", Around::Accounts),
        ("DO 1; SET GLOBAL a = 1", Around::Globals),
        ("SET PASSWORD = 'x'; SET GLOBAL a = 1", Around::Rights),
    ] {
        assert_eq!(effects(text.as_bytes(), MYSQL).around, expected, "{text}");
    }
}

#[test]
fn a_definition_names_what_it_defines() {
    let names = |names: &[&str]| Defines::Tables(names.iter().map(|name| TableName::bare(*name)).collect());
    for (text, defines) in [
        ("CREATE TABLE t (a INT REFERENCES u (a))", names(&["t"])),
        ("CREATE TABLE t SELECT a FROM u", names(&["t"])),
        ("ALTER TABLE t ADD FOREIGN KEY (a) REFERENCES u (a)", names(&["t"])),
        ("RENAME TABLE a TO b, c TO a", names(&["a", "b", "c", "a"])),
        ("CREATE VIEW v AS SELECT a FROM t", names(&["v"])),
        ("OPTIMIZE TABLE t", names(&["t"])),
        ("CREATE TABLE a (id INT); CREATE TABLE b (id INT); UPDATE c SET d = 1", names(&["a", "b"])),
        ("CREATE TABLE a (id INT); DROP DATABASE d", Defines::Everything),
        ("ALTER DATABASE COLLATE utf8mb4_bin", Defines::Everything),
        ("DROP TABLE tä", Defines::Everything),
        ("RENAME USER a TO b", Defines::Nothing),
        ("TRUNCATE t", Defines::Nothing),
        ("CREATE TEMPORARY TABLE t (a INT)", Defines::Nothing),
        ("UPDATE t SET a = 1", Defines::Nothing),
        ("BEGIN; UPDATE t SET a = 1; COMMIT", Defines::Nothing),
        ("CREATE PACKAGE p AS x", Defines::Everything),
    ] {
        assert_eq!(effects(text.as_bytes(), MYSQL).defines, defines, "{text}");
    }
}

/// Words that are grammar in a place of their own, and stored functions anywhere else: one that writes has to be fenced.
#[test]
fn words_that_may_be_stored_functions_are_called() {
    for word in
        ["AGAINST", "CUBE", "DUMPFILE", "DUPLICATE", "LATERAL", "MEMBER", "OF", "ROLLUP", "VIEW", "WITHIN"]
    {
        let text = format!("SELECT {word}(1)");
        for modes in [MARIADB, MYSQL] {
            assert!(!effects(text.as_bytes(), modes).calls.is_nothing(), "{text}");
        }
    }
    for text in [
        "SELECT id FROM t WHERE MATCH (w) AGAINST ('x')",
        "SELECT id FROM t WHERE 1 MEMBER OF ('[1]')",
        "SELECT id FROM t JOIN LATERAL (SELECT 1) u ON 1",
    ] {
        assert!(effects(text.as_bytes(), MYSQL).calls.is_nothing(), "{text}");
    }
}
