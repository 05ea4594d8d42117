use super::*;

fn schema() -> MemorySchema<'static> {
    let rows = |count: i64| {
        (1..=count).map(|n| vec![SqliteValue::Integer(n), SqliteValue::from(format!("N{n}"))]).collect()
    };
    let columns = || vec![("id", SqliteType::Integer), ("name", SqliteType::Text)];
    let tables = vec![
        MemoryTable { name: "a", columns: columns(), rows: rows(100) },
        MemoryTable { name: "b", columns: columns(), rows: rows(3) },
    ];
    MemorySchema { name: "freshet", tables }
}

fn of(text: &str) -> Result<Vec<Vec<SqliteValue>>, String> {
    schema().query(text, &[]).map(|found| found.rows)
}

#[test]
fn tables_are_read_with_all_of_sql() {
    let one = |value: SqliteValue| Ok(vec![vec![value]]);
    assert_eq!(of("SELECT COUNT(*) FROM freshet.a JOIN freshet.b USING (id)"), one(SqliteValue::Integer(3)));
    assert_eq!(of("SELECT `name` FROM `freshet`.`a` WHERE name = 'n7'"), one("N7".into()));
    assert_eq!(of("SELECT id FROM freshet.b ORDER BY id DESC LIMIT 1, 1"), one(SqliteValue::Integer(2)));
    assert_eq!(of("SELECT AVG(id) FROM freshet.b"), one(SqliteValue::Real(2.0)));
    let found = schema().query(
        "SELECT id FROM freshet.a WHERE id = ? OR name = ? ORDER BY 1",
        &[SqliteValue::Integer(3), SqliteValue::from("n9")],
    );
    assert_eq!(found.unwrap().rows, [[SqliteValue::Integer(3)], [SqliteValue::Integer(9)]]);
    let names = schema().columns("SELECT id AS x, COUNT(*) FROM freshet.a WHERE id > ?");
    assert_eq!(names.unwrap(), ["x", "COUNT(*)"]);
}

#[test]
fn nothing_else_can_be_done() {
    for text in [
        "DELETE FROM freshet.a",
        "INSERT INTO freshet.a VALUES (1, 'x')",
        "CREATE TABLE freshet.c (id INT)",
        "ATTACH DATABASE '/tmp/freshet-attached' AS x",
        "PRAGMA hard_heap_limit = 0",
        "SELECT load_extension('x')",
        "VACUUM INTO '/tmp/freshet-vacuumed'",
        "DROP TABLE freshet.a",
    ] {
        assert!(of(text).is_err(), "{text}");
    }
    assert!(of("SELECT 1 FROM freshet.nope").unwrap_err().contains("no such table"));
}

#[test]
fn a_query_is_bounded_in_time_and_in_what_it_gives() {
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n";
    assert!(of(endless).unwrap_err().contains("took longer"));
    let large = "SELECT x.*, y.*, z.* FROM freshet.a AS x, freshet.a AS y, freshet.a AS z";
    assert!(of(large).unwrap_err().contains("more than 16 MiB"));
    assert!(of("SELECT zeroblob(100000000)").is_err());
    assert!(of("SELECT hex(zeroblob(4000000))").is_err());
}
