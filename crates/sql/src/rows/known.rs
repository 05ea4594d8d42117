//! What is known of the rows of each block, and how this knowledge passes from one block to another.
//!
//! A *subquery* gets what is known of the rows that it is evaluated for. For other rows its value cannot matter: a conjunct beside the
//! subquery rejects them, or an earlier step has removed them.
//!
//! `a IN (SELECT x …)` as a conjunct of a WHERE is an equality. A row of the subquery matters only if its `x` is the `a` of a row that
//! passes the other conjuncts. A row passes only if its `a` is the `x` of a row of the subquery. So the equality counts in the subquery
//! like `x = a` in its WHERE, and what the subquery's WHERE says of `x` holds of `a`. Under NOT or OR this is not true: there a NULL
//! among the `x` matters.
//!
//! The *query of a derived table*, of a view, or of a table expression that is named once gets the conditions on its rows that matter to
//! the block that reads it. They count in it like conjuncts of its own WHERE, under these conditions:
//!
//! * The column is taken over unchanged from a table of the block, in every branch of a UNION. A UNION chooses one type for all branches,
//!   and the condition refers to that type. So the columns of the other branches are noted in `via`, and the fact counts only if all of
//!   them compare alike.
//! * Each row of the result is made of rows with one value of that column. There is no LIMIT, EXCEPT or INTERSECT, no window function and
//!   no aggregate of all rows; a GROUP BY contains the column. DISTINCT and UNION merge only equal rows, in which that column is equal as
//!   well.
//! * Equal values satisfy the condition alike. LIKE does not fulfil this: one of several equal rows stands for all, and its beginning
//!   says nothing of the beginnings of the others.
//!
//! A table expression that is named twice is read for two kinds of rows, so it gets no conditions. A recursive one gets none either.
//!
//! Of several *alternatives* one is looked at at a time, as if it were alone. A row that passes a filter `A OR B` passes the filter with
//! only A in its place, or with only B. A row that matters in neither case does not change the rows that pass.

use std::cell::RefCell;

use super::Condition;
use super::conjunct::Conjunct;
use super::output::Grouping;
use super::parsed::{Block, Filter, Group, Parsed};
use super::resolve::{Column, Names};
use super::solve::{self, Fact, Holds, Premises};

/// The most ways in which the alternatives of a statement are combined.
const COMBINATIONS_MAX: usize = 8;

/// Returns the facts of all blocks, one list for each combination of alternatives. There is at least one combination.
pub(super) fn facts(parsed: &Parsed<'_>, names: &Names<'_, '_>) -> Vec<Vec<Fact>> {
    let choices = RefCell::new(Choices { sizes: Vec::new(), combinations: 1 });
    let said = parsed.blocks.iter().map(|block| understood(parsed, block, names, &choices));
    let said: Vec<Group<Said>> = said.collect();
    let choices = choices.into_inner();
    let links = links(parsed, names);
    (0..choices.combinations)
        .map(|combination| facts_of(parsed, names, &said, &links, &choices.of(combination)))
        .collect()
}

/// Returns the facts of all blocks for one combination of alternatives.
fn facts_of(
    parsed: &Parsed<'_>,
    names: &Names<'_, '_>,
    said: &[Group<Said>],
    links: &[Link],
    taken: &[usize],
) -> Vec<Fact> {
    let by_block = vec![None; parsed.blocks.len()];
    let mut blocks = Blocks { parsed, names, said, links, taken, by_block, all: Vec::new() };
    for block in 0..parsed.blocks.len() {
        blocks.visit(block);
    }
    blocks.all
}

/// `column IN (SELECT shown …)`.
struct Link {
    block: usize,
    column: Column,
    /// The subquery's block.
    inner: usize,
    shown: Column,
}

fn links(parsed: &Parsed<'_>, names: &Names<'_, '_>) -> Vec<Link> {
    if parsed.subqueries.is_empty() {
        return Vec::new();
    }
    let of_block = |(id, block): (usize, &Block)| {
        let source = parsed.sources.get(block.source);
        let filters = block.group.filters.iter().filter(|filter| matches!(filter, Filter::Where(_)));
        let conjuncts = source.into_iter().flat_map(|source| {
            filters.clone().flat_map(|filter| names.conjuncts(block, filter, source)).collect::<Vec<_>>()
        });
        let link = |conjunct| match conjunct {
            Conjunct::Within(column, at) => {
                let (inner, shown) = names.shown_alone(block.source, at)?;
                Some(Link { block: id, column, inner, shown })
            }
            _ => None,
        };
        conjuncts.filter_map(link).collect::<Vec<_>>()
    };
    parsed.blocks.iter().enumerate().flat_map(of_block).collect()
}

/// The content of a filter.
#[derive(Clone, Debug)]
enum Said {
    All(Holds),
    /// One of these alternatives; the number is that of the choice.
    Any(usize, Vec<Vec<Holds>>),
}

impl Said {
    fn holds(&self, taken: &[usize]) -> Vec<Holds> {
        match self {
            Self::All(holds) => vec![holds.clone()],
            Self::Any(choice, alternatives) => {
                let alternative = taken.get(*choice).and_then(|taken| alternatives.get(*taken));
                alternative.cloned().unwrap_or_default()
            }
        }
    }
}

/// The alternatives of a statement that are told apart.
struct Choices {
    /// The number of alternatives of each choice.
    sizes: Vec<usize>,
    /// The product of all sizes.
    combinations: usize,
}

impl Choices {
    /// Notes a choice of `size` alternatives; `None` if the combinations would become too many.
    fn add(&mut self, size: usize) -> Option<usize> {
        let combinations = self.combinations.checked_mul(size).filter(|all| *all <= COMBINATIONS_MAX)?;
        self.combinations = combinations;
        self.sizes.push(size);
        Some(self.sizes.len() - 1)
    }

    /// Returns the alternative of each choice in a combination.
    fn of(&self, mut combination: usize) -> Vec<usize> {
        let take = |size: &usize| {
            let taken = combination % size;
            combination /= size;
            taken
        };
        self.sizes.iter().map(take).collect()
    }
}

/// The blocks of a statement, while they are visited.
struct Blocks<'p, 'v> {
    parsed: &'p Parsed<'v>,
    names: &'p Names<'p, 'v>,
    /// What the filters of each block say.
    said: &'p [Group<Said>],
    links: &'p [Link],
    /// The alternative that each choice has taken.
    taken: &'p [usize],
    /// The facts of each block that has been visited.
    by_block: Vec<Option<Premises>>,
    all: Vec<Fact>,
}

impl Blocks<'_, '_> {
    /// Visits a block, after the blocks that it gets facts from: the block around it, and the block that reads it. These lead outwards
    /// and, among table expressions, to later ones, so the recursion ends.
    fn visit(&mut self, id: usize) {
        let Some(block) = self.parsed.blocks.get(id) else { return };
        if self.by_block.get(id).is_none_or(Option::is_some) {
            return;
        }
        self.remember(id, Premises::default());
        let reader = self.reader_of(id);
        let around = block.outer.map(|outer| outer.block);
        let reading = reader.and_then(|leaf| Some(self.parsed.leaves.get(leaf)?.block));
        around.into_iter().chain(reading).for_each(|before| self.visit(before));
        let mut known = around.and_then(|around| self.by_block.get(around)?.clone()).unwrap_or_default();
        if !block.recursive {
            let told = reader.map(|leaf| self.told(leaf, id)).unwrap_or_default();
            let mut group = self.said_of(id);
            group.filters.extend(told.into_iter().map(Holds::Is));
            group.filters.extend(self.linked(id));
            let found = solve::solve(group, &known);
            known.facts.extend(found.iter().cloned());
            self.all.extend(found);
        }
        self.remember(id, known);
    }

    /// Returns what the filters of a block say by themselves.
    fn said_of(&self, block: usize) -> Group<Holds> {
        self.said.get(block).map(|said| said.map(&|said| said.holds(self.taken))).unwrap_or_default()
    }

    /// Returns what IN with a subquery says of a block. For the block around it: its column is one of the values shown. For the subquery:
    /// its column is one of the values asked for.
    fn linked(&self, block: usize) -> Vec<Holds> {
        let mut holds = Vec::new();
        for link in self.links {
            if link.inner == block && self.is_kept_apart(block, &link.shown) {
                holds.push(Holds::Equal(link.shown.clone(), link.column.clone()));
            }
            if link.block == block {
                let inside = solve::solve(self.said_of(link.inner), &Premises::default());
                let of_shown = inside.iter().filter(|fact| fact.column == link.shown);
                holds.extend(of_shown.filter_map(|fact| solve::across(fact, &link.column)).map(Holds::Is));
            }
        }
        holds
    }

    fn remember(&mut self, id: usize, known: Premises) {
        if let Some(place) = self.by_block.get_mut(id) {
            *place = Some(known);
        }
    }

    /// Returns the one leaf whose rows are those of a block's result, if conditions on them can be handed on.
    fn reader_of(&self, block: usize) -> Option<usize> {
        self.parsed.leaves.iter().enumerate().find_map(|(id, leaf)| {
            let query = self.parsed.queries.get(leaf.query?)?;
            (query.namings == 1 && query.is_open && query.branches.contains(&block)).then_some(id)
        })
    }

    /// Returns what is known of the rows of a leaf, as conditions on those of one branch of its query.
    fn told(&self, leaf: usize, branch: usize) -> Vec<Fact> {
        let merges = self.parsed.query_of(leaf).is_none_or(|query| query.merges);
        let of_leaf = self.all.iter().filter(|fact| fact.column.leaf == leaf);
        let by_equality = of_leaf.filter(|fact| !merges || !matches!(fact.condition, Condition::Like(_)));
        by_equality.filter_map(|fact| self.handed_on(fact, branch)).collect()
    }

    fn handed_on(&self, fact: &Fact, branch: usize) -> Option<Fact> {
        let inner = self.names.inner(&fact.column)?;
        let column = inner.iter().find(|(id, _)| *id == branch)?.1.clone();
        if !self.is_kept_apart(branch, &column) {
            return None;
        }
        let others = inner.into_iter().filter(|(id, _)| *id != branch).map(|(_, other)| other);
        Some(Fact { column, via: fact.via.iter().cloned().chain(others).collect(), ..fact.clone() })
    }

    /// Whether the rows of a block that are merged into one have equal values in this column.
    fn is_kept_apart(&self, block: usize, column: &Column) -> bool {
        let Some(block) = self.parsed.blocks.get(block) else { return false };
        match &block.grouping {
            Grouping::None => true,
            Grouping::By(by) => {
                by.iter().any(|named| self.names.own_column(block, named).as_ref() == Some(column))
            }
            Grouping::Opaque => false,
        }
    }
}

/// Returns the tables of a block, with what its filters say of them.
fn understood(
    parsed: &Parsed<'_>,
    block: &Block,
    names: &Names<'_, '_>,
    choices: &RefCell<Choices>,
) -> Group<Said> {
    let Some(source) = parsed.sources.get(block.source) else { return Group::default() };
    let of_filter = |filter: &Filter| {
        let conjuncts = names.conjuncts(block, filter, source).into_iter();
        conjuncts.filter_map(|conjunct| said(conjunct, choices)).collect()
    };
    block.group.map(&of_filter)
}

fn said(conjunct: Conjunct<Column>, choices: &RefCell<Choices>) -> Option<Said> {
    let Conjunct::Any(alternatives) = conjunct else { return Holds::of(conjunct).map(Said::All) };
    let choice = choices.borrow_mut().add(alternatives.len())?;
    let holds = |all: Vec<Conjunct<Column>>| all.into_iter().filter_map(Holds::of).collect();
    Some(Said::Any(choice, alternatives.into_iter().map(holds).collect()))
}
