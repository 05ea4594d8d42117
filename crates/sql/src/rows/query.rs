//! A SELECT taken apart into its blocks: for each, the tables of its FROM and the conditions on them.
//!
//! The reader goes by the clauses and by parentheses. Expressions are passed over, but for the subqueries in them; what is
//! not expected ends the reading, and then nothing is known of the statement.

use std::ops::Range;

use super::source::Source;
use crate::TableName;
use crate::token::Kind;

/// The most SELECTs of a statement.
const BLOCKS_MAX: usize = 64;
/// The most tables of a statement, derived ones included: what the servers join at most.
const LEAVES_MAX: usize = 64;
/// How deep queries and parentheses of joins may nest.
const DEPTH_MAX: usize = 32;

/// A table, derived table or table expression in a FROM.
#[derive(Debug)]
pub(super) struct Leaf {
    /// The name that columns are qualified with.
    pub name: String,
    /// The name is an alias.
    pub aliased: bool,
    /// None for what is not a table by itself.
    pub table: Option<TableName>,
}

/// A condition, and which of the block's tables its columns can be of.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    pub range: Range<usize>,
    /// The operands of the join for ON; None for WHERE, which sees the block and, beyond it, the blocks around it.
    pub operands: Option<Vec<usize>>,
}

/// Tables joined by inner joins, and the outer joins on top of them, in order.
///
/// It stands for: the product of `leaves`, outer joined to each of `optional` in turn, filtered by all `filters`. The ON of
/// an outer join is among the filters of its optional side, because a row of that side that fails it matches nothing.
/// Every FROM has this form: inner joins commute with outer joins whose ON they take no part in, and a filter on the
/// preserved side can be applied before or after the join.
#[derive(Clone, Debug)]
pub(super) struct Group<F> {
    pub leaves: Vec<usize>,
    pub filters: Vec<F>,
    pub optional: Vec<Group<F>>,
}

impl<F> Default for Group<F> {
    fn default() -> Self {
        Group { leaves: Vec::new(), filters: Vec::new(), optional: Vec::new() }
    }
}

impl<F> Group<F> {
    /// Joins another to it, without a condition.
    pub fn join(&mut self, other: Group<F>) {
        self.leaves.extend(other.leaves);
        self.filters.extend(other.filters);
        self.optional.extend(other.optional);
    }

    /// Its tables, those of outer joins included.
    pub fn all_leaves(&self) -> Vec<usize> {
        let inner = self.optional.iter().flat_map(Group::all_leaves);
        self.leaves.iter().copied().chain(inner).collect()
    }
}

/// The block around a subquery, as far as the subquery may know of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outer {
    pub block: usize,
    /// A name without a table can be one of its columns. Outside of WHERE it may be an alias of the select list as well.
    pub bare: bool,
}

/// One SELECT.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub outer: Option<Outer>,
    pub group: Group<Filter>,
    /// It has a NATURAL join: which columns are merged is not known.
    pub natural: bool,
    /// Columns merged by USING, in lower case: without a table they are neither side's alone.
    pub merged: Vec<String>,
    /// It belongs to a recursive table expression: its rows come round again.
    pub recursive: bool,
}

/// A statement taken apart. A block stands behind the block around it.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub blocks: Vec<Block>,
    pub leaves: Vec<Leaf>,
    /// A column that is not named may decide about a row, such as one of a partitioning.
    pub reads_unnamed: bool,
}

/// Takes a SELECT apart; None if it is not understood to its end.
pub(super) fn parse(source: &Source<'_>) -> Option<Parsed> {
    let mut reader = Reader {
        source,
        at: 0,
        depth: 0,
        expressions: Vec::new(),
        recursive: false,
        parsed: Parsed::default(),
    };
    reader.query(None)?;
    (reader.at == source.tokens.len()).then_some(reader.parsed)
}

pub(super) struct Reader<'s, 'a> {
    pub source: &'s Source<'a>,
    pub at: usize,
    depth: usize,
    /// The common table expressions that can be seen from here.
    pub expressions: Vec<String>,
    recursive: bool,
    pub parsed: Parsed,
}

/// What begins the next clause of a block, or the next block.
const CLAUSES: &[&str] =
    &["EXCEPT", "FROM", "GROUP", "HAVING", "INTERSECT", "LIMIT", "ORDER", "UNION", "WHERE"];
/// What ends the ON of a join besides.
const JOINS: &[&str] = &["CROSS", "INNER", "JOIN", "NATURAL", "ON", "STRAIGHT_JOIN", "USING"];
/// What stands in no statement that is understood here. The relevance that MATCH computes depends on all rows of its
/// table, whatever the other conditions are.
const REFUSED: &[&str] = &["AGAINST", "INTO", "MATCH", "PROCEDURE", "TABLE", "VALUES"];

/// Where an expression ends, outside of parentheses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    Clause,
    Join,
}

impl Reader<'_, '_> {
    pub fn take(&mut self, word: &str) -> bool {
        let here = self.source.word(self.at, word);
        self.at += usize::from(here);
        here
    }

    pub fn expect(&mut self, word: &str) -> Option<()> {
        self.take(word).then_some(())
    }

    pub fn punct(&mut self, punct: u8) -> bool {
        let here = self.source.is(self.at, punct);
        self.at += usize::from(here);
        here
    }

    pub fn expect_punct(&mut self, punct: u8) -> Option<()> {
        self.punct(punct).then_some(())
    }

    pub fn name(&mut self) -> Option<String> {
        let name = self.source.name(self.at)?;
        self.at += 1;
        Some(name)
    }

    /// Reads what nests, unless it is too deep.
    pub fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= DEPTH_MAX {
            return None;
        }
        self.depth += 1;
        let done = read(self);
        self.depth -= 1;
        done
    }

    /// A query with everything that belongs to it.
    pub fn query(&mut self, outer: Option<Outer>) -> Option<()> {
        self.nested(|reader| {
            let visible = reader.expressions.len();
            if reader.take("WITH") {
                reader.with()?;
            }
            reader.term(outer)?;
            while reader.source.any(reader.at, &["EXCEPT", "INTERSECT", "UNION"]) {
                reader.at += 1;
                let _ = reader.take("ALL") || reader.take("DISTINCT");
                reader.term(outer)?;
            }
            reader.order_and_limit()?;
            reader.expressions.truncate(visible);
            Some(())
        })
    }

    fn term(&mut self, outer: Option<Outer>) -> Option<()> {
        if self.punct(b'(') {
            self.query(outer)?;
            return self.expect_punct(b')');
        }
        self.block(outer)
    }

    /// They may belong to a UNION: a subquery in them knows of no block.
    fn order_and_limit(&mut self) -> Option<()> {
        if self.take("ORDER") {
            self.expect("BY")?;
            self.expression(None, Ends::Clause)?;
        }
        if self.take("LIMIT") {
            self.limit()?;
        }
        Some(())
    }

    fn limit(&mut self) -> Option<()> {
        loop {
            self.source.token(self.at).filter(|token| matches!(token.kind, Kind::Int | Kind::Param))?;
            self.at += 1;
            if !self.punct(b',') && !self.take("OFFSET") {
                return Some(());
            }
        }
    }

    /// Each expression sees those before it, and itself only if WITH is RECURSIVE.
    fn with(&mut self) -> Option<()> {
        let recursive = self.take("RECURSIVE");
        let around = self.recursive;
        self.recursive |= recursive;
        loop {
            let name = self.name()?;
            self.columns_in_parentheses()?;
            self.expect("AS")?;
            self.expect_punct(b'(')?;
            if recursive {
                self.expressions.push(name);
                self.query(None)?;
            } else {
                self.query(None)?;
                self.expressions.push(name);
            }
            self.expect_punct(b')')?;
            if !self.punct(b',') {
                break;
            }
        }
        self.recursive = around;
        Some(())
    }

    /// `(a, b)`, if it is there; its names.
    pub fn columns_in_parentheses(&mut self) -> Option<Vec<String>> {
        let mut names = Vec::new();
        if self.punct(b'(') {
            loop {
                names.push(self.name()?.to_ascii_lowercase());
                if !self.punct(b',') {
                    break;
                }
            }
            self.expect_punct(b')')?;
        }
        Some(names)
    }

    fn block(&mut self, outer: Option<Outer>) -> Option<()> {
        self.expect("SELECT")?;
        let id = self.parsed.blocks.len();
        if id >= BLOCKS_MAX {
            return None;
        }
        self.parsed.blocks.push(Block { outer, recursive: self.recursive, ..Block::default() });
        let around = Some(Outer { block: id, bare: false });
        self.expression(around, Ends::Clause)?;
        let mut group = if self.take("FROM") { self.tables(id)? } else { Group::default() };
        if self.take("WHERE") {
            let range = self.expression(Some(Outer { block: id, bare: true }), Ends::Clause)?;
            group.filters.push(Filter { range, operands: None });
        }
        if self.take("GROUP") {
            self.expect("BY")?;
            self.expression(around, Ends::Clause)?;
        }
        if self.take("HAVING") {
            self.expression(around, Ends::Clause)?;
        }
        if self.at_window() {
            self.at += 1;
            self.expression(around, Ends::Clause)?;
        }
        self.parsed.blocks.get_mut(id)?.group = group;
        Some(())
    }

    /// WINDOW is a name as well, unless a window is being defined.
    fn at_window(&self) -> bool {
        self.source.word(self.at, "WINDOW")
            && self.source.word(self.at + 2, "AS")
            && self.source.is(self.at + 3, b'(')
    }

    /// Passes over an expression, or a list of them, and reads the subqueries in it.
    pub fn expression(&mut self, outer: Option<Outer>, ends: Ends) -> Option<Range<usize>> {
        let start = self.at;
        let mut depth = 0usize;
        while let Some(token) = self.source.token(self.at) {
            match token.kind {
                Kind::Punct(b'(') => depth += 1,
                Kind::Punct(b')') if depth == 0 => break,
                Kind::Punct(b')') => depth -= 1,
                Kind::Punct(b',') if depth == 0 && ends == Ends::Join => break,
                Kind::At | Kind::AtAt => return None,
                Kind::Word if depth == 0 && self.ends_here(ends) => break,
                Kind::Word if self.source.any(self.at, REFUSED) => return None,
                Kind::Word if self.query_here() => {
                    // A subquery stands in parentheses of its own.
                    self.query(outer)?;
                    if depth == 0 || !self.source.is(self.at, b')') {
                        return None;
                    }
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
        (depth == 0).then_some(start..self.at)
    }

    fn ends_here(&self, ends: Ends) -> bool {
        let outer_join =
            self.source.any(self.at, &["LEFT", "RIGHT"]) && self.source.any(self.at + 1, &["JOIN", "OUTER"]);
        self.source.any(self.at, CLAUSES)
            || self.at_window()
            || (ends == Ends::Join && (outer_join || self.source.any(self.at, JOINS)))
    }

    /// WITH ROLLUP, and WITH in a full-text search, open no query.
    fn query_here(&self) -> bool {
        let opened = self.at.checked_sub(1).is_some_and(|before| self.source.is(before, b'('));
        self.source.word(self.at, "SELECT") || (opened && self.source.word(self.at, "WITH"))
    }

    /// Notes a table of the block's FROM.
    pub fn leaf(&mut self, leaf: Leaf) -> Option<Group<Filter>> {
        let id = self.parsed.leaves.len();
        if id >= LEAVES_MAX {
            return None;
        }
        self.parsed.leaves.push(leaf);
        Some(Group { leaves: vec![id], ..Group::default() })
    }
}
