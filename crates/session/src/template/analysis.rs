//! The analysis of a new form of statements: whether answers may be cached, what the statements may do, and the definitions of
//! their tables.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use freshet_catalog::{CatalogError, Name, TableInfo, TableKind, Told};
use freshet_follow::Upstream;
use freshet_sql::{
    Analysis, ByNames, Effects, Reads, Reason, TableName, Tokens, is_system_schema, returns_what_it_finds,
};

use crate::created::NamedQuery;
use crate::fences::{Looking, ReadReach, Sources, reading};
use crate::qualify::qualify;
use crate::rows::{Named, Tables};
use crate::why::{Refusal, Why};

use super::profile::ExecutionProfile;

/// The facts of a form.
#[derive(Debug)]
pub(crate) struct Template {
    /// The definitions on which all of this rests.
    pub(crate) told: Told,
    /// Whether answers may be cached.
    pub(crate) verdict: Cacheability,
    /// What the statements may do to the session and to data.
    pub(crate) effects: Effects,
    /// The texts themselves read no table and call no function that may read one, wherever the calls of [`Self::effects`] lead.
    pub(crate) reads_nothing: bool,
    /// Every table that the statements name, if answers may be cached or are of their time: temporary tables of a session may stand in
    /// their place.
    pub(crate) tables: Tables,
    /// Answers may not be cached only because they show the time. They are the same on every connection.
    pub(crate) is_of_its_time: bool,
    /// A row in the answer was read by the transaction's read view.
    pub(crate) shows_rows_read: bool,
    /// The statements surely return all rows that they find.
    pub(crate) returns_what_it_finds: bool,
    /// How fast the statements are.
    pub(crate) profile: ExecutionProfile,
    /// The name of the query.
    pub(crate) query: NamedQuery,
    /// The tag of the last stored result.
    pub(crate) tag: AtomicU16,
}

impl Template {
    /// Makes the template of a form that is not analysed, because too many forms are new.
    pub(super) fn not_analysed(tokens: &Tokens<'_>, schema: Option<&str>, upstream: &Upstream) -> Self {
        let effects = tokens.effects();
        Self {
            told: Told::at(upstream.catalog_version()),
            verdict: Cacheability::NotNow(Why::ManyForms.into()),
            reads_nothing: effects.reads_nothing(),
            effects,
            tables: Tables::default(),
            is_of_its_time: false,
            shows_rows_read: false,
            returns_what_it_finds: returns_what_it_finds(tokens.text()),
            profile: ExecutionProfile::default(),
            query: NamedQuery::new(schema, tokens.rewritten()),
            tag: AtomicU16::default(),
        }
    }

    /// Returns the tag of the statements' results; 0 if it is unknown.
    pub(crate) fn tag(&self) -> u16 {
        self.tag.load(Ordering::Relaxed)
    }

    /// Notes the tag.
    pub(crate) fn note_tag(&self, tag: u16) {
        if self.tag() != tag {
            self.tag.store(tag, Ordering::Relaxed);
        }
    }

    /// Whether the statements only read tables.
    pub(crate) fn reads_tables_alone(&self) -> bool {
        (self.is_of_its_time || matches!(self.verdict, Cacheability::Cache))
            && self.effects.reads_nothing()
            && !self.effects.reads_last_statement
    }
}

/// Whether a template's answers may be cached.
#[derive(Debug, Clone)]
pub(crate) enum Cacheability {
    /// Answers depend only on rows of the template's tables.
    Cache,
    /// Answers may never be cached, with the reason.
    Never(Refusal),
    /// Answers may not be cached now: a definition is changing, the catalog cannot be read, or too many forms are new.
    NotNow(Refusal),
}

impl Cacheability {
    /// Returns why answers may not be cached.
    pub(crate) const fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Cache => None,
            Self::Never(refusal) | Self::NotNow(refusal) => Some(refusal),
        }
    }
}

impl fmt::Display for Cacheability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cache => f.write_str("cacheable"),
            Self::Never(why) => write!(f, "never cached: {why}"),
            Self::NotNow(why) => write!(f, "not cached now: {why}"),
        }
    }
}

/// Analyses a form.
pub(super) async fn analyse(tokens: &Tokens<'_>, schema: Option<&str>, behind: Sources<'_>) -> Template {
    let mut told = Told::at(behind.upstream.catalog_version());
    let mut effects = tokens.effects();
    let reads_nothing = effects.reads_nothing();
    let definition_of = async |(schema, name): &Name| behind.upstream.table(schema, name).await;
    let (verdict, tables, is_of_its_time) = match judge(tokens, schema, definition_of).await {
        Ok((verdict, tables)) => {
            let is_dated = matches!(&verdict, Cacheability::Never(refusal) if refusal.why == Why::Dated);
            let is_of_its_time = is_dated && !tables.by_names;
            (verdict, tables, is_of_its_time)
        }
        Err(reason) => {
            let of_its_time = match reason {
                Reason::Volatile(_) => read_at_this_time(tokens, schema, definition_of).await,
                _ => None,
            };
            let is_of_its_time = of_its_time.is_some();
            if !is_of_its_time {
                effects = look_up_reads(effects, schema, behind, &mut told).await;
            }
            (Cacheability::Never(reason.into()), of_its_time.unwrap_or_default(), is_of_its_time)
        }
    };
    if tables.by_names {
        effects = look_up_reads(effects, schema, behind, &mut told).await;
    } else if tables.known.iter().any(|table| table.info.runs_unknown_code) {
        effects = effects.running_unknown_code();
    } else if (is_of_its_time || !tables.known.is_empty())
        && tables.known.iter().all(|table| !table.info.runs_any_code())
    {
        effects.reads = Reads::NOTHING;
    }
    tables.rest(&mut told);
    let query = NamedQuery::new(schema, tokens.rewritten());
    let shows_rows_read = tables.have_read_views() && tokens.shows_rows_read();
    Template {
        told,
        verdict,
        effects,
        reads_nothing,
        tables,
        is_of_its_time,
        shows_rows_read,
        returns_what_it_finds: returns_what_it_finds(tokens.text()),
        profile: ExecutionProfile::default(),
        query,
        tag: AtomicU16::default(),
    }
}

/// Returns the tables of a statement whose answers could be cached if they did not show the time.
async fn read_at_this_time(
    tokens: &Tokens<'_>,
    schema: Option<&str>,
    definition_of: impl AsyncFnMut(&Name) -> Result<Arc<TableInfo>, CatalogError>,
) -> Option<Tables> {
    let written = tokens.tables_at_this_time().ok()?;
    let (known, below) = look_up(resolve(&written, schema)?, definition_of).await.ok()?;
    let may_be_cached = matches!(verdict_over(known.iter()), Cacheability::Cache);
    may_be_cached.then(|| Tables { written, known, below, ..Tables::default() })
}

/// Whether answers to a statement may be cached, and the tables that it names, by their definitions. The tables are empty if they are
/// unknown.
///
/// # Errors
/// The reason why the text alone forbids caching.
pub(crate) async fn judge(
    tokens: &Tokens<'_>,
    schema: Option<&str>,
    definition_of: impl AsyncFnMut(&Name) -> Result<Arc<TableInfo>, CatalogError>,
) -> Result<(Cacheability, Tables), Reason> {
    let (written, named) = match tokens.analyse() {
        Analysis::Not(reason @ Reason::NotParsed(_)) => {
            let found = tokens.by_names(reason)?;
            return judge_by_names(found, tokens, schema, definition_of).await;
        }
        Analysis::Not(reason) => return Err(reason),
        Analysis::Cacheable { tables, named, .. } => (tables, named),
    };
    let Some(full) = resolve(&written, schema) else {
        return Ok((Cacheability::Never(Why::NoSchema.into()), Tables::default()));
    };
    Ok(match look_up(full, definition_of).await {
        Ok((known, below)) => {
            let mut times = times_of(known.iter().chain(&below));
            let verdict = match verdict_over(known.iter()) {
                Cacheability::Cache if is_dated(tokens, known.iter().chain(&below), &mut times) => {
                    Cacheability::Never(Why::Dated.into())
                }
                verdict => verdict,
            };
            let have_times = !times.is_empty();
            (verdict, Tables { written, known, below, named, have_times, by_names: false })
        }
        Err(about) => (Cacheability::NotNow(Refusal::about(Why::Definition, about)), Tables::default()),
    })
}

/// Like [`judge`], for a SELECT whose grammar is not understood: all its names are looked up. Its answers depend on everything that exists
/// under these names, and on the absence of the others.
///
/// # Errors
/// As [`judge`].
async fn judge_by_names(
    ByNames { names, read }: ByNames,
    tokens: &Tokens<'_>,
    schema: Option<&str>,
    definition_of: impl AsyncFnMut(&Name) -> Result<Arc<TableInfo>, CatalogError>,
) -> Result<(Cacheability, Tables), Reason> {
    let Some(full) = resolve(&names, schema) else {
        return Ok((Cacheability::Never(Why::NoSchema.into()), Tables::default()));
    };
    if let Some((schema, _)) = full.iter().find(|(schema, _)| is_system_schema(schema)) {
        return Err(Reason::SystemSchema(schema.clone()));
    }
    let (known, below) = match look_up(full, definition_of).await {
        Ok(found) => found,
        Err(about) => {
            return Ok((Cacheability::NotNow(Refusal::about(Why::Definition, about)), Tables::default()));
        }
    };
    let is_there = |table: &&Named| !table.is_absent();
    if !known.iter().filter(is_there).any(|table| read.iter().any(|name| table.is(name, schema))) {
        return Err(Reason::NoTable);
    }
    let all = || known.iter().filter(is_there).chain(&below);
    let mut times = times_of(all());
    // It is unknown where a TIME is used in this text.
    let is_dated = !times.is_empty() || is_dated(tokens, all(), &mut times);
    let verdict = match verdict_over(known.iter().filter(is_there)) {
        Cacheability::Cache if is_dated => Cacheability::Never(Why::Dated.into()),
        verdict => verdict,
    };
    let named = names.len();
    let have_times = !times.is_empty();
    Ok((verdict, Tables { written: names, known, below, named, have_times, by_names: true }))
}

/// Returns `effects` with the reads looked up, so that statements of this form need not look them up; unchanged if
/// the reads cannot be told now.
async fn look_up_reads(
    effects: Effects,
    schema: Option<&str>,
    behind: Sources<'_>,
    told: &mut Told,
) -> Effects {
    let named = qualify(effects.clone(), schema).reads;
    let reading = reading(&named, Looking { sources: behind, told }).await;
    match reading {
        ReadReach::Plain => Effects { reads: Reads::NOTHING, ..effects },
        ReadReach::RunsUnknownCode if schema.is_some() => effects.running_unknown_code(),
        // Without a schema, the server most likely refuses the statement.
        ReadReach::Runs(_) | ReadReach::RunsUnknownCode | ReadReach::NotKnownNow(_) => effects,
    }
}

/// Returns the names of the columns of type TIME in these tables.
fn times_of<'a>(tables: impl Iterator<Item = &'a Named>) -> BTreeSet<String> {
    let columns = tables.flat_map(|table| table.info.columns.iter());
    columns.filter(|column| &*column.data_type.name == "time").map(|column| column.name.clone()).collect()
}

/// Whether answers may depend on the current date: through the statement itself, or a view among its tables.
fn is_dated<'a>(
    tokens: &Tokens<'_>,
    tables: impl Iterator<Item = &'a Named> + Clone,
    times: &mut BTreeSet<String>,
) -> bool {
    loop {
        let known = times.len();
        for table in tables.clone() {
            let TableKind::View { text, .. } = &table.info.kind else { continue };
            let Some(text) = text else { return true };
            if table.has_more_below() || text.is_dated(times) {
                return true;
            }
        }
        if times.len() == known {
            return tokens.is_dated(times);
        }
    }
}

/// Returns each name with its schema; `None` if one has none.
fn resolve(written: &[TableName], schema: Option<&str>) -> Option<Vec<Name>> {
    let full = |table: &TableName| {
        let schema = table.schema.as_deref().or(schema)?;
        Some((schema.to_owned(), table.name.clone()))
    };
    written.iter().map(full).collect()
}

/// Returns the definitions of these tables, and of the tables below the views among them, or why they are unknown now.
async fn look_up(
    named: Vec<Name>,
    mut definition_of: impl AsyncFnMut(&Name) -> Result<Arc<TableInfo>, CatalogError>,
) -> Result<(Vec<Named>, Vec<Named>), String> {
    let known = look_up_each(named, &mut definition_of).await?;
    let mut below: Vec<Name> = known.iter().flat_map(Named::below).cloned().collect();
    below.sort();
    below.dedup();
    let below = look_up_each(below, &mut definition_of).await?;
    Ok((known, below))
}

async fn look_up_each(
    named: Vec<Name>,
    definition_of: &mut impl AsyncFnMut(&Name) -> Result<Arc<TableInfo>, CatalogError>,
) -> Result<Vec<Named>, String> {
    let mut tables = Vec::with_capacity(named.len());
    for name in named {
        match definition_of(&name).await {
            Ok(info) => tables.push(Named::new(name, info)),
            Err(error) => return Err(format!("`{}`.`{}`: {error}", name.0, name.1)),
        }
    }
    Ok(tables)
}

/// Returns whether answers from these tables may be cached.
fn verdict_over<'a>(mut tables: impl Iterator<Item = &'a Named>) -> Cacheability {
    let refusal = tables.find_map(|table| {
        let why = table.info.cacheable.as_ref().err()?;
        Some(Refusal::about(Why::Table, format!("`{}`.`{}`: {why}", table.schema, table.name)))
    });
    refusal.map_or(Cacheability::Cache, Cacheability::Never)
}
