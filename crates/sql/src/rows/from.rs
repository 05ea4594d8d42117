//! FROM: tables, derived tables, and the joins between them.

use super::parsed::{Filter, Group, Leaf, Merge, Query};
use super::query::{Ends, QueryReader, TableExpression};
use crate::TableName;
use crate::token::TokenKind;

/// The type of a join: it says which operand keeps the rows that have no match.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JoinType {
    Inner,
    Left,
    Right,
}

/// The words behind a join's right operand.
enum Joins {
    Nothing,
    By(Filter),
    /// USING with these columns, or NATURAL.
    Merging(Option<Vec<String>>),
}

/// The words that hint at indexes.
const INDEX_HINTS: &[&str] = &["FORCE", "IGNORE", "USE"];

impl QueryReader<'_, '_> {
    /// Reads a list of joins; a comma binds less tightly than a JOIN.
    pub(super) fn tables(&mut self, block: usize) -> Option<Group<Filter>> {
        self.nested(|reader| {
            let mut group = reader.joined(block)?;
            while reader.punct(b',') {
                let next = reader.joined(block)?;
                group.join(next);
            }
            Some(group)
        })
    }

    fn joined(&mut self, block: usize) -> Option<Group<Filter>> {
        let mut left = self.factor(block)?;
        loop {
            let natural = self.take("NATURAL");
            let Some(join) = self.join_words() else {
                return (!natural).then_some(left);
            };
            // The right side of an outer join reaches to its ON: `a LEFT JOIN b JOIN c ON … ON …`.
            let right = match join {
                JoinType::Left | JoinType::Right if !natural => self.nested(|reader| reader.joined(block))?,
                _ => self.factor(block)?,
            };
            let filter =
                match if natural { Joins::Merging(None) } else { self.join_condition(&left, &right)? } {
                    Joins::By(filter) => Some(filter),
                    Joins::Merging(columns) => {
                        let (left, right) = (left.all_leaves(), right.all_leaves());
                        let keeps_right = join == JoinType::Right;
                        Some(self.merge(block, Merge { columns, left, right, keeps_right })?)
                    }
                    Joins::Nothing if join == JoinType::Inner => None,
                    Joins::Nothing => return None,
                };
            left = joined(left, right, join, filter);
        }
    }

    /// Reads the words of a join, if one follows.
    fn join_words(&mut self) -> Option<JoinType> {
        if self.take("STRAIGHT_JOIN") {
            return Some(JoinType::Inner);
        }
        let join = if self.take("LEFT") {
            JoinType::Left
        } else if self.take("RIGHT") {
            JoinType::Right
        } else {
            let _ = self.take("INNER") || self.take("CROSS");
            JoinType::Inner
        };
        if join != JoinType::Inner {
            self.take("OUTER");
        }
        // Other words here are an error to the servers; the reading ends there.
        self.take("JOIN").then_some(join)
    }

    fn join_condition(&mut self, left: &Group<Filter>, right: &Group<Filter>) -> Option<Joins> {
        if self.take("ON") {
            // A subquery here gets no block around it, because it is not known which tables the ON can see.
            let range = self.expression(None, Ends::Join)?;
            let operands = left.all_leaves().into_iter().chain(right.all_leaves()).collect();
            return Some(Joins::By(Filter::On(range, operands)));
        }
        if self.take("USING") {
            return self.columns_in_parentheses().map(|columns| Joins::Merging(Some(columns)));
        }
        Some(Joins::Nothing)
    }

    /// Notes a join that merges columns.
    fn merge(&mut self, block: usize, merge: Merge) -> Option<Filter> {
        let merges = &mut self.parsed.blocks.get_mut(block)?.merges;
        merges.push(merge);
        Some(Filter::Merged(merges.len() - 1))
    }

    fn factor(&mut self, block: usize) -> Option<Group<Filter>> {
        let lateral = self.take("LATERAL");
        if self.query_end(self.at).is_some() {
            self.at += 1;
            // A derived table is told of its own columns only, so LATERAL makes no difference.
            let around = self.enclosed;
            self.enclosed |= lateral;
            let query = self.query(None)?;
            self.enclosed = around;
            self.expect_punct(b')')?;
            return self.derived(block, query);
        }
        if lateral {
            return None;
        }
        if self.punct(b'(') {
            let group = self.tables(block)?;
            self.expect_punct(b')')?;
            return Some(group);
        }
        self.table(block)
    }

    fn derived(&mut self, block: usize, query: Query) -> Option<Group<Filter>> {
        let name = self.alias()?;
        let columns = self.columns_in_parentheses()?;
        let query = Some(self.keep(Query { columns, namings: 1, ..query }));
        self.leaf(Leaf { name, aliased: true, query, block, ..Leaf::default() })
    }

    fn table(&mut self, block: usize) -> Option<Group<Filter>> {
        let quoted = self.source.token(self.at)?.kind == TokenKind::Name;
        if !quoted && self.source.any(self.at, &["JSON_TABLE"]) {
            return None;
        }
        let first = self.table_word()?;
        let name = if self.punct(b'.') {
            TableName { schema: Some(first), name: self.name()? }
        } else if !quoted && first.eq_ignore_ascii_case("dual") {
            return Some(Group::default());
        } else {
            TableName::bare(first)
        };
        if self.take("PARTITION") {
            // The partition of a row depends on columns that are not named.
            self.parsed.reads_unnamed = true;
            (!self.columns_in_parentheses()?.is_empty()).then_some(())?;
        }
        let alias = self.alias();
        self.index_hints()?;
        let leaf = Leaf {
            aliased: alias.is_some(),
            name: alias.unwrap_or_else(|| name.name.clone()),
            block,
            ..Leaf::default()
        };
        match self.expression_named(&name) {
            Some(TableExpression { query, .. }) => self.leaf(Leaf { query, ..leaf }),
            None => self.named(name, leaf),
        }
    }

    /// Returns the common table expression of this name, if there is one. The last definition hides earlier ones.
    fn expression_named(&mut self, name: &TableName) -> Option<TableExpression> {
        let mut visible = self.expressions.iter().rev().filter(|_| name.schema.is_none());
        let expression = visible.find(|known| known.name == name.name)?.clone();
        if let Some(query) = expression.query.and_then(|id| self.parsed.queries.get_mut(id)) {
            query.namings += 1;
        }
        Some(expression)
    }

    /// Reads a word as a table's name, if the word structures no query at all.
    fn table_word(&mut self) -> Option<String> {
        self.source.is_plain(self.at).then(|| self.name())?
    }

    /// Reads an alias, with AS or without.
    fn alias(&mut self) -> Option<String> {
        let behind_as = self.source.word(self.at, "AS");
        let at = self.at + usize::from(behind_as);
        let name = self.source.is_plain(at).then(|| self.source.name(at))??;
        self.at = at + 1;
        Some(name)
    }

    fn index_hints(&mut self) -> Option<()> {
        while self.source.any(self.at, INDEX_HINTS) && self.source.any(self.at + 1, &["INDEX", "KEY"]) {
            self.at += 2;
            if self.take("FOR") && !self.take("JOIN") {
                self.source.any(self.at, &["GROUP", "ORDER"]).then_some(())?;
                self.at += 1;
                self.expect("BY")?;
            }
            self.index_list()?;
        }
        Some(())
    }

    /// Reads names of indexes, including PRIMARY.
    fn index_list(&mut self) -> Option<()> {
        let close = self.source.closing(self.at)?;
        let inner = self.source.tokens.get(self.at + 1..close)?;
        let listed = inner
            .iter()
            .all(|token| (token.is_name() && !token.is_word(self.source.text, "SELECT")) || token.is(b','));
        self.at = close + 1;
        listed.then_some(())
    }

    /// Returns where the parenthesis at `at` ends, if it holds a query and not a join. `((SELECT 1) UNION (SELECT 2))` holds a query,
    /// `((SELECT 1) AS a, b)` holds a join.
    fn query_end(&self, at: usize) -> Option<usize> {
        let close = self.source.closing(at)?;
        let mut innermost = at;
        while self.source.is(innermost + 1, b'(') {
            innermost += 1;
        }
        if !self.source.any(innermost + 1, &["SELECT", "WITH"]) {
            return None;
        }
        // From the innermost parenthesis outwards: each must be a term of the query around it.
        for opening in (at + 1..=innermost).rev() {
            let behind = self.source.closing(opening)? + 1;
            let term = self.source.is(behind, b')')
                || self.source.any(behind, &["EXCEPT", "INTERSECT", "LIMIT", "ORDER", "UNION"]);
            if !term {
                return None;
            }
        }
        Some(close)
    }
}

/// Returns the join of two groups. The condition of an inner join filters; the condition of an outer join decides what matches.
fn joined(
    mut left: Group<Filter>,
    mut right: Group<Filter>,
    join: JoinType,
    filter: Option<Filter>,
) -> Group<Filter> {
    match join {
        JoinType::Inner => {
            left.join(right);
            left.filters.extend(filter);
            left
        }
        JoinType::Left => {
            right.filters.extend(filter);
            left.optional.push(right);
            left
        }
        JoinType::Right => {
            left.filters.extend(filter);
            right.optional.push(left);
            right
        }
    }
}
