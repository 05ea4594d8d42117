//! The results of one query, by the values of its parameters.

use std::sync::Arc;

use ahash::{HashMap, HashSet};

use crate::decimal;
use crate::groups::{Computed, GroupState, KeyText};
use crate::join::Combination;
use crate::kind::{Cell, ColumnSpec, Kind, Number};
use crate::predicate::{ColumnRef, Term};
use crate::query::{Item, Output, Select};

/// The most results of one query that are held; a further one replaces the one that was read longest ago.
const RESULTS_MAX: usize = 1024;
/// The bytes that a row takes beside its values, approximately.
const ROW_BYTES: usize = 96;

/// The rows of one result, one after the other, in the form of the text protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// All rows.
    pub bytes: Vec<u8>,
    /// Where each row ends.
    pub ends: Vec<u32>,
    /// The most bytes of a character of its texts; 0 if it shows no text.
    pub width: u8,
    /// A MIN() or MAX() of dates, times or moments of UTC is NULL in a group: MySQL may warn of it.
    pub may_warn: bool,
    /// The query sorts, groups or tells apart texts that are equal without being the same, or may be: then the servers choose which of
    /// them is shown, and in which order. Or a number is computed that the servers would not compute.
    pub is_ambiguous: bool,
    /// For each row, whether the query's order leaves it tied with the row before it.
    ties: Vec<bool>,
    /// For each row of one SELECT of a UNION, the keys by which it is merged; empty if there are none.
    keys: Vec<Box<[SortKey]>>,
}

/// A value in the order of its column; it is the same for equal values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum SortKey {
    Null,
    Number(Number),
    Text(Box<[u8]>),
}

impl SortKey {
    const fn of_cell(cell: Cell) -> Self {
        match cell {
            Some(number) => Self::Number(number),
            None => Self::Null,
        }
    }

    /// Returns the key of a text. Where its order is not known, the result is ambiguous.
    fn of_text(text: &KeyText) -> Self {
        Self::Text(text.sorted.clone().unwrap_or_default())
    }

    fn of_computed(computed: Computed<'_>) -> Self {
        match computed {
            Computed::Text(text) => Self::of_text(text),
            other => Self::of_cell(other.cell()),
        }
    }
}

/// A LIMIT with its OFFSET, in rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// LIMIT.
    pub count: u64,
    /// OFFSET.
    pub offset: u64,
}

impl Shown {
    /// Returns each row.
    pub fn rows(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start as usize..*end as usize])
    }

    /// Returns the rows that a LIMIT leaves; `None` if other rows are possible as well, because rows with different contents tie where it
    /// cuts.
    #[must_use]
    pub fn cut(&self, limit: Limit) -> Option<Self> {
        let place = |number: u64| usize::try_from(number).unwrap_or(usize::MAX).min(self.ends.len());
        let (from, to) = (place(limit.offset), place(limit.offset.saturating_add(limit.count)));
        let rows: Vec<&[u8]> = self.rows().collect();
        // Where it cuts nothing off, ties do not matter.
        let is_told = |at: usize| {
            if !self.ties.get(at).copied().unwrap_or(false) {
                return true;
            }
            let first = (0..at).rev().find(|row| !self.ties[*row]).unwrap_or(0);
            let last = (at..rows.len()).take_while(|row| self.ties[*row]).last().unwrap_or(at);
            rows[first..=last].iter().all(|row| *row == rows[at])
        };
        let is_nothing = from == to;
        if !(is_nothing || is_told(from) && is_told(to)) {
            return None;
        }
        let mut out = Self { width: self.width, ..Self::default() };
        for (row, ties) in rows[from..to].iter().zip(&self.ties[from..to]) {
            out.put(row, *ties);
        }
        Some(out)
    }

    /// Returns the common properties of several results, without rows.
    pub(crate) fn without_rows(all: &[Arc<Self>]) -> Self {
        Self {
            width: all.iter().map(|shown| shown.width).max().unwrap_or(0),
            may_warn: all.iter().any(|shown| shown.may_warn),
            is_ambiguous: all.iter().any(|shown| shown.is_ambiguous),
            ..Self::default()
        }
    }

    /// Returns each row with the keys by which it is merged.
    pub(crate) fn merged(&self) -> impl Iterator<Item = (&[u8], &[SortKey])> {
        self.rows().enumerate().map(|(at, row)| (row, self.keys.get(at).map_or(&[][..], |keys| keys)))
    }

    /// Notes the keys by which a row is merged, if there are any.
    fn note_keys(&mut self, keys: impl ExactSizeIterator<Item = SortKey>) {
        if keys.len() > 0 {
            self.keys.push(keys.collect());
        }
    }

    fn push(&mut self, row: &EncodedRow, ties: bool) {
        self.width = self.width.max(row.width);
        self.put(&row.bytes, ties);
    }

    /// Adds a row.
    pub(crate) fn put(&mut self, row: &[u8], ties: bool) {
        self.bytes.extend_from_slice(row);
        self.end(ties);
    }

    /// Ends the row whose bytes were put last.
    fn end(&mut self, ties: bool) {
        self.ties.push(ties);
        self.ends.push(u32::try_from(self.bytes.len()).unwrap_or(u32::MAX));
    }
}

/// A row of the text protocol.
#[derive(Debug)]
struct EncodedRow {
    bytes: Box<[u8]>,
    /// The most bytes of a character of its texts.
    width: u8,
    /// The texts by which rows are sorted or told apart, by their places; empty if there is none.
    texts: Box<[Option<KeyText>]>,
}

/// All results of one query that are held.
#[derive(Debug, Default)]
pub(crate) struct Results {
    by_key: HashMap<Box<[Number]>, Held>,
    reads: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Held {
    rows: Rows,
    read: u64,
    /// The result as it was shown last, if nothing has changed since.
    shown: Option<Arc<Shown>>,
}

#[derive(Debug)]
enum Rows {
    /// How often each row occurs, and its bytes.
    Each(HashMap<Box<[Cell]>, (u64, EncodedRow)>),
    Groups(HashMap<Box<[Cell]>, GroupState>),
}

impl Rows {
    fn new(output: &Output) -> Self {
        match output {
            Output::Rows { .. } => Self::Each(HashMap::default()),
            Output::Groups { by, items, .. } => {
                let mut groups = HashMap::default();
                // Without GROUP BY there is always one group.
                if by.is_empty() {
                    groups.insert(Box::default(), GroupState::new(items, Box::default()));
                }
                Self::Groups(groups)
            }
        }
    }
}

impl Results {
    pub(crate) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_key.len()
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether the result is held; notes that it is read.
    pub(crate) fn has(&mut self, key: &[Number]) -> bool {
        self.reads += 1;
        let held = self.by_key.get_mut(key);
        let has = held.is_some();
        held.into_iter().for_each(|held| held.read = self.reads);
        has
    }

    /// Begins a result without rows.
    pub(crate) fn begin(&mut self, query: &Select, key: &[Number]) {
        if self.by_key.len() >= RESULTS_MAX
            && let Some(last) =
                self.by_key.iter().min_by_key(|(_, held)| held.read).map(|(key, _)| key.clone())
        {
            self.drop_one(&last);
        }
        self.by_key
            .insert(key.into(), Held { rows: Rows::new(&query.output), read: self.reads, shown: None });
    }

    fn drop_one(&mut self, key: &[Number]) {
        let held = self.by_key.remove(key);
        if let Some(Held { rows: Rows::Each(rows), .. }) = held {
            let bytes: usize = rows.iter().map(|(row, (_, shown))| bytes_of(row, shown)).sum();
            self.bytes = self.bytes.saturating_sub(bytes);
        }
    }

    /// Adds a combination of rows, or removes it.
    pub(crate) fn add(&mut self, combination: &Combination<'_, '_>, is_more: bool) {
        let query = combination.query;
        let key: Option<Vec<Number>> =
            query.parameters.iter().map(|column_ref| combination.value(*column_ref)).collect();
        let Some(held) = key.and_then(|key| self.by_key.get_mut(&*key)) else { return };
        held.shown = None;
        let value = |term: &Term| term.value(&|column_ref| combination.value(column_ref));
        match (&mut held.rows, &query.output) {
            (Rows::Each(rows), Output::Rows { columns, shown, .. }) => {
                let row: Box<[Cell]> = columns.iter().map(value).collect();
                if let Some((count, encoded)) = rows.get_mut(&row) {
                    *count = if is_more { *count + 1 } else { count.saturating_sub(1) };
                    if *count == 0 {
                        self.bytes = self.bytes.saturating_sub(bytes_of(&row, encoded));
                        rows.remove(&row);
                    }
                } else if is_more {
                    let texts = key_texts(combination, columns);
                    let encoded = EncodedRow { texts, ..encode(combination, &columns[..*shown]) };
                    self.bytes += bytes_of(&row, &encoded);
                    rows.insert(row, (1, encoded));
                }
            }
            (Rows::Groups(groups), Output::Groups { by, items, .. }) => {
                let of: Box<[Cell]> = by.iter().map(value).collect();
                let new = || GroupState::new(items, key_texts(combination, by));
                let group = groups.entry(of.clone()).or_insert_with(new);
                let value = |column_ref| combination.value(column_ref);
                group.add(is_more, items, &value, &|column_ref| key_text(combination, column_ref));
                if group.rows == 0 && !by.is_empty() {
                    groups.remove(&of);
                }
            }
            _ => {}
        }
    }

    /// Returns the rows of a result that is held, in its order.
    pub(crate) fn show(&mut self, query: &Select, key: &[Number]) -> Option<Arc<Shown>> {
        let held = self.by_key.get_mut(key)?;
        if held.shown.is_none() {
            held.shown = Some(Arc::new(held.rows.show(query)));
        }
        held.shown.clone()
    }
}

impl Rows {
    fn show(&self, query: &Select) -> Shown {
        let mut out = Shown { width: u8::from(query.compares_texts()), ..Shown::default() };
        match (self, &query.output) {
            (Self::Each(rows), Output::Rows { is_distinct, .. }) => {
                show_rows(query, *is_distinct, rows.iter().collect(), &mut out);
            }
            (Self::Groups(groups), Output::Groups { .. }) => show_groups(query, groups, &mut out),
            _ => {}
        }
        out
    }
}

/// A shown row: its values, and how often it occurs.
type ShownRow<'r> = (&'r Box<[Cell]>, &'r (u64, EncodedRow));

fn show_rows(query: &Select, is_distinct: bool, mut rows: Vec<ShownRow<'_>>, out: &mut Shown) {
    let compared = |(a, (_, left)): &ShownRow<'_>, (b, (_, right)): &ShownRow<'_>, at: usize| match (
        left.texts.get(at),
        right.texts.get(at),
    ) {
        (Some(Some(left)), Some(Some(right))) => left.cmp(right),
        _ => a[at].cmp(&b[at]),
    };
    rows.sort_unstable_by(|a, b| ordered(&query.order, |at| compared(a, b, at)).then_with(|| a.0.cmp(b.0)));
    let texts = rows.iter().map(|(row, (_, encoded))| (&***row, &*encoded.texts));
    out.is_ambiguous = is_ambiguous(texts, is_distinct);
    let mut before: Option<ShownRow<'_>> = None;
    for row in rows {
        let ties = before
            .as_ref()
            .is_some_and(|before| ordered(&query.order, |at| compared(before, &row, at)).is_eq());
        before = Some(row);
        let (count, encoded) = row.1;
        let key = |at: &usize| match encoded.texts.get(*at) {
            Some(Some(text)) => SortKey::of_text(text),
            _ => SortKey::of_cell(row.0[*at]),
        };
        for time in 0..if is_distinct { 1 } else { *count } {
            out.push(encoded, ties || time > 0);
            out.note_keys(query.merged_by.iter().map(key));
        }
    }
}

/// Shows the groups of a query that groups its rows.
fn show_groups(query: &Select, groups: &HashMap<Box<[Cell]>, GroupState>, out: &mut Shown) {
    let Output::Groups { by, items, shown } = &query.output else { return };
    out.is_ambiguous = is_ambiguous(groups.iter().map(|(key, group)| (&**key, &*group.texts)), true)
        || groups.values().any(|group| group.beyond > 0 || group.has_equal_extremes(items));
    let is_shown = |row: &Vec<Computed<'_>>| {
        let value = |column_ref: ColumnRef| row[column_ref.column].cell();
        query.having.iter().all(|one| one.holds(&value) == Some(true))
    };
    let warns = |row: &Vec<Computed<'_>>| {
        let mut of_items = row.iter().zip(items);
        of_items.any(|(value, item)| *value == Computed::Cell(None) && may_warn(query, item))
    };
    let mut rows = Vec::new();
    for (key, group) in groups {
        let row: Vec<Computed<'_>> =
            items.iter().enumerate().map(|(at, item)| group.value(at, item, key)).collect();
        out.may_warn |= !by.is_empty() && warns(&row);
        rows.extend(is_shown(&row).then_some(row));
    }
    rows.sort_unstable_by(|a, b| ordered(&query.order, |at| a[at].cmp(&b[at])).then_with(|| a.cmp(b)));
    for (number, row) in rows.iter().enumerate() {
        for (computed, item) in row.iter().zip(items).take(*shown) {
            let spec = spec_of(query, by, item);
            let width = match computed {
                Computed::Text(text) => width_of(&text.shown, spec),
                _ => u8::from(spec.is_some_and(ColumnSpec::is_named)),
            };
            out.width = out.width.max(width);
            put_computed(*computed, spec, query.offset_s, &mut out.bytes);
        }
        out.note_keys(query.merged_by.iter().map(|at| SortKey::of_computed(row[*at])));
        let before = number.checked_sub(1).map(|before| &rows[before]);
        let ties = |before: &Vec<Computed<'_>>| ordered(&query.order, |at| before[at].cmp(&row[at])).is_eq();
        out.end(before.is_some_and(ties));
    }
}

/// A value of a row, or of a group's key, in the form by which it is told apart.
#[derive(PartialEq, Eq, Hash)]
enum DistinctValue<'r> {
    Cell(Cell),
    Text(&'r KeyText),
}

/// Whether the servers choose which of these rows is shown: the order of their texts is not known, or different texts are equal where
/// they are told apart.
fn is_ambiguous<'r>(
    rows: impl Iterator<Item = (&'r [Cell], &'r [Option<KeyText>])>,
    are_told_apart: bool,
) -> bool {
    let mut seen = HashSet::default();
    for (row, texts) in rows {
        if texts.is_empty() {
            return false;
        }
        if texts.iter().flatten().any(|text| text.sorted.is_none()) {
            return true;
        }
        let one = |(cell, text): (&Cell, &'r Option<KeyText>)| match text {
            Some(text) => DistinctValue::Text(text),
            None => DistinctValue::Cell(*cell),
        };
        let told: Vec<DistinctValue<'_>> = row.iter().zip(texts).map(one).collect();
        if are_told_apart && !seen.insert(told) {
            return true;
        }
    }
    false
}

fn bytes_of(row: &[Cell], encoded: &EncodedRow) -> usize {
    let texts: usize = encoded.texts.iter().flatten().map(KeyText::bytes).sum();
    ROW_BYTES + size_of_val(row) + encoded.bytes.len() + texts
}

fn ordered(order: &[(usize, bool)], by: impl Fn(usize) -> std::cmp::Ordering) -> std::cmp::Ordering {
    let one = |(at, descends): &(usize, bool)| if *descends { by(*at).reverse() } else { by(*at) };
    order.iter().map(one).find(|it| it.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
}

/// Whether MySQL may warn where such an item is NULL.
fn may_warn(query: &Select, item: &Item) -> bool {
    let Item::Extreme { of, .. } = item else { return false };
    query.spec_of(of).is_some_and(|spec| matches!(spec.kind, Kind::Date | Kind::Stamp(_) | Kind::Time(_)))
}

fn spec_of<'q>(query: &'q Select, by: &[Term], item: &Item) -> Option<&'q ColumnSpec> {
    match item {
        Item::Key(at) => query.spec_of(&by[*at]),
        Item::Extreme { of, .. } => query.spec_of(of),
        Item::Count(_) | Item::Distinct(_) | Item::Sum { .. } | Item::Average { .. } => None,
    }
}

fn put_computed(computed: Computed<'_>, spec: Option<&ColumnSpec>, offset_s: i32, out: &mut Vec<u8>) {
    let mut shown = Vec::new();
    match (computed, spec) {
        (Computed::Cell(None), _) => return out.push(NULL),
        (Computed::Cell(Some(number)), Some(spec)) => spec.show(number, offset_s, &mut shown),
        (Computed::Cell(Some(number)), None) => shown = number.to_string().into_bytes(),
        (Computed::Text(text), _) => return put_bytes(&text.shown, out),
        (Computed::Number(number), _) => shown = number.to_string().into_bytes(),
        (Computed::Decimal(number, scale), _) => shown = decimal::show(number, scale).into_bytes(),
    }
    put_bytes(&shown, out);
}

fn encode(combination: &Combination<'_, '_>, columns: &[Term]) -> EncodedRow {
    let (mut out, mut shown, mut width) = (Vec::new(), Vec::new(), 0);
    for term in columns {
        let value = term.value(&|column_ref| combination.value(column_ref));
        match (term, value) {
            (_, None) => out.push(NULL),
            (Term::Column(column_ref), Some(number)) => {
                let query = combination.query;
                let spec = query.spec(*column_ref);
                if matches!(spec.kind, Kind::Text { .. }) {
                    let text = combination.text(*column_ref, number);
                    width = width.max(width_of(text, Some(spec)));
                    put_bytes(text, &mut out);
                } else {
                    shown.clear();
                    spec.show(number, query.offset_s, &mut shown);
                    width = width.max(u8::from(spec.is_named()));
                    put_bytes(&shown, &mut out);
                }
            }
            (Term::Literal(at), Some(_)) => {
                width = width.max(1);
                put_bytes(&combination.query.literals[*at], &mut out);
            }
            (Term::Constant(_), Some(number)) => put_bytes(number.to_string().as_bytes(), &mut out),
        }
    }
    EncodedRow { bytes: out.into_boxed_slice(), width, texts: Box::default() }
}

/// Returns the texts of these columns by which the query sorts or tells apart.
fn key_texts(combination: &Combination<'_, '_>, columns: &[Term]) -> Box<[Option<KeyText>]> {
    let query = combination.query;
    let text = |(at, term): (usize, &Term)| match term {
        Term::Column(column_ref) if query.is_key_text(at, *column_ref) => key_text(combination, *column_ref),
        _ => None,
    };
    let is_key = |(at, term): (usize, &Term)| match term {
        Term::Column(column_ref) => query.is_key_text(at, *column_ref),
        Term::Constant(_) | Term::Literal(_) => false,
    };
    if columns.iter().enumerate().any(is_key) {
        columns.iter().enumerate().map(text).collect()
    } else {
        Box::default()
    }
}

/// Returns a column's text, as it is sorted and told apart.
fn key_text(combination: &Combination<'_, '_>, column_ref: ColumnRef) -> Option<KeyText> {
    let number = combination.value(column_ref)?;
    Some(KeyText::new(combination.text(column_ref, number), combination.query.spec(column_ref).kind))
}

/// Returns the most bytes of a character of a text in UTF-8; 0 for bytes, which are shown unchanged.
fn width_of(text: &[u8], spec: Option<&ColumnSpec>) -> u8 {
    if spec.is_some_and(ColumnSpec::has_bytes) {
        return 0;
    }
    let of_byte = |byte: &u8| match byte {
        0..0x80 => 1,
        0x80..0xE0 => 2,
        0xE0..0xF0 => 3,
        0xF0.. => 4,
    };
    text.iter().map(of_byte).max().unwrap_or(1)
}

const NULL: u8 = 0xFB;

/// Writes a text behind its length, as the protocol encodes it.
fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    let length = bytes.len() as u64;
    let encoded = length.to_le_bytes();
    match length {
        0..=0xFA => out.push(encoded[0]),
        0xFB..=0xFFFF => {
            out.push(0xFC);
            out.extend_from_slice(&encoded[..2]);
        }
        0x1_0000..=0xFF_FFFF => {
            out.push(0xFD);
            out.extend_from_slice(&encoded[..3]);
        }
        _ => {
            out.push(0xFE);
            out.extend_from_slice(&encoded);
        }
    }
    out.extend_from_slice(bytes);
}
