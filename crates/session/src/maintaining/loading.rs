//! Reading a table into its copy, in chunks by primary key, without a lock and without a snapshot that lasts.
//!
//! Each chunk is read as of its own moment. News of the stream are kept meanwhile and applied after the last chunk, row by row, by the
//! primary key: whenever a row was read, the last news of it gives its state. A row without news has not changed.

use std::sync::Arc;
use std::time::Duration;

use freshet_cache::Dep;
use freshet_catalog::TableInfo;
use freshet_upstream::{Connection, Error, control, now_ms};
use freshet_views::{ColumnSpec, Given, Kind};
use tokio::sync::mpsc;

use super::given::{Copied, of_texts};
use super::layout::Layout;
use super::news::{CopyStart, News, Wanted};
use crate::shared::Shared;

/// How many rows are read at once.
const CHUNK_ROWS: usize = 20_000;
/// How long the stream may take to reach the point where the definition was read.
const SETTLED_WITHIN_MS: u64 = 10_000;
/// How often the loader checks whether the stream has come far enough.
const LOOKED_AT_EVERY: Duration = Duration::from_millis(2);

/// The outcome of loading.
pub(super) enum Loaded {
    /// The columns of the copy, the columns of its primary key, and about how many rows there are.
    Begun {
        columns: Vec<ColumnSpec>,
        primary: Vec<usize>,
        rows_about: usize,
    },
    Rows(Vec<Box<[Given]>>),
    /// All rows were read. They may contain news up to here already.
    Complete {
        may_contain: freshet_cache::Position,
    },
    /// The table cannot be copied; `is_lasting`: not before its definition changes.
    Failed {
        why: String,
        is_lasting: bool,
    },
    /// The table cannot be copied with this column.
    Unfit {
        column: ColumnSpec,
        why: &'static str,
    },
}

/// One loading: the table, the number of its copy, and the channel for the outcome.
pub(super) struct Loading {
    pub(super) info: Arc<TableInfo>,
    pub(super) name: freshet_catalog::Name,
    pub(super) copy: u64,
    /// The columns that are needed.
    pub(super) columns: Vec<ColumnSpec>,
    pub(super) out: mpsc::Sender<(u64, Loaded)>,
}

enum Stopped {
    /// The copy is not wanted any more.
    Unwanted,
    Refused(String),
    /// A row has a value in this column that cannot be copied.
    Unfit(ColumnSpec),
    Server(Error),
}

/// Why a column is not copied although its type is.
const UNFIT: &str = "a value that is not copied: a date that is no day of the calendar, a year 0, what is none of the names of an ENUM, or a text in \
                     a condition of which it is not known what is equal to it";

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Self::Server(error)
    }
}

impl Loading {
    /// Loads the table.
    pub(super) async fn run(self, shared: &Shared, news: &News) {
        let outcome = self.load(shared, news).await;
        let failed = match outcome {
            Ok(()) | Err(Stopped::Unwanted) => return,
            Err(Stopped::Refused(why)) => Loaded::Failed { why, is_lasting: true },
            Err(Stopped::Unfit(column)) => Loaded::Unfit { column, why: UNFIT },
            Err(Stopped::Server(error)) => Loaded::Failed { why: error.to_string(), is_lasting: false },
        };
        let _ = self.tell(failed).await;
    }

    async fn tell(&self, loaded: Loaded) -> Result<(), Stopped> {
        self.out.send((self.copy, loaded)).await.map_err(|_| Stopped::Unwanted)
    }

    async fn load(&self, shared: &Shared, news: &News) -> Result<(), Stopped> {
        let info = &self.info;
        if info.columns.is_empty() || info.engine != "InnoDB" {
            return Err(Stopped::Refused(format!(
                "its engine is {}, and only InnoDB is copied",
                info.engine
            )));
        }
        let mut connection = control::connect(shared.upstream.config()).await?;
        // TIMESTAMP values are shown in this zone.
        connection.query("SET SESSION time_zone = '+00:00'").await?;
        let primary = primary_key(&mut connection, info).await?;
        let keys = primary.iter().map(|name| spec_of(info, name)).collect::<Result<Vec<_>, _>>()?;
        let mut specs = self.columns.clone();
        specs.extend(keys.iter().filter(|spec| !self.columns.contains(spec)).cloned());
        let copied = |spec: &ColumnSpec| Copied::of(&info.columns, spec).map_err(Stopped::Refused);
        let columns: Vec<Copied> = specs.iter().map(copied).collect::<Result<_, _>>()?;
        let place = |key: &ColumnSpec| specs.iter().position(|spec| spec == key);
        let primary: Vec<usize> = keys.iter().filter_map(place).collect();
        // From here on, row images have the layout of this definition.
        let until = now_ms() + SETTLED_WITHIN_MS;
        while shared.freshness().applied() < info.settled_by {
            if now_ms() >= until {
                return Err(Stopped::Server(Error::Unsettled));
            }
            tokio::time::sleep(LOOKED_AT_EVERY).await;
        }
        let layout = Layout::of(&info.columns);
        let wanted = Wanted { name: self.name.clone(), columns: columns.clone(), layout, copy: self.copy };
        let start = news.want(wanted);
        // If this loader missed a definition, the catalog has heard of it before.
        if !is_current(shared, &self.name, info) {
            return Err(Stopped::Server(Error::Unsettled));
        }
        let rows_about = rows_about(&mut connection, info).await?;
        self.tell(Loaded::Begun { columns: specs, primary: primary.clone(), rows_about }).await?;
        sees_what_was_missed(shared, news, start).await;
        let mut last: Option<Vec<String>> = None;
        loop {
            let sql = chunk(info, &columns, &primary, last.as_deref());
            let rows = connection.query(&sql).await?.rows;
            let is_last = rows.len() < CHUNK_ROWS;
            last = rows.last().map(|row| literals(row, &columns, &primary)).transpose()?;
            let given = rows.iter().map(|row| of_texts(&columns, row)).collect::<Result<Vec<_>, _>>();
            self.tell(Loaded::Rows(given.map_err(|spec| Stopped::Unfit(spec.clone()))?)).await?;
            if is_last {
                break;
            }
        }
        connection.quit().await;
        let may_contain = applied_now(shared, news).await;
        self.tell(Loaded::Complete { may_contain }).await
    }
}

/// Whether a table still has this definition, by all that the stream has told.
pub(crate) fn is_current(shared: &Shared, name: &freshet_catalog::Name, info: &Arc<TableInfo>) -> bool {
    shared.upstream.known_table(&name.0, &name.1).is_some_and(|known| Arc::ptr_eq(&known, info))
}

/// Waits until all later reads contain every change that was missed.
async fn sees_what_was_missed(shared: &Shared, news: &News, start: CopyStart) {
    loop {
        // News before the stream's beginning are missing too; everything is stamped with that position.
        let freshness = shared.freshness();
        let missed_to = news.missed_to(start).map(|to| to.max(freshness.stamp_of(Dep::EVERYTHING)));
        if missed_to.is_some_and(|to| freshness.valid_from() >= to) {
            return;
        }
        shared.upstream.ask_probe();
        tokio::time::sleep(LOOKED_AT_EVERY).await;
    }
}

/// Waits until all that is committed now is applied. Returns where the last transaction ended.
async fn applied_now(shared: &Shared, news: &News) -> freshet_cache::Position {
    let now = now_ms();
    while shared.upstream.current_to_ms() <= now {
        shared.upstream.ask_current();
        tokio::time::sleep(LOOKED_AT_EVERY).await;
    }
    news.last_ended()
}

/// Returns the number of rows from the server's statistics.
async fn rows_about(connection: &mut Connection, info: &TableInfo) -> Result<usize, Stopped> {
    let (schema, table) = (control::quote(&info.name.0), control::quote(&info.name.1));
    let sql = format!(
        "SELECT TABLE_ROWS FROM information_schema.TABLES WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = {table}"
    );
    let rows = control::query_definitions(connection, &sql).await?;
    Ok(rows.text(0, 0).and_then(|rows| rows.parse().ok()).unwrap_or(0))
}

/// Returns the columns of the primary key, in their order.
async fn primary_key(connection: &mut Connection, info: &TableInfo) -> Result<Vec<String>, Stopped> {
    let (schema, table) = (control::quote(&info.name.0), control::quote(&info.name.1));
    let of_table = format!("TABLE_SCHEMA = {schema} AND TABLE_NAME = {table}");
    let sql = format!(
        "SELECT LOWER(COLUMN_NAME) FROM information_schema.STATISTICS WHERE {of_table} AND INDEX_NAME = 'PRIMARY' ORDER BY \
         SEQ_IN_INDEX"
    );
    let rows = control::query_definitions(connection, &sql).await?;
    let names: Option<Vec<String>> =
        (0..rows.rows.len()).map(|row| rows.text(row, 0).map(str::to_owned)).collect();
    let padded = format!(
        "SELECT LOWER(COLUMN_NAME) FROM information_schema.COLUMNS WHERE {of_table} AND COLUMN_TYPE LIKE '%zerofill%'"
    );
    let padded = control::query_definitions(connection, &padded).await?;
    if let Some(name) = padded.text(0, 0) {
        return Err(Stopped::Refused(format!("{name} is ZEROFILL")));
    }
    names
        .filter(|names| !names.is_empty())
        .ok_or_else(|| Stopped::Refused("it has no primary key".to_owned()))
}

/// Returns how a column of the primary key is copied: as the value that distinguishes rows, and bounds chunks. For a text it is the text
/// itself: no two rows have texts that are equal in its collation, and chunks are in the server's order.
fn spec_of(info: &TableInfo, name: &str) -> Result<ColumnSpec, Stopped> {
    let column = info.columns.iter().find(|column| column.name == name);
    let column = column.ok_or_else(|| Stopped::Refused(format!("{name} is not there")))?;
    match ColumnSpec::of(name, &column.data_type) {
        Ok(spec) if matches!(spec.kind, Kind::Enum | Kind::Set | Kind::Bit(_) | Kind::Year) => {
            let kind = &column.data_type.name;
            Err(Stopped::Refused(format!("{name}, which is of its primary key, is of the type {kind}")))
        }
        Ok(spec) => Ok(spec),
        Err(why) => Err(Stopped::Refused(format!("{name}, which is of its primary key, {why}"))),
    }
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Returns the question for the rows after this primary key.
fn chunk(info: &TableInfo, columns: &[Copied], primary: &[usize], last: Option<&[String]>) -> String {
    let name = |at: &usize| quoted(&columns[*at].spec.name);
    let keys: Vec<String> = primary.iter().map(name).collect();
    // The number of an ENUM, of a SET and of a BIT; `+ 0` makes a DOUBLE of a SET, which has fewer bits.
    let shown = |column: &Copied| match column.spec.kind {
        Kind::Enum => format!("{} + 0", quoted(&column.spec.name)),
        Kind::Set | Kind::Bit(_) => format!("CAST({} AS UNSIGNED)", quoted(&column.spec.name)),
        _ => quoted(&column.spec.name),
    };
    let shown: Vec<String> = columns.iter().map(shown).collect();
    // In a form for which the servers use an index range: they do not for (a, b) > (1, 2).
    let behind = |last: &[String]| {
        let one = |at: usize| {
            let equal = (0..at).map(|before| format!("{} = {} AND ", keys[before], last[before]));
            format!("({}{} > {})", equal.collect::<String>(), keys[at], last[at])
        };
        let any: Vec<String> = (0..keys.len()).map(one).collect();
        format!(" WHERE {}", any.join(" OR "))
    };
    format!(
        "SELECT {} FROM {}.{}{} ORDER BY {} LIMIT {CHUNK_ROWS}",
        shown.join(", "),
        quoted(&info.name.0),
        quoted(&info.name.1),
        last.map(behind).unwrap_or_default(),
        keys.join(", "),
    )
}

/// Returns the primary key of a row as literals.
fn literals(row: &[Option<Vec<u8>>], columns: &[Copied], primary: &[usize]) -> Result<Vec<String>, Stopped> {
    let literal = |at: &usize| {
        let (text, spec) = (row.get(*at)?.as_deref()?, &columns[*at].spec);
        if spec.has_bytes() {
            let digits: String = text.iter().map(|byte| format!("{byte:02x}")).collect();
            return Some(format!("x'{digits}'"));
        }
        let text = std::str::from_utf8(text).ok()?;
        // Next to a quoted literal, a DECIMAL is compared as a DOUBLE.
        let is_number = matches!(spec.kind, Kind::Integer(_) | Kind::Decimal { .. });
        if is_number && spec.kind.parse(text.as_bytes()).is_some() {
            Some(text.to_owned())
        } else {
            Some(control::quote(text))
        }
    };
    let all: Option<Vec<String>> = primary.iter().map(literal).collect();
    all.ok_or_else(|| Stopped::Refused("a primary key that is not understood".to_owned()))
}
