//! Questions and writes over a table of many types, made of random pieces. None needs a meaning here: the server knows.

use crate::dice::Dice;
use crate::query::Query;

/// A question, and whether it says in which order its rows come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The name of its shape in reports.
    pub shape: &'static str,
    /// The statement.
    pub text: String,
    /// Rows are compared in order.
    pub is_ordered: bool,
}

/// The table of many types.
pub const TABLE: &str = "CREATE TABLE o (id INT NOT NULL PRIMARY KEY, a SMALLINT NULL, au INT UNSIGNED NULL, \
    b VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL, \
    c VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci NULL, \
    e CHAR(8) CHARACTER SET latin1 COLLATE latin1_swedish_ci NULL, \
    f DECIMAL(12,4) NULL, x DOUBLE NULL, y VARBINARY(8) NULL, z ENUM('x','y','z') NULL, \
    dt DATETIME(3) NULL, da DATE NULL, ti TIME NULL, ts TIMESTAMP NULL, yr YEAR NULL, \
    gs VARCHAR(40) AS (CONCAT(b, '-', a)) STORED, KEY (a, b), KEY (c), KEY (f), KEY (dt), UNIQUE KEY (au), KEY (gs))";

/// Columns that are written and asked for, each with literals that differ for some comparisons and not for others.
const COLUMNS: &[(&str, &[&str])] = &[
    ("id", &["1", "2", "7", "'7'", "12", "7.0", "30"]),
    ("a", &["0", "-1", "1", "1.0", "'1'", "2", "32767", "NULL"]),
    ("au", &["1", "2", "3", "4294967295", "'5'", "6", "NULL"]),
    ("b", &["'a'", "'A'", "'a '", "'ab'", "'1'", "''", "'Á'", "'東京'", "NULL"]),
    (
        "c",
        &[
            "'a'", "'A'", "'a '", "'Á'", "'ss'", "'ß'", "'abc'", "'ÆB'", "'aeb'", "'Я'", "'я '", "'東京'",
            "NULL",
        ],
    ),
    ("e", &["'a'", "'A '", "'ä'", "'b'", "'abc'", "NULL"]),
    ("f", &["1.5", "1.5000", "'1.5'", "-0.0001", "0", "2", "NULL"]),
    ("x", &["0.1", "1e0", "1", "-0.0", "0.30000000000000004", "NULL"]),
    ("y", &["'a'", "'A'", "'a '", "x'00'", "x'ff'", "NULL"]),
    ("z", &["'x'", "'y'", "'z'", "NULL"]),
    (
        "dt",
        &["'2024-02-29 23:59:59.999'", "'2024-03-01'", "'2024-03-01 00:00:00.000'", "'1999-01-01'", "NULL"],
    ),
    ("da", &["'2024-02-29'", "'2024-03-01'", "20240301", "'1000-01-01'", "NULL"]),
    ("ti", &["'00:00:00'", "'-01:00:00'", "'23:59:59'", "'100:00:00'", "NULL"]),
    // One moment in each of the sessions' time zones, and others.
    (
        "ts",
        &[
            "'2024-03-31 03:00:00'",
            "'2024-03-31 08:30:00'",
            "'2024-03-31 00:00:00'",
            "'2024-03-31'",
            "'2000-01-01 00:00:00'",
            "20240331030000",
            "NULL",
        ],
    ),
    ("yr", &["2024", "'2024'", "1999", "NULL"]),
];

fn column(dice: &mut Dice) -> (&'static str, &'static [&'static str]) {
    dice.one_of(COLUMNS)
}

fn not_null(dice: &mut Dice, literals: &[&'static str]) -> &'static str {
    let chosen = dice.one_of(literals);
    if chosen == "NULL" { literals[0] } else { chosen }
}

/// Returns a condition of any kind on one column, behind an alias.
fn condition(dice: &mut Dice, alias: &str) -> String {
    let (name, literals) = if dice.percent(25) { COLUMNS[0] } else { column(dice) };
    let (one, other) = (not_null(dice, literals), not_null(dice, literals));
    let (second, others) = column(dice);
    let (third, fourth) = (not_null(dice, others), not_null(dice, others));
    match dice.below(17) {
        14 => format!("({alias}{name}, {alias}{second}) = ({one}, {third})"),
        15 => format!("({alias}{name}, {alias}{second}) IN (({one}, {third}), ({other}, {fourth}))"),
        16 => format!("({alias}{name} = {one} OR {alias}{second} = {third} OR {alias}id = 4)"),
        0..=4 => format!("{alias}{name} = {one}"),
        5 => format!("{alias}{name} IN ({one}, {other})"),
        6 => format!("{alias}{name} BETWEEN {one} AND {other}"),
        7 => format!("{alias}{name} >= {one}"),
        8 => format!("{alias}{name} < {one}"),
        9 => format!("{alias}{name} IS NULL"),
        10 => format!("{alias}{name} <=> {one}"),
        11 => format!("{alias}{name} <> {one}"),
        12 => format!("{alias}c LIKE '{}%'", dice.one_of(&["a", "A", "ab", "Á", "s"])),
        _ => format!("NOT ({alias}{name} = {one} OR {alias}a IS NULL)"),
    }
}

fn conditions(dice: &mut Dice, alias: &str) -> String {
    let first = condition(dice, alias);
    match dice.below(4) {
        0 => format!("{first} AND {}", condition(dice, alias)),
        1 => format!("({first} OR {})", condition(dice, alias)),
        _ => first,
    }
}

const LISTS: [&str; 5] =
    ["*", "id, a, c", "b, f, dt", "id, UPPER(b), e, x + 1", "id, CASE WHEN a > 0 THEN c ELSE z END"];

/// Those over columns that joins merge, and over a subquery beside a condition: `left` is one on `p`, and `one` on the table itself.
fn merged(dice: &mut Dice, left: &str, one: &str) -> (&'static str, String) {
    match dice.below(4) {
        0 => ("o using", format!("SELECT id, q.v FROM o p JOIN c q USING (id) WHERE {left}")),
        1 => (
            "o left join using",
            format!(
                "SELECT id, p.a, q.v FROM c q LEFT JOIN o p USING (id) WHERE id = {} OR q.k = 0",
                dice.below(9)
            ),
        ),
        2 => (
            "o natural",
            format!("SELECT id, p.a, q.v FROM o p NATURAL RIGHT JOIN c q WHERE id IN ({}, 3)", dice.below(9)),
        ),
        _ => (
            "o in",
            format!(
                "SELECT id FROM o WHERE id IN (SELECT id FROM c WHERE k = 0 OR v = {}) AND {one}",
                dice.below(9)
            ),
        ),
    }
}

/// One over the table of many types.
fn drawn(dice: &mut Dice) -> Question {
    let list = dice.one_of(&LISTS);
    let (one, two) = (conditions(dice, ""), conditions(dice, ""));
    let (left, right) = (conditions(dice, "p."), conditions(dice, "q."));
    let key = column(dice).0;
    let (shape, text) = match dice.below(20) {
        16..=19 => merged(dice, &left, &one),
        0..=3 => ("o rows", format!("SELECT {list} FROM o WHERE {one}")),
        4 => (
            "o order by",
            format!("SELECT {list} FROM o WHERE {one} ORDER BY {key} DESC, id LIMIT 3 OFFSET 1"),
        ),
        5 => (
            "o aggregates",
            format!(
                "SELECT COUNT(*), COUNT(DISTINCT {key}), SUM(f), MAX(dt), MIN(BINARY c) FROM o WHERE {one}"
            ),
        ),
        6 => (
            "o having",
            format!("SELECT MIN(id), COUNT(*) FROM o WHERE {one} GROUP BY {key} HAVING COUNT(*) >= 1"),
        ),
        7 => ("o join", format!("SELECT p.id, q.id FROM o p JOIN o q ON p.{key} = q.{key} WHERE {left}")),
        8 => (
            "o join of types",
            format!("SELECT p.id, q.id FROM o p JOIN o q ON p.b = q.c AND p.a = q.id WHERE {right}"),
        ),
        9 => (
            "o left join",
            format!("SELECT p.id, q.v FROM o p LEFT JOIN c q ON p.id = q.id AND q.k = 0 WHERE {left}"),
        ),
        10 => (
            "o not in",
            format!("SELECT id FROM o WHERE {one} AND id NOT IN (SELECT id FROM r WHERE k IS NOT NULL)"),
        ),
        11 => (
            "o exists",
            format!("SELECT p.id FROM o p WHERE EXISTS (SELECT * FROM o q WHERE q.a = p.id AND {right})"),
        ),
        12 => ("o union", format!("SELECT id, a FROM o WHERE {one} UNION SELECT id, k FROM c WHERE k >= 0")),
        13 => (
            "o window",
            format!(
                "SELECT id, ROW_NUMBER() OVER (ORDER BY id), SUM(a) OVER (ORDER BY id) FROM o WHERE {two}"
            ),
        ),
        14 => (
            "o recursive",
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) \
            SELECT n.i, o.a FROM n LEFT JOIN o ON o.id = n.i"
                .to_owned(),
        ),
        _ => (
            "o derived",
            format!("SELECT d.k2, COUNT(*) FROM (SELECT id % 3 AS k2 FROM o WHERE {one}) d GROUP BY d.k2"),
        ),
    };
    Question { shape, is_ordered: shape == "o order by", text }
}

impl Question {
    /// Questions of all kinds, no two alike.
    #[must_use]
    pub fn draw(dice: &mut Dice, count: usize) -> Vec<Self> {
        let modelled = Query::pool(dice, count / 2);
        let mut questions: Vec<Self> = modelled.iter().map(Self::of).collect();
        while questions.len() < count {
            questions.push(drawn(dice));
        }
        questions.sort_by(|one, other| one.text.cmp(&other.text));
        questions.dedup_by(|one, other| one.text == other.text);
        questions
    }

    fn of(query: &Query) -> Self {
        Self {
            shape: query.shape(),
            text: query.text().to_owned(),
            is_ordered: query.text().contains("ORDER BY"),
        }
    }
}

/// Returns a write of the table of many types. It may fail: then it does so both ways.
pub fn write(dice: &mut Dice) -> String {
    let mut literal = |at: usize| COLUMNS[at].1[dice.below(COLUMNS[at].1.len())];
    let values: Vec<&str> = (1..COLUMNS.len()).map(&mut literal).collect();
    let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    let id = 1 + dice.below(30);
    let listed = format!("({}) VALUES ({id}, {})", names.join(", "), values.join(", "));
    let (name, literals) = COLUMNS[1 + dice.below(COLUMNS.len() - 1)];
    let value = dice.one_of(literals);
    match dice.below(12) {
        0..=3 => format!("REPLACE INTO o {listed}"),
        4 => format!("INSERT IGNORE INTO o {listed}"),
        5 => format!("INSERT INTO o {listed} ON DUPLICATE KEY UPDATE {name} = {value}"),
        6 => format!("DELETE FROM o WHERE {}", condition(dice, "")),
        7 => format!("UPDATE o SET {name} = {value} WHERE {} ORDER BY id LIMIT 2", conditions(dice, "")),
        _ => format!("UPDATE o SET {name} = {value} WHERE id = {id}"),
    }
}

#[cfg(test)]
mod tests;
