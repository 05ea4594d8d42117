use super::*;
use crate::calls::RoutineKind;
use crate::modes::Flavor;

fn short(text: &str, flavor: Flavor) -> String {
    let create = format!("CREATE DEFINER=`a`@`%` TRIGGER `g` AFTER INSERT ON `t` FOR EACH ROW {text}");
    told(trigger_body(create.as_bytes(), Modes::new(flavor)))
}

fn told(body: Option<BodyEffects>) -> String {
    let Some(body) = body else { return "?".to_owned() };
    let list = |names: &[TableName]| {
        let full = |table: &TableName| match &table.schema {
            Some(schema) => format!("{schema}.{}", table.name),
            None => table.name.clone(),
        };
        names.iter().map(full).collect::<Vec<_>>().join(",")
    };
    let session = if body.session { " session" } else { "" };
    let commits = if body.commits { " commits" } else { "" };
    let asks = if body.reads_last_statement { " asks" } else { "" };
    let calls: String = body.calls.iter().map(called).collect();
    let rows = body.rows.iter().map(|write| write.what.table().clone());
    let written: Vec<TableName> = body.writes.iter().cloned().chain(rows).collect();
    format!("{}<{}{session}{commits}{asks}{calls}", list(&written), list(&body.reads))
}

fn called(call: &Call) -> String {
    let kind = if call.kind == RoutineKind::Procedure { "call " } else { "" };
    let schema = call.name.schema.iter().map(|schema| format!("{schema}.")).collect::<String>();
    format!(" {kind}{schema}{}()", call.name.name)
}

const BODIES: &[(&str, &str)] = &[
    ("INSERT INTO log VALUES (NEW.id, NOW(), USER())", "log<"),
    ("INSERT INTO d.log SELECT NEW.id, a FROM x", "d.log<x"),
    ("SET NEW.a = UPPER(NEW.a), NEW.b = NOW()", "<"),
    ("BEGIN END", "<"),
    ("SET NEW.a = FOUND_ROWS()", "< asks"),
    ("BEGIN IF ROW_COUNT() > 0 THEN DELETE FROM a; END IF; END", "a<a asks"),
    ("INSERT INTO a SELECT @@warning_count FROM b", "a<b asks"),
    ("BEGIN INSERT INTO a VALUES (1); UPDATE b SET c = c + 1 WHERE id = OLD.id; END", "a,b<b"),
    ("begin insert into a values (1); end;", "a<"),
    ("x: BEGIN LEAVE x; END x;", "<"),
    (
        "BEGIN IF NEW.a <> OLD.a THEN INSERT INTO a VALUES (1); ELSEIF NEW.b THEN DELETE FROM b; \
         ELSE INSERT INTO c VALUES (CASE WHEN NEW.x THEN 1 ELSE 2 END); END IF; END",
        "a,b,c<b",
    ),
    ("IF (SELECT COUNT(*) FROM v) > 0 THEN INSERT INTO a VALUES (1); END IF", "a<v"),
    ("CASE NEW.a WHEN 1 THEN DELETE FROM a; WHEN 2 THEN DELETE FROM b; ELSE BEGIN END; END CASE", "a,b<a,b"),
    ("CASE WHEN CASE NEW.a WHEN 1 THEN 2 END = 2 THEN DELETE FROM a; END CASE", "a<a"),
    (
        "BEGIN DECLARE n, m INT DEFAULT 0; DECLARE EXIT HANDLER FOR SQLEXCEPTION, SQLSTATE '23000' BEGIN END; \
         SELECT COUNT(*) INTO n FROM t; SET n = n + 1, m := IF(n > 1, 2, 3); INSERT INTO a VALUES (n); END",
        "a<t",
    ),
    (
        "BEGIN DECLARE done INT; DECLARE c CURSOR FOR SELECT id FROM t, v WHERE a = 1; \
         DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = 1; OPEN c; \
         l: LOOP FETCH c INTO done; IF done THEN LEAVE l; END IF; INSERT INTO a VALUES (1); END LOOP l; CLOSE c; END",
        "a<t,v",
    ),
    ("BEGIN DECLARE i INT; WHILE i < 3 DO SET i = i + 1; DELETE FROM a; END WHILE; END", "a<a"),
    ("BEGIN DECLARE i INT; REPEAT SET i = i + 1; UNTIL i > 3 END REPEAT; END", "<"),
    ("SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'", "<"),
    ("SET @last = NEW.id", "< session"),
    ("BEGIN SELECT 1 INTO @x; END", "< session"),
    // What is called
    ("INSERT INTO a VALUES (f(1))", "a< f()"),
    ("SET NEW.a = f(1)", "< f()"),
    ("SET NEW.a = d.f(1) + `g h`(2)", "< d.f() g h()"),
    ("BEGIN DECLARE a INT DEFAULT f(); END", "< f()"),
    ("IF f() THEN DELETE FROM a; END IF", "a<a f()"),
    ("CALL p()", "< asks call p()"),
    ("CALL d.p(p(1), (SELECT a FROM x))", "<x asks p() call d.p()"),
    ("CALL p", "< asks call p()"),
    ("CALL p(@a)", "< session asks call p()"),
    ("BEGIN END; CALL p()", "?"),
    ("BEGIN IF 1 THEN CALL p(); END IF; END", "< asks call p()"),
    ("BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION CALL p(); END", "< asks call p()"),
    ("BEGIN DECLARE c CURSOR FOR SELECT f(a) FROM t; END", "<t f()"),
    ("RETURN f(1)", "< f()"),
    ("RETURN (SELECT a FROM t WHERE b = g(c))", "<t g()"),
    ("SELECT count (a) FROM t", "<t count()"),
    // Transactions
    ("BEGIN START TRANSACTION; INSERT INTO a VALUES (1); COMMIT; END", "a< commits"),
    ("BEGIN START TRANSACTION READ WRITE; SAVEPOINT x; ROLLBACK TO x; ROLLBACK WORK; END", "< commits"),
    (
        "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN GET DIAGNOSTICS CONDITION 1 @e = MESSAGE_TEXT; ROLLBACK; \
         RESIGNAL; END; DELETE FROM a; END",
        "a<a session commits asks",
    ),
    // Types are no calls
    (
        "BEGIN DECLARE a VARCHAR(20) CHARACTER SET latin1 DEFAULT 'x'; DECLARE b ENUM('a','b'); DECLARE c TEXT(9); \
         DECLARE d DECIMAL(10,2) UNSIGNED; DECLARE e BIT(3) DEFAULT b'1'; SET e = 2; END",
        "<",
    ),
    // A string is a string
    ("SELECT 'a''b'; DELETE FROM t; SELECT 'c''d'", "?"),
    ("BEGIN SELECT 'a''b'; DELETE FROM t; SELECT 'c\\'d'; END", "t<t"),
    // What is not understood
    ("SET sql_log_bin = 0", "?"),
    ("BEGIN DECLARE sql_log_bin INT; SET sql_log_bin = 0; END", "<"),
    ("BEGIN DECLARE sql_log_bin CURSOR FOR SELECT 1; SET sql_log_bin = 0; END", "?"),
    ("BEGIN DECLARE sql_log_bin CONDITION FOR 1234; SET sql_log_bin = 0; END", "?"),
    ("SET SESSION sql_mode = ''", "?"),
    ("SET @@sql_mode = ''", "?"),
    ("BEGIN SET undeclared = 1; END", "?"),
    ("CALL p(1, 2); CALL q()", "?"),
    ("CALL a.b.c()", "?"),
    ("CALL pä()", "?"),
    ("SET NEW.a = a.b.c(1)", "?"),
    ("SET NEW.a = fä(1)", "?"),
    ("BEGIN BEGIN DECLARE autocommit INT; END; SET autocommit = 0; END", "?"),
    ("BEGIN DECLARE r ROW (a INT, b INT); END", "?"),
    ("BEGIN DECLARE c CURSOR (p INT) FOR SELECT 1; END", "?"),
    ("BEGIN COMMIT AND CHAIN; END", "?"),
    ("BEGIN ROLLBACK RELEASE; END", "?"),
    ("BEGIN SET TRANSACTION READ ONLY; END", "?"),
    ("BEGIN XA START 'a'; END", "?"),
    ("BEGIN EXECUTE IMMEDIATE 'DELETE FROM t'; END", "?"),
    ("BEGIN CREATE PROCEDURE p() SELECT 1; END", "?"),
    ("BEGIN LOCK TABLES t READ; END", "?"),
    ("BEGIN INSERT INTO {oj a} VALUES (1); END", "?"),
    ("BEGIN FLUSH TABLES; END", "?"),
    ("BEGIN ANALYZE TABLE t; END", "?"),
    ("BEGIN SHOW TABLES; END", "?"),
    ("BEGIN CREATE TEMPORARY TABLE x SELECT 1; END", "?"),
    ("BEGIN DROP TEMPORARY TABLE x; END", "?"),
    ("BEGIN PREPARE s FROM @x; EXECUTE s; END", "?"),
    ("TRUNCATE a", "?"),
    ("BEGIN INSERT INTO a VALUES (1)", "?"),
    ("BEGIN INSERT INTO a VALUES (1) END", "?"),
    ("INSERT INTO a VALUES (1); CALL p()", "?"),
    ("FOR i IN 1..3 DO DELETE FROM a; END FOR", "?"),
    ("BEGIN INSERT INTO tä VALUES (1); END", "?"),
    ("INSERT INTO a VALUES ('x", "?"),
    ("/*!50000 CALL p() */", "?"),
    ("BEGIN /*!50000 INSERT INTO a VALUES (1); */ END", "?"),
    ("BEGIN /* ! */ INSERT INTO a VALUES (1); -- CALL p()\n END", "a<"),
];

#[test]
fn to_advance_a_sequence_is_to_call_where_there_are_none() {
    for (flavor, expected) in [(Flavor::MySql, "< NEXTVAL()"), (Flavor::MariaDb, "<")] {
        assert_eq!(short("SET NEW.a = NEXTVAL(s)", flavor), expected);
    }
}

#[test]
fn what_bodies_do() {
    for (text, expected) in BODIES {
        for flavor in [Flavor::MySql, Flavor::MariaDb] {
            assert_eq!(short(text, flavor), *expected, "{text}");
        }
    }
    let deep = format!("{}{}", "BEGIN ".repeat(DEPTH_MAX + 1), "END; ".repeat(DEPTH_MAX + 1));
    assert_eq!(short(&deep, Flavor::MySql), "?");
}

const ROUTINES: &[(&str, &str)] = &[
    ("CREATE DEFINER=`a`@`%` PROCEDURE `p`()\nDELETE FROM t", "t<t"),
    (
        "CREATE DEFINER=`PROCEDURE`@`%` PROCEDURE `d`.`p`(IN a INT, INOUT b VARCHAR(20), c DECIMAL(10,2) UNSIGNED)\n    \
         MODIFIES SQL DATA\n    SQL SECURITY INVOKER\n    COMMENT 'it''s'\nBEGIN SET b = a; SET c = 1; END",
        "<",
    ),
    ("CREATE PROCEDURE p(a INT) SET b = 1", "?"),
    ("CREATE PROCEDURE p(a INT) SET a = 1", "<"),
    ("CREATE PROCEDURE p(OUT autocommit INT) SET autocommit = 0", "<"),
    ("CREATE PROCEDURE p(a ENUM('x','y') CHARSET latin1) SELECT a", "<"),
    ("CREATE PROCEDURE p(a INT DEFAULT f()) SELECT a", "?"),
    ("CREATE PROCEDURE p(a ROW (b INT)) SELECT 1", "?"),
    (
        "CREATE DEFINER=`a`@`%` FUNCTION `f`(x INT) RETURNS varchar(20) CHARSET utf8mb4 COLLATE utf8mb4_bin\n    \
         READS SQL DATA\n    DETERMINISTIC\nreturn (select a from t)",
        "<t",
    ),
    (
        "CREATE FUNCTION f(x INT UNSIGNED) RETURNS int unsigned NO SQL BEGIN INSERT INTO a VALUES (g()); RETURN 1; END",
        "a< g()",
    ),
    ("CREATE AGGREGATE FUNCTION f(x INT) RETURNS INT BEGIN LOOP FETCH GROUP NEXT ROW; END LOOP; END", "<"),
    ("CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE JAVASCRIPT AS $$ 1 $$", "?"),
    ("CREATE FUNCTION f RETURNS STRING SONAME 'f.so'", "?"),
    ("CREATE PROCEDURE p()", "?"),
    ("CREATE PROCEDURE p() BEGIN CREATE TEMPORARY TABLE x SELECT 1; END", "?"),
    ("CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.a = 1", "?"),
];

#[test]
fn what_routines_do() {
    for (text, expected) in ROUTINES {
        for flavor in [Flavor::MySql, Flavor::MariaDb] {
            assert_eq!(told(routine_body(text.as_bytes(), Modes::new(flavor))), *expected, "{text}");
        }
    }
    let ordered = "create trigger g before insert on t for each row follows `h` set new.a = 1";
    assert_eq!(told(trigger_body(ordered.as_bytes(), Modes::new(Flavor::MariaDb))), "<");
    assert_eq!(told(trigger_body(b"CREATE PROCEDURE p() SELECT 1", Modes::new(Flavor::MySql))), "?");
}

/// Returns the rows that `CREATE PROCEDURE` writes where it is called with these values, and the tables of which it writes any.
fn rows_of(procedure: &str, given: &[Datum]) -> (Vec<(RowWrite, Vec<Datum>)>, Vec<String>) {
    let text = format!("CREATE DEFINER=`a`@`%` {procedure}");
    let body = routine_body(text.as_bytes(), Modes::new(Flavor::MySql)).unwrap();
    let rows = body.rows.iter().map(|write| (write.what.clone(), write.values(given))).collect();
    (rows, body.writes.into_iter().map(|table| table.name).collect())
}

use crate::rows::{Datum, RowWrite};

#[test]
fn the_rows_of_a_procedure_are_told_by_its_parameters() {
    let five = [Datum::Int(5), Datum::Int(300)];
    let one = |procedure: &str| {
        let (rows, whole) = rows_of(procedure, &five);
        assert!(whole.is_empty(), "{procedure}: {whole:?}");
        let [(RowWrite::Update { pins, .. }, values)] = &rows[..] else { panic!("{procedure}: {rows:?}") };
        (pins.len(), values.clone())
    };
    fn told<const N: usize>(values: [Datum; N]) -> (usize, Vec<Datum>) {
        (1, values.to_vec())
    }
    let (known, other) = (Datum::Int(5), Datum::Other);
    assert_eq!(one("PROCEDURE p(a INT) UPDATE t SET v = 1 WHERE id = a"), told([known.clone()]));
    assert_eq!(one("PROCEDURE p(a INT) UPDATE t SET v = 1 WHERE id = `A`"), told([known.clone()]));
    assert_eq!(
        one("PROCEDURE p(a INT, b TINYINT) UPDATE t SET v = b WHERE id = a"),
        told([other.clone(), known.clone()])
    );
    assert_eq!(
        one(
            "PROCEDURE p(a INT, b TINYINT UNSIGNED) BEGIN IF a > 1 THEN UPDATE t SET v = 1 WHERE id = a; END IF; END"
        ),
        told([known.clone()])
    );
    // Another type, a value that is given back, and other values.
    for text in [
        "PROCEDURE p(a VARCHAR(9)) UPDATE t SET v = 1 WHERE id = a",
        "PROCEDURE p(INOUT a INT) UPDATE t SET v = 1 WHERE id = a",
        "PROCEDURE p(b INT, a TINYINT) UPDATE t SET v = 1 WHERE id = a",
        "PROCEDURE p(a INT) BEGIN UPDATE t SET v = 1 WHERE id = a; SET a = 6; END",
        "PROCEDURE p(a INT) BEGIN SELECT 6 INTO a; UPDATE t SET v = 1 WHERE id = a; END",
        "PROCEDURE p(a INT) BEGIN CALL q(a); UPDATE t SET v = 1 WHERE id = a; END",
        "PROCEDURE p(a INT) BEGIN DECLARE c CURSOR FOR SELECT 1; FETCH c INTO a; UPDATE t SET v = 1 WHERE id = a; END",
        "PROCEDURE p(a INT) BEGIN DECLARE a INT; UPDATE t SET v = 1 WHERE id = a; END",
        "PROCEDURE p(a INT) BEGIN GET DIAGNOSTICS a = NUMBER; UPDATE t SET v = 1 WHERE id = a; END",
    ] {
        assert_eq!(one(text), told([other.clone()]), "{text}");
    }
    // MySQL takes SIGNED beside UNSIGNED and ZEROFILL: outside of strict mode, -1 is stored as 0.
    for signs in ["", "SIGNED", "(6) SIGNED"] {
        for (unsigned, stored) in [("", &Datum::Int(-1)), (" UNSIGNED", &other), (" ZEROFILL", &other)] {
            let text = format!("PROCEDURE p(a INT {signs}{unsigned}) UPDATE t SET v = 1 WHERE id = a");
            let (rows, _) = rows_of(&text, &[Datum::Int(-1)]);
            assert_eq!(rows.first().map(|(_, values)| values), Some(&vec![stored.clone()]), "{text}");
        }
    }
    // It is the parameter and not the column that is equal to one.
    assert_eq!(one("PROCEDURE p(id INT) UPDATE t SET v = 1 WHERE id = 1"), (0, vec![known.clone()]));
    assert_eq!(one("PROCEDURE p(id INT) UPDATE t SET v = 1 WHERE t.id = id"), told([known]));
}

#[test]
fn what_is_not_told_of_a_body_is_its_table() {
    for text in [
        "PROCEDURE p(v INT) UPDATE t SET v = 1 WHERE id = 1",
        "PROCEDURE p(a INT) UPDATE t, u SET t.v = 1 WHERE t.id = a",
        "PROCEDURE p(a INT) INSERT INTO t SELECT * FROM u WHERE id = a",
        "PROCEDURE t(t INT) DELETE FROM t WHERE id = 1",
        "FUNCTION p(a INT) RETURNS INT BEGIN UPDATE t SET v = 1 WHERE id = a; RETURN 1; END",
    ] {
        let (rows, whole) = rows_of(text, &[Datum::Int(5)]);
        assert!(rows.is_empty() && whole.contains(&"t".to_owned()), "{text}: {rows:?} {whole:?}");
    }
}

#[test]
fn calls_give_literals() {
    let given = |text: &str| crate::rows::call_arguments(text.as_bytes(), Modes::new(Flavor::MariaDb));
    assert_eq!(given("CALL s.p(1, 'a', ?, 1 + 1, f(2, 3));").map(|given| given.len()), Some(5));
    assert_eq!(given("CALL p(7, -3, x)"), Some(vec![Datum::Int(7), Datum::Int(-3), Datum::Other]));
    assert_eq!(given("CALL p"), Some(Vec::new()));
    assert_eq!((given("CALL p(1) + 1"), given("SELECT p(1)")), (None, None));
}
