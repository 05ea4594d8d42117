//! From the plan form to a query that is maintained.

use std::fmt;

use freshet_sql::{Datum, Input, QueryPlan, Relation, ResultColumn, Scalar};

use crate::condition::{Comparison, Condition, Operand, Place};
use crate::join::JoinPlan;
use crate::kind::{ColumnSpec, Kind, TableName};
use crate::query::{Item, Output, Query, declared};
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

/// How many digits behind the point an average may have, so that its sum fits.
const DIVISION_DIGITS_MAX: u8 = 9;

type Found<T> = Result<T, Unmaintained>;

fn refused<T>(why: impl Into<String>) -> Found<T> {
    Err(Unmaintained(why.into()))
}

/// What is known of who asks.
pub struct Asker<'a> {
    /// Under which name the catalog knows an input's table.
    pub name_of: &'a dyn Fn(&Input) -> Option<TableName>,
    /// How many digits more a quotient has than what is divided: `div_precision_increment`, 0 to 30.
    pub division_digits: u8,
}

/// A query with the values that one text of it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The query.
    pub query: Query,
    /// The values of its parameters.
    pub key: Vec<i64>,
    /// Which of its rows are shown; `None`: all.
    pub limit: Option<Limit>,
}

/// The parts of a plan form that is maintained.
struct Parts<'p> {
    limit: Option<(&'p Datum, Option<&'p Datum>)>,
    order: &'p [(Scalar, bool)],
    is_distinct: bool,
    items: &'p [ResultColumn],
    groups: Option<&'p [Scalar]>,
    conditions: Vec<&'p Scalar>,
    scans: Vec<usize>,
}

impl Query {
    /// Whether a plan whose values are markers is maintained once they are known, if each is of the type that it is compared with: the tables and
    /// columns that it needs then.
    ///
    /// # Errors
    /// What in it is not maintained.
    pub fn check(plan: &QueryPlan, asker: &Asker<'_>) -> Result<Self, Unmaintained> {
        compile(plan, asker, true).map(|compiled| compiled.query)
    }

    /// Compiles a plan.
    ///
    /// # Errors
    /// What in it is not maintained.
    pub fn compile(plan: &QueryPlan, asker: &Asker<'_>) -> Result<Compiled, Unmaintained> {
        compile(plan, asker, false)
    }
}

fn compile(plan: &QueryPlan, asker: &Asker<'_>, takes_markers: bool) -> Found<Compiled> {
    let parts = parts(&plan.root)?;
    let compiler = Compiler { takes_markers, ..Compiler::new(plan, &parts, asker)? };
    let (mut parameters, mut key, mut conditions) = (Vec::new(), Vec::new(), Vec::new());
    for scalar in &parts.conditions {
        match compiler.condition(scalar)? {
            Condition::Compare(Comparison::Equal, Operand::Column(place), Operand::Constant(Some(value))) => {
                parameters.push(place);
                key.push(value);
            }
            Condition::And(all) => conditions.extend(all),
            other => conditions.push(other),
        }
    }
    let (output, order) = compiler.output(&parts)?;
    let query = Query { conditions, parameters, output, order, ..compiler.query.clone() };
    let is_joined = (0..query.mentions.len()).all(|mention| JoinPlan::new(&query, mention).is_some());
    let limit = parts.limit.map(|(count, offset)| compiler.limit(count, offset)).transpose()?;
    if is_joined {
        Ok(Compiled { query, key, limit })
    } else {
        refused("tables that no equality of columns joins")
    }
}

fn parts(root: &Relation) -> Found<Parts<'_>> {
    let (limit, rest) = match root {
        Relation::Limit(of, count, offset) => (Some((count, offset.as_ref())), &**of),
        other => (None, other),
    };
    let (order, rest) = match rest {
        Relation::Order(of, order) => (order.as_slice(), &**of),
        other => (&[][..], other),
    };
    let (is_distinct, rest) = match rest {
        Relation::Distinct(of) => (true, &**of),
        other => (false, other),
    };
    let Relation::Project(rest, items) = rest else { return refused(format!("{} at the top", named(rest))) };
    let (groups, rest) = match &**rest {
        Relation::Aggregate(of, by) => (Some(by.as_slice()), &**of),
        Relation::Filter(of, _) if matches!(**of, Relation::Aggregate(..)) => return refused("HAVING"),
        other => (None, other),
    };
    let (mut conditions, rest) = match rest {
        Relation::Filter(of, conditions) => (conditions.iter().collect(), &**of),
        other => (Vec::new(), other),
    };
    let scan = |relation: &Relation| match relation {
        Relation::Scan(input) => Ok(*input),
        other => refused(named(other)),
    };
    let scans = match rest {
        Relation::Product(all) => all.iter().map(scan).collect::<Found<_>>()?,
        other => vec![scan(other)?],
    };
    // What AND connects are conditions of their own.
    let mut at = 0;
    while let Some(condition) = conditions.get(at).copied() {
        match condition {
            Scalar::Call(name, args) if name == "and" => drop(conditions.splice(at..=at, args)),
            _ => at += 1,
        }
    }
    Ok(Parts { limit, order, is_distinct, items, groups, conditions, scans })
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
    query: Query,
    asker: &'p Asker<'p>,
    /// A marker stands for any value of the type that it is compared with.
    takes_markers: bool,
}

impl<'p> Compiler<'p> {
    /// Finds the tables, and the columns that are needed of each.
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
            for column in plan.columns_needed(*input) {
                let Some(declared) = declared(&named.columns, column) else {
                    return refused(format!("{}.{column}, whose type is not known", named.name));
                };
                let kind = Kind::of(declared)
                    .map_err(|why| Unmaintained(format!("{}.{column}, which {why}", named.name)))?;
                let spec = ColumnSpec { name: column.to_owned(), kind };
                if !tables[at].1.contains(&spec) {
                    tables[at].1.push(spec);
                }
            }
            mentions.push(at);
        }
        tables.iter_mut().for_each(|(_, columns)| columns.sort_by(|a, b| a.name.cmp(&b.name)));
        let output = Output::Rows { columns: Vec::new(), shown: 0, is_distinct: false };
        let query = Query {
            tables,
            mentions,
            conditions: Vec::new(),
            parameters: Vec::new(),
            output,
            order: Vec::new(),
        };
        Ok(Self { plan, scans: parts.scans.clone(), query, asker, takes_markers: false })
    }

    fn place(&self, input: usize, name: &str) -> Found<Place> {
        let found = || {
            let mention = self.scans.iter().position(|scan| *scan == input)?;
            let columns = &self.query.tables[self.query.mentions[mention]].1;
            let column = columns.iter().position(|column| column.name == name)?;
            Some(Place { mention, column })
        };
        let unknown = || {
            let input = self.plan.named.get(input).map_or("?", |input| &input.name);
            Unmaintained(format!("{input}.{name}, which is a column of another query"))
        };
        found().ok_or_else(unknown)
    }

    /// Numbers, or markers.
    fn limit(&self, count: &Datum, offset: Option<&Datum>) -> Found<Limit> {
        let number = |datum: &Datum| match datum {
            Datum::Int(number) => u64::try_from(*number).or_else(|_| refused("such a LIMIT")),
            Datum::Param(_) if self.takes_markers => Ok(0),
            _ => refused("such a LIMIT"),
        };
        Ok(Limit { count: number(count)?, offset: offset.map_or(Ok(0), number)? })
    }

    fn condition(&self, scalar: &Scalar) -> Found<Condition> {
        let Scalar::Call(name, args) = scalar else { return refused("a value as a condition") };
        let all = || args.iter().map(|arg| self.condition(arg)).collect::<Found<Vec<_>>>();
        let comparison = |name: &str| {
            Some(match name {
                "=" => Comparison::Equal,
                "<>" => Comparison::Unequal,
                "<" => Comparison::Less,
                "<=" => Comparison::LessOrEqual,
                ">" => Comparison::Greater,
                ">=" => Comparison::GreaterOrEqual,
                "<=>" => Comparison::Same,
                _ => return None,
            })
        };
        match (name.as_str(), args.as_slice()) {
            ("and", _) => all().map(Condition::And),
            ("or", _) => all().map(Condition::Or),
            ("not", [one]) => Ok(Condition::Not(Box::new(self.condition(one)?))),
            ("is null", [Scalar::Column(input, name)]) => {
                Ok(Condition::IsNull(Operand::Column(self.place(*input, name)?)))
            }
            ("between", [of, low, high]) => Ok(Condition::And(vec![
                self.compared(Comparison::GreaterOrEqual, of, low)?,
                self.compared(Comparison::LessOrEqual, of, high)?,
            ])),
            ("in", [of, list @ ..]) => {
                let (operand, kind) = self.column(of)?;
                let constant = |value: &Scalar| self.constant(value, kind);
                Ok(Condition::In(operand, list.iter().map(constant).collect::<Found<_>>()?))
            }
            (name, [left, right]) => match comparison(name) {
                Some(how) => self.compared(how, left, right),
                None => refused(name.to_uppercase()),
            },
            (name, _) => refused(name.to_uppercase()),
        }
    }

    /// A comparison, its column on the left if only one side is a column.
    fn compared(&self, how: Comparison, left: &Scalar, right: &Scalar) -> Found<Condition> {
        match (left, right) {
            (Scalar::Column(..), Scalar::Column(..)) => {
                let ((left, of), (right, with)) = (self.column(left)?, self.column(right)?);
                if !of.compares_with(with) {
                    return refused("a comparison of texts, or of two types");
                }
                Ok(Condition::Compare(how, left, right))
            }
            (Scalar::Column(..), value) => {
                let (left, kind) = self.column(left)?;
                Ok(Condition::Compare(how, left, self.constant(value, kind)?))
            }
            (value, Scalar::Column(..)) => {
                let (right, kind) = self.column(right)?;
                Ok(Condition::Compare(how.turned(), right, self.constant(value, kind)?))
            }
            _ => refused("a comparison of computed values"),
        }
    }

    fn column(&self, scalar: &Scalar) -> Found<(Operand, Kind)> {
        match scalar {
            Scalar::Column(input, name) => {
                let place = self.place(*input, name)?;
                Ok((Operand::Column(place), self.query.kind(place)))
            }
            Scalar::Value(_) | Scalar::All => refused("a literal in the place of a column"),
            Scalar::Item(_) => refused("a condition on an item"),
            Scalar::Call(name, _) => refused(format!("{}()", name.to_uppercase())),
            Scalar::Aggregate(name, ..) => refused(format!("{}() in this place", name.to_uppercase())),
            Scalar::Query(_) => refused("a subquery"),
        }
    }

    /// A column whose values can be told apart as their numbers.
    fn comparable(&self, scalar: &Scalar, why: &str) -> Found<Operand> {
        match self.column(scalar)? {
            (_, Kind::Text) => refused(format!("{why} a text")),
            (operand, _) => Ok(operand),
        }
    }

    fn output(&self, parts: &Parts<'_>) -> Found<(Output, Vec<(usize, bool)>)> {
        match parts.groups {
            Some(by) => self.groups(parts, by),
            None => self.rows(parts),
        }
    }

    fn rows(&self, parts: &Parts<'_>) -> Found<(Output, Vec<(usize, bool)>)> {
        let column = |item: &ResultColumn| match parts.is_distinct {
            true => self.comparable(&item.value, "DISTINCT of"),
            false => self.column(&item.value).map(|(operand, _)| operand),
        };
        let mut columns = parts.items.iter().map(column).collect::<Found<Vec<_>>>()?;
        let shown = columns.len();
        let mut order = Vec::new();
        for (scalar, descends) in parts.order {
            let value = match scalar {
                Scalar::Item(at) => parts.items.get(*at).map_or(scalar, |item| &item.value),
                other => other,
            };
            let operand = self.comparable(value, "ORDER BY")?;
            let at = columns.iter().position(|column| *column == operand).unwrap_or(columns.len());
            if at == columns.len() {
                columns.push(operand);
            }
            order.push((at, *descends));
        }
        if parts.is_distinct && columns.len() > shown {
            return refused("DISTINCT in the order of what is not shown");
        }
        Ok((Output::Rows { columns, shown, is_distinct: parts.is_distinct }, order))
    }

    fn groups(&self, parts: &Parts<'_>, by: &[Scalar]) -> Found<(Output, Vec<(usize, bool)>)> {
        if parts.is_distinct {
            return refused("DISTINCT of groups");
        }
        let value = |scalar: &Scalar| match scalar {
            Scalar::Item(at) => parts.items.get(*at).map(|item| item.value.clone()),
            other => Some(other.clone()),
        };
        let unknown = || Unmaintained("an item that is not known".to_owned());
        let key = |scalar: &Scalar| self.comparable(&value(scalar).ok_or_else(unknown)?, "GROUP BY");
        let by = by.iter().map(key).collect::<Found<Vec<_>>>()?;
        let item = |scalar: &Scalar| self.item(scalar, &by);
        let mut items = parts.items.iter().map(|shown| item(&shown.value)).collect::<Found<Vec<_>>>()?;
        let shown = items.len();
        let mut order = Vec::new();
        for (scalar, descends) in parts.order {
            let item = item(&value(scalar).ok_or_else(unknown)?)?;
            let at = items.iter().position(|own| *own == item).unwrap_or(items.len());
            if at == items.len() {
                items.push(item);
            }
            order.push((at, *descends));
        }
        Ok((Output::Groups { by, items, shown }, order))
    }

    fn item(&self, scalar: &Scalar, by: &[Operand]) -> Found<Item> {
        match scalar {
            Scalar::Aggregate(name, true, _) => refused(format!("{}(DISTINCT)", name.to_uppercase())),
            Scalar::Aggregate(name, false, args) => match (name.as_str(), args.as_slice()) {
                ("count", [Scalar::All | Scalar::Value(Datum::Int(_))]) => Ok(Item::Count(None)),
                ("count", [of]) => Ok(Item::Count(Some(self.column(of)?.0))),
                ("sum", [of]) => match self.column(of)? {
                    (operand, Kind::Integer { .. }) => Ok(Item::Sum(operand)),
                    _ => refused("SUM() of what is no integer"),
                },
                ("avg", _) if self.asker.division_digits > DIVISION_DIGITS_MAX => {
                    refused("AVG() with so many digits")
                }
                ("avg", [of]) => match self.column(of)? {
                    (operand, Kind::Integer { .. }) => Ok(Item::Average(operand, self.asker.division_digits)),
                    _ => refused("AVG() of what is no integer"),
                },
                ("min" | "max", [of]) => {
                    let of = self.comparable(of, "MIN() and MAX() of")?;
                    Ok(Item::Extreme { of, is_max: name == "max" })
                }
                (name, _) => refused(format!("{}()", name.to_uppercase())),
            },
            column => {
                let operand = self.column(column)?.0;
                let at = by.iter().position(|own| *own == operand);
                at.map(Item::Key).ok_or_else(|| Unmaintained("a column that is not grouped by".to_owned()))
            }
        }
    }

    /// A literal as a value of this kind, if it is written as one.
    fn constant(&self, scalar: &Scalar, kind: Kind) -> Found<Operand> {
        let number = match (scalar, kind) {
            (Scalar::Value(Datum::Int(number)), Kind::Integer { .. }) => i64::try_from(*number).ok(),
            (Scalar::Value(Datum::Text(text)), Kind::Date | Kind::Moment(_)) => kind.parse(text),
            (Scalar::Value(Datum::Param(_)), kind) if self.takes_markers && kind != Kind::Text => Some(0),
            (Scalar::Query(_), _) => return refused("a subquery"),
            _ => None,
        };
        match number {
            Some(number) => Ok(Operand::Constant(Some(number))),
            None => refused("a value that is of another type than what it is compared with"),
        }
    }
}
