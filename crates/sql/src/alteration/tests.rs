use super::*;
use crate::lex::Lexer;
use crate::modes::{Flavor, Modes};

fn read(text: &str) -> Option<Alteration> {
    let modes = Modes::new(Flavor::MariaDb);
    let tokens: Vec<Token> = Lexer::new(text.as_bytes(), modes).collect();
    alteration(Cursor::new(text.as_bytes(), modes, &tokens))
}

/// Returns the columns after this of a table of `id`, `a`, `b` and `c`: those that have not changed with a `=` in front.
fn after(text: &str) -> Option<String> {
    let columns = read(text)?.apply(&["id", "a", "b", "c"])?;
    let shown = columns.iter().map(|column| match column.from {
        Some(at) => format!("={}{at}", column.name),
        None => column.name.clone(),
    });
    Some(shown.collect::<Vec<_>>().join(" "))
}

#[test]
fn what_keeps_all_columns() {
    for text in [
        "CREATE INDEX i ON t (a)",
        "CREATE OR REPLACE UNIQUE INDEX IF NOT EXISTS i USING BTREE ON t (a, b) COMMENT 'x'",
        "DROP INDEX i ON t",
        "ALTER TABLE t ADD INDEX (a), ADD KEY k (b DESC), ADD UNIQUE u (a), ADD FULLTEXT INDEX f (c)",
        "ALTER TABLE d.t DROP INDEX i, DROP KEY k, RENAME INDEX a TO b, ALTER INDEX i INVISIBLE",
        "ALTER ONLINE TABLE IF EXISTS t NOWAIT COMMENT = 'some, text' AUTO_INCREMENT = 5, ALGORITHM=INPLACE, LOCK NONE",
        "ALTER TABLE t FORCE",
        "ALTER TABLE t ENGINE = InnoDB, ROW_FORMAT=DYNAMIC",
        "ANALYZE TABLE t",
        "OPTIMIZE NO_WRITE_TO_BINLOG TABLE t",
        "ALTER TABLE t ADD COLUMN IF NOT EXISTS a INT FIRST",
        "ALTER TABLE t DROP COLUMN IF EXISTS x",
        "ALTER TABLE t ADD INDEX ((a + b))",
    ] {
        assert_eq!(after(text).as_deref(), Some("=id0 =a1 =b2 =c3"), "{text}");
    }
}

#[test]
fn columns_that_come_go_and_change() {
    for (text, columns) in [
        ("ALTER TABLE t ADD x INT", "=id0 =a1 =b2 =c3 x"),
        ("ALTER TABLE t ADD COLUMN x DECIMAL(5, 2) NOT NULL DEFAULT 1 FIRST", "x =id0 =a1 =b2 =c3"),
        ("ALTER TABLE t ADD X INT COMMENT 'first, after c' AFTER A", "=id0 =a1 x =b2 =c3"),
        ("ALTER TABLE t ADD COLUMN (x INT, y ENUM('p', 'q'))", "=id0 =a1 =b2 =c3 x y"),
        ("ALTER TABLE t ADD x INT FIRST, ADD y INT FIRST, ADD z INT AFTER x", "y x z =id0 =a1 =b2 =c3"),
        ("ALTER TABLE t DROP a, ADD x INT AFTER id, DROP COLUMN `c` CASCADE", "=id0 x =b2"),
        ("ALTER TABLE t MODIFY b BIGINT", "=id0 =a1 b =c3"),
        ("ALTER TABLE t MODIFY COLUMN c BIGINT AFTER id", "=id0 c =a1 =b2"),
        ("ALTER TABLE t CHANGE b x BIGINT NULL FIRST, ADD y INT", "x =id0 =a1 =c3 y"),
        ("ALTER TABLE t RENAME COLUMN a TO x, ALTER c SET DEFAULT 5", "=id0 x =b2 c"),
        ("ALTER TABLE t ALTER COLUMN a DROP DEFAULT, ADD INDEX (b)", "=id0 a =b2 =c3"),
    ] {
        assert_eq!(after(text).as_deref(), Some(columns), "{text}");
    }
}

#[test]
fn what_is_not_known_in_full_is_not_read() {
    for text in [
        "CREATE TABLE t (a INT)",
        "DROP TABLE t",
        "DROP INDEX `PRIMARY` ON t",
        "ALTER IGNORE TABLE t ADD UNIQUE (a)",
        "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (a)",
        "ALTER TABLE t DROP INDEX `primary`",
        "ALTER TABLE t ADD x INT PRIMARY KEY",
        "ALTER TABLE t ADD x INT KEY",
        "ALTER TABLE t ADD x INT UNIQUE",
        "ALTER TABLE t ADD x INT AS (a + 1)",
        "ALTER TABLE t ADD x INT REFERENCES u (id)",
        "ALTER TABLE t ADD FOREIGN KEY (a) REFERENCES u (id)",
        "ALTER TABLE t ADD CONSTRAINT x PRIMARY KEY (a)",
        "ALTER TABLE t RENAME u",
        "ALTER TABLE t ADD x INT, RENAME TO u",
        "ALTER TABLE t ENGINE = MyISAM",
        "ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4",
        "ALTER TABLE t DROP PARTITION p0",
        "ALTER TABLE t TRUNCATE PARTITION p0",
        "ALTER TABLE t EXCHANGE PARTITION p0 WITH TABLE u",
        "ALTER TABLE t PARTITION BY HASH (a)",
        "ALTER TABLE t DISCARD TABLESPACE",
        "ALTER TABLE t ADD SYSTEM VERSIONING",
        "ALTER TABLE t DROP SYSTEM VERSIONING",
        "ALTER TABLE t ADD x INT /*!50100 FIRST */",
        "ALTER TABLE t ORDER BY a",
        "ALTER TABLE t ADD",
        "ALTER TABLE t ADD x INT AFTER",
        "REPAIR TABLE t",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
    for text in [
        "ALTER TABLE t DROP x",
        "ALTER TABLE t ADD a INT",
        "ALTER TABLE t ADD x INT AFTER y",
        "ALTER TABLE t DROP a, ADD a INT",
        "ALTER TABLE t CHANGE a b INT, DROP b",
        "ALTER TABLE t ADD x INT, ADD x INT",
    ] {
        assert_eq!(after(text), None, "{text}");
    }
}
