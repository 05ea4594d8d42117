//! What is known of a statement's form: whether it may be cached and what its answers depend on, decided once for all
//! statements that differ in their literals alone.
//!
//! A *template* is what statements of one digest share. A digest does not tell lists of different lengths apart. A *form* does, and
//! it is found in one pass over the text ([`forms`]).

mod analysis;
mod forms;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use freshet_cache::Freshness;
use freshet_follow::Upstream;
use freshet_sql::{Effects, Modes, Shape};
use freshet_upstream::now_ms;
use tracing::debug;

use crate::kept::Kept;
use crate::newcomers::Newcomers;
use crate::rows::Statement;

use analysis::analyse;
pub(crate) use analysis::{Template, Verdict, judge};
pub(crate) use forms::{Bound, BoundSelect, BoundWrite};
use forms::{CompiledSelect, Forms};

/// How many bytes of templates are kept in each shard: 8 MiB in all. An application has hundreds of templates. Those that
/// are used least make room, so that a client that invents forms takes none from the others.
const SHARD_BYTES_MAX: usize = 1 << 19;
/// What a template takes beside its text, about, in bytes.
const TEMPLATE_BYTES: usize = 1024;
/// Templates are looked up on misses only; a few shards keep the event loops out of each other's way.
const SHARDS: usize = 16;
/// The longest digest text that is kept, in bytes; longer statements are analysed each time.
const TEXT_MAX: usize = 16 * 1024;

/// What a template is found by.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Digest {
    schema: Option<String>,
    modes: Modes,
    text: Vec<u8>,
}

type Shard = Kept<Digest, Arc<Template>>;

/// All templates.
#[derive(Debug)]
pub(crate) struct Templates {
    shards: [Mutex<Shard>; SHARDS],
    forms: Forms,
    newcomers: Newcomers,
}

impl Default for Templates {
    fn default() -> Self {
        let shards = std::array::from_fn(|_| Mutex::new(Kept::new(SHARD_BYTES_MAX)));
        Self { shards, forms: Forms::default(), newcomers: Newcomers::default() }
    }
}

impl Templates {
    /// What was compiled of the form of `statement`; None if it is new, or if a definition has changed since.
    pub(crate) fn known(&self, statement: Statement<'_>, upstream: &Upstream) -> Option<Bound> {
        self.forms.bind(statement).filter(|bound| match bound {
            Bound::Select(select) => upstream.is_current(&select.template().told),
            Bound::Write(_) => true,
        })
    }

    /// Notes what a write of rows of one table does; `effects` have every name in full.
    pub(crate) fn knows_write(&self, statement: Statement<'_>, effects: &Effects) {
        self.forms.keep_write(statement, effects);
    }

    /// What was compiled of the form of a SELECT, which is done now if it is not known.
    pub(crate) async fn of(&self, statement: Statement<'_>, behind: (&Freshness, &Upstream)) -> BoundSelect {
        if let Some(Bound::Select(known)) = self.known(statement, behind.1) {
            return known;
        }
        let template = Box::pin(self.template(statement, behind)).await;
        let is_kept = !matches!(template.verdict, Verdict::NotNow(_));
        let compiled = Arc::new(CompiledSelect::new(template, statement));
        if is_kept {
            self.forms.keep_select(statement, &compiled);
        }
        BoundSelect::new(compiled)
    }

    /// The template of a text, analysed now if it is new or if a definition has changed since.
    async fn template(&self, statement: Statement<'_>, behind: (&Freshness, &Upstream)) -> Arc<Template> {
        let Statement { text, modes, schema, .. } = statement;
        let upstream = behind.1;
        let Shape { hash, text: digest } = freshet_sql::shape(text, modes);
        let digest = Digest { schema: schema.map(str::to_owned), modes, text: digest };
        let shard = (hash % SHARDS as u128) as usize;
        let known = self.shard(shard).get(&digest).map(Arc::clone);
        match known {
            Some(known) if upstream.is_current(&known.told) => return known,
            Some(_) => {}
            None if self.newcomers.admits(hash, now_ms()) => {}
            None => return Arc::new(Template::not_analysed(text, modes, upstream)),
        }
        let template = Arc::new(analyse(text, schema, modes, behind).await);
        debug!(statement = %String::from_utf8_lossy(&digest.text), verdict = %template.verdict, "analysed");
        if !matches!(template.verdict, Verdict::NotNow(_)) && digest.text.len() <= TEXT_MAX {
            let bytes = digest.text.len() + TEMPLATE_BYTES;
            self.shard(shard).insert(digest, Arc::clone(&template), bytes);
        }
        template
    }

    fn shard(&self, at: usize) -> MutexGuard<'_, Shard> {
        self.shards[at].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
