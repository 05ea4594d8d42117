//! The findings of the oracle.

use std::collections::BTreeMap;
use std::fmt;

/// The most differences that are kept whole.
const KEPT_MAX: usize = 20;
/// The most characters of an answer that are printed.
const SHOWN_CHARS_MAX: usize = 600;
/// The number of printed characters before the first one that differs.
const SHOWN_CHARS_BEFORE: usize = 200;

/// Counts of one shape.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Questions asked both ways.
    pub asked: u64,
    /// Questions that were answered from memory.
    pub hits: u64,
    /// Answers that were in memory before a write and are not in memory after it.
    pub invalidated: u64,
    /// Invalidated answers that are still the same.
    pub needless: u64,
}

/// Two answers that should be the same.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The question.
    pub text: String,
    /// Whether it was answered from memory.
    pub is_hit: bool,
    /// Whether it was prepared.
    pub is_prepared: bool,
    /// The write before it.
    pub after: String,
    /// The answer through Freshet.
    pub through: String,
    /// The server's own answer.
    pub direct: String,
}

/// All findings of a run.
#[derive(Debug, Default)]
pub struct Findings {
    /// The counts by shape.
    pub shapes: BTreeMap<&'static str, Counts>,
    /// Writes that were done.
    pub writes: u64,
    /// Writes that the server refused.
    pub refused: u64,
    /// All differences.
    pub different: u64,
    /// The first differences.
    pub differences: Vec<Difference>,
}

impl Findings {
    /// Notes a difference.
    pub fn differs(&mut self, difference: Difference) {
        self.different += 1;
        if self.differences.len() < KEPT_MAX {
            self.differences.push(difference);
        }
    }

    /// Returns the counts of all shapes together.
    #[must_use]
    pub fn total(&self) -> Counts {
        self.shapes.values().fold(Counts::default(), |total, counts| Counts {
            asked: total.asked + counts.asked,
            hits: total.hits + counts.hits,
            invalidated: total.invalidated + counts.invalidated,
            needless: total.needless + counts.needless,
        })
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, hits, invalidated, needless } = self;
        let share = needless * 100 / invalidated.max(&1);
        write!(
            f,
            "{asked} asked, {hits} hits, {invalidated} invalidated, {needless} ({share} %) of these for nothing"
        )
    }
}

fn cut(text: &str, from: usize) -> String {
    text.chars().skip(from).take(SHOWN_CHARS_MAX).collect()
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hit = if self.is_hit { "from memory" } else { "forwarded" };
        writeln!(f, "different, {hit}{}: {}", if self.is_prepared { ", prepared" } else { "" }, self.text)?;
        let pairs = self.through.chars().zip(self.direct.chars());
        let from = pairs.take_while(|(one, other)| one == other).count().saturating_sub(SHOWN_CHARS_BEFORE);
        writeln!(f, "  after   {}", cut(&self.after, 0))?;
        writeln!(f, "  through {}", cut(&self.through, from))?;
        writeln!(f, "  direct  {}", cut(&self.direct, from))
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (shape, counts) in &self.shapes {
            writeln!(f, "{shape:>18}: {counts}")?;
        }
        writeln!(f, "{:>18}: {}", "all", self.total())?;
        for difference in &self.differences {
            write!(f, "{difference}")?;
        }
        writeln!(f, "writes: {} and {} refused; differences: {}", self.writes, self.refused, self.different)
    }
}
