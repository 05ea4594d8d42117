//! Random changes, after each of which every result is as it would be if it were computed anew.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::evaluator::{Database, UNIT, Value, evaluate};
use super::{COMPUTING, TABLES, data_type, plan};
use crate::compile::{Asker, Compiled};
use crate::engine::Engine;
use crate::kind::{ColumnSpec, Given, Kind, TableName};
use crate::query::MaintainedQuery;
use crate::results::Limit;

const FROM: &[&str] = &[
    "t",
    "t JOIN u ON u.tid = t.id",
    "t, u WHERE u.tid = t.a",
    "t JOIN t AS y ON t.a = y.a",
    "t JOIN t AS y ON t.id = y.b JOIN u ON u.tid = y.id",
    "t JOIN u ON u.tid = t.b JOIN u AS w ON w.x = u.x",
    "t JOIN u ON u.m = t.m",
    "t JOIN u ON u.z = t.b",
    "t JOIN t AS y ON t.w = y.w",
    "t JOIN t AS y ON t.s = y.s",
    "t LEFT JOIN t AS y ON y.s = t.s AND y.b <> 0",
    "t JOIN t AS y ON t.big = y.big AND y.y = t.y",
    "t LEFT JOIN u ON u.tid = t.id",
    "t LEFT JOIN u ON u.tid = t.b AND u.x > 1",
    "t LEFT JOIN u ON u.tid = t.b AND t.a = 1",
    "t LEFT JOIN t AS y ON y.a = t.b",
    "t LEFT JOIN t AS y ON t.id = y.a AND y.b <> 0 LEFT JOIN u ON u.tid = y.id",
    "t LEFT JOIN u ON u.tid = t.a LEFT JOIN t AS y ON y.a = t.a AND y.b >= u.x",
    "t JOIN t AS y ON t.a = y.b LEFT JOIN u ON u.x = y.b AND u.tid <> t.id",
    "u AS w LEFT JOIN t ON t.id = w.tid LEFT JOIN u ON u.tid = w.tid AND u.id <> w.id",
    "u RIGHT JOIN t ON u.tid = t.id",
    "t LEFT JOIN u ON u.tid = t.id WHERE u.id IS NULL",
    "t WHERE EXISTS (SELECT 1 FROM u AS k WHERE k.tid = t.id AND k.x >= t.a)",
    "t WHERE t.id IN (SELECT k.tid FROM u AS k WHERE k.x <> 1)",
    "t WHERE t.a IN (SELECT k.b FROM t AS k WHERE k.id <> t.id)",
    "t WHERE NOT EXISTS (SELECT * FROM u AS k WHERE k.tid = t.a AND k.x > 0)",
    "t WHERE t.id NOT IN (SELECT k.id FROM u AS k WHERE k.x = 2)",
    "t WHERE NOT EXISTS (SELECT * FROM t AS k WHERE k.a = t.a AND k.id < t.id)",
    "t JOIN u ON u.tid = t.id WHERE EXISTS (SELECT 1 FROM u AS k WHERE k.x = u.x AND k.id <> u.id)",
    "t LEFT JOIN u ON u.tid = t.id WHERE NOT EXISTS (SELECT 1 FROM t AS k WHERE k.b = u.x)",
    "t LEFT JOIN u ON u.tid = t.a WHERE t.id IN (SELECT DISTINCT k.tid FROM u AS k) AND NOT EXISTS (SELECT 1 FROM u AS l WHERE l.x = t.b AND l.id <> u.id)",
    "t LEFT JOIN u ON u.tid = t.id WHERE u.x = 1",
    "t LEFT JOIN u ON u.tid = t.a WHERE (u.x = t.b OR u.x IS NULL)",
    "t LEFT JOIN u ON u.tid = t.a LEFT JOIN u AS w ON w.tid = u.x WHERE NOT w.x > 1",
];
const CONDITIONS: &[&str] = &[
    "t.a = 2",
    "t.b > 1",
    "t.d < '2024-02-02'",
    "t.d = '2024-02-01'",
    "t.a IS NULL",
    "NOT t.b IS NULL",
    "t.a IN (1, 3)",
    "t.b NOT IN (0, 2)",
    "t.b BETWEEN 1 AND 2",
    "t.b >= 1 AND t.b < 3 AND t.a <= 2",
    "t.id BETWEEN 2 AND 4",
    "t.a > 0 AND 3 >= t.a AND t.b > 5",
    "t.a <=> t.b",
    "3 > t.a",
    "(t.a = 1 OR t.b = 1)",
    "NOT (t.a > 1 AND t.b < 2)",
    "t.id <> t.b",
    "t.a <= t.b",
    "t.m = 1.50",
    "t.m < 1.005",
    "t.m <= 0.5",
    "t.m > -0.501",
    "t.m >= 1.4999",
    "1.005 >= t.m",
    "t.m <> 1.001",
    "t.m <=> 1.000",
    "NOT t.m <> 1.001",
    "t.m IN (1, -1.000, 0.33)",
    "t.m NOT IN (0.5, 0.330)",
    "t.m BETWEEN -1 AND 1.499",
    "t.w > 12345678901234567890.0001",
    "t.w < 99999999999999999999999999",
    "t.a < 1.5",
    "t.b = 1.0",
    "t.b <> 1.5",
    "t.s = 'b'",
    "t.s <> 'A text of more bytes'",
    "t.s IN ('B C', 'x', 'A')",
    "t.s IS NULL",
    "t.e = 'paid'",
    "t.e <> 'new'",
    "t.e IN ('sent', 'new')",
    "t.st = 'paid,sent'",
    "t.st <> ''",
    "t.st IN ('new', 'paid', 'new,sent')",
    "t.big > 18446744073709551613",
    "t.big = 18446744073709551615",
    "t.big > -1",
    "t.y = 2001",
    "t.y BETWEEN 1901 AND 2001",
];
/// What is shown, and by what it is grouped.
const OUTPUTS: &[(&str, &str)] = &[
    ("t.id, t.a, t.s, t.d", ""),
    ("t.id, t.m, t.w", ""),
    ("DISTINCT t.a, t.b", ""),
    ("DISTINCT t.m, t.w", ""),
    ("COUNT(*)", ""),
    ("t.a, COUNT(*), COUNT(t.b), SUM(t.b)", "t.a"),
    ("t.a, MIN(t.d), MAX(t.b), SUM(t.a), AVG(t.b)", "t.a"),
    ("t.a, SUM(t.m), AVG(t.m), MIN(t.m), MAX(t.w), COUNT(t.w), SUM(t.w), AVG(t.w)", "t.a"),
    ("t.m, COUNT(*), MIN(t.w), AVG(t.a)", "t.m"),
    ("COUNT(1), SUM(t.a), MAX(t.d)", ""),
    ("SUM(t.m), AVG(t.m), AVG(t.w), MAX(t.w)", ""),
    ("t.s, t.s", ""),
    ("t.id, t.e, t.big, t.y", ""),
    ("t.e, COUNT(*), COUNT(DISTINCT t.b), SUM(t.big), AVG(t.big), MAX(t.big), MIN(t.y)", "t.e"),
    ("COUNT(DISTINCT t.m), COUNT(DISTINCT t.e), MAX(t.y)", ""),
    ("t.a, COUNT(*)", "t.a HAVING COUNT(*) > 1"),
    ("t.a, SUM(t.m) AS sm", "t.a HAVING sm >= 0.5 OR MAX(t.b) IS NULL"),
    ("t.a, t.b, COUNT(*)", "t.a, t.b HAVING NOT t.b = 1 AND COUNT(DISTINCT t.e) <= 1"),
    ("COUNT(*)", "t.d HAVING MIN(t.d) < '2024-02-03' AND SUM(t.b) BETWEEN 1 AND 3"),
    ("DISTINCT t.e, t.y", ""),
    ("DISTINCT t.s, t.b", ""),
    ("t.s, COUNT(*), SUM(t.a), COUNT(t.s)", "t.s"),
    ("t.b, t.s, COUNT(*)", "t.b, t.s HAVING NOT t.s IS NULL"),
    ("t.a, COUNT(DISTINCT t.s)", "t.a"),
    ("t.s, t.id", ""),
    ("t.a, MIN(t.s), MAX(t.s), COUNT(*)", "t.a"),
    ("MAX(t.s), MIN(t.s)", ""),
    ("t.st, t.bt, t.id", ""),
    ("t.st, COUNT(*), COUNT(t.bt), MAX(t.y)", "t.st"),
    ("COUNT(t.st), COUNT(DISTINCT t.st)", "t.b"),
    ("DISTINCT t.st, t.y", ""),
    ("COALESCE(SUM(t.m), 0), COALESCE(AVG(t.a), -1.5), COALESCE(SUM(t.a * t.m), 2)", ""),
    ("t.a, COALESCE(SUM(t.b), 7)", "t.a HAVING COALESCE(SUM(t.b), 7) > 2"),
    ("SUM(t.a * t.b), SUM(t.m * t.a), SUM(t.m + 1.5), AVG(t.a - t.m), SUM(-2 * t.m)", ""),
    (
        "t.a, SUM(CASE WHEN t.s = 'b' THEN t.m ELSE 0 END), COUNT(CASE WHEN t.b > 1 THEN 1 END), SUM(t.e = 'paid')",
        "t.a",
    ),
    (
        "t.b, SUM(IF(t.e IN ('new', 'paid'), t.m * 2, t.b)), SUM(COALESCE(t.m, t.b, 7)), AVG(IFNULL(t.a, 0.25))",
        "t.b",
    ),
    (
        "SUM(CASE t.e WHEN 'new' THEN 1 WHEN 'paid' THEN t.b * t.b END), AVG(t.a IS NULL), COUNT(t.a + t.b)",
        "",
    ),
];
/// What is shown where `u` is there as well.
const JOINED: &[(&str, &str)] = &[
    ("t.id, u.id, u.x, u.ts", ""),
    ("t.a, COUNT(u.id), COUNT(DISTINCT u.x), MAX(u.at), SUM(u.m), COUNT(*)", "t.a"),
    ("u.x, COUNT(*), MIN(t.b)", "u.x HAVING COUNT(t.id) > 1"),
    ("COUNT(u.id), MIN(u.at), MAX(u.ts)", ""),
    (
        "t.a, SUM(u.x * t.m), AVG(t.b - u.x), SUM(CASE WHEN u.x > t.b THEN u.m ELSE t.m END) AS most",
        "t.a HAVING most > 0.5 OR SUM(u.x = t.b) < 2",
    ),
];

/// SELECTs whose rows are put together.
const UNIONS: &[(&str, &str)] = &[
    ("SELECT t.id, t.a FROM t", "SELECT u.id, u.x FROM u"),
    ("SELECT t.a, t.s FROM t", "SELECT t.b, t.s FROM t WHERE t.s <> 'b'"),
    ("SELECT t.m, t.d, t.b FROM t", "SELECT u.m, t.d, u.x FROM t JOIN u ON u.tid = t.id"),
    ("SELECT t.a, COUNT(*) FROM t GROUP BY t.a", "SELECT u.x, u.id FROM u"),
    ("SELECT t.s, MAX(t.s), SUM(t.m) FROM t GROUP BY t.s", "SELECT t.s, t.s, t.m FROM t WHERE t.a = 1"),
    ("SELECT t.a, u.x FROM t LEFT JOIN u ON u.tid = t.id", "SELECT t.b, t.a FROM t WHERE t.b = 2"),
    ("SELECT t.a FROM t", "SELECT u.x FROM u UNION ALL SELECT t.b FROM t"),
    ("SELECT t.b FROM t", "SELECT u.x FROM u UNION SELECT t.a FROM t"),
];

fn union(choices: (usize, usize, usize, usize, usize)) -> String {
    let (pair, condition, _, kind, order) = choices;
    let (one, other) = UNIONS[pair / 4 % UNIONS.len()];
    let condition = CONDITIONS.get(condition % (CONDITIONS.len() + 4)).filter(|_| !one.contains("GROUP BY"));
    let condition = condition.map_or_else(String::new, |condition| format!(" WHERE {condition}"));
    let kind = if kind.is_multiple_of(3) && !other.contains("UNION ALL") { "UNION" } else { "UNION ALL" };
    let order = ["", " ORDER BY 1", " ORDER BY 1 DESC", " ORDER BY 1 DESC"][order % 4];
    format!("{one}{condition} {kind} {other}{order}")
}

fn text(choices: (usize, usize, usize, usize, usize)) -> Option<String> {
    if choices.0.is_multiple_of(4) {
        return Some(union(choices));
    }
    one_select((choices.0 / 4 * 3 + choices.0 % 4, choices.1, choices.2, choices.3, choices.4))
}

fn one_select(choices: (usize, usize, usize, usize, usize)) -> Option<String> {
    let (from, first, second, output, order) = choices;
    let from = FROM[from % FROM.len()];
    let is_joined = from.contains("u ON") || from.contains("u RIGHT");
    let outputs = if is_joined && output % 3 == 0 { JOINED } else { OUTPUTS };
    let (output, by) = outputs[output / 3 % outputs.len()];
    // Both servers call what is shown by the names of the tables.
    let (by, having) =
        by.split_once(" HAVING").map_or((by, String::new()), |(by, having)| (by, format!(" HAVING{having}")));
    let condition = |at: usize| CONDITIONS.get(at % (CONDITIONS.len() + 4)).copied();
    let conditions: Vec<&str> = [first, second].into_iter().filter_map(condition).collect();
    let glue = if from.contains("WHERE") { " AND " } else { " WHERE " };
    let conditions =
        if conditions.is_empty() { String::new() } else { format!("{glue}{}", conditions.join(" AND ")) };
    // Neither server takes an order by what is not grouped by.
    let ordered_by = match output {
        "t.s, t.id" => "t.s",
        _ if output.starts_with("t.id") => "t.a",
        _ => by,
    };
    let order = match order % 3 {
        1 if !ordered_by.is_empty() => format!(" ORDER BY {ordered_by}"),
        2 if !ordered_by.is_empty() => " ORDER BY 1 DESC".to_owned(),
        0 => String::new(),
        _ => return None,
    };
    let by = if by.is_empty() { String::new() } else { format!(" GROUP BY {by}") };
    Some(format!("SELECT {output} FROM {from}{conditions}{by}{having}{order}"))
}

fn specs(table: usize) -> Vec<ColumnSpec> {
    let columns = TABLES[table].1.iter();
    let specs = |(name, declared): &(&str, &str)| {
        let spec = ColumnSpec::of(name, &data_type(declared)).expect("it is kept");
        [Some(spec.clone()), spec.folded()]
    };
    columns.flat_map(specs).flatten().collect()
}

fn name(table: usize) -> TableName {
    ("s".to_owned(), TABLES[table].0.to_owned())
}

type Row = BTreeMap<&'static str, Value>;

fn row(table: usize, id: i64, numbers: &[u8]) -> Row {
    let value = |(column, declared): &(&'static str, &'static str), number: u8| {
        let value = match (*column, *declared) {
            ("id", _) => Value::Int(id.into()),
            _ if number % 5 == 4 => Value::Null,
            (_, "enum") => Value::Text(["new", "paid", "sent"][usize::from(number % 3)].to_owned()),
            // In the order of their numbers.
            (_, "set") => Value::Text(["", "new", "paid", "paid,sent"][usize::from(number % 4)].to_owned()),
            // One byte each.
            (_, "bit(7)") => Value::Text(["\0", "1", "z"][usize::from(number % 3)].to_owned()),
            (_, "year") => Value::Int([1901, 2001, 2155][usize::from(number % 3)]),
            (_, "bigint unsigned") => Value::Int(i128::from(u64::MAX) - i128::from(number % 3)),
            (_, "timestamp") => Value::Text(format!("2024-02-2{} 0{}:30:00", 8 + number % 2, number % 3)),
            (_, "date") => Value::Text(format!("2024-02-0{}", number % 3 + 1)),
            (_, "datetime") => Value::Text(format!("2024-02-0{} 10:00:0{}", number % 3 + 1, number % 7)),
            (_, decimal) if decimal.starts_with("decimal") => {
                let scale = data_type(decimal).scale.expect("it has one");
                // -1, -0.5, 0.5, 1 and 1.5; the wide ones have many digits.
                let halves = [-2, -1, 1, 2, 3][usize::from(number % 5)] * i128::from(number % 3);
                let many = if scale == 3 && number.is_multiple_of(2) {
                    12_345_678_901_234_567_890 * UNIT
                } else {
                    0
                };
                Value::exact(
                    many * halves.signum() + if scale == 0 { halves * UNIT } else { halves * UNIT / 2 },
                    scale,
                )
            }
            // Spellings that are equal are rare: where they meet, there is no result.
            (_, "varchar(20)") if number == 0 => Value::Text("B".to_owned()),
            (_, "varchar(20)") => {
                Value::Text(["a", "b", "b c", "a text of more bytes"][usize::from(number % 4)].to_owned())
            }
            _ => Value::Int(i128::from(number % 4)),
        };
        (*column, value)
    };
    TABLES[table].1.iter().zip(numbers).map(|(column, number)| value(column, *number)).collect()
}

fn given(table: usize, row: &Row) -> Vec<Given> {
    let specs = specs(table);
    let one = |spec: &ColumnSpec| match (&row[spec.name.as_str()], spec.kind) {
        (Value::Null, _) => Given::Number(None),
        (Value::Int(number), _) => Given::Number(Some(*number)),
        (Value::Exact(..), kind) => {
            Given::Number(kind.parse(row[spec.name.as_str()].shown().expect("it is shown").as_bytes()))
        }
        (Value::Text(text), Kind::Text { .. }) => Given::Text(text.as_bytes().into()),
        (Value::Text(text), Kind::Bit(_)) => {
            Given::Number(text.as_bytes().first().map(|byte| i128::from(*byte)))
        }
        (Value::Text(text), Kind::Enum | Kind::Set) => Given::Number(spec.number_of(text.as_bytes())),
        // The clock is an hour ahead.
        (Value::Text(text), Kind::Stamp(_)) => {
            Given::Number(spec.kind.parse(text.as_bytes()).map(|number| number - 3_600_000_000))
        }
        (Value::Text(text), kind) => Given::Number(kind.parse(text.as_bytes())),
    };
    specs.iter().map(one).collect()
}

/// Returns the rows as the protocol has them.
fn encoded(rows: Vec<Vec<Value>>) -> Vec<Vec<u8>> {
    let put = |mut out: Vec<u8>, value: Value| {
        let Some(text) = value.shown() else {
            out.push(0xFB);
            return out;
        };
        out.push(u8::try_from(text.len()).expect("it is short"));
        out.extend_from_slice(text.as_bytes());
        out
    };
    rows.into_iter().map(|row| row.into_iter().fold(Vec::new(), put)).collect()
}

struct World {
    engine: Engine,
    database: Database,
}

impl World {
    fn new() -> Self {
        let mut engine = Engine::default();
        (0..TABLES.len()).for_each(|table| engine.begin_table(name(table), specs(table), vec![0]));
        let database = TABLES.iter().map(|(name, _)| (*name, Vec::new())).collect();
        Self { engine, database }
    }

    fn step(&mut self, table: usize, id: u8, numbers: &[u8], what: u8) {
        let id = i64::from(id % 6);
        let rows = self.database.get_mut(TABLES[table].0).expect("it is there");
        let at = rows.iter().position(|row| row["id"] == Value::Int(id.into()));
        let before = at.map(|at| rows.swap_remove(at));
        // A row that is there is deleted, or updated, also to another key.
        let other = i64::from(what % 6);
        let moves =
            before.is_some() && what > 200 && rows.iter().all(|row| row["id"] != Value::Int(other.into()));
        let is_gone = before.is_some() && what.is_multiple_of(3) && !moves;
        let after = (!is_gone).then(|| row(table, if moves { other } else { id }, numbers));
        rows.extend(after.clone());
        let [before, after] = [before, after].map(|row| row.map(|row| given(table, &row)));
        let changed = self.engine.change(&name(table), before.as_deref(), after.as_deref());
        assert_eq!(changed, Ok(()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_result_that_is_kept_is_the_one_that_would_be_computed(
        queries in prop::collection::vec(any::<(usize, usize, usize, usize, usize)>(), 1..6),
        steps in prop::collection::vec((0..2_usize, any::<u8>(), prop::array::uniform12(any::<u8>()), any::<u8>()), 1..40),
        installed_at in 0..20_usize,
    ) {
        let mut world = World::new();
        let texts: Vec<String> = queries.into_iter().filter_map(text).collect();
        let mut installed = Vec::new();
        for (at, (table, id, numbers, what)) in steps.into_iter().enumerate() {
            world.step(table, id, &numbers, what);
            if at == installed_at {
                for text in &texts {
                    let plan = plan(text);
                    let input = |input: &freshet_sql::Input| Some(("s".to_owned(), input.table.clone()?.name));
                    let compiled = MaintainedQuery::compile(&plan, &Asker { name_of: &input, computing: COMPUTING, values: &[] }).unwrap_or_else(|why| panic!("{text}: {why}"));
                    let Compiled { query, key, .. } = compiled;
                    installed.push((text, plan, world.engine.install(query).expect("the tables are there"), key));
                }
            }
            for (text, plan, number, key) in &installed {
                let shown = world.engine.show(*number, key).expect("it is installed");
                let whole = shown;
                if whole.is_ambiguous {
                    prop_assert!(text.contains("t.s"), "{}", text);
                    continue;
                }
                let mut shown: Vec<Vec<u8>> = whole.rows().map(<[u8]>::to_vec).collect();
                let mut expected = encoded(evaluate(plan, &world.database));
                if text.ends_with("ORDER BY 1 DESC") && text.contains("SELECT t.id") && !text.contains("JOIN") {
                    prop_assert_eq!(&shown, &expected, "{}", text);
                }
                let in_order = expected.clone();
                shown.sort();
                expected.sort();
                prop_assert_eq!(shown, expected, "{}", text);
                // Where it is told what a LIMIT leaves, it is what it leaves of any order.
                for limit in [Limit { count: 2, offset: 0 }, Limit { count: 1, offset: 1 }, Limit { count: 9, offset: 2 }] {
                    let Some(cut) = whole.cut(limit) else { continue };
                    let mut cut: Vec<Vec<u8>> = cut.rows().map(<[u8]>::to_vec).collect();
                    let (offset, count) = (usize::try_from(limit.offset).unwrap(), usize::try_from(limit.count).unwrap());
                    let mut left: Vec<Vec<u8>> = in_order.iter().skip(offset).take(count).cloned().collect();
                    cut.sort();
                    left.sort();
                    prop_assert_eq!(cut, left, "{} {:?}", text, limit);
                }
            }
        }
    }
}

#[test]
fn most_of_these_texts_are_queries() {
    let all = (0..600).filter_map(|at| text((at, at / 2, at / 3, at / 5, at / 7))).count();
    assert!(all > 300, "{all}");
}

#[test]
fn a_change_that_does_not_fit_is_told() {
    let mut world = World::new();
    let one = given(0, &row(0, 1, &[0; 12]));
    let other = given(0, &row(0, 1, &[1; 12]));
    assert!(world.engine.change(&name(0), Some(&one), None).is_err(), "it is not there");
    assert_eq!(world.engine.change(&name(0), None, Some(&one)), Ok(()));
    assert!(world.engine.change(&name(0), None, Some(&other)).is_err(), "its key is there");
    assert!(world.engine.change(&name(0), Some(&other), None).is_err(), "it has other values");
    world.engine.overwrite(&name(0), Some(&other), Some(&other));
    assert_eq!(world.engine.change(&name(0), Some(&other), None), Ok(()));
}
