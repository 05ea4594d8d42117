//! The shapes of questions.

use std::collections::BTreeMap;

use super::{Answer, Filter};
use crate::dice::Dice;
use crate::model::{Column, DEFINITIONS, Db, Row, Table, some_id};
use crate::sql::Sql;

/// A shape with its tables and literals.
#[derive(Clone, Debug)]
pub enum Shape {
    /// `SELECT id, v`.
    Rows(Table, Filter),
    /// The same, ordered.
    Ordered(Table, Filter),
    /// COUNT and SUM.
    Count(Table, Filter),
    /// MIN and MAX.
    Extremes(Table, Filter),
    /// GROUP BY.
    Groups(Table, Filter),
    /// ORDER BY a version LIMIT.
    Top(Table, Filter, usize),
    /// DISTINCT.
    Distinct(Table, Filter),
    /// A join by equality.
    Join(Table, Table, Filter),
    /// Of three tables, by a chain of equalities.
    Chain(Table, Table, Table, Filter),
    /// With itself.
    SelfJoin(Table, Filter),
    /// LEFT JOIN.
    Left(Table, Table, Filter),
    /// LEFT JOIN … IS NULL.
    Anti(Table, Table, Filter),
    /// UNION ALL.
    Union(Table, Table, Filter, Filter),
    /// EXISTS, or NOT EXISTS.
    Exists(Table, Table, Filter, bool),
    /// IN (SELECT …).
    InSelect(Table, Table, Filter),
    /// A scalar subquery beside each row.
    Scalar(Table, Table, Filter),
    /// FROM (SELECT …).
    Derived(Table, Filter),
    /// WITH.
    Cte(Table, Filter),
    /// A view whose definition changes.
    View(Filter),
}

const NOTHING: Filter = Filter(Vec::new());

fn shown(id: usize, row: &Row) -> [Option<i64>; 2] {
    [i64::try_from(id).ok(), Some(row.v)]
}

/// Returns the row that `pid` names.
fn parent<'a>(db: &'a Db, row: &Row, table: Table) -> Option<(usize, &'a Row)> {
    let id = usize::try_from(row.get(Column::Pid)?).ok()? + 1;
    Some((id, db.row(table, id)?))
}

fn count_and_sum<'a>(rows: impl Iterator<Item = (usize, &'a Row)>) -> [Option<i64>; 2] {
    let (count, sum) = rows.fold((0, 0), |(count, sum), (_, row)| (count + 1, sum + row.v));
    [Some(count), Some(sum)]
}

impl Shape {
    /// One for each way in which an answer can rest on rows: on one that may come and go, on several, on those with a
    /// value, in a range or with a prefix, on a column that is not the version, and on all; and on what a definition says.
    pub fn of_each_way(dice: &mut Dice) -> [Self; 8] {
        // Rows of these are deleted one by one.
        let table = dice.one_of(&[Table::C, Table::R]);
        let column = dice.one_of(&Column::ALL);
        [
            Self::Rows(table, Filter::id(some_id(dice))),
            Self::Extremes(table, Filter::on_ids(dice)),
            Self::Count(Table::draw(dice), Filter::value(dice, column)),
            Self::Rows(Table::draw(dice), Filter::range(dice, column)),
            Self::Rows(Table::draw(dice), Filter::prefix(dice)),
            Self::Distinct(table, Filter::on_ids(dice)),
            Self::Groups(table, NOTHING),
            Self::View(Filter::range(dice, column)),
        ]
    }

    /// One of any kind.
    pub fn draw(dice: &mut Dice) -> Self {
        let (table, other, third) = (Table::draw(dice), Table::draw(dice), Table::draw(dice));
        let filter = Filter::draw(dice);
        match dice.below(26) {
            0..=4 => Self::Rows(table, Filter::id(some_id(dice))),
            5..=7 => Self::Rows(table, filter),
            8 => Self::Ordered(table, filter),
            9 => Self::Count(table, filter),
            10 => Self::Extremes(table, filter),
            11 => Self::Groups(table, if dice.percent(50) { filter } else { NOTHING }),
            12 => Self::Top(table, filter, 1 + dice.below(4)),
            13 => Self::Distinct(table, filter),
            14 | 15 => Self::Join(table, other, filter),
            16 => Self::Chain(table, other, third, filter),
            17 => Self::SelfJoin(table, filter),
            18 => Self::Left(table, other, filter),
            19 => Self::Anti(table, other, filter),
            20 => Self::Union(table, other, filter, Filter::draw(dice)),
            21 => Self::Exists(table, other, filter, dice.percent(50)),
            22 => Self::InSelect(table, other, filter),
            23 => Self::Scalar(table, other, filter),
            24 => {
                if dice.percent(50) {
                    Self::Derived(table, filter)
                } else {
                    Self::Cte(table, filter)
                }
            }
            _ => Self::View(filter),
        }
    }

    /// Its name in reports.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Rows(..) => "rows",
            Self::Ordered(..) => "order by",
            Self::Count(..) => "count",
            Self::Extremes(..) => "min, max",
            Self::Groups(..) => "group by",
            Self::Top(..) => "limit",
            Self::Distinct(..) => "distinct",
            Self::Join(..) => "join",
            Self::Chain(..) => "join of three",
            Self::SelfJoin(..) => "self-join",
            Self::Left(..) => "left join",
            Self::Anti(..) => "anti-join",
            Self::Union(..) => "union",
            Self::Exists(..) => "exists",
            Self::InSelect(..) => "in (select)",
            Self::Scalar(..) => "scalar subquery",
            Self::Derived(..) => "derived",
            Self::Cte(..) => "with",
            Self::View(..) => "view",
        }
    }

    /// Returns the tables and definitions that the answer rests on, as bits.
    #[must_use]
    pub const fn tables(&self) -> u8 {
        match self {
            Self::Rows(table, _)
            | Self::Ordered(table, _)
            | Self::Count(table, _)
            | Self::Extremes(table, _)
            | Self::Groups(table, _)
            | Self::Top(table, ..)
            | Self::Distinct(table, _)
            | Self::SelfJoin(table, _)
            | Self::Derived(table, _)
            | Self::Cte(table, _) => table.bit(),
            Self::Join(a, b, _)
            | Self::Left(a, b, _)
            | Self::Anti(a, b, _)
            | Self::Union(a, b, ..)
            | Self::Exists(a, b, ..)
            | Self::InSelect(a, b, _)
            | Self::Scalar(a, b, _) => a.bit() | b.bit(),
            Self::Chain(a, b, c, _) => a.bit() | b.bit() | c.bit(),
            Self::View(_) => Table::C.bit() | Table::R.bit() | DEFINITIONS,
        }
    }

    /// Whether the statement says in which order its rows come.
    #[must_use]
    pub const fn is_ordered(&self) -> bool {
        matches!(self, Self::Ordered(..) | Self::Top(..))
    }

    /// Writes the statement.
    pub fn write(&self, sql: &mut Sql) {
        match self {
            Self::Rows(t, f) => f.write("", sql.add(&format!("SELECT id, v FROM {}", t.name()))),
            Self::Ordered(t, f) => {
                f.write("", sql.add(&format!("SELECT id, v FROM {}", t.name())));
                sql.add(" ORDER BY id DESC");
            }
            Self::Count(t, f) => {
                f.write("", sql.add(&format!("SELECT COUNT(*), COALESCE(SUM(v), 0) FROM {}", t.name())));
            }
            Self::Extremes(t, f) => f.write("", sql.add(&format!("SELECT MIN(v), MAX(v) FROM {}", t.name()))),
            Self::Groups(t, f) => {
                f.write("", sql.add(&format!("SELECT pid, COUNT(*), SUM(v) FROM {}", t.name())));
                sql.add(" GROUP BY pid");
            }
            Self::Top(t, f, limit) => {
                f.write("", sql.add(&format!("SELECT id, v FROM {}", t.name())));
                sql.add(&format!(" ORDER BY v DESC, id LIMIT {limit}"));
            }
            Self::Distinct(t, f) => f.write("", sql.add(&format!("SELECT DISTINCT k FROM {}", t.name()))),
            Self::Derived(t, f) => {
                f.write("", sql.add(&format!("SELECT x.id, x.v FROM (SELECT id, v FROM {}", t.name())));
                sql.add(") x");
            }
            Self::Cte(t, f) => {
                f.write("", sql.add(&format!("WITH x AS (SELECT id, v FROM {}", t.name())));
                sql.add(") SELECT COUNT(*), COALESCE(SUM(v), 0) FROM x");
            }
            Self::View(f) => f.write("", sql.add("SELECT id, v FROM w")),
            _ => self.write_of_two(sql),
        }
    }

    fn write_of_two(&self, sql: &mut Sql) {
        match self {
            Self::Join(a, b, f) => {
                sql.add(&format!("SELECT a.id, a.v, b.id, b.v FROM {} a JOIN {}", a.name(), b.name()));
                f.write("a.", sql.add(" b ON a.pid = b.id"));
            }
            Self::Chain(a, b, c, f) => {
                sql.add(&format!(
                    "SELECT a.id, a.v, b.v, c.v FROM {} a, {} b, {}",
                    a.name(),
                    b.name(),
                    c.name()
                ));
                f.write_after(" AND ", "a.", sql.add(" c WHERE a.pid = b.id AND b.id = c.id"));
            }
            Self::SelfJoin(t, f) => {
                sql.add(&format!("SELECT a.id, b.id, b.v FROM {0} a JOIN {0} b ON a.k = b.k", t.name()));
                f.write("a.", sql);
            }
            Self::Left(a, b, f) => {
                sql.add(&format!("SELECT a.id, a.v, b.v FROM {} a LEFT JOIN {}", a.name(), b.name()));
                f.write("a.", sql.add(" b ON a.pid = b.id"));
            }
            Self::Anti(a, b, f) => {
                sql.add(&format!("SELECT a.id, a.v FROM {} a LEFT JOIN {}", a.name(), b.name()));
                f.write_after(" AND ", "a.", sql.add(" b ON a.id = b.id WHERE b.id IS NULL"));
            }
            Self::Union(a, b, f, g) => {
                f.write("", sql.add(&format!("SELECT id, v FROM {}", a.name())));
                g.write("", sql.add(&format!(" UNION ALL SELECT id, v FROM {}", b.name())));
            }
            Self::Exists(a, b, f, is_there) => {
                let word = if *is_there { "EXISTS" } else { "NOT EXISTS" };
                sql.add(&format!(
                    "SELECT a.id, a.v FROM {} a WHERE {word} (SELECT 1 FROM {}",
                    a.name(),
                    b.name()
                ));
                f.write_after(" AND ", "b.", sql.add(" b WHERE b.id = a.id"));
                sql.add(")");
            }
            Self::InSelect(a, b, f) => {
                sql.add(&format!("SELECT id, v FROM {} WHERE id IN (SELECT pid FROM {}", a.name(), b.name()));
                f.write("", sql);
                sql.add(")");
            }
            Self::Scalar(a, b, f) => {
                sql.add(&format!("SELECT a.id, (SELECT COUNT(*) FROM {} b WHERE b.pid = a.id)", b.name()));
                f.write("a.", sql.add(&format!(" FROM {} a", a.name())));
            }
            _ => {}
        }
    }

    /// What the statement means.
    #[must_use]
    pub fn evaluate(&self, db: &Db) -> Answer {
        let pairs =
            |t: Table, f: &Filter| f.rows(db, t).map(|(id, row)| shown(id, row).to_vec()).collect::<Answer>();
        match self {
            Self::Rows(t, f) | Self::Derived(t, f) => pairs(*t, f),
            Self::Ordered(t, f) => pairs(*t, f).into_iter().rev().collect(),
            Self::Count(t, f) | Self::Cte(t, f) => vec![count_and_sum(f.rows(db, *t)).to_vec()],
            Self::Extremes(t, f) => {
                let versions = f.rows(db, *t).map(|(_, row)| row.v);
                vec![vec![versions.clone().min(), versions.max()]]
            }
            Self::Groups(t, f) => {
                let mut groups: BTreeMap<_, Vec<_>> = BTreeMap::new();
                f.rows(db, *t)
                    .for_each(|found| groups.entry(found.1.get(Column::Pid)).or_default().push(found));
                let line = |(pid, rows): (Option<i8>, Vec<(usize, &Row)>)| {
                    let [count, sum] = count_and_sum(rows.into_iter());
                    vec![pid.map(|code| i64::from(code) + 1), count, sum]
                };
                groups.into_iter().map(line).collect()
            }
            Self::Top(t, f, limit) => {
                let mut rows = pairs(*t, f);
                rows.sort_by_key(|row| (std::cmp::Reverse(row[1]), row[0]));
                rows.truncate(*limit);
                rows
            }
            Self::Distinct(t, f) => {
                let mut keys: Vec<_> = f.rows(db, *t).map(|(_, row)| row.get(Column::K)).collect();
                keys.sort_unstable();
                keys.dedup();
                keys.into_iter().map(|key| vec![key.map(|code| i64::from(code) - 2)]).collect()
            }
            Self::Union(a, b, f, g) => [pairs(*a, f), pairs(*b, g)].concat(),
            Self::View(f) => f
                .rows(db, db.view_of)
                .filter(|(_, row)| row.get(Column::K).is_some_and(|k| k < db.view_limit))
                .map(|(id, row)| shown(id, row).to_vec())
                .collect(),
            _ => self.evaluate_two(db),
        }
    }

    fn evaluate_two(&self, db: &Db) -> Answer {
        let number = |id: usize| i64::try_from(id).ok();
        match self {
            Self::Join(a, b, f) => f
                .rows(db, *a)
                .filter_map(|(id, row)| {
                    let (other, its) = parent(db, row, *b)?;
                    Some([shown(id, row), shown(other, its)].concat())
                })
                .collect(),
            Self::Chain(a, b, c, f) => f
                .rows(db, *a)
                .filter_map(|(id, row)| {
                    let (other, its) = parent(db, row, *b)?;
                    Some(vec![number(id), Some(row.v), Some(its.v), Some(db.row(*c, other)?.v)])
                })
                .collect(),
            Self::SelfJoin(t, f) => {
                let same = |row: &Row| {
                    let key = row.get(Column::K);
                    db.rows(*t).filter(move |(_, other)| key.is_some() && other.get(Column::K) == key)
                };
                f.rows(db, *t)
                    .flat_map(|(id, row)| {
                        same(row).map(move |(o, its)| vec![number(id), number(o), Some(its.v)])
                    })
                    .collect()
            }
            Self::Left(a, b, f) => f
                .rows(db, *a)
                .map(|(id, row)| vec![number(id), Some(row.v), parent(db, row, *b).map(|(_, its)| its.v)])
                .collect(),
            Self::Anti(a, b, f) => f
                .rows(db, *a)
                .filter(|(id, _)| db.row(*b, *id).is_none())
                .map(|(id, row)| shown(id, row).to_vec())
                .collect(),
            Self::Exists(a, b, f, is_there) => db
                .rows(*a)
                .filter(|(id, _)| db.row(*b, *id).is_some_and(|its| f.holds(*id, its)) == *is_there)
                .map(|(id, row)| shown(id, row).to_vec())
                .collect(),
            Self::InSelect(a, b, f) => db
                .rows(*a)
                .filter(|(id, _)| {
                    f.rows(db, *b)
                        .any(|(_, row)| row.get(Column::Pid).map(i64::from) == number(*id).map(|id| id - 1))
                })
                .map(|(id, row)| shown(id, row).to_vec())
                .collect(),
            Self::Scalar(a, b, f) => f
                .rows(db, *a)
                .map(|(id, _)| {
                    let children = db.rows(*b).filter(|(_, row)| {
                        row.get(Column::Pid).map(i64::from) == number(id).map(|id| id - 1)
                    });
                    vec![number(id), i64::try_from(children.count()).ok()]
                })
                .collect(),
            _ => Answer::new(),
        }
    }
}
