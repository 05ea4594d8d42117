//! One table or view as information_schema shows it.

use std::sync::Arc;

use freshet_sql::{
    BodyEffects, Calls, Hint, Modes, Reads, RoutineKind, TableName, View, Writes, effects, merged_tables,
    tables_at_a_moment,
};
use freshet_upstream::control::{query_definitions, quote_name};
use freshet_upstream::{Connection, Error, Rows, ServerInfo};

use super::naming::these;
use super::{bodies, columns};
use crate::name::Name;
use crate::table_info::{ColumnInfo, TableKind};
use crate::{generated, rules};

/// One table or view, without the objects below it.
pub(super) struct CatalogObject {
    pub(super) name: Name,
    pub(super) kind: TableKind,
    pub(super) engine: String,
    /// The tables of a MERGE table, if they are known: the rows of the MERGE table are theirs, and a write to it is a write to them.
    pub(super) parts: Vec<Name>,
    /// Why no result that reads the object may be cached.
    pub(super) refusal: Option<String>,
    /// See [`crate::TableInfo::shows_all_alike`].
    pub(super) shows_all_alike: bool,
    /// Reading the object may run code that is not known here.
    pub(super) runs_unknown_code: bool,
    /// The object is a view whose text says SQL_CACHE.
    pub(super) asks_for_cache: bool,
    /// The routines that reading the object calls directly: a view's functions.
    pub(super) calls: Vec<(RoutineKind, Name)>,
    /// The object has unknown triggers, or may have some.
    pub(super) has_triggers: bool,
    /// What its other triggers do.
    pub(super) bodies: Vec<BodyEffects>,
    /// Empty for a view, and where nothing may be cached anyway.
    pub(super) columns: Arc<[ColumnInfo]>,
    /// See [`crate::TableInfo::described`].
    pub(super) described: Arc<[Box<str>]>,
}

impl CatalogObject {
    /// Whether a write to the object may change tables that are not known.
    pub(super) fn writes_elsewhere(&self) -> bool {
        self.kind == TableKind::Base && self.parts.is_empty() && rules::may_write_elsewhere(&self.engine)
    }
}

/// Reads one object.
pub(super) async fn read(
    connection: &mut Connection,
    server: &ServerInfo,
    asked: &Name,
) -> Result<CatalogObject, Error> {
    let rows = tables(connection, asked).await?;
    let Some([schema, name, kind, engine, options]) = exact(&rows, server, asked) else {
        return Ok(unseen(asked, server));
    };
    let name: Name = (schema.into(), name.into());
    let mut object = CatalogObject {
        refusal: rules::schema_refusal(server, schema),
        kind: TableKind::Base,
        engine: engine.into(),
        parts: Vec::new(),
        shows_all_alike: false,
        runs_unknown_code: false,
        asks_for_cache: false,
        calls: Vec::new(),
        has_triggers: false,
        bodies: Vec::new(),
        columns: Arc::new([]),
        described: Arc::new([]),
        name,
    };
    if server.folds_names() && !(object.name.0.is_ascii() && object.name.1.is_ascii()) {
        // Only the server knows to what other letters fold.
        object.refusal.get_or_insert_with(|| "its name is not in ASCII, and the server folds names".into());
    }
    if kind == "VIEW" {
        let refusal = read_view(connection, server, &mut object).await?;
        object.refusal = object.refusal.or(refusal);
        return Ok(object);
    }
    if rules::is_merge(engine) {
        object.parts = parts(connection, server, &object.name).await?;
    }
    let own_rows = || rules::table_refusal(kind, engine, options);
    object.refusal = object.refusal.or_else(|| if object.parts.is_empty() { own_rows() } else { None });
    let of_columns = columns_refusal(connection, server, &object.name).await?;
    object.shows_all_alike = of_columns.is_none() && !rules::is_system_schema(&object.name.0);
    object.refusal = object.refusal.or(of_columns);
    // Rows of a MERGE table cannot be told apart: the binlog does not say in which of its parts they are.
    if object.refusal.is_none() && object.parts.is_empty() {
        (object.columns, object.described) = columns::read(connection, &object.name).await?;
    }
    match bodies::triggers(connection, server, &object.name).await? {
        Some(bodies) => object.bodies = bodies,
        None => object.has_triggers = true,
    }
    Ok(object)
}

/// Returns the tables that a MERGE table is made of; none where that cannot be told.
async fn parts(
    connection: &mut Connection,
    server: &ServerInfo,
    (schema, name): &Name,
) -> Result<Vec<Name>, Error> {
    let question = format!("SHOW CREATE TABLE {}.{}", quote_name(schema), quote_name(name));
    let rows = match query_definitions(connection, &question).await {
        Ok(rows) => rows,
        Err(Error::Server(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let text = rows.text(0, 1).unwrap_or_default();
    let parts = merged_tables(text.as_bytes(), server.modes()).unwrap_or_default();
    let in_full = |part: TableName| (part.schema.unwrap_or_else(|| schema.clone()), part.name);
    Ok(parts.into_iter().map(in_full).collect())
}

/// Whether our account can see that a table exists. It can if anything is granted on the table.
pub(super) async fn is_seen(
    connection: &mut Connection,
    server: &ServerInfo,
    name: &Name,
) -> Result<bool, Error> {
    let rows = tables(connection, name).await?;
    Ok(exact(&rows, server, name).is_some())
}

async fn tables(connection: &mut Connection, asked: &Name) -> Result<Rows, Error> {
    let what = "TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, ENGINE, CREATE_OPTIONS";
    query_definitions(
        connection,
        &format!("SELECT {what} FROM information_schema.TABLES WHERE {}", of_table(asked)),
    )
    .await
}

/// Returns the row with exactly this name: the server compares more loosely than it names.
fn exact<'a>(rows: &'a Rows, server: &ServerInfo, (schema, name): &Name) -> Option<[&'a str; 5]> {
    let same = |a: &str, b: &str| a == b || server.folds_names() && a.to_lowercase() == b.to_lowercase();
    rows.texts()
        .filter_map(|row| <[&str; 5]>::try_from(row).ok())
        .find(|row| same(row[0], schema) && same(row[1], name))
}

/// Describes a name under which our account sees nothing. If our account would see any object, nothing is there, and no code runs.
/// Otherwise the name may be a view that only others see.
fn unseen(asked: &Name, server: &ServerInfo) -> CatalogObject {
    let privileges = &server.privileges;
    let is_nothing = privileges.has_in("SELECT", &asked.0);
    // In the form in which the stream will name the object, should it be created.
    let fold = |name: &str| if server.folds_names() { name.to_lowercase() } else { name.to_owned() };
    CatalogObject {
        name: (fold(&asked.0), fold(&asked.1)),
        kind: TableKind::Unseen,
        engine: String::new(),
        parts: Vec::new(),
        refusal: Some("our account cannot see it: it does not exist, or needs a GRANT SELECT".into()),
        shows_all_alike: false,
        runs_unknown_code: !is_nothing,
        asks_for_cache: false,
        calls: Vec::new(),
        has_triggers: !is_nothing || !privileges.has_in("TRIGGER", &asked.0),
        bodies: Vec::new(),
        columns: Arc::new([]),
        described: Arc::new([]),
    }
}

/// Reads a view's text, and notes why the view may not be cached, if that is so.
async fn read_view(
    connection: &mut Connection,
    server: &ServerInfo,
    view: &mut CatalogObject,
) -> Result<Option<String>, Error> {
    view.kind = TableKind::View { names: Vec::new(), text: None };
    let columns = view_columns(connection, &view.name).await?;
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let what = "TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION";
    let question = format!("SELECT {what} FROM information_schema.VIEWS WHERE {}", of_table(&view.name));
    let rows = query_definitions(connection, &question).await?;
    let text = of_exactly(&rows, &view.name).next().unwrap_or_default();
    if text.is_empty() {
        view.runs_unknown_code = true;
        return Ok(Some("our account cannot see the view's text (it needs SELECT and SHOW VIEW)".into()));
    }
    let schema = view.name.0.clone();
    let whole = |table: TableName| (table.schema.unwrap_or_else(|| schema.clone()), table.name);
    let found = effects(text.as_bytes(), server.modes());
    view.runs_unknown_code = found.writes != Writes::Nothing;
    view.shows_all_alike =
        !rules::is_system_schema(&schema) && tables_at_a_moment(text.as_bytes(), server.modes()).is_ok();
    match found.calls {
        Calls::Named(calls) => {
            view.calls = calls.into_iter().map(|call| (call.kind, whole(call.name))).collect();
        }
        Calls::Unknown => view.runs_unknown_code = true,
    }
    let hint = freshet_sql::hint(text.as_bytes(), server.modes());
    let modes = Modes { is_shown: server.is_mariadb(), ..server.modes() };
    match View::read(text, &schema, &columns, modes) {
        Ok(text) => {
            let names = text.tables().iter().cloned().map(whole).collect();
            view.kind = TableKind::View { names, text: Some(Arc::new(text)) };
            view.asks_for_cache = hint == Some(Hint::Cache);
            Ok((hint == Some(Hint::NoCache)).then(|| "its text says SQL_NO_CACHE".into()))
        }
        Err(reason) => {
            // The objects that the view reads are still looked at: views below it may call functions.
            let names = tables_of(found.reads, view).into_iter().map(whole).collect();
            view.kind = TableKind::View { names, text: None };
            Ok(Some(reason.text()))
        }
    }
}

/// Returns the tables among these, if that can be told.
fn tables_of(reads: Reads, view: &mut CatalogObject) -> Vec<TableName> {
    match reads {
        Reads::Tables(tables) => tables,
        Reads::Unknown => {
            view.runs_unknown_code = true;
            Vec::new()
        }
    }
}

/// Returns the names of a view's columns in their order, as far as our account sees them.
async fn view_columns(connection: &mut Connection, view: &Name) -> Result<Vec<String>, Error> {
    let what = "TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME";
    let question = format!(
        "SELECT {what} FROM information_schema.COLUMNS WHERE {} ORDER BY ORDINAL_POSITION",
        of_table(view)
    );
    let rows = query_definitions(connection, &question).await?;
    Ok(of_exactly(&rows, view).map(str::to_owned).collect())
}

/// Returns the third of three columns, of the rows that begin with exactly this name: the server compares more loosely than it names.
fn of_exactly<'a>(rows: &'a Rows, (schema, name): &'a Name) -> impl Iterator<Item = &'a str> {
    let all = rows.texts().filter_map(|row| <[&str; 3]>::try_from(row).ok());
    all.filter(move |row| row[0] == schema && row[1] == name).map(|row| row[2])
}

/// Returns why a table's columns forbid caching, if they do.
async fn columns_refusal(
    connection: &mut Connection,
    server: &ServerInfo,
    name: &Name,
) -> Result<Option<String>, Error> {
    if !sees_all_columns(connection, server, name).await? {
        return Ok(Some("our account cannot see all its columns (grant it SELECT on the table)".into()));
    }
    let question = format!(
        "SELECT COLUMN_NAME, IF(EXTRA LIKE '%VIRTUAL%', GENERATION_EXPRESSION, ''), DATA_TYPE \
         FROM information_schema.COLUMNS WHERE (EXTRA LIKE '%VIRTUAL%' OR DATA_TYPE = 'time') AND {}",
        of_table(name)
    );
    let rows = query_definitions(connection, &question).await?;
    let rows: Vec<[&str; 3]> = rows.texts().filter_map(|row| row.try_into().ok()).collect();
    let times = rows.iter().filter(|[_, _, data_type]| data_type.eq_ignore_ascii_case("time"));
    let times = times.map(|[name, _, _]| name.to_lowercase()).collect();
    let columns = rows.iter().filter(|[_, text, _]| !text.is_empty()).map(|[name, text, _]| (*name, *text));
    let volatile = generated::volatile(server, columns, &times);
    Ok(volatile.map(|column| format!("the virtual column {column} may differ from one reading to the next")))
}

/// Whether our account sees all columns of a table. A privilege on a column shows that column alone, and an unseen column may be
/// volatile; a privilege on the table shows all columns.
async fn sees_all_columns(
    connection: &mut Connection,
    server: &ServerInfo,
    name: &Name,
) -> Result<bool, Error> {
    if server.privileges.has_in("SELECT", &name.0) {
        return Ok(true);
    }
    let question = format!(
        "SELECT 1 FROM information_schema.TABLE_PRIVILEGES WHERE PRIVILEGE_TYPE = 'SELECT' AND {}",
        of_table(name)
    );
    Ok(!query_definitions(connection, &question).await?.rows.is_empty())
}

fn of_table(name: &Name) -> String {
    these("TABLE_SCHEMA", "TABLE_NAME", name)
}
