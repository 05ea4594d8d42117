//! The facts of a statement's form: whether answers may be cached and what they depend on. They are decided once for all
//! statements that differ only in their literals.
//!
//! A *template* belongs to all statements of one digest. A digest is the same for lists of different lengths. A *form* is not, and
//! one pass over the text finds it ([`forms`]).

mod analysis;
mod forms;
mod profile;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use freshet_follow::Upstream;
use freshet_sql::{Effects, Modes, Shape, Tokens};
use freshet_upstream::now_ms;
use tracing::debug;

use crate::fences::Sources;
use crate::kept::Kept;
use crate::newcomers::Newcomers;

use analysis::analyse;
pub(crate) use analysis::{Cacheability, Template, judge};
pub(crate) use forms::{Bound, BoundSelect, BoundWrite, ByForm, New, SelectKind};
use forms::{CompiledSelect, Forms};

/// How many bytes of templates are kept in each shard: 8 MiB in all. An application has hundreds of templates. The least used ones
/// are dropped first, so that a client that invents forms takes no room from the others.
const SHARD_BYTES_MAX: usize = 1 << 19;
/// About how many bytes a template takes beside its text.
const TEMPLATE_BYTES: usize = 1024;
/// Templates are looked up on misses only; a few shards keep the event loops out of each other's way.
const SHARDS: usize = 16;
/// The longest digest text that is kept, in bytes; longer statements are analysed each time.
const TEXT_MAX: usize = 16 * 1024;

/// The key of a template.
#[derive(Debug, PartialEq, Eq, Hash)]
struct TemplateKey {
    schema: Option<String>,
    modes: Modes,
    text: Vec<u8>,
}

type TemplateShard = Kept<TemplateKey, Arc<Template>>;

/// All templates.
#[derive(Debug)]
pub(crate) struct Templates {
    shards: [Mutex<TemplateShard>; SHARDS],
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
    /// Returns what was compiled of the form of a statement in this schema. The form counts as new if a definition has changed since.
    pub(crate) fn find<'a>(
        &self,
        text: &'a [u8],
        modes: Modes,
        schema: Option<&str>,
        upstream: &Upstream,
    ) -> ByForm<'a> {
        self.forms.bind(text, modes, schema, |template| upstream.is_current(&template.told))
    }

    /// Notes what a new write of rows of one table does; `effects` have every name in full.
    pub(crate) fn knows_write(&self, new: New<'_>, effects: &Effects) {
        self.forms.keep_write(new.form, effects);
    }

    /// Returns what was compiled of the form of a SELECT. Compiles the form if it is new.
    pub(crate) async fn of<'a>(
        &self,
        text: &'a [u8],
        modes: Modes,
        schema: Option<&str>,
        behind: Sources<'_>,
    ) -> BoundSelect<'a> {
        match self.find(text, modes, schema, behind.upstream) {
            ByForm::Known(Bound::Select(known)) => known,
            // A form that was noted as a write is compiled as a SELECT here.
            ByForm::Known(Bound::Write(_)) => self.compile(New::cut(text, modes), schema, behind).await,
            ByForm::New(new) => self.compile(*new, schema, behind).await,
        }
    }

    /// Compiles a new form.
    pub(crate) async fn compile<'a>(
        &self,
        New { tokens, form, kind }: New<'a>,
        schema: Option<&str>,
        behind: Sources<'_>,
    ) -> BoundSelect<'a> {
        let template = Box::pin(self.template(&tokens, schema, behind)).await;
        let is_kept = !matches!(template.verdict, Cacheability::NotNow(_));
        let kind = kind.unwrap_or_else(|| SelectKind::from(&tokens.request()));
        let compiled = Arc::new(CompiledSelect::new(template, &tokens, kind));
        if is_kept {
            self.forms.keep_select(form, &compiled);
        }
        BoundSelect::first(compiled, tokens)
    }

    /// Returns the template of a text. Analyses the text if it is new or if a definition has changed since.
    async fn template(
        &self,
        tokens: &Tokens<'_>,
        schema: Option<&str>,
        behind: Sources<'_>,
    ) -> Arc<Template> {
        let (modes, upstream) = (tokens.modes(), behind.upstream);
        let Shape { hash, text: digest } = tokens.shape();
        let digest = TemplateKey { schema: schema.map(str::to_owned), modes, text: digest };
        let shard = (hash % SHARDS as u128) as usize;
        let known = self.shard(shard).get(&digest).map(Arc::clone);
        match known {
            Some(known) if upstream.is_current(&known.told) => return known,
            Some(_) => {}
            None if self.newcomers.admits(hash, now_ms()) => {}
            None => return Arc::new(Template::not_analysed(tokens, schema, upstream)),
        }
        let template = Arc::new(analyse(tokens, schema, behind).await);
        debug!(statement = %String::from_utf8_lossy(&digest.text), verdict = %template.verdict, "analysed");
        if !matches!(template.verdict, Cacheability::NotNow(_)) && digest.text.len() <= TEXT_MAX {
            let bytes = digest.text.len() + template.query.text.len() + TEMPLATE_BYTES;
            self.shard(shard).insert(digest, Arc::clone(&template), bytes);
        }
        template
    }

    fn shard(&self, at: usize) -> MutexGuard<'_, TemplateShard> {
        self.shards[at].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
