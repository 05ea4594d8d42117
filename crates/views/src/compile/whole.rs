//! A whole query: one SELECT, or several that show columns of the same types, whose rows UNION puts together.

use freshet_sql::{Collation, Datum, QueryPlan, Relation, Scalar};

use super::{Asker, Compiled, Found, Unmaintained, on_top, parts, refused, select};
use crate::kind::{ColumnSpec, Kind, Number};
use crate::predicate::Term;
use crate::query::{Item, MaintainedQuery, Output, Select, Union};
use crate::results::Limit;

impl MaintainedQuery {
    /// Checks a plan whose values are markers: whether it can be maintained once they are known, if each is of the type with which it is
    /// compared. Returns the tables and columns that it then needs.
    ///
    /// # Errors
    /// The part of the plan that is not maintained.
    pub fn check(plan: &QueryPlan, asker: &Asker<'_>) -> Result<Self, Unmaintained> {
        compile(plan, asker, true).map(|compiled| compiled.query)
    }

    /// Compiles a plan.
    ///
    /// # Errors
    /// The part of the plan that is not maintained.
    pub fn compile(plan: &QueryPlan, asker: &Asker<'_>) -> Result<Compiled, Unmaintained> {
        compile(plan, asker, false)
    }
}

fn compile(plan: &QueryPlan, asker: &Asker<'_>, takes_markers: bool) -> Found<Compiled> {
    let (limit, rest) = match &plan.root {
        Relation::Limit(of, count, offset) => (Some((count, offset.as_ref())), &**of),
        other => (None, other),
    };
    let limit = limit.map(|(count, offset)| limit_of(asker, takes_markers, count, offset)).transpose()?;
    let (query, key) = match union_of(rest) {
        Some(written) => union(plan, asker, written?, takes_markers)?,
        None => {
            let (select, key) = select(plan, asker, &parts(rest)?, takes_markers)?;
            (MaintainedQuery { selects: vec![select], union: None }, key)
        }
    };
    Ok(Compiled { query, key, limit })
}

/// Reads a LIMIT of numbers, or markers.
fn limit_of(asker: &Asker<'_>, takes_markers: bool, count: &Datum, offset: Option<&Datum>) -> Found<Limit> {
    let number = |datum: &Datum| match asker.value(datum) {
        Datum::Int(number) => u64::try_from(*number).or_else(|_| refused("such a LIMIT")),
        Datum::Param(_) if takes_markers => Ok(0),
        _ => refused("such a LIMIT"),
    };
    Ok(Limit { count: number(count)?, offset: offset.map_or(Ok(0), number)? })
}

/// A UNION as the plan form has it.
struct UnionForm<'p> {
    selects: Vec<&'p Relation>,
    is_distinct: bool,
    order: Vec<(usize, bool)>,
}

/// Returns the UNION on top of a plan, if there is one.
fn union_of(root: &Relation) -> Option<Found<UnionForm<'_>>> {
    let (by, is_distinct, rest) = on_top(root);
    let Relation::UnionAll(_) = rest else { return None };
    let mut selects = Vec::new();
    flatten(rest, is_distinct, &mut selects);
    let place = |(scalar, descends): &(Scalar, bool)| match scalar {
        Scalar::Item(at) => Ok((*at, *descends)),
        _ => refused("UNION in the order of what is computed"),
    };
    let order = by.iter().map(place).collect::<Found<_>>();
    Some(order.map(|order| UnionForm { selects, is_distinct, order }))
}

/// Notes the SELECTs of a UNION. Where equal rows are shown once, it does not matter whether a part of it shows them once already.
fn flatten<'p>(relation: &'p Relation, is_distinct: bool, selects: &mut Vec<&'p Relation>) {
    match relation {
        Relation::UnionAll(both) => {
            flatten(&both.0, is_distinct, selects);
            flatten(&both.1, is_distinct, selects);
        }
        Relation::Distinct(of) if is_distinct && matches!(**of, Relation::UnionAll(_)) => {
            flatten(of, is_distinct, selects);
        }
        other => selects.push(other),
    }
}

/// Returns the query, and the values of its SELECTs' parameters, one after the other.
fn union(
    plan: &QueryPlan,
    asker: &Asker<'_>,
    written: UnionForm<'_>,
    takes_markers: bool,
) -> Found<(MaintainedQuery, Vec<Number>)> {
    let UnionForm { selects, is_distinct, order } = written;
    let (mut all, mut key): (Vec<Select>, Vec<Number>) = (Vec::new(), Vec::new());
    let mut first_types = None;
    for relation in selects {
        let parts = parts(relation)?;
        if !parts.order.is_empty() {
            return refused("ORDER BY within a UNION");
        }
        let told_apart = if is_distinct { 0..parts.items.len() } else { 0..0 };
        let merged_by: Vec<usize> = order.iter().map(|(at, _)| *at).chain(told_apart).collect();
        let (mut select, own) = select(plan, asker, &parts, takes_markers)?;
        select.merged_by = merged_by;
        let types = select.types()?;
        if select.merged_by.iter().any(|at| types.get(*at).is_none_or(|own| !own.is_sorted(asker))) {
            return refused("UNION in the order of such texts, or that tells them apart");
        }
        if *first_types.get_or_insert_with(|| types.clone()) != types {
            return refused("UNION of columns of different types");
        }
        all.push(select);
        key.extend(own);
    }
    Ok((MaintainedQuery { selects: all, union: Some(Union { is_distinct, order }) }, key))
}

/// The type of a shown column, as far as it has to be the same in all SELECTs: then each value is shown as it is in a SELECT alone.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Type {
    Integer,
    /// A decimal with so many digits behind the point.
    Decimal(u8),
    /// A value of one kind, which is no text.
    Of(Kind),
    /// A text of this collation; for padded bytes, with their length.
    Text {
        collation: Option<Collation>,
        filled_bytes: Option<u32>,
    },
    /// A literal text.
    Literal,
    /// A text of a column that is longer than the part by which the servers sort.
    LongText {
        collation: Option<Collation>,
        filled_bytes: Option<u32>,
    },
}

impl Type {
    fn of(spec: &ColumnSpec) -> Found<Self> {
        let filled_bytes = spec.filled_bytes;
        Ok(match spec.kind {
            Kind::Integer(_) => Self::Integer,
            Kind::Decimal { scale, .. } => Self::Decimal(scale),
            kind @ (Kind::Date | Kind::Moment(_) | Kind::Time(_)) => Self::Of(kind),
            Kind::Text { collation, is_short: true } => Self::Text { collation, filled_bytes },
            Kind::Text { collation, is_short: false } => Self::LongText { collation, filled_bytes },
            // A type that holds both is another type.
            Kind::Enum | Kind::Set | Kind::Bit(_) | Kind::Year | Kind::Stamp(_) | Kind::Folded(_) => {
                return refused("UNION of an ENUM, a SET, a BIT, a YEAR or a TIMESTAMP");
            }
        })
    }

    /// Whether its order is known.
    fn is_sorted(&self, asker: &Asker<'_>) -> bool {
        match self {
            Self::Text { collation, .. } => {
                asker.computing.sorts_texts && collation.is_some_and(|it| it.sorted(b"").is_some())
            }
            Self::LongText { .. } | Self::Literal => false,
            Self::Integer | Self::Decimal(_) | Self::Of(_) => true,
        }
    }
}

impl Select {
    fn types(&self) -> Found<Vec<Type>> {
        let of = |term: &Term| match (term, self.spec_of(term)) {
            (_, Some(spec)) => Type::of(spec),
            (Term::Literal(_), None) => Ok(Type::Literal),
            (_, None) => Ok(Type::Integer),
        };
        match &self.output {
            Output::Rows { columns, shown, .. } => columns.iter().take(*shown).map(of).collect(),
            Output::Groups { by, items, shown } => {
                let of_item = |item: &Item| match item {
                    Item::Key(at) => of(&by[*at]),
                    Item::Extreme { of: term, .. } => of(term),
                    Item::Count(_) | Item::Distinct(_) => Ok(Type::Integer),
                    Item::Sum { scale, .. } => Ok(Type::Decimal(*scale)),
                    Item::Average { scale, more, .. } => Ok(Type::Decimal(scale + more)),
                };
                items.iter().take(*shown).map(of_item).collect()
            }
        }
    }
}
