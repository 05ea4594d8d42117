//! What is known of a statement's form: whether it may be cached and what its answers depend on, decided once for all
//! statements that differ in their literals alone.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ahash::HashMap;
use freshet_cache::{Dep, Freshness};
use freshet_sql::{Analysis, Effects, Modes, Reads, Shape, TableName};
use freshet_upstream::upstream::Upstream;
use tracing::debug;

use crate::fences::{Reading, Sources, reading};
use crate::qualify::qualify;

/// How many bytes of templates are kept in each shard: 16 MiB in all. An application has hundreds of templates; one that
/// writes its literals in forms that the tokeniser does not take out starts the shard anew at the bound.
const SHARD_BYTES_MAX: usize = 1 << 20;
/// What a template takes beside its text, about, in bytes.
const TEMPLATE_BYTES: usize = 512;
/// Templates are looked up on misses only; a few shards keep the event loops out of each other's way.
const SHARDS: usize = 16;
/// The longest digest text that is kept, in bytes; longer statements are analysed each time.
const TEXT_MAX: usize = 16 * 1024;

/// A statement's form.
#[derive(Debug)]
pub(crate) struct Template {
    /// The catalog's version that the verdict rests on.
    pub(crate) catalog_version: u64,
    /// Whether answers may be cached.
    pub(crate) verdict: Verdict,
    /// What it may do to the session and to data.
    pub(crate) effects: Effects,
    /// Every table it names, with its schema: a session's temporary tables may stand in their place.
    pub(crate) tables: Vec<(String, String)>,
}

/// Whether a template's answers may be cached.
#[derive(Debug, Clone)]
pub(crate) enum Verdict {
    /// They depend on these.
    Cache { deps: Vec<Dep> },
    /// Never, and why.
    Never(String),
    /// Not now: a definition is just changing, or the catalog cannot be read.
    NotNow(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cache { deps } => write!(f, "cacheable, {} dependencies", deps.len()),
            Self::Never(why) => write!(f, "never cached: {why}"),
            Self::NotNow(why) => write!(f, "not cached now: {why}"),
        }
    }
}

/// What a template is found by.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Form {
    schema: Option<String>,
    modes: Modes,
    text: Vec<u8>,
}

#[derive(Debug, Default)]
struct Shard {
    known: HashMap<Form, Arc<Template>>,
    bytes: usize,
}

/// All templates.
#[derive(Debug, Default)]
pub(crate) struct Templates {
    shards: [Mutex<Shard>; SHARDS],
}

impl Templates {
    /// The template of `text` as read in `modes` with the default schema `schema`, analysed now if it is new or if
    /// a definition has changed since.
    pub(crate) async fn of(
        &self,
        text: &[u8],
        schema: Option<&str>,
        modes: Modes,
        behind: (&Freshness, &Upstream),
    ) -> Arc<Template> {
        let upstream = behind.1;
        let Shape { hash, text: digest } = freshet_sql::shape(text, modes);
        let form = Form { schema: schema.map(str::to_owned), modes, text: digest };
        let shard = (hash % SHARDS as u128) as usize;
        let version = upstream.catalog_version();
        if let Some(known) = self.shard(shard).known.get(&form)
            && known.catalog_version == version
        {
            return Arc::clone(known);
        }
        let template = Arc::new(analyse(text, schema, modes, behind).await);
        debug!(statement = %String::from_utf8_lossy(&form.text), verdict = %template.verdict, "analysed");
        if !matches!(template.verdict, Verdict::NotNow(_)) && form.text.len() <= TEXT_MAX {
            let bytes = form.text.len() + TEMPLATE_BYTES;
            let mut shard = self.shard(shard);
            if shard.bytes + bytes > SHARD_BYTES_MAX {
                *shard = Shard::default();
            }
            if shard.known.insert(form, Arc::clone(&template)).is_none() {
                shard.bytes += bytes;
            }
        }
        template
    }

    fn shard(&self, at: usize) -> MutexGuard<'_, Shard> {
        self.shards[at].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn analyse(
    text: &[u8],
    schema: Option<&str>,
    modes: Modes,
    behind: (&Freshness, &Upstream),
) -> Template {
    let catalog_version = behind.1.catalog_version();
    let mut effects = freshet_sql::effects(text, modes);
    let mut tables = Vec::new();
    let verdict = match freshet_sql::analyse(text, modes) {
        Analysis::Not(reason) => {
            effects = look_up_reads(effects, schema, behind).await;
            Verdict::Never(reason.text())
        }
        Analysis::Cacheable { tables: named, .. } => match resolve(named, schema) {
            None => Verdict::Never("no default schema".to_owned()),
            Some(named) => {
                let (verdict, runs_unknown_code) = depend(&named, behind).await;
                if runs_unknown_code {
                    effects = effects.running_unknown_code();
                } else if !matches!(verdict, Verdict::NotNow(_)) {
                    effects.reads = Reads::NOTHING;
                }
                tables = named;
                verdict
            }
        },
    };
    Template { catalog_version, verdict, effects, tables }
}

/// `effects` with what it reads looked up, so that it need not be done with each statement of this form; unchanged where
/// that cannot be told now.
async fn look_up_reads(effects: Effects, schema: Option<&str>, behind: (&Freshness, &Upstream)) -> Effects {
    let (freshness, upstream) = behind;
    let named = qualify(effects.clone(), schema).reads;
    match reading(&named, Sources { freshness, upstream }).await {
        Reading::Plain => Effects { reads: Reads::NOTHING, ..effects },
        Reading::RunsUnknownCode if schema.is_some() => effects.running_unknown_code(),
        // Without a schema, most likely the server refuses it.
        Reading::RunsUnknownCode | Reading::NotKnownNow(_) => effects,
    }
}

/// Each name with its schema; `None` if one has none.
fn resolve(named: Vec<TableName>, schema: Option<&str>) -> Option<Vec<(String, String)>> {
    named
        .into_iter()
        .map(|table| Some((table.schema.or_else(|| schema.map(str::to_owned))?, table.name)))
        .collect()
}

/// What answers over `tables` depend on, or why they are not cached; and whether reading them runs functions of which
/// nothing is known here, as a view may.
async fn depend(tables: &[(String, String)], behind: (&Freshness, &Upstream)) -> (Verdict, bool) {
    let (freshness, upstream) = behind;
    let mut deps = Vec::new();
    let mut refusal = None;
    let mut runs_unknown_code = false;
    for (schema, name) in tables {
        let info = match upstream.table(schema, name).await {
            Ok(info) => info,
            Err(error) => return (Verdict::NotNow(format!("`{schema}`.`{name}`: {error}")), false),
        };
        runs_unknown_code |= info.runs_unknown_code;
        if let Err(why) = &info.cacheable {
            refusal.get_or_insert_with(|| format!("`{schema}`.`{name}`: {why}"));
        }
        // The names as the server reports them, which is how the binlog has them too; the first is the table itself.
        for (schema, name) in &info.base_tables {
            add_table(&mut deps, freshness, schema, name);
        }
    }
    deps.sort_unstable();
    deps.dedup();
    (refusal.map_or(Verdict::Cache { deps }, Verdict::Never), runs_unknown_code)
}

fn add_table(deps: &mut Vec<Dep>, freshness: &Freshness, schema: &str, name: &str) {
    let table = freshness.table(schema, name);
    deps.extend([freshness.schema(schema), table.definition, table.rows]);
}
