//! What a plan form means, computed anew from all rows: slow, and sharing nothing with the engine but the form of values.

use std::collections::BTreeMap;

use freshet_sql::{Datum, QueryPlan, Relation, Scalar};

/// A value as the tests hold it: dates and moments are their texts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Value {
    Null,
    Int(i128),
    /// So many units of [`UNIT`] parts, and how many digits behind the point are shown.
    Exact(i128, u32),
    Text(String),
}

/// How many parts one has.
pub(super) const UNIT: i128 = 10_000_000_000;

impl Value {
    pub(super) const fn exact(parts: i128, scale: u32) -> Self {
        Self::Exact(parts, scale)
    }

    /// As a server shows it; `None` for NULL.
    pub(super) fn shown(&self) -> Option<String> {
        Some(match self {
            Self::Null => return None,
            Self::Int(number) => number.to_string(),
            Self::Text(text) => text.clone(),
            Self::Exact(parts, scale) => {
                let all = format!("{}.{:010}", parts.abs() / UNIT, parts.abs() % UNIT);
                let cut = all.len() - 10 + *scale as usize;
                let shown = all[..cut].trim_end_matches('.');
                let is_zero = shown.bytes().all(|byte| matches!(byte, b'0' | b'.'));
                format!("{}{shown}", if *parts < 0 && !is_zero { "-" } else { "" })
            }
        })
    }

    /// Its parts, if it is a number.
    fn parts(&self) -> Option<i128> {
        match self {
            Self::Int(number) => number.checked_mul(UNIT),
            Self::Exact(parts, _) => Some(*parts),
            Self::Null | Self::Text(_) => None,
        }
    }

    /// It compares as its parts, if it is a number.
    fn comparable(&self) -> Self {
        match self {
            // Case and trailing blanks do not count.
            Self::Text(text) => Self::Text(text.trim_end_matches(' ').to_lowercase()),
            other => other.parts().map_or_else(|| other.clone(), Self::Int),
        }
    }
}

/// The rows of all tables, by the tables' names; each row by the names of its columns.
pub(super) type Database = BTreeMap<&'static str, Vec<BTreeMap<&'static str, Value>>>;

/// A combination of rows: for each input its row; `None` for NULLs in the place of one.
type Combination<'d> = BTreeMap<usize, Option<&'d BTreeMap<&'static str, Value>>>;

struct Evaluator<'d> {
    plan: &'d QueryPlan,
    database: &'d Database,
}

/// Returns the rows that the plan shows, in the order of the plan as far as it has one.
pub(super) fn evaluate(plan: &QueryPlan, database: &Database) -> Vec<Vec<Value>> {
    Evaluator { plan, database }.shown(&plan.root)
}

impl<'d> Evaluator<'d> {
    fn combinations(&self, relation: &Relation) -> Vec<Combination<'d>> {
        match relation {
            Relation::Scan(input) => {
                let table = self.plan.named[*input].table.as_ref().expect("it is a table");
                let rows = self.database[table.name.as_str()].iter();
                rows.map(|row| Combination::from([(*input, Some(row))])).collect()
            }
            Relation::Product(all) => all.iter().fold(vec![Combination::new()], |so_far, one| {
                let others = self.combinations(one);
                let joined = |left: &Combination<'d>| {
                    let left = left.clone();
                    others
                        .clone()
                        .into_iter()
                        .map(move |right| left.clone().into_iter().chain(right).collect())
                };
                so_far.iter().flat_map(joined).collect()
            }),
            Relation::Filter(of, conditions) => {
                let holds = |one: &Combination<'_>| {
                    conditions.iter().all(|condition| self.holds(condition, one) == Some(true))
                };
                self.combinations(of).into_iter().filter(holds).collect()
            }
            Relation::LeftJoin(both, on) => {
                let (rights, inputs) = (self.combinations(&both.1), inputs(&both.1));
                let joined = |left: Combination<'d>| {
                    let all =
                        rights.iter().map(|right| left.clone().into_iter().chain(right.clone()).collect());
                    let holds =
                        |one: &Combination<'_>| on.iter().all(|on| truth(&value(on, one)) == Some(true));
                    let mut joined: Vec<Combination<'d>> = all.filter(holds).collect();
                    if joined.is_empty() {
                        joined.push(
                            left.into_iter().chain(inputs.iter().map(|input| (*input, None))).collect(),
                        );
                    }
                    joined
                };
                self.combinations(&both.0).into_iter().flat_map(joined).collect()
            }
            other => panic!("no combinations of {other:?}"),
        }
    }

    /// Returns a condition, which may be one on the rows of a subquery.
    fn holds(&self, scalar: &Scalar, one: &Combination<'d>) -> Option<bool> {
        let Scalar::Call(name, args) = scalar else { return truth(&value(scalar, one)) };
        match (name.as_str(), args.as_slice()) {
            ("exists", [Scalar::Query(of)]) => Some(!self.of_subquery(of, one).is_empty()),
            ("in", [left, Scalar::Query(of)]) => {
                let all = self.of_subquery(of, one);
                call("in", &[vec![value(left, one)], all].concat())
            }
            ("not", [negated]) => self.holds(negated, one).map(|holds| !holds),
            ("and", all) => {
                let all = all
                    .iter()
                    .map(|each| self.holds(each, one).map_or(Value::Null, |it| Value::Int(it.into())));
                call("and", &all.collect::<Vec<_>>())
            }
            _ => truth(&value(scalar, one)),
        }
    }

    /// Returns the first values of a subquery's rows.
    fn of_subquery(&self, relation: &Relation, around: &Combination<'d>) -> Vec<Value> {
        let relation = if let Relation::Distinct(of) = relation { of } else { relation };
        let Relation::Project(of, items) = relation else { panic!("no projection but {relation:?}") };
        let (of, conditions) = match &**of {
            Relation::Filter(of, conditions) => (of, conditions.as_slice()),
            _ => (of, &[][..]),
        };
        let rows = self.combinations(of).into_iter();
        let rows = rows.map(|row| around.clone().into_iter().chain(row).collect::<Combination<'d>>());
        let rows =
            rows.filter(|row| conditions.iter().all(|condition| self.holds(condition, row) == Some(true)));
        rows.map(|row| items.first().map_or(Value::Null, |item| value(&item.value, &row))).collect()
    }

    fn shown(&self, relation: &Relation) -> Vec<Vec<Value>> {
        let (of, order) = match relation {
            Relation::Order(of, order) => (&**of, order.as_slice()),
            other => (other, &[][..]),
        };
        let (is_distinct, of) = match of {
            Relation::Distinct(of) => (true, &**of),
            other => (false, other),
        };
        if let Relation::UnionAll(both) = of {
            let mut rows = [self.shown(&both.0), self.shown(&both.1)].concat();
            let by = |row: &[Value], (scalar, down): &(Scalar, bool)| match scalar {
                Scalar::Item(at) => (row[*at].comparable(), *down),
                other => panic!("no order by {other:?}"),
            };
            let keys = |row: &[Value]| order.iter().map(|one| by(row, one)).collect::<Vec<_>>();
            rows.sort_by(|a, b| compared(&keys(a), &keys(b)));
            return if is_distinct { told_apart(rows) } else { rows };
        }
        let Relation::Project(of, items) = of else { panic!("no projection but {of:?}") };
        let (of, having) = match &**of {
            Relation::Filter(of, having) if matches!(**of, Relation::Aggregate(..)) => {
                (of, having.as_slice())
            }
            _ => (of, &[][..]),
        };
        let groups: Vec<Vec<Combination<'d>>> = match &**of {
            Relation::Aggregate(rows, by) => {
                let mut groups: BTreeMap<Vec<Value>, Vec<Combination<'d>>> = BTreeMap::new();
                if by.is_empty() {
                    groups.insert(Vec::new(), Vec::new());
                }
                for one in self.combinations(rows) {
                    let key = by.iter().map(|scalar| value(item(scalar, items), &one)).collect();
                    groups.entry(key).or_default().push(one);
                }
                groups.into_values().collect()
            }
            rows => self.combinations(rows).into_iter().map(|one| vec![one]).collect(),
        };
        let of_group = |scalar: &Scalar, group: &[Combination<'d>]| match item(scalar, items) {
            Scalar::Call(name, args)
                if name == "coalesce"
                    && let [Scalar::Aggregate(name, is_distinct, of), or] = args.as_slice() =>
            {
                let scale = scale_of(&of[0]) + if name == "avg" { 4 } else { 0 };
                match aggregate(name, *is_distinct, &of[0], group) {
                    Value::Null => {
                        Value::Exact(value(or, &Combination::new()).parts().expect("a number"), scale)
                    }
                    found => found,
                }
            }
            Scalar::Aggregate(name, is_distinct, args) => aggregate(name, *is_distinct, &args[0], group),
            other => group.first().map_or(Value::Null, |one| value(other, one)),
        };
        let groups = groups.into_iter().filter(|group| {
            let of_item = |scalar: &Scalar| of_group(scalar, group);
            having.iter().all(|having| truth(&of_items(having, &of_item)) == Some(true))
        });
        let groups: Vec<Vec<Combination<'d>>> = groups.collect();
        let row = |group: &Vec<Combination<'d>>| {
            let by: Vec<(Value, bool)> =
                order.iter().map(|(by, down)| (of_group(by, group), *down)).collect();
            let shown: Vec<Value> = items.iter().map(|item| of_group(&item.value, group)).collect();
            (by, shown)
        };
        let mut rows: Vec<_> = groups.iter().map(row).collect();
        rows.sort_by(|(a, _), (b, _)| compared(a, b));
        let shown: Vec<Vec<Value>> = rows.into_iter().map(|(_, shown)| shown).collect();
        if is_distinct { told_apart(shown) } else { shown }
    }
}

/// Returns the order of two rows by these values, of which some descend.
fn compared(one: &[(Value, bool)], other: &[(Value, bool)]) -> std::cmp::Ordering {
    let pairs = one.iter().zip(other).map(|((a, down), (b, _))| {
        let (a, b) = (a.comparable(), b.comparable());
        if *down { b.cmp(&a) } else { a.cmp(&b) }
    });
    pairs.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
}

/// Returns each row once.
fn told_apart(mut rows: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    let mut seen = std::collections::BTreeSet::new();
    rows.retain(|row| seen.insert(row.clone()));
    rows
}

fn item<'s>(scalar: &'s Scalar, items: &'s [freshet_sql::ResultColumn]) -> &'s Scalar {
    match scalar {
        Scalar::Item(at) => &items[*at].value,
        other => other,
    }
}

/// Returns the inputs of a join's right side.
fn inputs(relation: &Relation) -> Vec<usize> {
    match relation {
        Relation::Scan(input) => vec![*input],
        other => panic!("no table but {other:?}"),
    }
}

/// Returns a condition on what is computed of a group.
fn of_items(scalar: &Scalar, of_item: &dyn Fn(&Scalar) -> Value) -> Value {
    match scalar {
        Scalar::Call(name, args) if name != "coalesce" => {
            let args: Vec<Value> = args.iter().map(|arg| of_items(arg, of_item)).collect();
            call(name, &args).map_or(Value::Null, |truth| Value::Int(truth.into()))
        }
        Scalar::Value(_) => value(scalar, &Combination::new()),
        other => of_item(other),
    }
}

fn aggregate(name: &str, is_distinct: bool, of: &Scalar, group: &[Combination<'_>]) -> Value {
    let mut values: Vec<Value> = match of {
        Scalar::All | Scalar::Value(_) => group.iter().map(|_| Value::Int(1)).collect(),
        of => group.iter().map(|one| value(of, one)).filter(|value| *value != Value::Null).collect(),
    };
    if is_distinct {
        values.iter_mut().for_each(|value| *value = value.comparable());
        values.sort();
        values.dedup();
    }
    let sum = || values.iter().filter_map(Value::parts).sum::<i128>();
    let scale = scale_of(of);
    match name {
        "count" => Value::Int(i128::try_from(values.len()).expect("it fits")),
        "sum" if values.is_empty() => Value::Null,
        "sum" => Value::Exact(sum(), scale),
        "avg" if values.is_empty() => Value::Null,
        // Rounded half away from zero.
        "avg" => {
            let of = i128::try_from(values.len()).expect("it fits");
            let last = 10_i128.pow(10 - scale - 4) * of;
            let rounded = (sum().abs() * 2 + last) / (last * 2) * last / of;
            Value::Exact(sum().signum() * rounded, scale + 4)
        }
        "min" => values.into_iter().min().unwrap_or(Value::Null),
        "max" => values.into_iter().max().unwrap_or(Value::Null),
        other => panic!("no aggregate {other}"),
    }
}

fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Null => None,
        Value::Int(number) => Some(*number != 0),
        other => panic!("{other:?} as a condition"),
    }
}

fn value(scalar: &Scalar, one: &Combination<'_>) -> Value {
    let of_truth = |truth: Option<bool>| truth.map_or(Value::Null, |truth| Value::Int(truth.into()));
    match scalar {
        Scalar::Column(input, name) => one[input].map_or(Value::Null, |row| row[name.as_str()].clone()),
        Scalar::Value(Datum::Null) => Value::Null,
        Scalar::Value(Datum::Int(number)) => Value::Int(*number),
        Scalar::Value(Datum::Decimal(text)) => {
            let (whole, fraction) = text.trim_start_matches('-').split_once('.').expect("it has a point");
            let parts: i128 = format!("{whole}{fraction:0<10}").parse().expect("it is a number");
            let scale = u32::try_from(fraction.len()).expect("it is short");
            Value::Exact(if text.starts_with('-') { -parts } else { parts }, scale)
        }
        Scalar::Value(Datum::Text(text)) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        Scalar::Call(name, args) => {
            let args: Vec<Value> = args.iter().map(|arg| value(arg, one)).collect();
            computed(name, &args).unwrap_or_else(|| of_truth(call(name, &args)))
        }
        other => panic!("no value of {other:?}"),
    }
}

/// Returns how many digits behind the point a number has, NULL or not.
fn scale_of(scalar: &Scalar) -> u32 {
    let most = |args: &[Scalar]| args.iter().map(scale_of).max().unwrap_or(0);
    match scalar {
        Scalar::Column(_, name) => match name.as_str() {
            "m" => 2,
            "w" => 3,
            _ => 0,
        },
        Scalar::Value(Datum::Decimal(text)) => {
            let fraction = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
            u32::try_from(fraction).expect("it is short")
        }
        Scalar::Call(name, args) => match name.as_str() {
            "*" => args.iter().map(scale_of).sum(),
            "+" | "-" | "coalesce" | "ifnull" => most(args),
            // Conditions have no digits.
            "if" | "case" => most(args),
            "case of" => most(&args[1..]),
            _ => 0,
        },
        _ => 0,
    }
}

/// What is no condition; the digits that are shown are those of [`scale_of`].
fn computed(name: &str, args: &[Value]) -> Option<Value> {
    let of_case = |holds: &dyn Fn(&Value) -> bool, cases: &[Value]| {
        let last = &cases[cases.len() - 1];
        cases.chunks_exact(2).find(|pair| holds(&pair[0])).map_or(last, |pair| &pair[1]).clone()
    };
    Some(match (name, args) {
        ("-", [one]) => Value::Exact(-one.parts()?, 0),
        ("+" | "-" | "*", [left, right]) => {
            let (Some(a), Some(b)) = (left.parts(), right.parts()) else { return Some(Value::Null) };
            // Halves and hundredths: the product of their thousandths is exact.
            let milli = UNIT / 1000;
            let parts = match name {
                "+" => a + b,
                "-" => a - b,
                _ => (a / milli) * (b / milli) * (milli / 1000),
            };
            Value::Exact(parts, 0)
        }
        ("coalesce" | "ifnull", all) => {
            all.iter().find(|one| **one != Value::Null).unwrap_or(&Value::Null).clone()
        }
        ("if" | "case", _) => of_case(&|condition| truth(condition) == Some(true), args),
        ("case of", [of, cases @ ..]) => {
            of_case(&|when| call("=", &[of.clone(), when.clone()]) == Some(true), cases)
        }
        _ => return None,
    })
}

fn call(name: &str, args: &[Value]) -> Option<bool> {
    let known = |value: &Value| (*value != Value::Null).then(|| value.comparable());
    let both = || Some((known(&args[0])?, known(&args[1])?));
    let and = |left: Option<bool>, right: Option<bool>| match (left, right) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    };
    match name {
        "and" => args.iter().map(truth).fold(Some(true), and),
        "or" => args.iter().map(|arg| truth(arg).map(|it| !it)).fold(Some(true), and).map(|it| !it),
        "not" => truth(&args[0]).map(|truth| !truth),
        "is null" => Some(args[0] == Value::Null),
        "<=>" => Some(args[0].comparable() == args[1].comparable()),
        "=" => both().map(|(a, b)| a == b),
        "<>" => both().map(|(a, b)| a != b),
        "<" => both().map(|(a, b)| a < b),
        "<=" => both().map(|(a, b)| a <= b),
        ">" => both().map(|(a, b)| a > b),
        ">=" => both().map(|(a, b)| a >= b),
        "between" => {
            let low = call(">=", &[args[0].clone(), args[1].clone()]);
            and(low, call("<=", &[args[0].clone(), args[2].clone()]))
        }
        "in" => {
            let equal = |other: &Value| call("=", &[args[0].clone(), other.clone()]).map(|it| !it);
            args[1..].iter().map(equal).fold(Some(true), and).map(|it| !it)
        }
        other => panic!("no function {other}"),
    }
}
