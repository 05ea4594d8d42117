//! The rows of one table in memory, as far as queries need them.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use ahash::{HashMap, RandomState};
use hashbrown::HashTable;

use crate::kind::{Cell, ColumnSpec, Given, Number, Width};
use crate::texts::TextInterner;

/// The place of a row in its table.
pub(crate) type TableSlot = u32;

/// The values of one column.
#[derive(Debug)]
enum Numbers {
    Small(Vec<i32>),
    Wide(Vec<i64>),
    Unsigned(Vec<u64>),
    Huge(Vec<Number>),
}

#[derive(Debug)]
struct StoredColumn {
    spec: ColumnSpec,
    numbers: Numbers,
    /// Which values are NULL; empty while none is.
    nulls: Vec<bool>,
}

/// The rows that have one value in a column.
#[derive(Debug)]
enum Slots {
    One(TableSlot),
    Many(Vec<TableSlot>),
}

/// The rows of a column by their values. NULLs are left out: nothing is equal to them, and they are in no range.
#[derive(Debug)]
enum Index {
    Hashed(HashMap<Number, Slots>),
    /// An index that also serves ranges.
    Ordered(BTreeMap<Number, Slots>),
}

/// A table.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<StoredColumn>,
    /// The columns of the primary key, by their places.
    primary: Vec<usize>,
    by_primary: HashTable<TableSlot>,
    hash: RandomState,
    indexes: HashMap<usize, Index>,
    texts: TextInterner,
    /// Which slots have a row.
    is_used: Vec<bool>,
    free: Vec<TableSlot>,
}

/// The bytes that an index takes for each row, approximately.
const INDEX_BYTES: usize = 10;
/// The bytes that an ordered index takes for each row, approximately.
const ORDERED_BYTES: usize = 56;
const PRIMARY_BYTES: usize = 6;

impl StoredColumn {
    fn get(&self, slot: TableSlot) -> Cell {
        let at = slot as usize;
        if self.nulls.get(at).copied().unwrap_or(false) {
            return None;
        }
        Some(match &self.numbers {
            Numbers::Small(all) => all[at].into(),
            Numbers::Wide(all) => all[at].into(),
            Numbers::Unsigned(all) => all[at].into(),
            Numbers::Huge(all) => all[at],
        })
    }

    /// Sets the value of a slot, which may be the next new one.
    fn set(&mut self, slot: TableSlot, cell: Cell) {
        let at = slot as usize;
        let number = cell.unwrap_or(0);
        match &mut self.numbers {
            Numbers::Small(all) => put(all, at, number.try_into().unwrap_or(i32::MAX)),
            Numbers::Wide(all) => put(all, at, number.try_into().unwrap_or(i64::MAX)),
            Numbers::Unsigned(all) => put(all, at, number.try_into().unwrap_or(u64::MAX)),
            Numbers::Huge(all) => put(all, at, number),
        }
        if cell.is_none() && self.nulls.len() <= at {
            self.nulls.resize(at + 1, false);
        }
        if let Some(place) = self.nulls.get_mut(at) {
            *place = cell.is_none();
        }
    }

    const fn bytes_each(&self) -> usize {
        match self.numbers {
            Numbers::Small(_) => 4,
            Numbers::Wide(_) | Numbers::Unsigned(_) => 8,
            Numbers::Huge(_) => 16,
        }
    }
}

fn put<T>(all: &mut Vec<T>, at: usize, value: T) {
    match all.get_mut(at) {
        Some(place) => *place = value,
        None => all.push(value),
    }
}

impl Index {
    fn entry(&mut self, value: Number) -> Option<&mut Slots> {
        match self {
            Self::Hashed(by_value) => by_value.get_mut(&value),
            Self::Ordered(by_value) => by_value.get_mut(&value),
        }
    }

    fn add(&mut self, cell: Cell, slot: TableSlot) {
        let Some(value) = cell else { return };
        match self.entry(value) {
            None => match self {
                Self::Hashed(by_value) => drop(by_value.insert(value, Slots::One(slot))),
                Self::Ordered(by_value) => drop(by_value.insert(value, Slots::One(slot))),
            },
            Some(Slots::Many(slots)) => slots.push(slot),
            Some(place @ Slots::One(_)) => {
                let Slots::One(other) = *place else { return };
                *place = Slots::Many(vec![other, slot]);
            }
        }
    }

    fn remove(&mut self, cell: Cell, slot: TableSlot) {
        let Some(value) = cell else { return };
        match self.entry(value) {
            Some(Slots::Many(slots)) if slots.len() > 1 => {
                if let Some(at) = slots.iter().position(|one| *one == slot) {
                    slots.swap_remove(at);
                }
            }
            Some(_) => match self {
                Self::Hashed(by_value) => drop(by_value.remove(&value)),
                Self::Ordered(by_value) => drop(by_value.remove(&value)),
            },
            None => {}
        }
    }

    fn get(&self, value: Number) -> &[TableSlot] {
        let slots = match self {
            Self::Hashed(by_value) => by_value.get(&value),
            Self::Ordered(by_value) => by_value.get(&value),
        };
        slots.map_or(&[], Slots::all)
    }
}

impl Slots {
    fn all(&self) -> &[TableSlot] {
        match self {
            Self::One(slot) => std::slice::from_ref(slot),
            Self::Many(slots) => slots,
        }
    }
}

impl Table {
    /// Makes a table without rows.
    pub(crate) fn new(columns: Vec<ColumnSpec>, primary: Vec<usize>) -> Self {
        let numbers = |spec: &ColumnSpec| match spec.kind.width() {
            Width::Small => Numbers::Small(Vec::new()),
            Width::Wide => Numbers::Wide(Vec::new()),
            Width::Unsigned => Numbers::Unsigned(Vec::new()),
            Width::Huge => Numbers::Huge(Vec::new()),
        };
        let column = |spec| StoredColumn { numbers: numbers(&spec), nulls: Vec::new(), spec };
        Self {
            columns: columns.into_iter().map(column).collect(),
            primary,
            by_primary: HashTable::new(),
            hash: RandomState::new(),
            indexes: HashMap::default(),
            texts: TextInterner::default(),
            is_used: Vec::new(),
            free: Vec::new(),
        }
    }

    pub(crate) fn place_of(&self, column: &ColumnSpec) -> Option<usize> {
        self.columns.iter().position(|own| own.spec == *column)
    }

    pub(crate) fn rows(&self) -> usize {
        self.is_used.len() - self.free.len()
    }

    /// Returns the memory that the table takes, approximately, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let each: usize = self
            .columns
            .iter()
            .map(|column| column.bytes_each() + usize::from(!column.nulls.is_empty()))
            .sum();
        let of_index = |index: &Index| match index {
            Index::Hashed(_) => INDEX_BYTES,
            Index::Ordered(_) => ORDERED_BYTES,
        };
        let indexes: usize = self.indexes.values().map(of_index).sum();
        self.is_used.len() * (each + 1 + PRIMARY_BYTES + indexes) + self.texts.bytes()
    }

    /// Makes sure that rows can be found by this column.
    pub(crate) fn index(&mut self, column: usize) {
        if !self.indexes.contains_key(&column) {
            self.fill_index(column, Index::Hashed(HashMap::default()));
        }
    }

    /// Makes sure that rows can also be found by a range of this column.
    pub(crate) fn index_in_order(&mut self, column: usize) {
        if !self.is_in_order(column) {
            self.fill_index(column, Index::Ordered(BTreeMap::new()));
        }
    }

    fn fill_index(&mut self, column: usize, mut index: Index) {
        self.slots().for_each(|slot| index.add(self.get(slot, column), slot));
        self.indexes.insert(column, index);
    }

    pub(crate) fn is_in_order(&self, column: usize) -> bool {
        matches!(self.indexes.get(&column), Some(Index::Ordered(_)))
    }

    /// Returns the rows whose values of a column are in this range, in the order of the values, if the column is [indexed in
    /// order](Self::index_in_order).
    pub(crate) fn between(
        &self,
        column: usize,
        range: RangeInclusive<Number>,
    ) -> impl Iterator<Item = TableSlot> {
        let by_value = match self.indexes.get(&column) {
            Some(Index::Ordered(by_value)) if !range.is_empty() => Some(by_value),
            _ => None,
        };
        by_value
            .into_iter()
            .flat_map(move |by_value| by_value.range(range.clone()))
            .flat_map(|(_, slots)| slots.all())
            .copied()
    }

    pub(crate) fn is_indexed(&self, column: usize) -> bool {
        self.indexes.contains_key(&column)
    }

    /// Returns the rows that have this value in an indexed column.
    pub(crate) fn with(&self, column: usize, value: Number) -> &[TableSlot] {
        self.indexes.get(&column).map_or(&[], |index| index.get(value))
    }

    pub(crate) fn get(&self, slot: TableSlot, column: usize) -> Cell {
        self.columns[column].get(slot)
    }

    /// Returns the text with this number.
    pub(crate) fn text(&self, number: Number) -> &[u8] {
        self.texts.get(number)
    }

    /// Returns all rows.
    pub(crate) fn slots(&self) -> impl Iterator<Item = TableSlot> {
        (0..).zip(&self.is_used).filter(|(_, is_used)| **is_used).map(|(slot, _)| slot)
    }

    pub(crate) fn row(&self, slot: TableSlot) -> Box<[Cell]> {
        self.columns.iter().map(|column| column.get(slot)).collect()
    }

    /// Converts a row that is handed in to the table's form. The table holds its texts from here on, until [`Self::release`] or
    /// [`Self::remove`].
    pub(crate) fn take(&mut self, given: &[Given]) -> Option<Box<[Cell]>> {
        if given.len() != self.columns.len() {
            return None;
        }
        let texts = &mut self.texts;
        let cell = |given: &Given| match given {
            Given::Number(cell) => *cell,
            Given::Text(text) => Some(Number::from(texts.take(text))),
        };
        Some(given.iter().map(cell).collect())
    }

    /// Releases the texts of a row that is not kept.
    pub(crate) fn release(&mut self, row: &[Cell]) {
        for (column, cell) in self.columns.iter().zip(row) {
            if let (crate::Kind::Text { .. }, Some(number)) = (column.spec.kind, cell) {
                self.texts.give(u32::try_from(*number).unwrap_or(u32::MAX));
            }
        }
    }

    /// Returns the row with the same primary key.
    pub(crate) fn same_key(&self, row: &[Cell]) -> Option<TableSlot> {
        let hash = self.hash_of(|column| row[column]);
        let is_it =
            |slot: &TableSlot| self.primary.iter().all(|column| self.get(*slot, *column) == row[*column]);
        self.by_primary.find(hash, is_it).copied()
    }

    /// Adds a row that was [taken](Self::take).
    pub(crate) fn insert(&mut self, row: &[Cell]) -> TableSlot {
        let slot = self
            .free
            .pop()
            .unwrap_or_else(|| TableSlot::try_from(self.is_used.len()).unwrap_or(TableSlot::MAX));
        put(&mut self.is_used, slot as usize, true);
        for (column, cell) in self.columns.iter_mut().zip(row) {
            column.set(slot, *cell);
        }
        let hash = self.hash_of(|column| row[column]);
        let (hasher, primary, columns) = (&self.hash, &self.primary, &self.columns);
        let rehash = |slot: &TableSlot| hashed(hasher, primary, |column| columns[column].get(*slot));
        self.by_primary.insert_unique(hash, slot, rehash);
        for (column, index) in &mut self.indexes {
            index.add(row[*column], slot);
        }
        slot
    }

    /// Removes a row.
    pub(crate) fn remove(&mut self, slot: TableSlot) {
        let row = self.row(slot);
        let hash = self.hash_of(|column| row[column]);
        if let Ok(entry) = self.by_primary.find_entry(hash, |it| *it == slot) {
            entry.remove();
        }
        for (column, index) in &mut self.indexes {
            index.remove(row[*column], slot);
        }
        self.release(&row);
        self.is_used[slot as usize] = false;
        self.free.push(slot);
    }

    fn hash_of(&self, cell: impl Fn(usize) -> Cell) -> u64 {
        hashed(&self.hash, &self.primary, cell)
    }
}

fn hashed(hash: &RandomState, columns: &[usize], cell: impl Fn(usize) -> Cell) -> u64 {
    use std::hash::{BuildHasher as _, Hash as _, Hasher as _};
    let mut hasher = hash.build_hasher();
    columns.iter().for_each(|column| cell(*column).hash(&mut hasher));
    hasher.finish()
}
