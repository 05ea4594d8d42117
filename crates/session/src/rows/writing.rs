//! What a write may touch.

use std::sync::Arc;

use freshet_cache::sabotage::{self, Sabotage};
use freshet_cache::{Dep, Freshness};
use freshet_catalog::rows::{Acted, Ticket, TouchedSlots, Values, Zone, acted, reached, reaches_nothing};
use freshet_catalog::{Descendants, Name, TableInfo};
use freshet_follow::Upstream;
use freshet_sql::{Datum, Effects, Modes, RowWrite, TableName, Writes, contains_ignoring_case};

use crate::reading::{self, LONG_BYTES_MIN, ParseSettings};

/// A write as it was read, with the values of its parameters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Write<'a> {
    /// What its text alone tells.
    pub(crate) what: Option<RowWrite>,
    /// The text itself, which tells more by the definitions of its tables.
    pub(crate) text: Option<WriteText<'a>>,
    pub(crate) parameters: Vec<Datum>,
    /// The time zone in which its moments are meant.
    pub(crate) zone: Zone,
    /// What it inserts may get other numbers than those that were never given.
    pub(crate) may_number: bool,
}

/// The text of a write, and how it is to be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteText<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) modes: Modes,
    /// Where names without a schema are found.
    pub(crate) schema: Option<&'a str>,
}

impl<'a> Write<'a> {
    /// What a text writes, as far as it tells; names without a schema are found in `schema`. Who sends a long one has read it
    /// before.
    pub(crate) fn in_text(
        text: &'a [u8],
        schema: Option<&'a str>,
        effects: &Effects,
        settings: ParseSettings,
    ) -> Option<Self> {
        let writes = matches!(effects.writes, Writes::Tables(_)) || is_call(effects);
        if text.len() >= LONG_BYTES_MIN || text.is_empty() || !writes {
            return None;
        }
        let what = reading::row_write(text, effects, settings);
        let text = Some(WriteText { text, modes: settings.modes_of_write, schema });
        Some(Write { what, text, ..Write::default() }.in_zone(settings.zone))
    }

    /// The same, sent by a session of this time zone.
    pub(crate) fn in_zone(self, zone: Zone) -> Self {
        let is_own = self.text.is_some_and(|WriteText { text, .. }| !sets_zone(text));
        Self { zone: if is_own { zone } else { Zone::Other }, ..self }
    }

    /// What it writes, if it is a write to this table and no other; a name without schema is one in the default schema.
    pub(crate) fn to(&self, table: &TableName) -> Option<&RowWrite> {
        let is_to = |what: &&RowWrite| {
            let written = what.table();
            written.name == table.name && (written.schema.is_none() || written.schema == table.schema)
        };
        self.what.as_ref().filter(is_to).filter(|what| self.is_told(what))
    }

    /// What the procedure is called with, if it is a call of one that does nothing beside.
    pub(crate) fn as_call(&self, effects: &Effects) -> Option<CalledWith> {
        let WriteText { text, modes, .. } = self.text.filter(|_| is_call(effects))?;
        let given = freshet_sql::call_arguments(text, modes)?;
        let values = Values { parameters: &self.parameters, zone: Zone::Other };
        let value = |datum: &Datum| values.of(datum).cloned().unwrap_or(Datum::Other);
        Some(CalledWith { values: given.iter().map(value).collect(), may_number: self.may_number })
    }

    /// Whether its rows are those that the text tells of.
    pub(crate) const fn is_told(&self, what: &RowWrite) -> bool {
        !(self.may_number && what.is_insert())
    }
}

/// What a procedure is called with.
#[derive(Debug)]
pub(crate) struct CalledWith {
    /// The values of its parameters.
    pub(crate) values: Vec<Datum>,
    may_number: bool,
}

impl CalledWith {
    /// Whether the rows that the procedure writes are those that its text tells of.
    pub(crate) const fn tells(&self, what: &RowWrite) -> bool {
        !(self.may_number && what.is_insert())
    }
}

/// Whether a statement is the call of one procedure, or of several in its expressions.
fn is_call(effects: &Effects) -> bool {
    effects.writes == Writes::Nothing && !effects.calls.is_nothing() && !effects.several
}

/// Whether a text may be carried out in a time zone of its own: by a hint, or by `SET STATEMENT … FOR`.
fn sets_zone(text: &[u8]) -> bool {
    const VARIABLE: &[u8] = b"time_zone";
    contains_ignoring_case(text, VARIABLE)
}

/// A write to a table whose definition is known, and which does nothing beside but what its foreign keys do.
#[derive(Clone, Debug)]
pub(crate) struct Described {
    table: Arc<TableInfo>,
    what: RowWrite,
    sent_with: SentWith,
    /// What is known of the tables that hang on it by foreign keys.
    below: Arc<[Arc<TableInfo>]>,
}

/// What a write was sent with.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentWith {
    parameters: Arc<[Datum]>,
    zone: Zone,
}

impl SentWith {
    fn values(&self) -> Values<'_> {
        Values { parameters: &self.parameters, zone: self.zone }
    }
}

impl SentWith {
    /// Values whose moments are meant in no zone that is known.
    pub(crate) fn of(parameters: Vec<Datum>) -> Self {
        Self { parameters: parameters.into(), zone: Zone::Other }
    }
}

impl From<Write<'_>> for SentWith {
    fn from(write: Write<'_>) -> Self {
        Self { parameters: write.parameters.into(), zone: write.zone }
    }
}

/// The writes that one write is taken apart into, those of foreign keys included; what goes beyond is fenced by the table.
const ACTED_MAX: usize = 64;

impl Described {
    pub(crate) fn new(table: Arc<TableInfo>, what: RowWrite, sent_with: SentWith) -> Self {
        Self { table, what, sent_with, below: Arc::default() }
    }

    /// The same with what is known of the tables that hang on it.
    pub(crate) fn over(self, below: Vec<Arc<TableInfo>>) -> Self {
        Self { below: below.into(), ..self }
    }

    /// The table, where its rows are not told apart for want of room to remember them.
    pub(crate) fn table(&self) -> &Name {
        &self.table.name
    }
}

/// What `write` touches of all that is stored, and the tickets to be held as long as that is fenced. To be asked right before
/// the fence is raised: what is stored by watches that are made later waits for the tickets.
pub(crate) fn touched(
    write: &Described,
    freshness: &Freshness,
    upstream: &Upstream,
) -> (Vec<Dep>, Vec<Ticket>) {
    let mut touching = Touching { write, freshness, upstream, deps: Vec::new(), tickets: Vec::new() };
    let mut all = vec![(Arc::clone(&write.table), write.what.clone())];
    let mut at = 0;
    while let Some((table, what)) = all.get(at).cloned() {
        at += 1;
        touching.rows(&table, &what);
        // What a foreign key does is followed no further if it comes round again.
        for acted in touching.below(&table, &what) {
            if all.len() >= ACTED_MAX {
                touching.whole(&acted.0.name);
            } else if !all.contains(&acted) {
                all.push(acted);
            }
        }
    }
    (touching.deps, touching.tickets)
}

/// What a write touches, as it is found.
struct Touching<'a> {
    write: &'a Described,
    freshness: &'a Freshness,
    upstream: &'a Upstream,
    deps: Vec<Dep>,
    tickets: Vec<Ticket>,
}

impl Touching<'_> {
    /// Adds the rows of one table.
    fn rows(&mut self, table: &TableInfo, what: &RowWrite) {
        let (schema, name) = &table.name;
        let (watches, ticket) = self.upstream.watches().writing(schema, name);
        self.tickets.push(ticket);
        self.deps.push(self.freshness.table(schema, name).rows);
        for watch in watches.iter() {
            match watch.deps_of_write(table, what, self.write.sent_with.values()) {
                TouchedSlots::Nothing => {}
                TouchedSlots::Slots(slots) => self.deps.extend(slots),
                TouchedSlots::Absent => self.deps.push(watch.absent()),
                TouchedSlots::Any if sabotage::is(Sabotage::NarrowFences) => {}
                TouchedSlots::Any => self.deps.push(watch.any()),
            }
        }
    }

    /// What foreign keys do to the children of a table, where the rows are known; where they are not, whole tables are added.
    fn below(&mut self, table: &TableInfo, what: &RowWrite) -> Vec<(Arc<TableInfo>, RowWrite)> {
        if reaches_nothing(what) {
            return Vec::new(); // Whatever keys there are.
        }
        let (schema, name) = &table.name;
        let Some(below) = self.upstream.descendants(schema, name) else {
            self.deps.push(Dep::EVERYTHING);
            return Vec::new();
        };
        let reached = reached(table, &below, what);
        if reached.is_empty() {
            return Vec::new();
        }
        match self.followed(table, what, &below, &reached) {
            Some(followed) => followed,
            None => {
                reached.into_iter().for_each(|name| self.definition(name));
                Vec::new()
            }
        }
    }

    /// What is done to the children among the `reached`; `None` if the rows of one cannot be told.
    fn followed(
        &self,
        table: &TableInfo,
        what: &RowWrite,
        below: &Descendants,
        reached: &[&Name],
    ) -> Option<Vec<(Arc<TableInfo>, RowWrite)>> {
        let mut followed = Vec::new();
        for key in below.keys.as_ref()?.iter().filter(|key| reached.contains(&&key.child)) {
            let child = self.write.below.iter().find(|info| info.name == key.child)?;
            match acted(key, table, child, what, self.write.sent_with.values()) {
                Acted::Nothing => {}
                Acted::Like(write) => followed.push((Arc::clone(child), write)),
                Acted::Anything => return None,
            }
        }
        Some(followed)
    }

    fn definition(&mut self, (schema, name): &Name) {
        self.deps.push(self.freshness.table(schema, name).definition);
    }

    /// Adds all of a table, and all that hangs on it.
    fn whole(&mut self, name: &Name) {
        self.definition(name);
        match self.upstream.descendants(&name.0, &name.1) {
            Some(below) => below.all.iter().for_each(|name| self.definition(name)),
            None => self.deps.push(Dep::EVERYTHING),
        }
    }
}
