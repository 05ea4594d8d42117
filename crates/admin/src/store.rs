//! The databases, in one SQLite connection: `main` (memory and runtime), `disk` (a file), `stats`, `monitor`, `stats_history`.
//!
//! Rights are decided while SQLite compiles a statement, by the [`Role`] for which it is compiled. So no spelling of a statement gets
//! around them.

use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, params_from_iter};

use crate::bounded::Deadline;
use crate::dictionary;
use crate::error::Refusal;
use crate::runtime::SqliteValue;
use crate::statistics::STATISTICS;
use crate::tables::{ATTACHED, CONFIGURATION, create};
use crate::times;

/// How long a statement of a client may take. It runs on the admin port's own thread.
const STATEMENT_TIME_MAX: Duration = Duration::from_secs(10);
/// The most bytes of an answer.
const ANSWER_BYTES_MAX: usize = 256 << 20;
/// The most bytes of a text or a row.
const TEXT_BYTES_MAX: i32 = 16 << 20;
/// The rights of the files: only their owner may read and write them.
const RIGHTS_OF_FILES: u32 = 0o600;

/// A parameter of a client's statement.
pub type SqliteParameter = rusqlite::types::Value;

/// The role for which a statement is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Role {
    /// Freshet itself.
    Own,
    /// An administrator.
    Admin,
    /// A reader of statistics.
    Stats,
}

/// The choices of a session, and its names.
pub struct Chosen {
    pub schema: String,
    pub connection: u32,
    /// The session has sent BEGIN: until COMMIT it only reads.
    pub has_begun: bool,
    /// The client is a program that dumps databases.
    pub dumps: bool,
}

/// The outcome of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Rows, as texts.
    Rows { columns: Vec<String>, rows: Vec<Vec<Option<Vec<u8>>>> },
    /// The number of changed rows. The note is for people, like the one of MySQL's UPDATE; it may be empty.
    Done { affected: u64, last_insert_id: u64, note: String },
}

impl Answer {
    pub const fn ok() -> Self {
        Self::changed(0)
    }

    /// Returns the outcome of a statement that has changed so many rows.
    pub const fn changed(affected: u64) -> Self {
        Self::Done { affected, last_insert_id: 0, note: String::new() }
    }
}

/// Makes a file that only its owner may read, if there is none of this name: it will hold passwords and statements. Files that SQLite
/// makes beside it get the same rights.
fn own_alone(file: &Path) -> rusqlite::Result<()> {
    if file == Path::new(":memory:") {
        return Ok(());
    }
    let made = std::fs::OpenOptions::new().append(true).create(true).mode(RIGHTS_OF_FILES).open(file);
    let unopened = |error: std::io::Error| {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
        rusqlite::Error::SqliteFailure(code, Some(format!("{}: {error}", file.display())))
    };
    made.map(drop).map_err(unopened)
}

/// The databases.
pub struct Store {
    connection: Connection,
    role: Arc<AtomicU8>,
    deadline: Deadline,
    /// The result of DATABASE().
    schema: Arc<Mutex<String>>,
}

impl Store {
    /// Opens the databases in `directory`, and makes missing ones.
    pub fn open(directory: &Path) -> rusqlite::Result<Self> {
        let mut connection = Connection::open_in_memory()?;
        let file = |name: &str| directory.join(name).to_string_lossy().into_owned();
        let files =
            [file("freshet.db"), ":memory:".to_owned(), ":memory:".to_owned(), file("freshet_stats.db")];
        for (name, file) in ATTACHED.iter().zip(files) {
            own_alone(Path::new(&file))?;
            connection.execute(&format!("ATTACH DATABASE ?1 AS {name}"), [file])?;
        }
        for table in &CONFIGURATION {
            connection.execute(&create("main", table.name, table.columns), [])?;
            connection.execute(&create("disk", table.name, table.columns), [])?;
            connection.execute(&create("main", &format!("runtime_{}", table.name), table.columns), [])?;
        }
        for table in &STATISTICS {
            connection.execute(&create("stats", table.name, table.columns), [])?;
        }
        for (name, columns) in times::MONITOR {
            connection.execute(&create("monitor", name, columns), [])?;
        }
        for (name, columns) in times::history() {
            connection.execute(&create("stats_history", &name, &columns), [])?;
        }
        dictionary::fill(&connection)?;
        let deadline = Deadline::on(&mut connection, TEXT_BYTES_MAX)?;
        let schema = Arc::new(Mutex::new(String::new()));
        dictionary::name_schema(&connection, &schema)?;
        let role = Arc::new(AtomicU8::new(Role::Own as u8));
        let of = Arc::clone(&role);
        connection
            .authorizer(Some(move |context: AuthContext<'_>| may(of.load(Ordering::Relaxed), &context)))?;
        Ok(Self { connection, role, deadline, schema })
    }

    /// Carries out one statement for a client.
    pub fn run(
        &self,
        statement: &str,
        parameters: &[SqliteParameter],
        role: Role,
    ) -> Result<Answer, Refusal> {
        self.deadline.set(Some(STATEMENT_TIME_MAX));
        let answer = self.as_role(role, || self.run_now(statement, parameters));
        self.deadline.set(None);
        answer
    }

    /// Returns how many parameters a statement of a client has, and the names of its columns.
    pub fn describe(&self, statement: &str, role: Role) -> Result<(usize, Vec<String>), Refusal> {
        self.as_role(role, || {
            let prepared = self.connection.prepare(statement)?;
            let columns = prepared.column_names().map(str::to_owned).collect();
            Ok((prepared.parameter_count(), columns))
        })
    }

    /// Sets the result of DATABASE().
    pub fn choose(&self, schema: &str) {
        schema.clone_into(&mut self.schema.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Whether a statement changes nothing. A statement that cannot be compiled changes nothing either.
    pub fn only_reads(&self, statement: &str, role: Role) -> bool {
        self.as_role(role, || self.connection.prepare(statement).is_ok_and(|it| it.readonly()))
    }

    fn as_role<R>(&self, role: Role, run: impl FnOnce() -> R) -> R {
        self.role.store(role as u8, Ordering::Relaxed);
        let result = run();
        self.role.store(Role::Own as u8, Ordering::Relaxed);
        result
    }

    fn run_now(&self, statement: &str, parameters: &[SqliteParameter]) -> Result<Answer, Refusal> {
        let mut prepared = self.connection.prepare(statement)?;
        let columns: Vec<String> = prepared.column_names().map(str::to_owned).collect();
        if columns.is_empty() {
            let affected = prepared.execute(params_from_iter(parameters))? as u64;
            let last_insert_id = u64::try_from(self.connection.last_insert_rowid()).unwrap_or(0);
            return Ok(Answer::Done { affected, last_insert_id, note: String::new() });
        }
        let (mut rows, mut bytes) = (Vec::new(), 0);
        let mut found = prepared.query(params_from_iter(parameters))?;
        while let Some(row) = found.next()? {
            let values: Vec<_> =
                (0..columns.len()).map(|at| row.get_ref(at).map(text)).collect::<Result<_, _>>()?;
            bytes += values.iter().flatten().map(Vec::len).sum::<usize>() + values.len();
            if bytes > ANSWER_BYTES_MAX {
                return Err(Refusal::NotSupported("an answer of more than 256 MiB"));
            }
            rows.push(values);
        }
        Ok(Answer::Rows { columns, rows })
    }

    /// Carries out our own statements, all of them or none.
    pub fn all_or_none(&mut self, statements: &[String]) -> Result<(), Refusal> {
        let transaction = self.connection.transaction()?;
        for statement in statements {
            transaction.execute(statement, [])?;
        }
        Ok(transaction.commit()?)
    }

    /// Replaces the rows of a table by these.
    pub fn replace(&mut self, table: &str, rows: &[Vec<SqliteValue>]) -> Result<(), Refusal> {
        let transaction = self.connection.transaction()?;
        transaction.execute(&format!("DELETE FROM {table}"), [])?;
        insert(&transaction, table, rows)?;
        Ok(transaction.commit()?)
    }

    /// Adds these rows to a table.
    pub fn append(&mut self, table: &str, rows: &[Vec<SqliteValue>]) -> Result<(), Refusal> {
        let transaction = self.connection.transaction()?;
        insert(&transaction, table, rows)?;
        Ok(transaction.commit()?)
    }

    /// Returns the rows of one of our own queries.
    pub fn rows(&self, query: &str) -> Result<Vec<Vec<Option<String>>>, Refusal> {
        let Answer::Rows { rows, .. } = self.run_now(query, &[])? else { return Ok(Vec::new()) };
        let text = |value: Option<Vec<u8>>| value.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Ok(rows.into_iter().map(|row| row.into_iter().map(text).collect()).collect())
    }
}

fn insert(connection: &Connection, table: &str, rows: &[Vec<SqliteValue>]) -> rusqlite::Result<()> {
    let Some(first) = rows.first() else { return Ok(()) };
    let places = vec!["?"; first.len()].join(",");
    let mut insert = connection.prepare(&format!("INSERT OR REPLACE INTO {table} VALUES ({places})"))?;
    for row in rows {
        insert.execute(params_from_iter(row))?;
    }
    Ok(())
}

impl rusqlite::ToSql for SqliteValue {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        let value = match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
        };
        Ok(rusqlite::types::ToSqlOutput::Borrowed(value))
    }
}

fn text(value: ValueRef<'_>) -> Option<Vec<u8>> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string().into_bytes()),
        ValueRef::Real(number) => Some(number.to_string().into_bytes()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.to_vec()),
    }
}

/// Whether a role may do this part of a statement. Only the rows of the tables of configuration, in `main` and on `disk`, can be edited.
fn may(role: u8, context: &AuthContext<'_>) -> Authorization {
    let database = context.database_name.unwrap_or_default();
    let edits = |table: &str| role == Role::Admin as u8 && is_edited(database, table);
    let allowed = match context.action {
        _ if role == Role::Own as u8 => true,
        AuthAction::Select | AuthAction::Function { .. } | AuthAction::Recursive => true,
        AuthAction::Read { .. } => role == Role::Admin as u8 || !matches!(database, "main" | "disk"),
        AuthAction::Insert { table_name } | AuthAction::Delete { table_name } => edits(table_name),
        AuthAction::Update { table_name, .. } => edits(table_name),
        _ => false,
    };
    if allowed { Authorization::Allow } else { Authorization::Deny }
}

fn is_edited(database: &str, table: &str) -> bool {
    let is_configuration = CONFIGURATION.iter().any(|it| it.name.eq_ignore_ascii_case(table));
    matches!(database, "main" | "disk") && (is_configuration || table == "sqlite_sequence")
}
