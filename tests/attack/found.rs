//! What came of an attack, and what is wrong with it.

use std::time::Duration;

/// Freshet may take so many times as long as the server.
const SLOWER_MAX: u32 = 2;
/// Less than this is noise, on a machine that does other things too.
const SLACK: Duration = Duration::from_secs(2);
/// What an attack may make Freshet hold if its row says nothing else, in bytes.
pub const MEMORY_MAX: u64 = 64 << 20;

/// One way of the two: what was given, and how long it took.
#[derive(Debug, Clone)]
pub struct Given {
    pub outcome: String,
    pub took: Duration,
}

/// Whether one way takes too long beside the other.
pub fn is_slow(direct: &Given, through: &Given) -> bool {
    through.took > direct.took * SLOWER_MAX + SLACK
}

/// What came of an attack.
#[derive(Debug)]
pub struct Found {
    pub direct: Given,
    pub through: Given,
    /// Freshet's memory before the attack and at its worst, bytes.
    pub memory: (u64, u64),
    memory_max: u64,
    judges_time: bool,
    wrong: Vec<String>,
}

impl Found {
    /// Both ways are expected to give the same.
    pub fn same(direct: Given, through: Given, memory: (u64, u64)) -> Found {
        let mut found = Found::new(direct, through, memory);
        if found.direct.outcome != found.through.outcome {
            let said = format!("expected {}, found {}", found.direct.outcome, found.through.outcome);
            found.wrong.push(said);
        }
        found
    }

    /// Only what is said further is expected.
    pub fn new(direct: Given, through: Given, memory: (u64, u64)) -> Found {
        Found { direct, through, memory, memory_max: MEMORY_MAX, judges_time: true, wrong: Vec::new() }
    }

    /// Another bound of memory.
    pub fn memory_max(mut self, bytes: u64) -> Found {
        self.memory_max = bytes;
        self
    }

    /// Times mean nothing here.
    pub fn at_any_time(mut self) -> Found {
        self.judges_time = false;
        self
    }

    /// A further expectation.
    pub fn expect(mut self, holds: bool, otherwise: impl Into<String>) -> Found {
        if !holds {
            self.wrong.push(otherwise.into());
        }
        self
    }

    /// Everything that is wrong.
    fn faults(&self) -> Vec<String> {
        let mut wrong = self.wrong.clone();
        let held = self.memory.1.saturating_sub(self.memory.0);
        if held > self.memory_max {
            wrong.push(format!("holds {} MB more, allowed {} MB", held >> 20, self.memory_max >> 20));
        }
        if self.judges_time && is_slow(&self.direct, &self.through) {
            wrong.push(format!("{:.1?} for {:.1?}", self.through.took, self.direct.took));
        }
        wrong
    }

    /// Whether nothing is wrong.
    pub fn is_in_order(&self) -> bool {
        self.faults().is_empty()
    }

    /// A row of the table.
    pub fn row(&self, name: &str) -> String {
        let faults = self.faults();
        let verdict =
            if faults.is_empty() { "in order".to_owned() } else { format!("FAILED: {}", faults.join("; ")) };
        let cell =
            |text: &str| text.replace('|', "/").replace('\n', " ").chars().take(300).collect::<String>();
        let way = |given: &Given| format!("{}; {:.1?}", cell(&given.outcome), given.took);
        let (before, worst) = self.memory;
        let memory = format!("{} → {} MB", before >> 20, worst >> 20);
        format!("| {name} | {} | {} | {memory} | {} |", way(&self.direct), way(&self.through), cell(&verdict))
    }
}
