//! Statements written either with their literals or with placeholders, and the schema.

use std::fmt::Display;

use mysql::Value;

use crate::model::{Column, DEFINITIONS, Db, ROWS, Row, Table};

/// A statement under construction.
#[derive(Clone, Debug)]
pub struct Sql {
    /// Its text.
    pub text: String,
    /// Its parameters, if it is to be prepared.
    pub parameters: Option<Vec<Value>>,
}

impl Sql {
    /// An empty one, to be prepared or not.
    #[must_use]
    pub fn new(is_prepared: bool) -> Self {
        Self { text: String::new(), parameters: is_prepared.then(Vec::new) }
    }

    /// Adds text as it is.
    pub fn add(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    /// Adds the value of a code.
    pub fn value(&mut self, column: Column, code: i8) -> &mut Self {
        self.raw(&column.literal(code), column.is_quoted())
    }

    /// Adds a number.
    pub fn number(&mut self, number: i64) -> &mut Self {
        match &mut self.parameters {
            Some(parameters) => {
                parameters.push(Value::Int(number));
                self.add("?")
            }
            None => self.add(&number.to_string()),
        }
    }

    /// Adds a literal.
    pub fn raw(&mut self, literal: &str, is_quoted: bool) -> &mut Self {
        let value = match (&self.parameters, literal.parse::<i64>(), literal.parse::<u64>()) {
            (None, ..) if is_quoted => return self.add("'").add(literal).add("'"),
            (None, ..) => return self.add(literal),
            (Some(_), Ok(number), _) => Value::Int(number),
            (Some(_), _, Ok(number)) => Value::UInt(number),
            (Some(_), ..) => Value::Bytes(literal.as_bytes().to_vec()),
        };
        self.parameters.get_or_insert_default().push(value);
        self.add("?")
    }
}

/// The columns that are written, in order.
pub const WRITTEN: &str = "id, v, k, pid, n, m, d, t, u";

/// Returns a row as it stands in VALUES, with its id in whatever form.
#[must_use]
pub fn values(id: impl Display, row: &Row) -> String {
    let mut sql = Sql::new(false);
    sql.add(&format!("({id}, {}", row.v));
    for column in Column::ALL {
        sql.add(", ");
        match row.get(column) {
            None => sql.add("NULL"),
            Some(code) => sql.value(column, code),
        };
    }
    sql.add(")");
    sql.text
}

fn columns(extra: &str) -> String {
    format!(
        "(id INT NOT NULL PRIMARY KEY, v BIGINT NOT NULL, k INT NULL, pid INT NULL, \
         n VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NULL, m DECIMAL(10,2) NOT NULL, d DATE NOT NULL, \
         t DATETIME NOT NULL, u BIGINT UNSIGNED NOT NULL, g INT GENERATED ALWAYS AS (k + 1) VIRTUAL, \
         KEY (k), KEY (pid, k), KEY (n), KEY (m), KEY (d), KEY (u){extra})"
    )
}

/// Returns the statement that defines a view of this name.
#[must_use]
pub fn view(name: &str, table: Table, limit: i8) -> String {
    let limit = Column::K.literal(limit);
    format!(
        "CREATE OR REPLACE VIEW {name} AS SELECT id, v, k, pid, n, m, d, t, u, g FROM {} WHERE k < {limit}",
        table.name()
    )
}

/// Returns what makes the schema, with the given rows in it, and `r` partitioned or not.
#[must_use]
pub fn schema(db: &Db, is_partitioned: bool) -> Vec<String> {
    let partitions = if is_partitioned { " PARTITION BY HASH (id) PARTITIONS 3" } else { "" };
    let mut statements = vec![
        format!("CREATE TABLE p {}", columns("")),
        format!("CREATE TABLE c {}", columns(", FOREIGN KEY (pid) REFERENCES p (id) ON DELETE CASCADE")),
        format!("CREATE TABLE r {}{partitions}", columns("")),
        format!("CREATE TABLE s {}", columns("")),
        format!("CREATE TABLE l {}", columns("")),
        view("w", db.view_of, db.view_limit),
        "CREATE TRIGGER st AFTER UPDATE ON s FOR EACH ROW UPDATE l SET v = NEW.v WHERE id = NEW.id"
            .to_owned(),
    ];
    for table in Table::ALL {
        for (id, row) in db.rows(table) {
            statements.push(format!("INSERT INTO {} ({WRITTEN}) VALUES {}", table.name(), values(id, row)));
        }
    }
    statements
}

/// Every bit of rows of a table.
pub const ALL_ROWS: u64 = (1 << ROWS) - 1;

/// A set of rows of all tables, and of the definitions.
pub type RowSet = [u64; DEFINITIONS.trailing_zeros() as usize + 1];
