use super::*;
use crate::modes::Flavor;

fn short(text: &str, flavor: Flavor) -> String {
    let Some(body) = body(text.as_bytes(), Modes::new(flavor)) else { return "?".to_owned() };
    let list = |names: &[TableName]| {
        let full = |table: &TableName| match &table.schema {
            Some(schema) => format!("{schema}.{}", table.name),
            None => table.name.clone(),
        };
        names.iter().map(full).collect::<Vec<_>>().join(",")
    };
    let session = if body.session { " session" } else { "" };
    format!("{}<{}{session}", list(&body.writes), list(&body.reads))
}

const BODIES: &[(&str, &str)] = &[
    ("INSERT INTO log VALUES (NEW.id, NOW(), USER())", "log<"),
    ("INSERT INTO d.log SELECT NEW.id, a FROM x", "d.log<x"),
    ("SET NEW.a = UPPER(NEW.a), NEW.b = NOW()", "<"),
    ("BEGIN END", "<"),
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
    // What is not understood
    ("SET sql_log_bin = 0", "?"),
    ("SET SESSION sql_mode = ''", "?"),
    ("SET @@sql_mode = ''", "?"),
    ("BEGIN SET undeclared = 1; END", "?"),
    ("INSERT INTO a VALUES (f(1))", "?"),
    ("SET NEW.a = f(1)", "?"),
    ("SET NEW.a = d.f(1)", "?"),
    ("BEGIN DECLARE a INT DEFAULT f(); END", "?"),
    ("IF f() THEN DELETE FROM a; END IF", "?"),
    ("CALL p()", "?"),
    ("BEGIN CREATE TEMPORARY TABLE x SELECT 1; END", "?"),
    ("BEGIN DROP TEMPORARY TABLE x; END", "?"),
    ("BEGIN PREPARE s FROM @x; EXECUTE s; END", "?"),
    ("BEGIN START TRANSACTION; COMMIT; END", "?"),
    ("TRUNCATE a", "?"),
    ("BEGIN INSERT INTO a VALUES (1)", "?"),
    ("BEGIN INSERT INTO a VALUES (1) END", "?"),
    ("BEGIN END; CALL p()", "?"),
    ("INSERT INTO a VALUES (1); CALL p()", "?"),
    ("FOR i IN 1..3 DO DELETE FROM a; END FOR", "?"),
    ("BEGIN IF 1 THEN CALL p(); END IF; END", "?"),
    ("BEGIN INSERT INTO tä VALUES (1); END", "?"),
    ("BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION CALL p(); END", "?"),
    ("INSERT INTO a VALUES ('x", "?"),
    ("/*!50000 CALL p() */", "?"),
    ("BEGIN /*!50000 INSERT INTO a VALUES (1); */ END", "?"),
    ("BEGIN /* ! */ INSERT INTO a VALUES (1); -- CALL p()\n END", "a<"),
];

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
