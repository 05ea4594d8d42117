//! What Freshet makes of a statement, in words: whether its answers may be cached, which rows they depend on, and its plan form.
//!
//! The definitions are read from the server for this one statement. Nothing is followed, and nothing is stored.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use freshet_cache::{Freshness, Position};
use freshet_catalog::{Catalog, ForeignKeys, TableKind};
use freshet_sql::{QueryPlan, Reason, TableName, Tokens, Unplanned};
use freshet_upstream::{Connection, Error, ServerInfo, UpstreamConfig, control};

use crate::environment;
use crate::rows::{Named, ReadPlan, StatementText, Tables};
use crate::template::{Cacheability, judge};

/// The facts of a statement.
#[derive(Debug)]
pub struct Explained {
    verdict: Cacheability,
    digest: Vec<u8>,
    /// Each mention of a table with the conditions on its rows, if answers may be cached.
    reads: Vec<(String, String)>,
    /// Each table with its columns.
    columns: Vec<(String, String)>,
    /// `None` if there is none, and the statement was judged without its tables: its answers are not cached, whatever they are.
    plan: Option<Result<QueryPlan, Unplanned>>,
}

/// Explains one statement as a new session reads it, with the default schema of the configuration.
///
/// # Errors
/// The server cannot be asked.
pub async fn explain(config: &UpstreamConfig, text: &[u8]) -> Result<Explained, Error> {
    let mut connection = control::connect(config).await?;
    let server = ServerInfo::read(&mut connection).await?;
    let catalog = catalog(&mut connection, &server).await?;
    let (modes, zone) = environment::of_new_sessions(&server);
    let schema = config.database.as_deref();
    let tokens = Tokens::cut(text, modes);
    let judged =
        judge(&tokens, schema, async |name| catalog.load(&mut connection, &server, name.clone(), None).await)
            .await;
    connection.quit().await;
    Ok(Explained::new(StatementText { text, modes, schema, zone, tokens: Some(&tokens) }, judged))
}

/// Makes a catalog for one use: nobody tells it of later changes.
async fn catalog(connection: &mut Connection, server: &ServerInfo) -> Result<Catalog, Error> {
    let (freshness, now) = (Freshness::new(), Position::new(1));
    freshness.publish_applied(now);
    freshness.publish_visible(now);
    let catalog = Catalog::new(Arc::new(freshness));
    catalog.begin(server);
    if let Some((ticket, wanted)) = catalog.foreign_keys_wanted() {
        let keys = ForeignKeys::read_wanted(connection, server, wanted).await?;
        catalog.accept_foreign_keys(ticket, keys, now);
    }
    Ok(catalog)
}

impl Explained {
    fn new(statement: StatementText<'_>, judged: Result<(Cacheability, Tables), Reason>) -> Self {
        let StatementText { text, schema, .. } = statement;
        let (verdict, tables) =
            judged.unwrap_or_else(|reason| (Cacheability::Never(reason.into()), Tables::default()));
        let is_cached = matches!(verdict, Cacheability::Cache);
        let are_read = is_cached || !tables.known.is_empty();
        let columns_of = |table: &TableName| tables.columns_of(table, schema);
        let parsed = statement.parsed(&tables);
        let reads_of = |parsed| ReadPlan::of_parsed(parsed, statement, &tables).in_words(&tables);
        let reads = parsed.as_ref().ok().filter(|_| is_cached).map(reads_of);
        let plan = parsed.and_then(|parsed| parsed.plan(&columns_of));
        Self {
            verdict,
            digest: freshet_digest::text(text, &freshet_digest::Options::default()),
            reads: reads.unwrap_or_default(),
            columns: tables.known.iter().chain(&tables.below).map(columns).collect(),
            plan: Some(plan).filter(|plan| are_read || plan.is_ok()),
        }
    }

    /// Whether the statement has a plan form.
    #[must_use]
    pub fn is_planned(&self) -> bool {
        matches!(self.plan, Some(Ok(_)))
    }
}

/// A table, and its columns with their types.
fn columns(table: &Named) -> (String, String) {
    let columns: Vec<String> =
        table.info.columns.iter().map(|column| format!("{} {}", column.name, column.key)).collect();
    let columns = match (&table.info.kind, columns.as_slice()) {
        (TableKind::View { .. }, _) => "a view".to_owned(),
        (_, []) => "its columns are not known".to_owned(),
        (_, columns) => columns.join(", "),
    };
    (format!("{}.{}", table.schema, table.name), columns)
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        writeln!(text, "verdict\n  {}", self.verdict)?;
        writeln!(text, "digest text\n  {}", String::from_utf8_lossy(&self.digest))?;
        for (title, lines) in [("tables", &self.columns), ("depends on", &self.reads)] {
            if !lines.is_empty() {
                writeln!(text, "{title}")?;
            }
            for (name, what) in lines {
                writeln!(text, "  {name}: {what}")?;
            }
        }
        writeln!(text, "plan")?;
        let plan = match &self.plan {
            Some(Ok(plan)) => plan.to_string(),
            Some(Err(unplanned)) => unplanned.to_string(),
            None => "no plan: only a SELECT whose answers may be cached has one".to_owned(),
        };
        for line in plan.lines() {
            writeln!(text, "  {line}")?;
        }
        f.write_str(&text)
    }
}
