//! The measurements of one table.

use super::plan::Table;
use super::sample::{Sample, Spread};

/// One table's numbers.
#[derive(Debug)]
pub struct Measured {
    /// The table.
    pub table: &'static Table,
    /// The rows, by the number of clients or the size.
    pub rows: Vec<Row>,
    /// The row with Freshet's cache off, if it was measured. It is no place of the plots.
    pub without_cache: Option<Row>,
    /// The row at a given rate, if it was measured.
    pub at_rate: Option<Row>,
}

impl Measured {
    /// Returns a table with no other rows.
    pub fn new(table: &'static Table, rows: Vec<Row>) -> Measured {
        Measured { table, rows, without_cache: None, at_rate: None }
    }

    /// Returns the rows of the table in the articles' form.
    pub fn shown(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().chain(&self.without_cache)
    }

    /// Returns all rows.
    pub fn all(&self) -> impl Iterator<Item = &Row> {
        self.shown().chain(&self.at_rate)
    }
}

/// One row of a table: the rounds that were measured in turns.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// The number of clients or the size.
    pub at: String,
    /// Further notes for the table.
    pub notes: Vec<(&'static str, String)>,
    /// The highest percentage of hits that a cache of this size can have, where this matters.
    pub best: Option<f64>,
    /// The percentage of hits that `freshet.curve` foretold of this size, where it did, with the places of the columns that it is of.
    pub foretold: Vec<(usize, f64)>,
    /// The rounds of each column, in the order of the columns.
    pub cells: Vec<Vec<Sample>>,
}

impl Row {
    /// Returns the rounds of a column.
    pub fn cell(&self, column: usize) -> &[Sample] {
        self.cells.get(column).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the percentage of hits that was foretold of a column.
    pub fn foretold(&self, column: usize) -> Option<f64> {
        self.foretold.iter().find(|(at, _)| *at == column).map(|(_, hits)| *hits)
    }

    /// Returns the spread of a number of a column.
    pub fn spread(&self, column: usize, number: impl Fn(&Sample) -> f64) -> Spread {
        Spread::of(self.cell(column).iter().map(number))
    }

    /// Returns the column's statements a second as a multiple of another column's, in the same rounds.
    pub fn ratio(&self, column: usize, to: usize) -> Spread {
        let pairs = self.cell(column).iter().zip(self.cell(to)).filter(|(_, to)| to.per_second > 0.0);
        Spread::of(pairs.map(|(of, to)| of.per_second / to.per_second))
    }

    /// Adds a round of one column.
    pub fn add(&mut self, column: usize, sample: Sample) {
        if self.cells.len() <= column {
            self.cells.resize(column + 1, Vec::new());
        }
        if let Some(cell) = self.cells.get_mut(column) {
            cell.push(sample);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_of_the_same_round() {
        let mut row = Row::default();
        for (direct, cache) in [(100.0, 200.0), (50.0, 150.0), (200.0, 300.0)] {
            row.add(0, Sample { per_second: direct, ..Sample::default() });
            row.add(2, Sample { per_second: cache, ..Sample::default() });
        }
        let ratio = row.ratio(2, 0);
        assert_eq!((ratio.median, ratio.least, ratio.most), (2.0, 1.5, 3.0));
        assert_eq!(row.spread(0, |sample| sample.per_second).median, 100.0);
        assert_eq!(row.ratio(1, 0), Spread::default());
    }
}
