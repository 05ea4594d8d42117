//! From the plan form to a query that is maintained.

// The whole query, and its output.
mod whole;
mod output;
mod having;

// Conditions and values.
mod conditions;
mod subqueries;
mod amounts;

// Texts.
mod texts;
mod uses;

use std::fmt;

use freshet_sql::{Datum, Input, QueryPlan, Relation, ResultColumn, Scalar};

use self::subqueries::Joined;
use self::uses::Uses;
use crate::join::JoinPlan;
use crate::kind::{ColumnSpec, Kind, Number, TableName};
use crate::predicate::{ComparisonOperator, Predicate, Term};
use crate::query::{MaintainedQuery, Optional, Output, Role, Select, declared};
use crate::results::Limit;

/// Why a query is not maintained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmaintained(String);

impl fmt::Display for Unmaintained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unmaintained {}

type Found<T> = Result<T, Unmaintained>;

fn refused<T>(why: impl Into<String>) -> Found<T> {
    Err(Unmaintained(why.into()))
}

/// The settings of a session that count for computed values.
#[derive(Clone, Copy, Debug)]
pub struct Computing {
    /// How many more digits a quotient has than its dividend: `div_precision_increment`, 0 to 30.
    pub division_digits: u8,
    /// How many seconds the session's clock is ahead of UTC, if that never changes.
    pub offset_s: Option<i32>,
    /// Texts are sorted by all their characters, as far as `max_sort_length` is concerned.
    pub sorts_texts: bool,
}

impl Default for Computing {
    /// Returns the servers' settings, in a time zone that is not known.
    fn default() -> Self {
        Self { division_digits: 4, offset_s: None, sorts_texts: true }
    }
}

/// The facts about the session that asks.
pub struct Asker<'a> {
    /// Returns the name under which the catalog knows an input's table.
    pub name_of: &'a dyn Fn(&Input) -> Option<TableName>,
    /// Its settings.
    pub computing: Computing,
    /// The values of its markers, in their order; empty if they are not known yet.
    pub values: &'a [Datum],
}

impl Asker<'_> {
    /// Returns a value, or the value of a marker.
    fn value<'d>(&'d self, datum: &'d Datum) -> &'d Datum {
        match datum {
            Datum::Param(number) => self.values.get(usize::from(*number)).unwrap_or(datum),
            other => other,
        }
    }
}

/// A query with the values of one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The query.
    pub query: MaintainedQuery,
    /// The values of its parameters.
    pub key: Vec<Number>,
    /// The rows that are shown; `None`: all.
    pub limit: Option<Limit>,
}

/// The parts of a plan form.
struct Parts<'p> {
    order: &'p [(Scalar, bool)],
    is_distinct: bool,
    items: &'p [ResultColumn],
    groups: Option<&'p [Scalar]>,
    having: &'p [Scalar],
    conditions: Vec<&'p Scalar>,
    scans: Vec<usize>,
    /// The scans that LEFT JOIN and subqueries add, by their places, and how they are joined.
    optional: Vec<(usize, Joined<'p>)>,
}

impl<'p> Parts<'p> {
    /// Returns the conditions on rows, and the join conditions.
    fn conditions(&self) -> impl Iterator<Item = &'p Scalar> {
        let on = self.optional.iter().flat_map(|(_, joined)| joined.conditions());
        self.conditions.iter().copied().chain(on)
    }

    /// Returns the values that are shown, or by which rows are ordered or grouped, and the conditions on groups.
    fn values(&self) -> impl Iterator<Item = &'p Scalar> {
        let shown = self.items.iter().map(|item| &item.value);
        let ordered = self.order.iter().map(|(value, _)| value);
        shown.chain(ordered).chain(self.groups.into_iter().flatten()).chain(self.having)
    }
}

/// The output of a query, its groups, and its order.
struct CompiledOutput {
    output: Output,
    having: Vec<Predicate>,
    order: Vec<(usize, bool)>,
    literals: Vec<Box<[u8]>>,
}

/// Compiles one SELECT. Returns it with the values of its parameters.
fn select(
    plan: &QueryPlan,
    asker: &Asker<'_>,
    parts: &Parts<'_>,
    takes_markers: bool,
) -> Found<(Select, Vec<Number>)> {
    let compiler = Compiler { takes_markers, ..Compiler::new(plan, parts, asker)? };
    let (mut parameters, mut key, mut conditions) = (Vec::new(), Vec::new(), Vec::new());
    for scalar in &parts.conditions {
        match compiler.condition(scalar)? {
            Predicate::Compare(
                ComparisonOperator::Equal,
                Term::Column(column_ref),
                Term::Constant(Some(value)),
            ) => {
                parameters.push(column_ref);
                key.push(value);
            }
            Predicate::And(all) => conditions.extend(all),
            other => conditions.push(other),
        }
    }
    let CompiledOutput { output, having, order, literals } = compiler.output(parts)?;
    let optional = parts.optional.iter().map(|(mention, joined)| compiler.optional(*mention, joined));
    let optional = optional.collect::<Found<_>>()?;
    let select =
        Select { optional, conditions, parameters, output, having, order, literals, ..compiler.query };
    let is_joined = (0..select.mentions.len()).all(|mention| JoinPlan::new(&select, mention).is_some());
    if is_joined { Ok((select, key)) } else { refused("tables that no equality of columns joins") }
}

/// Returns the order on top of a query, whether equal rows are shown once, and the relation below.
fn on_top(root: &Relation) -> (&[(Scalar, bool)], bool, &Relation) {
    let (order, rest) = match root {
        Relation::Order(of, order) => (order.as_slice(), &**of),
        other => (&[][..], other),
    };
    match rest {
        Relation::Distinct(of) => (order, true, of),
        other => (order, false, other),
    }
}

fn parts(root: &Relation) -> Found<Parts<'_>> {
    let (order, is_distinct, rest) = on_top(root);
    let Relation::Project(rest, items) = rest else { return refused(format!("{} at the top", named(rest))) };
    let (having, rest) = match &**rest {
        Relation::Filter(of, having) if matches!(**of, Relation::Aggregate(..)) => (having.as_slice(), &**of),
        other => (&[][..], other),
    };
    let (groups, rest) = match rest {
        Relation::Aggregate(of, by) => (Some(by.as_slice()), &**of),
        other => (None, other),
    };
    let (mut conditions, rest) = match rest {
        Relation::Filter(of, conditions) => (conditions.iter().collect(), &**of),
        other => (Vec::new(), other),
    };
    let (mut scans, mut optional) = (Vec::new(), Vec::new());
    tables(rest, &mut scans, &mut optional)?;
    split(&mut conditions);
    let mut rest = Vec::new();
    for condition in conditions {
        match Joined::of(condition) {
            Some(joined) => {
                let mut joined = joined.or_else(refused)?;
                split(&mut joined.on);
                scans.push(joined.input);
                optional.push((scans.len() - 1, joined));
            }
            None => rest.push(condition),
        }
    }
    let conditions = rest;
    Ok(Parts { order, is_distinct, items, groups, having, conditions, scans, optional })
}

/// Splits conditions at AND.
fn split(conditions: &mut Vec<&Scalar>) {
    let mut at = 0;
    while let Some(condition) = conditions.get(at).copied() {
        match condition {
            Scalar::Call(name, args) if name == "and" => drop(conditions.splice(at..=at, args)),
            _ => at += 1,
        }
    }
}

/// Notes the tables of a FROM.
fn tables<'p>(
    relation: &'p Relation,
    scans: &mut Vec<usize>,
    optional: &mut Vec<(usize, Joined<'p>)>,
) -> Found<()> {
    let scan = |relation: &Relation| match relation {
        Relation::Scan(input) => Ok(*input),
        other => refused(named(other)),
    };
    match relation {
        Relation::LeftJoin(both, on) => {
            tables(&both.0, scans, optional)?;
            let mut on: Vec<&Scalar> = on.iter().collect();
            split(&mut on);
            let input =
                scan(&both.1).map_err(|_| Unmaintained("LEFT JOIN of more than one table".to_owned()))?;
            optional.push((scans.len(), Joined { input, role: Role::Left, on, equal: None }));
            scans.push(input);
        }
        Relation::Product(all) => scans.extend(all.iter().map(scan).collect::<Found<Vec<_>>>()?),
        other => scans.push(scan(other)?),
    }
    Ok(())
}

fn named(relation: &Relation) -> &'static str {
    match relation {
        Relation::Scan(_) => "a table",
        Relation::Derived(..) => "a view or a derived table",
        Relation::Product(_) => "a join within a join",
        Relation::LeftJoin(..) => "LEFT JOIN",
        Relation::Filter(..) => "a condition",
        Relation::Aggregate(..) => "groups of groups",
        Relation::Project(..) => "a query within a query",
        Relation::Distinct(_) => "DISTINCT",
        Relation::UnionAll(_) => "UNION",
        Relation::Order(..) => "ORDER BY within a query",
        Relation::Limit(..) => "LIMIT",
    }
}

struct Compiler<'p> {
    plan: &'p QueryPlan,
    /// The input of each mention.
    scans: Vec<usize>,
    query: Select,
    asker: &'p Asker<'p>,
    /// The inputs that LEFT JOIN adds.
    left: Vec<usize>,
    /// A marker stands for any value of the type with which it is compared.
    takes_markers: bool,
}

impl<'p> Compiler<'p> {
    /// Finds the tables, and the needed columns of each.
    fn new(plan: &'p QueryPlan, parts: &Parts<'p>, asker: &'p Asker<'p>) -> Found<Self> {
        let mut tables: Vec<(TableName, Vec<ColumnSpec>)> = Vec::new();
        let mut mentions = Vec::new();
        for input in &parts.scans {
            let named = plan.named.get(*input).ok_or_else(|| Unmaintained("an unknown table".to_owned()))?;
            let name = (asker.name_of)(named)
                .ok_or_else(|| Unmaintained(format!("{}, which is not known", named.name)))?;
            let at = tables.iter().position(|(own, _)| *own == name).unwrap_or(tables.len());
            if at == tables.len() {
                tables.push((name, Vec::new()));
            }
            let uses = Uses::of(parts.conditions(), parts.values(), *input);
            for column in plan.columns_needed(*input) {
                let Some(declared) = declared(&named.columns, column) else {
                    return refused(format!("{}.{column}, whose type is not known", named.name));
                };
                let specs = uses
                    .specs(column, declared)
                    .map_err(|why| Unmaintained(format!("{}.{column}, which {why}", named.name)))?;
                let columns = &mut tables[at].1;
                let missing: Vec<_> = specs.into_iter().filter(|spec| !columns.contains(spec)).collect();
                columns.extend(missing);
            }
            mentions.push(at);
        }
        tables.iter_mut().for_each(|(_, columns)| columns.sort_by_key(ColumnSpec::place));
        let output = Output::Rows { columns: Vec::new(), shown: 0, is_distinct: false };
        let mut query = Select {
            tables,
            mentions,
            optional: Vec::new(),
            conditions: Vec::new(),
            parameters: Vec::new(),
            output,
            having: Vec::new(),
            order: Vec::new(),
            offset_s: 0,
            merged_by: Vec::new(),
            literals: Vec::new(),
        };
        let mut specs = query.tables.iter().flat_map(|(_, columns)| columns);
        if specs.any(|spec| matches!(spec.kind, Kind::Stamp(_))) {
            let offset_s = asker
                .computing
                .offset_s
                .map_or_else(|| refused("TIMESTAMP in a time zone whose distance from UTC changes"), Ok)?;
            query.offset_s = offset_s;
        }
        let left = parts.optional.iter().filter(|(_, joined)| joined.role == Role::Left);
        let left = left.map(|(_, joined)| joined.input).collect();
        Ok(Self { plan, scans: parts.scans.clone(), query, asker, left, takes_markers: false })
    }

    /// Returns how a mention is joined that need not have a row.
    fn optional(&self, mention: usize, joined: &Joined<'_>) -> Found<Optional> {
        let on = joined.on.iter().map(|scalar| self.condition(scalar));
        let mut on = on.collect::<Found<Vec<_>>>()?;
        if let Some((left, right)) = joined.equal {
            // If one side is NULL, it is not known whether it is in a list.
            if joined.role == Role::Missing && !(self.has_value(left) && self.has_value(right)) {
                return refused("NOT IN of what may be NULL");
            }
            on.push(self.compared(ComparisonOperator::Equal, left, right)?);
        }
        Ok(Optional { mention, role: joined.role, on })
    }

    /// Whether the value is a column that is never NULL.
    fn has_value(&self, scalar: &Scalar) -> bool {
        let Scalar::Column(input, name) = scalar else { return false };
        let column =
            self.plan.named.get(*input).and_then(|named| named.columns.iter().find(|it| it.name == *name));
        column.is_some_and(|column| !column.is_nullable) && !self.left.contains(input)
    }
}
