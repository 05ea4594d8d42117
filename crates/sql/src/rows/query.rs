//! Takes a SELECT apart into its blocks. For each block the tables of its FROM and the conditions on them are noted.
//!
//! The reader follows the clauses and the parentheses. It skips expressions, except for the subqueries in them. An unexpected word ends
//! the reading, and then nothing is known of the statement.

use std::ops::Range;
use std::rc::Rc;

use super::TableDefinition;
use super::output;
use super::parsed::{Block, Built, Clauses, Filter, Group, Leaf, Outer, Parsed, Query, Subquery};
use super::source::Source;
use crate::TableName;
use crate::token::TokenKind;

/// The most SELECTs of a statement, including those of views.
const BLOCKS_MAX: usize = 64;
/// The most tables of a statement, including derived tables and those of views. The servers join no more either.
const LEAVES_MAX: usize = 64;
/// How deep queries and parentheses of joins may nest.
const DEPTH_MAX: usize = 32;

/// Returns the definition of a table or view that is named.
pub(super) type Definitions<'v, 'd> = &'d dyn Fn(&TableName) -> Option<TableDefinition<'v>>;

/// Takes a SELECT apart; None if it is not understood to its end.
pub(super) fn parse<'v>(source: Source<'v>, definitions: Definitions<'v, '_>) -> Option<Parsed<'v>> {
    let mut reader = QueryReader::new(source, Parsed::default(), definitions);
    reader.parsed.whole = reader.whole()?;
    Some(reader.parsed)
}

/// A common table expression.
#[derive(Clone)]
pub(super) struct TableExpression {
    pub name: String,
    /// The number of its query; None while that query itself is read.
    pub query: Option<usize>,
}

pub(super) struct QueryReader<'v, 'd> {
    pub source: Rc<Source<'v>>,
    pub definitions: Definitions<'v, 'd>,
    pub at: usize,
    depth: usize,
    /// The common table expressions that are visible here.
    pub expressions: Vec<TableExpression>,
    recursive: bool,
    /// See [`Block::enclosed`].
    pub enclosed: bool,
    /// The leaf of the view whose text this is, and the schema of names without one.
    pub view: Option<(usize, String)>,
    /// How many views are around this text.
    pub views_around: usize,
    pub parsed: Parsed<'v>,
}

/// The words that begin the next clause of a block, or the next block.
const CLAUSES: &[&str] =
    &["EXCEPT", "FROM", "GROUP", "HAVING", "INTERSECT", "LIMIT", "ORDER", "UNION", "WHERE"];
/// The words that end the ON of a join, in addition to [`CLAUSES`].
const JOINS: &[&str] = &["CROSS", "INNER", "JOIN", "NATURAL", "ON", "SET", "STRAIGHT_JOIN", "USING"];
/// The words that occur in no statement that is understood here. The relevance computed by MATCH depends on all rows of its table,
/// whatever the other conditions are.
const REFUSED: &[&str] = &["AGAINST", "INTO", "MATCH", "PROCEDURE", "TABLE", "VALUES"];

/// ORDER BY and LIMIT, if they are there.
pub(super) struct Tail {
    /// The query's result has the same rows with ORDER BY and LIMIT as without. An aggregate in ORDER BY would make one row of all.
    keeps_rows: bool,
    order: Option<Range<usize>>,
    limit: Option<Range<usize>>,
}

/// Where an expression ends, outside of parentheses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    Clause,
    Join,
}

impl<'v, 'd> QueryReader<'v, 'd> {
    /// Returns a reader of `source`, which adds to `parsed`.
    pub fn new(source: Source<'v>, mut parsed: Parsed<'v>, definitions: Definitions<'v, 'd>) -> Self {
        let source = Rc::new(source);
        parsed.sources.push(Rc::clone(&source));
        QueryReader {
            source,
            definitions,
            at: 0,
            depth: 0,
            expressions: Vec::new(),
            recursive: false,
            enclosed: false,
            view: None,
            views_around: 0,
            parsed,
        }
    }

    /// Reads the text to its end, and returns its query.
    pub fn whole(&mut self) -> Option<Query> {
        let query = self.query(None)?;
        (self.at == self.source.tokens.len()).then_some(query)
    }
}

impl QueryReader<'_, '_> {
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

    /// Reads a nested part, unless it is nested too deep.
    pub fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= DEPTH_MAX {
            return None;
        }
        self.depth += 1;
        let done = read(self);
        self.depth -= 1;
        done
    }

    /// Reads a query with everything that belongs to it.
    pub fn query(&mut self, outer: Option<Outer>) -> Option<Query> {
        self.nested(|reader| {
            let visible = reader.expressions.len();
            if reader.take("WITH") {
                reader.with()?;
            }
            let mut query = reader.term(outer)?;
            while reader.source.any(reader.at, &["EXCEPT", "INTERSECT", "UNION"]) {
                let is_union = reader.take("UNION");
                reader.at += usize::from(!is_union);
                let all = reader.take("ALL");
                let _ = reader.take("DISTINCT");
                let other = reader.term(outer)?;
                let both = Box::new((query.built, other.built));
                query.built = Built::Set { is_union, all, both };
                query.branches.extend(other.branches);
                query.is_open &= other.is_open && is_union;
                query.merges |= other.merges || !all;
            }
            let Tail { keeps_rows, order, limit } = reader.order_and_limit()?;
            query.is_open &= keeps_rows;
            if order.is_some() || limit.is_some() {
                let (of, source) = (Box::new(query.built), reader.source_number()?);
                query.built = Built::Ordered { of, source, order, limit };
            }
            reader.expressions.truncate(visible);
            Some(query)
        })
    }

    fn term(&mut self, outer: Option<Outer>) -> Option<Query> {
        if self.punct(b'(') {
            let query = self.query(outer)?;
            self.expect_punct(b')')?;
            return Some(query);
        }
        self.block(outer)
    }

    /// Reads ORDER BY and LIMIT. They may belong to a UNION, so a subquery in them gets no block around it.
    pub fn order_and_limit(&mut self) -> Option<Tail> {
        let mut tail = Tail { keeps_rows: true, order: None, limit: None };
        if self.take("ORDER") {
            self.expect("BY")?;
            let range = self.expression(None, Ends::Clause)?;
            tail.keeps_rows = !output::has_aggregate(&self.source, range.clone())
                && !output::has_window(&self.source, range.clone());
            tail.order = Some(range);
        }
        if self.take("LIMIT") {
            let start = self.at;
            self.limit()?;
            tail.limit = Some(start..self.at);
            tail.keeps_rows = false;
        }
        Some(tail)
    }

    fn limit(&mut self) -> Option<()> {
        loop {
            self.source
                .token(self.at)
                .filter(|token| matches!(token.kind, TokenKind::Int | TokenKind::Param))?;
            self.at += 1;
            if !self.punct(b',') && !self.take("OFFSET") {
                return Some(());
            }
        }
    }

    /// Reads WITH. Each expression sees the earlier ones, and itself only if WITH is RECURSIVE.
    pub fn with(&mut self) -> Option<()> {
        let recursive = self.take("RECURSIVE");
        let around = self.recursive;
        self.recursive |= recursive;
        loop {
            let name = self.name()?;
            let columns = self.columns_in_parentheses()?;
            self.expect("AS")?;
            self.expect_punct(b'(')?;
            if recursive {
                self.expressions.push(TableExpression { name: name.clone(), query: None });
            }
            let query = self.query(None)?;
            let id = self.keep(Query { columns, ..query });
            if recursive {
                self.expressions.pop();
            }
            self.expressions.push(TableExpression { name, query: Some(id) });
            self.expect_punct(b')')?;
            if !self.punct(b',') {
                break;
            }
        }
        self.recursive = around;
        Some(())
    }

    /// Reads `(a, b)`, if it is there, and returns its names.
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

    /// Opens a block, and returns its number.
    pub fn open(&mut self, outer: Option<Outer>) -> Option<usize> {
        let id = self.parsed.blocks.len();
        if id >= BLOCKS_MAX {
            return None;
        }
        let source = self.source_number()?;
        let (recursive, enclosed) = (self.recursive, self.enclosed);
        self.parsed.blocks.push(Block { source, outer, enclosed, recursive, ..Block::default() });
        Some(id)
    }

    /// Returns the number of this text among all texts.
    fn source_number(&self) -> Option<usize> {
        self.parsed.sources.iter().position(|source| Rc::ptr_eq(source, &self.source))
    }

    fn block(&mut self, outer: Option<Outer>) -> Option<Query> {
        self.expect("SELECT")?;
        let id = self.open(outer)?;
        let around = Some(Outer { block: id, bare: false });
        let select = self.expression(around, Ends::Clause)?;
        let mut group = if self.take("FROM") { self.tables(id)? } else { Group::default() };
        if self.take("WHERE") {
            let range = self.expression(Some(Outer { block: id, bare: true }), Ends::Clause)?;
            group.filters.push(Filter::Where(range));
        }
        let mut grouped = None;
        if self.take("GROUP") {
            self.expect("BY")?;
            grouped = Some(self.expression(around, Ends::Clause)?);
        }
        let mut having = None;
        if self.take("HAVING") {
            having = Some(self.expression(around, Ends::Clause)?);
        }
        let windows = self.at_window();
        if windows {
            self.at += 1;
            self.expression(around, Ends::Clause)?;
        }
        let source = Rc::clone(&self.source);
        let items = output::items(&source, select.clone());
        // HAVING without GROUP BY may make one group of all rows.
        let is_open = !windows && (having.is_none() || grouped.is_some());
        let is_distinct = output::is_distinct(&source, select.clone());
        let merges = grouped.is_some() || is_distinct;
        let computed: Vec<Range<usize>> = std::iter::once(select).chain(having.clone()).collect();
        let block = self.parsed.blocks.get_mut(id)?;
        block.clauses = Clauses { is_distinct, group_by: grouped.clone(), having, windows };
        block.grouping = output::grouping(&source, grouped, &computed, &items);
        block.group = group;
        block.items = items;
        Some(Query { branches: vec![id], is_open, merges, built: Built::Block(id), ..Query::default() })
    }

    /// Stores a query that is named, and returns its number.
    pub fn keep(&mut self, query: Query) -> usize {
        self.parsed.queries.push(query);
        self.parsed.queries.len() - 1
    }

    /// Whether a WINDOW clause begins here. WINDOW is also a name, unless a window is being defined.
    fn at_window(&self) -> bool {
        self.source.word(self.at, "WINDOW")
            && self.source.word(self.at + 2, "AS")
            && self.source.is(self.at + 3, b'(')
    }

    /// Skips an expression or a list of expressions, and reads the subqueries in it.
    pub fn expression(&mut self, outer: Option<Outer>, ends: Ends) -> Option<Range<usize>> {
        let start = self.at;
        let mut depth = 0usize;
        while let Some(token) = self.source.token(self.at) {
            match token.kind {
                TokenKind::Punct(b'(') => depth += 1,
                TokenKind::Punct(b')') if depth == 0 => break,
                TokenKind::Punct(b')') => depth -= 1,
                TokenKind::Punct(b',') if depth == 0 && ends == Ends::Join => break,
                TokenKind::At | TokenKind::AtAt => return None,
                TokenKind::Word if depth == 0 && self.ends_here(ends) => break,
                TokenKind::Word if self.source.any(self.at, REFUSED) => return None,
                TokenKind::Word if self.query_here() => {
                    // A subquery stands in parentheses of its own.
                    let around = std::mem::replace(&mut self.enclosed, true);
                    let (source, begin) = (self.source_number()?, self.at);
                    let query = self.query(outer)?;
                    self.enclosed = around;
                    self.parsed.subqueries.push(Subquery { source, at: begin, query });
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

    /// Whether a query begins here. WITH ROLLUP, and WITH in a full-text search, begin none.
    fn query_here(&self) -> bool {
        let opened = self.at.checked_sub(1).is_some_and(|before| self.source.is(before, b'('));
        self.source.word(self.at, "SELECT") || (opened && self.source.word(self.at, "WITH"))
    }

    /// Notes a table of a block's FROM.
    pub fn leaf(&mut self, leaf: Leaf) -> Option<Group<Filter>> {
        let id = self.parsed.leaves.len();
        if id >= LEAVES_MAX {
            return None;
        }
        self.parsed.leaves.push(leaf);
        Some(Group { leaves: vec![id], ..Group::default() })
    }
}
