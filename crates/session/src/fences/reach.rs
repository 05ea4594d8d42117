//! The possible changes of a statement: the tables that it names, those that foreign keys change with them, and the code that runs because
//! of them.

use std::sync::Arc;

use freshet_cache::Dep;
use freshet_catalog::{Code, Name, Routine, TableInfo, TableKind, Told};
use freshet_sql::{BodyWrite, Call, Calls, Defines, Effects, Reads, RoutineKind, TableName, Writes};

use super::rows::{self, Touched, TouchedRows, WrittenTables};
use super::settled::{Looking, Sources, settled, settled_routine};
use crate::rows::{CalledWith, Described, SentWith, Write};
use crate::session::TemporaryTables;

/// The storage engines whose changes become visible at the commit. With any other engine, others can see the changes of a statement inside a
/// transaction as soon as the statement has run.
const TRANSACTIONAL_ENGINES: [&str; 3] = ["InnoDB", "ROCKSDB", "TokuDB"];

/// The schemas in which nobody can define a view.
const VIEWLESS: [&str; 2] = ["information_schema", "performance_schema"];

fn is_transactional(engine: &str) -> bool {
    TRANSACTIONAL_ENGINES.iter().any(|transactional| transactional.eq_ignore_ascii_case(engine))
}

/// What a statement reaches.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    /// What to fence for the statement.
    pub(crate) deps: Vec<Dep>,
    /// Further tables to fence, with their foreign keys, which are looked up when the fence is raised.
    pub(crate) written: Vec<Name>,
    /// Further writes to fence; what they touch is looked up when the fence is raised.
    pub(crate) writes: Vec<Described>,
    /// Others may see the changes before the commit.
    pub(crate) at_once: bool,
    /// The statement runs unknown triggers or functions, or may do so.
    pub(crate) runs_unknown_code: bool,
    /// The statement runs code that may set variables of the session.
    pub(crate) sets_variables: bool,
    /// The statement runs code that is understood.
    pub(crate) runs_code: bool,
    /// The statement runs routines that are understood.
    pub(crate) runs_routines: bool,
    /// The statement writes through a view.
    pub(crate) opens_views: bool,
    /// The statement runs code that may commit on its own.
    pub(crate) commits: bool,
    /// The statement runs code that is understood and may ask about the statement before.
    pub(crate) reads_last_statement: bool,
    /// The statement runs unknown code if one of these does, which is unknown at the moment.
    pub(crate) unproven: Vec<Doubt>,
    /// The definitions on which this rests.
    pub(crate) told: Told,
}

/// A table or routine that a statement has used, and of which Freshet could not tell whether it runs unknown code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    Table(TableName),
    Routine(Call),
}

/// Returns everything that a statement with these effects uses.
pub(crate) fn used(effects: &Effects) -> Vec<Doubt> {
    let mut used = Vec::new();
    if let Writes::Tables(tables) = &effects.writes {
        used.extend(tables.iter().cloned().map(Doubt::Table));
    }
    if let Reads::Tables(tables) = &effects.reads {
        used.extend(tables.iter().cloned().map(Doubt::Table));
    }
    if let Calls::Named(calls) = &effects.calls {
        used.extend(calls.iter().cloned().map(Doubt::Routine));
    }
    used
}

impl Reach {
    /// Whether the statement changes nothing, and runs nothing that could be redefined.
    pub(crate) fn is_empty(&self) -> bool {
        self.deps.is_empty() && self.writes.is_empty() && !self.runs_routines
    }

    /// Whether code that the statement runs may ask about the statement before.
    pub(crate) fn asks_back(&self) -> bool {
        self.reads_last_statement || self.runs_unknown_code || !self.unproven.is_empty()
    }

    /// Whether the statement may change everything.
    pub(crate) fn is_wide(&self) -> bool {
        self.deps.contains(&Dep::EVERYTHING)
    }

    /// Removes all writes, because the account of the session may write nothing.
    pub(crate) fn narrow_to_nothing(&mut self) {
        self.deps.clear();
        self.writes.clear();
    }

    /// Widens the reach to everything.
    fn widen(&mut self) {
        self.deps = vec![Dep::EVERYTHING];
        self.at_once = true;
    }

    fn looking<'a>(&'a mut self, sources: Sources<'a>) -> Looking<'a> {
        Looking { sources, told: &mut self.told }
    }

    fn run_unknown_code(&mut self) {
        self.widen();
        self.runs_unknown_code = true;
    }
}

/// Finds what a statement with these effects may change: the tables themselves, what foreign keys change with them, and
/// what their triggers write; and everything if unknown code runs. `temporary` knows the temporary
/// tables, which nobody else sees; `write` has the rows of a write.
pub(crate) async fn reach(
    effects: &Effects,
    write: Option<Write<'_>>,
    temporary: &TemporaryTables,
    sources: Sources<'_>,
) -> Reach {
    let told = Told::at(sources.upstream.catalog_version());
    let call = write.as_ref().and_then(|write| write.as_call(effects));
    let mut reach = Reach { told, ..Reach::default() };
    reach.commits = effects.commits_inside;
    match &effects.writes {
        Writes::Nothing => {}
        Writes::Everything => reach.run_unknown_code(),
        Writes::Accounts(users) => {
            reach.deps.extend(users.iter().map(|user| sources.freshness.account(user)));
            reach.deps.push(Dep::ACCOUNTS);
            reach.at_once = true;
        }
        Writes::Schema(schema) => {
            reach.deps.push(sources.freshness.schema(schema));
            reach.at_once = true;
        }
        Writes::Tables(tables) => {
            let is_hidden = |table: &&TableName| {
                table.schema.as_deref().is_some_and(|schema| temporary.surely_shadow(schema, &table.name))
            };
            let tables: Vec<TableName> = tables.iter().filter(|table| !is_hidden(table)).cloned().collect();
            if only_defines(effects) {
                add_defined(&mut reach, &tables, sources);
            } else {
                let written = WrittenTables { tables: &tables, effects };
                add_all_written(&mut reach, written, write, temporary, sources).await;
            }
        }
    }
    add_read(&mut reach, &effects.reads, sources).await;
    add_calls(&mut reach, &effects.calls, call, sources).await;
    // A definition that changes no table is fenced too, as a definition under way.
    if effects.defines != Defines::Nothing && reach.deps.is_empty() {
        reach.deps.push(Dep::DEFINITIONS);
    }
    reach
}

/// Whether the statement is one definition of tables, and neither reads nor runs anything: the earlier definitions of the tables do not
/// matter to it.
fn only_defines(effects: &Effects) -> bool {
    let defines_all = match (&effects.defines, &effects.writes) {
        (Defines::Tables(defined), Writes::Tables(written)) => defined == written,
        _ => false,
    };
    effects.is_definition
        && !effects.several
        && !effects.fires
        && effects.reads.is_nothing()
        && effects.calls.is_nothing()
        && defines_all
}

/// Adds tables that are defined, without reading their definitions: that would wait for a definition of them just before.
fn add_defined(reach: &mut Reach, tables: &[TableName], sources: Sources<'_>) {
    let Some(tables) = tables.iter().map(TableName::in_full).collect::<Option<Vec<Name>>>() else {
        return reach.run_unknown_code();
    };
    let Some(below) = sources.upstream.with_children(&tables) else { return reach.widen() };
    add_tables(reach, &below, sources);
    reach.written.extend(tables);
}

/// What depends on the tables that LOCK TABLES names for writing.
#[derive(Default)]
pub(crate) struct Locked {
    pub(crate) all: Vec<Dep>,
    /// The part of `all` that depends on tables without transactions, as far as that is known.
    pub(crate) at_once: Vec<Dep>,
}

pub(crate) async fn locked(tables: &Writes, sources: Sources<'_>) -> Locked {
    let anything = || Locked { all: vec![Dep::EVERYTHING], at_once: Vec::new() };
    let tables = match tables {
        Writes::Nothing => return Locked::default(),
        Writes::Tables(tables) => tables,
        _ => return anything(),
    };
    let mut locked = Locked::default();
    for table in tables {
        let schema = table.schema.as_deref().unwrap_or_default();
        let Some(info) = settled(schema, &table.name, sources).await else { return anything() };
        let below = info.base_tables.iter();
        let deps = below.map(|(schema, name)| sources.freshness.table(schema, name).definition);
        let deps: Vec<Dep> = deps.collect();
        if is_base(&info) && !is_transactional(&info.engine) {
            locked.at_once.extend_from_slice(&deps);
        }
        locked.all.extend(deps);
    }
    locked
}

/// Adds a statement's writes: the rows, if they are known, or else the tables.
async fn add_all_written(
    reach: &mut Reach,
    written: WrittenTables<'_>,
    write: Option<Write<'_>>,
    temporary: &TemporaryTables,
    sources: Sources<'_>,
) {
    let WrittenTables { tables, effects } = written;
    if let [table] = tables {
        let Some(info) = known(reach, table, sources).await else { return };
        if let Some(what) = write.as_ref().and_then(|write| write.to(table)).filter(|_| is_base(&info)) {
            let touched = (info, what.clone());
            let sent_with = write.map(SentWith::from).unwrap_or_default();
            return add_rows(reach, touched, effects.fires, &sent_with, sources).await;
        }
    }
    let found = match &write {
        Some(write) => rows::found(write, written, temporary, reach.looking(sources)).await,
        None => None,
    };
    let Some(TouchedRows { touched, through_views }) = found else {
        for table in tables {
            if !reach.runs_unknown_code {
                add_written(reach, table, effects.fires, sources).await;
            }
        }
        return;
    };
    reach.opens_views |= through_views;
    let sent_with = write.map(SentWith::from).unwrap_or_default();
    for touched in touched {
        if !reach.runs_unknown_code {
            add_rows(reach, touched, effects.fires, &sent_with, sources).await;
        }
    }
}

/// Adds the rows of a table that a write touches.
async fn add_rows(
    reach: &mut Reach,
    touched: Touched,
    fires: bool,
    sent_with: &SentWith,
    sources: Sources<'_>,
) {
    let below = rows::below(&touched, reach.looking(sources)).await;
    let (info, what) = touched;
    let write = Described::new(Arc::clone(&info), what, sent_with.clone()).over(below);
    add_table(reach, info, fires, Some(write), sources);
}

/// Adds one table. `fires`: triggers run.
async fn add_written(reach: &mut Reach, table: &TableName, fires: bool, sources: Sources<'_>) {
    if let Some(info) = known(reach, table, sources).await {
        add_table(reach, info, fires, None, sources);
    }
}

/// Returns what is known of a written table. If nothing is, the statement reaches anything.
async fn known(reach: &mut Reach, table: &TableName, sources: Sources<'_>) -> Option<Arc<TableInfo>> {
    let Some(schema) = &table.schema else {
        reach.run_unknown_code();
        return None;
    };
    let info = settled(schema, &table.name, sources).await;
    if info.is_none() {
        reach.unproven.push(Doubt::Table(table.clone()));
        reach.widen();
    }
    info
}

/// Whether a table has rows of its own: it is no view, and no MERGE table, whose rows are those of other tables.
fn is_base(info: &TableInfo) -> bool {
    info.kind == TableKind::Base && info.base_tables.len() == 1
}

/// Adds a table, or only its rows that a write touches.
fn add_table(
    reach: &mut Reach,
    info: Arc<TableInfo>,
    fires: bool,
    write: Option<Described>,
    sources: Sources<'_>,
) {
    reach.told.rest_on_table(&info);
    if fires && info.has_triggers || info.runs_unknown_code {
        return reach.run_unknown_code();
    }
    if info.writes_elsewhere {
        reach.widen();
    }
    reach.opens_views |= matches!(info.kind, TableKind::View { .. });
    reach.at_once |= !is_transactional(&info.engine);
    if fires {
        info.triggers.iter().for_each(|code| add_code(reach, code, sources));
    }
    // A trigger may change the values that the statement gives to a row.
    let fires_any = fires && info.triggers.as_ref().is_none_or(|triggers| triggers.any);
    if let Some(write) = write
        && is_base(&info)
        && !fires_any
    {
        reach.writes.push(write);
        return;
    }
    add_tables(reach, &info.base_tables, sources);
}

/// Adds written tables, and what foreign keys change with them.
fn add_tables(reach: &mut Reach, tables: &[Name], sources: Sources<'_>) {
    reach.deps.extend(tables.iter().map(|(schema, name)| sources.freshness.table(schema, name).definition));
    reach.written.extend_from_slice(tables);
}

/// Adds the effects of code that is understood.
fn add_code(reach: &mut Reach, code: &Code, sources: Sources<'_>) {
    if reach.runs_unknown_code {
        return;
    }
    reach.runs_code |= code.any;
    reach.at_once |= !code.engines.iter().all(|engine| is_transactional(engine));
    add_tables(reach, &code.writes, sources);
    reach.sets_variables |= code.session;
    reach.commits |= code.commits;
    reach.reads_last_statement |= code.reads_last_statement;
}

/// Adds the effects of routines. Only a procedure may commit. `with` are the values of the call, if there is only one call.
async fn add_calls(reach: &mut Reach, calls: &Calls, with: Option<CalledWith>, sources: Sources<'_>) {
    let Calls::Named(calls) = calls else {
        reach.commits = true;
        return reach.run_unknown_code();
    };
    for call in calls {
        let routine = settled_routine(call, sources).await;
        if let Some(routine) = &routine {
            reach.told.rest_on(&routine.rests_on);
        }
        match routine.as_deref() {
            Some(Routine { code: Some(code), .. }) => {
                reach.runs_routines = true;
                add_code(reach, code, sources);
                for written in &code.rows {
                    add_rows_of_call(reach, written, with.as_ref(), sources).await;
                }
            }
            Some(Routine { code: None, .. }) => {
                reach.commits |= call.kind == RoutineKind::Procedure;
                reach.run_unknown_code();
            }
            None => {
                reach.commits |= call.kind == RoutineKind::Procedure;
                reach.unproven.push(Doubt::Routine(call.clone()));
                reach.widen();
            }
        }
    }
}

/// Adds the procedure's own writes.
async fn add_rows_of_call(
    reach: &mut Reach,
    ((schema, name), write): &(Name, BodyWrite),
    with: Option<&CalledWith>,
    sources: Sources<'_>,
) {
    let table = TableName::of(schema.clone(), name.clone());
    let Some(info) = known(reach, &table, sources).await else { return };
    match with.filter(|with| is_base(&info) && with.tells(&write.what)) {
        Some(with) => {
            let sent_with = SentWith::of(write.values(&with.values));
            add_rows(reach, (info, write.what.clone()), true, &sent_with, sources).await;
        }
        None => add_table(reach, info, true, None, sources),
    }
}

/// Adds the effects of reading: a view may call stored functions, and nothing in the statement's text says so.
async fn add_read(reach: &mut Reach, reads: &Reads, sources: Sources<'_>) {
    let reading = reading(reads, reach.looking(sources)).await;
    match reading {
        ReadReach::Plain => {}
        ReadReach::Runs(views) => {
            reach.runs_routines = true;
            let code = views.iter().filter_map(|view| view.reading.as_ref());
            code.for_each(|code| add_code(reach, code, sources));
        }
        ReadReach::RunsUnknownCode => reach.run_unknown_code(),
        ReadReach::NotKnownNow(tables) => {
            reach.unproven.extend(tables.into_iter().map(Doubt::Table));
            reach.widen();
        }
    }
}

/// The effects of reading some tables and views.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReadReach {
    /// The tables and views are only read.
    Plain,
    /// Code of these views runs, and Freshet understands it.
    Runs(Vec<Arc<TableInfo>>),
    /// Unknown code runs, or may run.
    RunsUnknownCode,
    /// Unknown code runs if one of these runs it, which is unknown at the moment: their definitions are being changed, or there is
    /// nobody to ask.
    NotKnownNow(Vec<TableName>),
}

/// Returns the effects of reading these tables, which are named in full. `told` then rests on their definitions.
pub(crate) async fn reading(reads: &Reads, Looking { sources, told }: Looking<'_>) -> ReadReach {
    let Reads::Tables(tables) = reads else { return ReadReach::RunsUnknownCode };
    let mut not_known = Vec::new();
    let mut running = Vec::new();
    for table in tables {
        let Some(schema) = &table.schema else { return ReadReach::RunsUnknownCode };
        if VIEWLESS.iter().any(|viewless| viewless.eq_ignore_ascii_case(schema)) {
            continue;
        }
        let info = settled(schema, &table.name, sources).await;
        if let Some(info) = &info {
            told.rest_on_table(info);
        }
        match info {
            Some(info) if info.runs_unknown_code => return ReadReach::RunsUnknownCode,
            Some(info) if info.runs_any_code() => running.push(info),
            Some(_) => {}
            None => not_known.push(table.clone()),
        }
    }
    match (not_known.is_empty(), running.is_empty()) {
        (false, _) => ReadReach::NotKnownNow(not_known),
        (true, false) => ReadReach::Runs(running),
        (true, true) => ReadReach::Plain,
    }
}
