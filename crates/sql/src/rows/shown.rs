//! Whether a result shows the rows that it is made of.

use std::cell::Cell;

use super::output::Grouping;
use super::parsed::{Parsed, Query};
use super::query::parse;
use super::source::Source;
use crate::tokens::Tokens;

/// Words that merge, drop or make rows, or that begin a query of their own.
const RESHAPES: [&str; 12] = [
    "DISTINCT",
    "DISTINCTROW",
    "EXCEPT",
    "GROUP",
    "HAVING",
    "INTERSECT",
    "MINUS",
    "OVER",
    "PROCEDURE",
    "TABLE",
    "UNION",
    "VALUES",
];

/// Whether each row of the result of a SELECT from one table is one row of the table. False if that is not certain: any call in the
/// select list or in ORDER BY may be an aggregate.
pub(super) fn shows_rows(source: &Source<'_>) -> bool {
    let mut selects = (0..source.tokens.len()).filter(|at| source.word(*at, "SELECT"));
    let is_single = selects.next() == Some(0) && selects.next().is_none();
    let list = (0..source.tokens.len()).take_while(|at| !source.word(*at, "FROM"));
    let calls = list.filter(|at| source.is(*at, b'(')).count() + calls_in_order_by(source);
    is_single && calls == 0 && !has_word(source, &RESHAPES)
}

/// Words with which a result may have a row although no row of a table was read. A full-text search may show the content of its index.
const UNREAD: [&str; 7] = ["DUAL", "HAVING", "JSON_TABLE", "MATCH", "PROCEDURE", "TABLE", "VALUES"];

impl Tokens<'_> {
    /// Whether a SELECT that names only base tables has read a row of one of them whenever its result has a row.
    #[must_use]
    pub fn shows_rows_read(&self) -> bool {
        let Some(source) = Source::of_tokens(self) else { return false };
        let may_show_others = has_word(&source, &UNREAD) || calls_in_order_by(&source) > 0;
        !may_show_others
            && parse(source, &|_| None)
                .is_some_and(|parsed| reads_for_each_row(&parsed, &parsed.whole, &Cell::new(QUERIES_MAX)))
    }
}

/// The most queries that are visited for one statement, because a table expression may name others often.
const QUERIES_MAX: usize = 64;

/// Whether each row of a query's result is made of at least one row of a table. `left` is the number of queries that may still be
/// visited.
fn reads_for_each_row(parsed: &Parsed<'_>, query: &Query, left: &Cell<usize>) -> bool {
    let Some(others) = left.get().checked_sub(1) else { return false };
    left.set(others);
    let is_of_rows = |leaf: &usize| match parsed.query_of(*leaf) {
        Some(query) => reads_for_each_row(parsed, query, left),
        None => parsed.leaves.get(*leaf).is_some_and(|leaf| leaf.table.is_some()),
    };
    let reads = |branch: &usize| {
        let block = parsed.blocks.get(*branch);
        block.is_some_and(|block| {
            block.grouping != Grouping::Opaque
                && !block.recursive
                && block.group.leaves.iter().any(is_of_rows)
        })
    };
    !query.branches.is_empty() && query.branches.iter().all(reads)
}

fn has_word(source: &Source<'_>, words: &[&str]) -> bool {
    (0..source.tokens.len()).any(|at| source.any(at, words))
}

/// Returns the number of parentheses in ORDER BY or behind it. An aggregate there makes one row of all rows, or of none.
fn calls_in_order_by(source: &Source<'_>) -> usize {
    let order = (0..source.tokens.len()).skip_while(|at| !source.word(*at, "ORDER"));
    order.filter(|at| source.is(*at, b'(')).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::{Flavor, Modes};

    fn shows(text: &str) -> bool {
        Source::cut(text.as_bytes(), Modes::new(Flavor::MySql)).is_some_and(|source| shows_rows(&source))
    }

    #[test]
    fn a_plain_select_shows_its_rows() {
        for text in [
            "SELECT c FROM t WHERE id = 1",
            "select t.*, `group` from t where id in (1, 2) and length(c) > 3 order by c limit 5",
            "SELECT a + 1 AS x, 'y' FROM t FORCE INDEX (k)",
        ] {
            assert!(shows(text), "{text}");
        }
    }

    #[test]
    fn rows_that_are_found_without_reading_them_are_no_proof() {
        let reads = |text: &str| Tokens::cut(text.as_bytes(), Modes::new(Flavor::MySql)).shows_rows_read();
        for text in [
            "SELECT c FROM t WHERE id = 1",
            "SELECT t.c, u.c FROM t LEFT JOIN u ON u.id = t.id ORDER BY t.c LIMIT 3",
            "SELECT UPPER(c) FROM t WHERE id IN (SELECT COUNT(*) FROM u)",
            "SELECT a, COUNT(*) FROM t GROUP BY a",
            "WITH s AS (SELECT c FROM t WHERE c > 1) SELECT DISTINCT c FROM s, (SELECT 1) x",
            "SELECT c FROM t UNION ALL SELECT c FROM u",
        ] {
            assert!(reads(text), "{text}");
        }
        for text in [
            "SELECT 1 FROM t WHERE MATCH (c) AGAINST ('x')",
            "SELECT s.c FROM t RIGHT JOIN JSON_TABLE('[1]', '$[*]' COLUMNS (c INT PATH '$')) s ON TRUE",
            "SELECT COUNT(*) FROM t",
            "SELECT c FROM t UNION ALL SELECT 1",
            "SELECT c FROM t UNION ALL SELECT 1 FROM dual",
            "SELECT c FROM t ORDER BY COUNT(*)",
            "SELECT 1 FROM t HAVING COUNT(*) = 0",
            "SELECT a, COUNT(*) FROM t GROUP BY a WITH ROLLUP",
            "SELECT 1 FROM (SELECT COUNT(*) FROM t) s",
            "SELECT x.a FROM (SELECT 1 AS a) x LEFT JOIN t ON t.id = x.a",
            "WITH RECURSIVE s AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM s, t WHERE n < 3) SELECT n FROM s",
        ] {
            assert!(!reads(text), "{text}");
        }
    }

    #[test]
    fn whatever_may_merge_or_make_rows_does_not() {
        for text in [
            "SELECT COUNT(*) FROM t WHERE id = 1",
            "SELECT UPPER(c) FROM t WHERE id = 1",
            "SELECT DISTINCT c FROM t",
            "SELECT c FROM t GROUP BY c",
            "SELECT c FROM t HAVING c > 1",
            "SELECT c FROM t WHERE id = 1 ORDER BY COUNT(*)",
            "SELECT c FROM t UNION ALL SELECT 1",
            "SELECT c FROM t UNION VALUES ROW(1)",
            "SELECT c FROM t WHERE id = (SELECT 1)",
            "SELECT c FROM (SELECT c FROM t) s",
            "WITH s AS (SELECT c FROM t) SELECT c FROM s",
            "(SELECT c FROM t)",
            "SELECT c FROM t; SELECT 1",
            "SELECT 'open",
        ] {
            assert!(!shows(text), "{text}");
        }
    }
}
