//! Which columns a SELECT reads, at most: every column that is named anywhere in it, or in the views that it reads.
//!
//! A view's select list names more columns than most statements that read the view. A column that the statement does not name is computed
//! for nobody, if the view only joins and filters its rows.

use std::ops::Range;

use super::ColumnsRead;
use super::output::Selected;
use super::parsed::{Leaf, Parsed};
use super::source::Source;
use crate::cursor::unquote_name;
use crate::reserved::is_reserved;
use crate::token::TokenKind;

/// The most different identifiers that are listed.
const COLUMNS_MAX: usize = 512;

/// The identifiers of one text.
#[derive(Default)]
struct Identifiers {
    /// In lower case.
    names: Vec<String>,
    /// Columns are read that are not named: the columns of `*`, and those that a NATURAL join compares.
    all: bool,
}

/// Returns the columns that the texts of a statement name together.
pub(super) fn columns_read(parsed: &Parsed<'_>) -> ColumnsRead {
    let mut texts: Vec<Identifiers> = Vec::with_capacity(parsed.sources.len());
    for (at, source) in parsed.sources.iter().enumerate() {
        let Some(named) = identifiers(source, &unread(parsed, at, &texts)) else { return ColumnsRead::All };
        // `*` stands for a table's columns, or for those of a select list. A select list names the columns that it is made of.
        let is_table = |leaf: &&Leaf| leaf.table.is_some() && leaf.query.is_none();
        let mut tables = parsed.leaves.iter().filter(is_table);
        if named.all && tables.any(|leaf| parsed.source_of(leaf) == Some(at)) {
            return ColumnsRead::All;
        }
        texts.push(named);
    }
    let mut named: Vec<String> = texts.into_iter().flat_map(|text| text.names).collect();
    named.sort_unstable();
    named.dedup();
    // MySQL's _rowid is the primary key by another name.
    if named.len() > COLUMNS_MAX || named.iter().any(|name| name == "_rowid") {
        return ColumnsRead::All;
    }
    ColumnsRead::Named(named)
}

/// Collects every identifier of a text except those in `unread`. Aliases and names of tables do no harm.
fn identifiers(source: &Source<'_>, unread: &[Range<usize>]) -> Option<Identifiers> {
    let mut named = Identifiers::default();
    for (at, token) in source.tokens.iter().enumerate() {
        let all = token.is(b'*') && !is_product(source, at) && !is_count(source, at);
        named.all |= all || source.word(at, "NATURAL");
        let is_read = !unread.iter().any(|range| range.contains(&at));
        if is_read && token.is_name() && !is_keyword(source, at) {
            let mut name = unquote_name(token.kind, source.bytes(at))?;
            name.make_ascii_lowercase();
            named.names.push(name);
        }
    }
    Some(named)
}

/// Returns the items of a view's select list that nothing reads. `texts` are the texts before the view's, including the text that names
/// the view.
fn unread(parsed: &Parsed<'_>, source: usize, texts: &[Identifiers]) -> Vec<Range<usize>> {
    items_unread(parsed, source, texts).unwrap_or_default()
}

fn items_unread(parsed: &Parsed<'_>, at: usize, texts: &[Identifiers]) -> Option<Vec<Range<usize>>> {
    let is_its_own = |branches: &[usize]| matches!(branches, [block] if parsed.blocks.get(*block).is_some_and(|block| block.source == at));
    let of_view = |leaf: &&Leaf| {
        let query = leaf.query.and_then(|query| parsed.queries.get(query));
        leaf.table.is_some() && query.is_some_and(|query| is_its_own(&query.branches))
    };
    let view = parsed.leaves.iter().find(of_view)?;
    let reader = texts.get(parsed.source_of(view)?)?;
    let source = parsed.sources.get(at)?;
    // These words may refer to an item by its name or its place, or compare all items.
    const USES: &[&str] = &["DISTINCT", "GROUP", "HAVING", "ORDER", "OVER", "UNION", "WITH"];
    if reader.all || (0..source.tokens.len()).any(|token| source.any(token, USES)) {
        return None;
    }
    let query = parsed.queries.get(view.query?)?;
    let block = parsed.blocks.get(*query.branches.first()?)?;
    // An expression that nothing reads may still be computed, and its computation may fail.
    let named = query.columns.iter().zip(&block.items);
    let columns = named.filter(|(_, item)| matches!(item.what, Selected::Column(_)));
    let unread = columns.filter(|(name, _)| !reader.names.contains(name));
    Some(unread.map(|(_, item)| item.range.clone()).collect())
}

/// Whether the token is a word that both servers reserve and that many statements have.
fn is_keyword(source: &Source<'_>, at: usize) -> bool {
    const KEYWORDS: &[&str] = &[
        "AND", "AS", "BETWEEN", "BY", "FROM", "GROUP", "IN", "JOIN", "LEFT", "LIMIT", "ON", "OR", "ORDER",
        "SELECT", "WHERE",
    ];
    source.any(at, KEYWORDS)
}

/// Whether the `*` is that of a product, `a * b`: an operand stands on either side.
fn is_product(source: &Source<'_>, at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| source.token(before).map(|token| (before, token)));
    let operand_before = before.is_some_and(|(before, token)| match token.kind {
        TokenKind::Punct(b')') | TokenKind::Param | TokenKind::Name => true,
        TokenKind::Word => !is_reserved(source.bytes(before)),
        _ => token.is_literal(),
    });
    let operand_after = source.token(at + 1).is_some_and(|token| match token.kind {
        TokenKind::Punct(punct) => matches!(punct, b'(' | b'-' | b'+' | b'~' | b'!'),
        TokenKind::Word => !source.word(at + 1, "FROM"),
        TokenKind::Op => false,
        _ => true,
    });
    operand_before && operand_after
}

/// Whether the `*` is that of `COUNT(*)`.
fn is_count(source: &Source<'_>, at: usize) -> bool {
    at >= 2 && source.is(at - 1, b'(') && source.word(at - 2, "COUNT") && source.is(at + 1, b')')
}
