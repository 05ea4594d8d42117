//! Conditions on one table's rows.

use crate::dice::Dice;
use crate::model::{Column, Db, PARENTS, Row, Table, some_id};
use crate::sql::Sql;
use crate::told::{ID, May, column_bit};

/// What a condition is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// The primary key.
    Id,
    /// A column.
    Column(Column),
    /// The generated column, which is `k + 1`.
    Generated,
}

/// A condition; values are ids, or codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// `= value`.
    Is(i8),
    /// `IN (values)`.
    In(Vec<i8>),
    /// `BETWEEN low AND high`.
    Between(i8, i8),
    /// `>= low`.
    AtLeast(i8),
    /// `< high`.
    Below(i8),
    /// `IS NULL`.
    Null,
    /// `LIKE 'prefix%'`, of texts only.
    Prefix(&'static str),
}

/// Conditions, all of which must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter(pub Vec<(On, Condition)>);

/// Beginnings of texts, in any case.
const PREFIXES: [&str; 6] = ["a", "ap", "B", "be", "cherry", "d"];

impl On {
    fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Generated => "g",
            Self::Column(column) => column.name(),
        }
    }

    /// Returns the column whose codes it tells of; `None`: the primary key.
    const fn column(self) -> Option<Column> {
        match self {
            Self::Id => None,
            Self::Generated => Some(Column::K),
            Self::Column(column) => Some(column),
        }
    }

    fn write(self, value: i8, sql: &mut Sql) {
        match self {
            Self::Id => sql.number(i64::from(value)),
            // The literal of `k + 1` is that of the code above.
            Self::Generated => sql.value(Column::K, value + 1),
            Self::Column(column) => sql.value(column, value),
        };
    }

    fn of(self, id: usize, row: &Row) -> Option<i8> {
        match self {
            Self::Id => i8::try_from(id).ok(),
            Self::Generated => row.get(Column::K),
            Self::Column(column) => row.get(column),
        }
    }
}

impl Condition {
    fn write(&self, on: On, alias: &str, sql: &mut Sql) {
        sql.add(alias).add(on.name());
        match self {
            Self::Is(value) => on.write(*value, sql.add(" = ")),
            Self::In(values) => {
                sql.add(" IN (");
                for (at, value) in values.iter().enumerate() {
                    on.write(*value, sql.add(if at > 0 { ", " } else { "" }));
                }
                sql.add(")");
            }
            Self::Between(low, high) => {
                on.write(*low, sql.add(" BETWEEN "));
                on.write(*high, sql.add(" AND "));
            }
            Self::AtLeast(low) => on.write(*low, sql.add(" >= ")),
            Self::Below(high) => on.write(*high, sql.add(" < ")),
            Self::Null => {
                sql.add(" IS NULL");
            }
            Self::Prefix(prefix) => {
                sql.add(" LIKE ").raw(&format!("{prefix}%"), true);
            }
        }
    }

    fn holds(&self, value: Option<i8>) -> bool {
        match (self, value) {
            (Self::Null, value) => value.is_none(),
            (_, None) => false,
            (Self::Is(wanted), Some(value)) => value == *wanted,
            (Self::In(wanted), Some(value)) => wanted.contains(&value),
            (Self::Between(low, high), Some(value)) => (*low..=*high).contains(&value),
            (Self::AtLeast(low), Some(value)) => value >= *low,
            (Self::Below(high), Some(value)) => value < *high,
            (Self::Prefix(prefix), Some(value)) => {
                Column::N.literal(value).to_ascii_lowercase().starts_with(&prefix.to_ascii_lowercase())
            }
        }
    }
}

impl Filter {
    /// On the primary key alone.
    #[must_use]
    pub fn id(id: usize) -> Self {
        Self(vec![(On::Id, Condition::Is(i8::try_from(id).unwrap_or(0)))])
    }

    /// Those of the conditions that are on the primary key.
    #[must_use]
    pub fn of_ids(&self) -> Self {
        Self(self.0.iter().filter(|(on, _)| *on == On::Id).cloned().collect())
    }

    /// On a few primary keys.
    pub fn on_ids(dice: &mut Dice) -> Self {
        let ids = (0..3).map(|_| i8::try_from(some_id(dice)).unwrap_or(0)).collect();
        Self(vec![(On::Id, Condition::In(ids))])
    }

    /// On one value of a column.
    pub fn value(dice: &mut Dice, column: Column) -> Self {
        Self(vec![(On::Column(column), Condition::Is(dice.code(column.codes())))])
    }

    /// On the lower values of a column.
    pub fn range(dice: &mut Dice, column: Column) -> Self {
        Self(vec![(On::Column(column), Condition::Below(2 + dice.code(column.codes() - 2)))])
    }

    /// On what the texts begin with.
    pub fn prefix(dice: &mut Dice) -> Self {
        Self(vec![(On::Column(Column::N), Condition::Prefix(dice.one_of(&PREFIXES)))])
    }

    /// One or two conditions of any kind.
    pub fn draw(dice: &mut Dice) -> Self {
        let mut conditions = vec![draw_one(dice)];
        if dice.percent(25) {
            conditions.push(draw_one(dice));
        }
        if dice.percent(10) {
            // The composite key.
            let (pid, k) = (dice.code(PARENTS), dice.code(Column::K.codes()));
            conditions = vec![
                (On::Column(Column::Pid), Condition::Is(pid)),
                (On::Column(Column::K), Condition::Is(k)),
            ];
        }
        Self(conditions)
    }

    /// Writes ` WHERE …`, each column behind the alias.
    pub fn write(&self, alias: &str, sql: &mut Sql) {
        self.write_after(" WHERE ", alias, sql);
    }

    /// The same with another word before the first condition.
    pub fn write_after(&self, word: &str, alias: &str, sql: &mut Sql) {
        for (at, (on, condition)) in self.0.iter().enumerate() {
            condition.write(*on, alias, sql.add(if at == 0 { word } else { " AND " }));
        }
    }

    /// Whether a row satisfies all.
    #[must_use]
    pub fn holds(&self, id: usize, row: &Row) -> bool {
        self.0.iter().all(|(on, condition)| condition.holds(on.of(id, row)))
    }

    /// Whether some row may satisfy all of which this is known.
    #[must_use]
    pub fn may_hold(&self, row: &May) -> bool {
        let of = |wanted: On| self.0.iter().filter(move |(on, _)| on.column() == wanted.column());
        self.0.iter().all(|(on, _)| match on.column() {
            None => row.any_id(|id| of(*on).all(|(_, condition)| condition.holds(Some(id)))),
            Some(column) => row.any_code(column, |code| of(*on).all(|(_, condition)| condition.holds(code))),
        })
    }

    /// Returns the columns that it is on, as bits.
    #[must_use]
    pub fn columns(&self) -> u16 {
        self.0.iter().fold(0, |bits, (on, _)| bits | on.column().map_or(ID, column_bit))
    }

    /// Returns the rows of a table that satisfy it.
    pub fn rows<'a>(&'a self, db: &'a Db, table: Table) -> impl Iterator<Item = (usize, &'a Row)> + Clone {
        db.rows(table).filter(|(id, row)| self.holds(*id, row))
    }
}

fn draw_one(dice: &mut Dice) -> (On, Condition) {
    let id = |dice: &mut Dice| i8::try_from(some_id(dice)).unwrap_or(1);
    if dice.percent(35) {
        let condition = match dice.below(10) {
            0..=4 => Condition::Is(id(dice)),
            5..=6 => Condition::In((0..1 + dice.below(3)).map(|_| id(dice)).collect()),
            7 => Condition::AtLeast(id(dice)),
            8 => Condition::Below(id(dice)),
            _ => {
                let low = id(dice);
                Condition::Between(low, low + dice.code(5))
            }
        };
        return (On::Id, condition);
    }
    let column = dice.one_of(&Column::ALL);
    let on = if column == Column::K && dice.percent(30) { On::Generated } else { On::Column(column) };
    let code = dice.code(column.codes());
    let condition = match dice.below(10) {
        0 | 1 if column.is_nullable() => Condition::Null,
        2 if column == Column::N => Condition::Prefix(dice.one_of(&PREFIXES)),
        3 => Condition::In((0..1 + dice.below(3)).map(|_| dice.code(column.codes())).collect()),
        4 => Condition::AtLeast(code),
        5 => Condition::Below(code),
        6 => Condition::Between(code, (code + 2).min(5)),
        _ => Condition::Is(code),
    };
    // The generated column's literals end one code higher.
    (on, condition)
}
