//! The rows that a write may touch.

use std::sync::Arc;

use freshet_cache::sabotage::{self, Sabotage};
use freshet_cache::{Dep, Freshness};
use freshet_catalog::rows::{Acted, Ticket, TouchedSlots, Values, Zone, acted, reached, reaches_nothing};
use freshet_catalog::{Descendants, Name, TableInfo};
use freshet_follow::Upstream;
use freshet_sql::{Datum, Effects, Modes, RowWrite, TableName, Writes, contains_ignoring_case};

use crate::reading::{self, LONG_BYTES_MIN, ParseSettings};
use crate::sought::ZONE;

/// A write as Freshet has read it, with the values of its parameters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Write<'a> {
    /// What the text alone shows.
    pub(crate) what: Option<RowWrite>,
    /// The text itself. With the definitions of its tables, it shows more.
    pub(crate) text: Option<WriteText<'a>>,
    pub(crate) parameters: Vec<Datum>,
    /// The session's time zone.
    pub(crate) zone: Zone,
    /// An inserted row may get a number that was given before.
    pub(crate) may_number: bool,
}

/// The text of a write, and how it is to be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteText<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) modes: Modes,
    /// The default schema, for names without a schema.
    pub(crate) schema: Option<&'a str>,
}

impl<'a> Write<'a> {
    /// Returns what a text writes, as far as the text shows it; names without a schema are in `schema`. The sender of a long text has read it
    /// already.
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

    /// Sets the session's time zone.
    pub(crate) fn in_zone(self, zone: Zone) -> Self {
        let is_own = self.text.is_some_and(|WriteText { text, .. }| !sets_zone(text));
        Self { zone: if is_own { zone } else { Zone::Other }, ..self }
    }

    /// Returns the write, if it goes to this table and no other; a name without schema is in the default schema.
    pub(crate) fn to(&self, table: &TableName) -> Option<&RowWrite> {
        let is_to = |what: &&RowWrite| {
            let written = what.table();
            written.name == table.name && (written.schema.is_none() || written.schema == table.schema)
        };
        self.what.as_ref().filter(is_to).filter(|what| self.is_told(what))
    }

    /// Returns the values of the procedure's call, if the statement is a call and nothing else.
    pub(crate) fn as_call(&self, effects: &Effects) -> Option<CalledWith> {
        let WriteText { text, modes, .. } = self.text.filter(|_| is_call(effects))?;
        let given = freshet_sql::call_arguments(text, modes)?;
        let values = Values { parameters: &self.parameters, zone: Zone::Other };
        let value = |datum: &Datum| values.of(datum).cloned().unwrap_or(Datum::Other);
        Some(CalledWith { values: given.iter().map(value).collect(), may_number: self.may_number })
    }

    /// Whether the rows of the write are those that its text shows.
    pub(crate) const fn is_told(&self, what: &RowWrite) -> bool {
        !(self.may_number && what.is_insert())
    }
}

/// The values of a procedure's call.
#[derive(Debug)]
pub(crate) struct CalledWith {
    /// The values of its parameters.
    pub(crate) values: Vec<Datum>,
    may_number: bool,
}

impl CalledWith {
    /// Whether the rows that the procedure writes are those that its text shows.
    pub(crate) const fn tells(&self, what: &RowWrite) -> bool {
        !(self.may_number && what.is_insert())
    }
}

/// Whether a statement is the call of one procedure, or of several in its expressions.
fn is_call(effects: &Effects) -> bool {
    effects.writes == Writes::Nothing && !effects.calls.is_nothing() && !effects.several
}

/// Whether a text may set a time zone of its own: by a hint, or by `SET STATEMENT … FOR`.
fn sets_zone(text: &[u8]) -> bool {
    contains_ignoring_case(text, ZONE)
}

/// A write to a table whose definition is known. The write does nothing else, apart from its foreign keys.
#[derive(Clone, Debug)]
pub(crate) struct Described {
    table: Arc<TableInfo>,
    what: RowWrite,
    sent_with: SentWith,
    /// The known definitions of the tables that foreign keys change with it.
    below: Arc<[Arc<TableInfo>]>,
}

/// The values and time zone that a write was sent with.
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
    /// Makes values whose time zone is unknown.
    pub(crate) fn of(parameters: Vec<Datum>) -> Self {
        Self { parameters: parameters.into(), zone: Zone::Other }
    }
}

impl From<Write<'_>> for SentWith {
    fn from(write: Write<'_>) -> Self {
        Self { parameters: write.parameters.into(), zone: write.zone }
    }
}

/// The most writes that one write is split into, those of foreign keys included; further ones are fenced by the table.
const ACTED_MAX: usize = 64;

impl Described {
    pub(crate) fn new(table: Arc<TableInfo>, what: RowWrite, sent_with: SentWith) -> Self {
        Self { table, what, sent_with, below: Arc::default() }
    }

    /// Adds the known definitions of the tables that foreign keys change with it.
    pub(crate) fn over(self, below: Vec<Arc<TableInfo>>) -> Self {
        Self { below: below.into(), ..self }
    }

    /// Returns the table, for writes whose rows there is no room to remember.
    pub(crate) fn table(&self) -> &Name {
        &self.table.name
    }
}

/// Returns what `write` touches of all stored dependencies, and the tickets to hold as long as they are fenced. Called right before
/// the fence is raised: entries of watches that are made later wait for the tickets.
pub(crate) fn touched(
    write: &Described,
    freshness: &Freshness,
    upstream: &Upstream,
) -> (Vec<Dep>, Vec<Ticket>) {
    let mut touching = Touching { write, freshness, upstream, deps: Vec::new(), tickets: Vec::new() };
    touching.rows(&write.table, &write.what);
    let below = touching.below(&write.table, &write.what);
    if !below.is_empty() {
        touching.all_below(below);
    }
    (touching.deps, touching.tickets)
}

/// What a write touches, while it is being found.
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

    /// Adds what the write does to other tables by foreign keys, of which these are the first.
    fn all_below(&mut self, first: Vec<(Arc<TableInfo>, RowWrite)>) {
        let mut all = vec![(Arc::clone(&self.write.table), self.write.what.clone())];
        let mut found = first;
        let mut at = 1;
        loop {
            // The effect of a foreign key is not followed again if it comes round.
            for acted in found {
                if all.len() >= ACTED_MAX {
                    self.whole(&acted.0.name);
                } else if !all.contains(&acted) {
                    all.push(acted);
                }
            }
            let Some((table, what)) = all.get(at).cloned() else { return };
            at += 1;
            self.rows(&table, &what);
            found = self.below(&table, &what);
        }
    }

    /// Adds what foreign keys do to the children of a table, if the rows are known; otherwise adds whole tables.
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

    /// Returns what happens to the children among the `reached`; `None` if the rows of a child are unknown.
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

    /// Adds the whole table, and all tables that foreign keys change with it.
    fn whole(&mut self, name: &Name) {
        self.definition(name);
        match self.upstream.descendants(&name.0, &name.1) {
            Some(below) => below.all.iter().for_each(|name| self.definition(name)),
            None => self.deps.push(Dep::EVERYTHING),
        }
    }
}
