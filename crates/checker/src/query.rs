//! The questions of the workload: each is a text for the server and an evaluation in the model.

mod filter;
mod named;
mod shape;

use crate::dice::Dice;
use crate::model::{Db, Table};
use crate::sql::Sql;
use crate::told::Told;

pub use filter::{Condition, Filter, On};
pub use shape::Shape;

/// Rows of numbers, in canonical order where the statement asks for none.
pub type Answer = Vec<Vec<Option<i64>>>;

/// What a question was answered: rows, or the code of an error.
pub type Observed = Result<Answer, u16>;

/// There is no such table.
pub const NO_SUCH_TABLE: u16 = 1146;

/// A question.
#[derive(Clone, Debug)]
pub struct Query {
    shape: Shape,
    text: String,
    prepared: Sql,
}

impl Query {
    /// Returns a question of this shape.
    #[must_use]
    pub fn new(shape: Shape) -> Self {
        let (mut plain, mut prepared) = (Sql::new(false), Sql::new(true));
        shape.write(&mut plain);
        shape.write(&mut prepared);
        Self { shape, text: plain.text, prepared }
    }

    /// So many questions, all different. The first, which are asked most, are of each way to rest on rows.
    #[must_use]
    pub fn pool(dice: &mut Dice, count: usize) -> Vec<Self> {
        let mut pool: Vec<Self> = Shape::of_each_way(dice).into_iter().map(Self::new).collect();
        // Small columns make few questions of some shapes: what comes twice is drawn again, within reason.
        for _ in 0..count * 20 {
            if pool.len() == count {
                break;
            }
            let query = Self::new(Shape::draw(dice));
            if !pool.iter().any(|other| other.text == query.text) {
                pool.push(query);
            }
        }
        pool
    }

    /// With its literals.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// With placeholders and parameters.
    #[must_use]
    pub const fn prepared(&self) -> &Sql {
        &self.prepared
    }

    /// Returns the name of its shape.
    #[must_use]
    pub const fn shape(&self) -> &'static str {
        self.shape.name()
    }

    /// Whether it asks for one row by its primary key.
    #[must_use]
    pub fn is_by_id(&self) -> bool {
        matches!(&self.shape, Shape::Rows(_, Filter(conditions)) if matches!(conditions[..], [(On::Id, Condition::Is(_))]))
    }

    /// Returns the tables and definitions that its answer rests on, as bits.
    #[must_use]
    pub fn tables(&self) -> u8 {
        self.shape.tables()
    }

    /// Whether a write may change the answer, whatever is in the tables: by what its text tells. The view is as in this state.
    #[must_use]
    pub fn may_be_changed_by(&self, told: &Told, db: &Db) -> bool {
        self.shape.may_be_changed_by(told, db)
    }

    /// Returns what it is answered in a state.
    pub fn ask(&self, db: &Db) -> Observed {
        let rests_on_r = match self.shape {
            Shape::View(_) => db.view_of == Table::R,
            _ => self.tables() & Table::R.bit() != 0,
        };
        if db.is_away && rests_on_r {
            return Err(NO_SUCH_TABLE);
        }
        Ok(self.canonical(self.shape.evaluate(db)))
    }

    /// Rows in the order in which they are compared.
    #[must_use]
    pub fn canonical(&self, mut rows: Answer) -> Answer {
        if !self.shape.is_ordered() {
            rows.sort_unstable();
        }
        rows
    }
}

#[cfg(test)]
mod tests;
