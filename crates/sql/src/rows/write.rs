//! Writes to one table, with rows written out or chosen by conditions.
//!
//! Each form is read to its last token, because an unexpected word may widen the rows that the statement touches.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use super::conjunct::{self, Conjunct};
use super::parsed::Group;
use super::resolve::Column;
use super::solve::{self, Holds, Premises};
use super::source::Source;
use super::{Datum, RowWrite};
use crate::TableName;
use crate::modes::Flavor;
use crate::scan::Scan;

/// The most rows of an INSERT that are listed one by one.
const ROWS_MAX: usize = 256;
/// The most values of an INSERT, and the most columns assigned by an UPDATE.
const VALUES_MAX: usize = 4096;
/// The words that end assignments. MySQL names the new row by AS before ON; AS stands in no assignment outside of parentheses.
const ASSIGNMENTS_END: &[&str] = &["AS", "LIMIT", "ON", "ORDER", "RETURNING", "WHERE"];

/// The columns and the rows of an INSERT.
type Listed = (Option<Vec<String>>, Vec<Vec<Datum>>);

/// Returns the write, if it has one of these forms and calls nothing that could write elsewhere.
pub(super) fn row_write(source: &Source<'_>) -> Option<RowWrite> {
    if !runs_nothing_else(source) || is_of_query(source) {
        return None;
    }
    let mut reader = WriteReader { source, at: 0 };
    let write = if reader.take("INSERT") {
        reader.insert(false)?
    } else if reader.take("REPLACE") {
        reader.insert(true)?
    } else if reader.take("UPDATE") {
        reader.update()?
    } else if reader.take("DELETE") {
        reader.delete()?
    } else {
        return None;
    };
    (reader.at == source.tokens.len()).then_some(write)
}

/// Returns the arguments between the parentheses of a CALL.
pub(super) fn call_arguments(source: &Source<'_>) -> Option<Vec<Datum>> {
    let mut reader = WriteReader { source, at: 0 };
    reader.take("CALL").then_some(())?;
    reader.table()?;
    if reader.at == source.tokens.len() {
        return Some(Vec::new());
    }
    let end = source.closing(reader.at).filter(|end| end + 1 == source.tokens.len())?;
    let pieces = source.pieces(reader.at + 1..end).into_iter();
    Some(pieces.map(|piece| conjunct::datum(source, piece)).collect())
}

/// Whether nothing is called that could write elsewhere.
pub(super) fn runs_nothing_else(source: &Source<'_>) -> bool {
    let mut scan = Scan::new(source.text, source.modes);
    source.tokens.iter().for_each(|&token| scan.see(token));
    let facts = scan.facts();
    !(facts.unknown_call || facts.changes_session || facts.lost)
}

/// ON DUPLICATE KEY UPDATE behind the query of an INSERT.
pub(super) struct DuplicateClause {
    /// Where the clause begins, by the number of its first token.
    pub(super) at: usize,
    pub(super) assigned: Vec<(String, Datum)>,
}

/// Returns ON DUPLICATE KEY UPDATE, if the clause stands outside of parentheses, up to the end of the text or RETURNING. The outer None
/// means that the statement is not understood.
pub(super) fn behind_query(source: &Source<'_>) -> Option<Option<DuplicateClause>> {
    let mut at = 0;
    while at < source.tokens.len() {
        if source.word(at, "ON") && source.word(at + 1, "DUPLICATE") && source.word(at + 2, "KEY") {
            let mut reader = WriteReader { source, at: at + 1 };
            let assigned = reader.on_duplicate()?;
            reader.returning();
            return (reader.at == source.tokens.len()).then_some(Some(DuplicateClause { at, assigned }));
        }
        at = source.closing(at).unwrap_or(at) + 1;
    }
    Some(None)
}

/// Whether there is a query or a join outside of parentheses. Such a write does not have the forms that are read here. A subquery in
/// parentheses is a value or an operand of a condition. Nothing is known of it, and it takes no row away from the conditions beside it.
fn is_of_query(source: &Source<'_>) -> bool {
    let mut at = 0;
    while at < source.tokens.len() {
        let joins = source.word(at, "ON") && !source.word(at + 1, "DUPLICATE");
        if joins || source.any(at, &["SELECT", "TABLE", "WITH"]) {
            return true;
        }
        at = source.closing(at).unwrap_or(at) + 1;
    }
    false
}

/// The table that is written, and the name by which its columns are qualified.
struct WriteTarget {
    table: TableName,
    alias: Option<String>,
}

struct WriteReader<'s, 'a> {
    source: &'s Source<'a>,
    at: usize,
}

impl WriteReader<'_, '_> {
    fn take(&mut self, word: &str) -> bool {
        let here = self.source.word(self.at, word);
        self.at += usize::from(here);
        here
    }

    fn punct(&mut self, punct: u8) -> bool {
        let here = self.source.is(self.at, punct);
        self.at += usize::from(here);
        here
    }

    fn skip(&mut self, words: &[&str]) {
        while self.source.any(self.at, words) {
            self.at += 1;
        }
    }

    fn table(&mut self) -> Option<TableName> {
        let first = self.source.is_plain(self.at).then(|| self.source.name(self.at))??;
        self.at += 1;
        if !self.punct(b'.') {
            return Some(TableName::bare(first));
        }
        let name = self.source.name(self.at)?;
        self.at += 1;
        Some(TableName::of(first, name))
    }

    fn target(&mut self) -> Option<WriteTarget> {
        let table = self.table()?;
        let behind_as = self.source.word(self.at, "AS");
        let at = self.at + usize::from(behind_as);
        // SET, RETURNING and the like follow a table's name. SET is reserved; RETURNING is reserved by MariaDB only.
        let word = self.source.any(at, &["FOR", "PORTION", "RETURNING"]);
        let alias = (self.source.is_plain(at) && !word).then(|| self.source.name(at)).flatten();
        if alias.is_some() {
            self.at = at + 1;
        }
        (alias.is_some() || !behind_as).then_some(WriteTarget { table, alias })
    }

    fn insert(&mut self, replaces: bool) -> Option<RowWrite> {
        self.skip(if replaces { &["LOW_PRIORITY"] } else { &["HIGH_PRIORITY", "IGNORE", "LOW_PRIORITY"] });
        self.take("INTO");
        let table = self.table()?;
        let (columns, rows) = if self.take("SET") {
            let (columns, row) = self.assignments()?.into_iter().unzip();
            (Some(columns), vec![row])
        } else {
            self.listed()?
        };
        let mut assigned = None;
        if !replaces {
            self.row_alias()?;
            if self.take("ON") {
                assigned = Some(self.on_duplicate()?);
            }
        }
        self.returning();
        Some(if replaces || assigned.is_some() {
            RowWrite::Upsert { table, columns, rows, assigned }
        } else {
            RowWrite::Insert { table, columns, rows }
        })
    }

    /// Reads `(a, b) VALUES (1, 2), (3, 4)`.
    fn listed(&mut self) -> Option<Listed> {
        let mut columns = None;
        if self.source.is(self.at, b'(') {
            columns = Some(self.columns()?);
        }
        if !self.take("VALUES") && !self.take("VALUE") {
            return None;
        }
        let rows = self.rows()?;
        let width = rows.first()?.len();
        if width == 0 {
            columns.get_or_insert_with(Vec::new); // `VALUES ()`: every column has its default.
        }
        let expected = columns.as_ref().map_or(width, Vec::len);
        let even = rows.iter().all(|row| row.len() == expected);
        even.then_some((columns, rows))
    }

    /// Reads the names of the new row, which MySQL has before ON DUPLICATE KEY UPDATE only.
    fn row_alias(&mut self) -> Option<()> {
        if self.source.modes.flavor == Flavor::MySql && self.take("AS") {
            self.source.is_plain(self.at).then_some(())?;
            self.at += 1;
            if self.source.is(self.at, b'(') {
                self.columns()?;
            }
            self.source.word(self.at, "ON").then_some(())?;
        }
        Some(())
    }

    /// Returns the assignments of ON DUPLICATE KEY UPDATE, behind its first word.
    fn on_duplicate(&mut self) -> Option<Vec<(String, Datum)>> {
        let is_whole = self.take("DUPLICATE") && self.take("KEY") && self.take("UPDATE");
        is_whole.then(|| self.assignments())?
    }

    fn columns(&mut self) -> Option<Vec<String>> {
        let close = self.source.closing(self.at)?;
        self.at += 1;
        let mut columns = Vec::new();
        while self.at < close {
            columns.push(self.source.name(self.at)?.to_ascii_lowercase());
            self.at += 1;
            if self.at < close && !self.punct(b',') {
                return None;
            }
        }
        self.at = close + 1;
        Some(columns)
    }

    fn rows(&mut self) -> Option<Vec<Vec<Datum>>> {
        let mut rows: Vec<Vec<Datum>> = Vec::new();
        let mut values = 0;
        loop {
            let close = self.source.closing(self.at)?;
            let row: Vec<Datum> = if close == self.at + 1 {
                Vec::new()
            } else {
                let items = self.items(self.at + 1, close)?;
                items.into_iter().map(|item| conjunct::datum(self.source, item)).collect()
            };
            self.at = close + 1;
            values += row.len();
            rows.push(row);
            if rows.len() > ROWS_MAX || values > VALUES_MAX {
                return None;
            }
            if !self.punct(b',') {
                return Some(rows);
            }
        }
    }

    /// Returns the pieces of a list between its commas, none of which is empty.
    fn items(&self, start: usize, end: usize) -> Option<Vec<Range<usize>>> {
        let mut items = Vec::new();
        let (mut from, mut at) = (start, start);
        while at < end {
            if let Some(close) = self.source.closing(at) {
                at = close;
            } else if self.source.is(at, b',') {
                items.push(from..at);
                from = at + 1;
            }
            at += 1;
        }
        items.push(from..end);
        items.iter().all(|item| !item.is_empty()).then_some(items)
    }

    /// Reads `a = 1, b = c + 1`, with each column once. A column that is assigned twice gets [`Datum::Other`].
    fn assignments(&mut self) -> Option<Vec<(String, Datum)>> {
        let end = self.clause_end(self.at, ASSIGNMENTS_END);
        let mut assigned: Vec<(String, Datum)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for item in self.items(self.at, end)? {
            let mut at = item.start;
            let mut column = self.source.name(at)?;
            at += 1;
            while self.source.is(at, b'.') {
                column = self.source.name(at + 1)?;
                at += 2;
            }
            if !self.source.is(at, b'=') || at + 1 >= item.end || assigned.len() >= VALUES_MAX {
                return None;
            }
            column.make_ascii_lowercase();
            let value = conjunct::datum(self.source, at + 1..item.end);
            match places.entry(column) {
                Entry::Occupied(place) => {
                    if let Some((_, earlier)) = assigned.get_mut(*place.get()) {
                        *earlier = Datum::Other;
                    }
                }
                Entry::Vacant(place) => {
                    assigned.push((place.key().clone(), value));
                    place.insert(assigned.len() - 1);
                }
            }
        }
        self.at = end;
        Some(assigned)
    }

    /// Returns where the first of these words stands outside of parentheses.
    fn clause_end(&self, from: usize, words: &[&str]) -> usize {
        let mut at = from;
        while at < self.source.tokens.len() && !self.source.any(at, words) {
            at = self.source.closing(at).unwrap_or(at) + 1;
        }
        at
    }

    /// Skips RETURNING. It reads the rows just written, so its content does not matter.
    fn returning(&mut self) {
        if self.source.modes.flavor == Flavor::MariaDb && self.take("RETURNING") {
            self.at = self.source.tokens.len();
        }
    }

    fn update(&mut self) -> Option<RowWrite> {
        self.skip(&["IGNORE", "LOW_PRIORITY"]);
        let target = self.target()?;
        if !self.take("SET") {
            return None;
        }
        let assigned = self.assignments()?;
        let pins = self.pins(&target)?;
        Some(RowWrite::Update { table: target.table, assigned, pins })
    }

    fn delete(&mut self) -> Option<RowWrite> {
        self.skip(&["IGNORE", "LOW_PRIORITY", "QUICK"]);
        if !self.take("FROM") {
            return None;
        }
        let target = self.target()?;
        let pins = self.pins(&target)?;
        self.returning();
        Some(RowWrite::Delete { table: target.table, pins })
    }

    /// Reads WHERE, then ORDER BY and LIMIT, which can only reduce the rows.
    fn pins(&mut self, target: &WriteTarget) -> Option<Vec<super::Pin>> {
        let mut filters = Vec::new();
        if self.take("WHERE") {
            let end = self.clause_end(self.at, &["LIMIT", "ORDER", "RETURNING"]);
            let named = conjunct::conjuncts(self.source, self.at..end);
            let resolved = named.into_iter().filter_map(|conjunct| resolved(target, conjunct));
            filters.extend(resolved.filter_map(Holds::of));
            self.at = end;
        }
        if self.take("ORDER") {
            self.at = self.clause_end(self.at, &["LIMIT", "RETURNING"]);
        }
        if self.take("LIMIT") {
            self.at = self.clause_end(self.at, &["RETURNING"]);
        }
        let group = Group { leaves: vec![0], filters, optional: Vec::new() };
        let facts = solve::solve(group, &Premises::default());
        Some(super::pins::pins(facts.iter(), &[0]))
    }
}

/// Resolves the columns of a conjunct. There is one table, so a name without a table is its column.
fn resolved(target: &WriteTarget, named: Conjunct<Vec<String>>) -> Option<Conjunct<Column>> {
    let column = |named: &[String]| -> Option<Column> {
        let of_target = match named {
            [_] => true,
            [table, _] => target.alias.as_ref().unwrap_or(&target.table.name) == table,
            [schema, table, _] => {
                target.alias.is_none()
                    && target.table.schema.as_ref() == Some(schema)
                    && target.table.name == *table
            }
            _ => false,
        };
        of_target.then(|| named.last().cloned()).flatten().map(|name| Column { leaf: 0, name })
    };
    Some(match named {
        Conjunct::Is(name, condition, rejects_null) => Conjunct::Is(column(&name)?, condition, rejects_null),
        Conjunct::Equal(a, b) => Conjunct::Equal(column(&a)?, column(&b)?),
        Conjunct::Within(..) | Conjunct::Any(_) => return None,
    })
}
