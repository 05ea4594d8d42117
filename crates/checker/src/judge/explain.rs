//! Looks for a state that explains a read.

use super::log::{Clocks, Log, Open, Standing};
use super::{Level, Nanos, OPEN_MAX, Path, Read};
use crate::model::Db;
use crate::query::Query;

/// The outcome for one read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Explained {
    /// A state that the level allows gives the answer.
    Yes(Explanation),
    /// No state that the level allows gives the answer; an older one may.
    No(Option<Explanation>),
    /// Too many transactions were under way at once, or the read took too long.
    Undecided,
}

/// The state that explains an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The moment of the state.
    pub at: Nanos,
    /// The first transaction that the state lacks although it was known before the read, if there is one.
    pub missing: Option<u64>,
    /// The transactions without which no state that the level allows explains the answer.
    pub proven: Vec<u64>,
}

/// One read that is to be explained.
pub struct Case<'a> {
    pub log: &'a Log,
    pub pool: &'a [Query],
    pub read: &'a Read,
    pub level: Level,
    /// How far back readers may look at this level, in nanoseconds.
    pub lag: Nanos,
    /// The moment of the state that the session was shown last.
    pub floor: Nanos,
}

/// The earliest moments that the level allows.
struct Bounds {
    through: Nanos,
    around: Nanos,
}

/// The findings while moments are tried one by one.
#[derive(Default)]
struct Found {
    first: Option<(Nanos, Vec<u64>)>,
    /// The transactions that every explanation so far contains.
    common: Option<Vec<u64>>,
    /// Whether late writes may hide others.
    may_hide: bool,
}

/// More than [`super::OPEN_MAX`] transactions were under way.
struct TooMany;

impl Case<'_> {
    /// Looks for an explanation.
    #[must_use]
    pub fn explain(&self) -> Explained {
        let bounds = self.bounds();
        let least = bounds.through.min(bounds.around).min(self.read.asked);
        if self.log.begins() > 0 && least <= self.log.begins() {
            return Explained::Undecided;
        }
        self.search(&bounds).unwrap_or(Explained::Undecided)
    }

    fn search(&self, bounds: &Bounds) -> Result<Explained, TooMany> {
        // The earliest state is looked for, so that the reads raise a session's floor as little as possible.
        let is_greedy = self.level == Level::Session && self.read.path == Path::Through;
        let from = if is_greedy { bounds.through } else { self.read.asked };
        let mut found = Found::default();
        for at in self.moments(from) {
            if is_greedy && self.is_settled(&found) {
                break;
            }
            self.try_at(at, bounds, &mut found)?;
        }
        self.look_back(from, bounds, &mut found)?;
        if let Some((at, seen)) = found.first {
            let proven = if at >= self.read.asked { found.common.unwrap_or_default() } else { Vec::new() };
            let found = self.explanation(at, &seen, proven);
            return Ok(Explained::Yes(Explanation { at: at.max(bounds.through), ..found }));
        }
        Ok(Explained::No(self.older()?))
    }

    /// Tries the moments before `from`, because writes around Freshet may be late. If a state without a late write also explains the
    /// answer, the answer does not prove this write. So these moments are tried even if the answer is already explained.
    fn look_back(&self, from: Nanos, bounds: &Bounds, found: &mut Found) -> Result<(), TooMany> {
        let before = self.moments_before(bounds.through.min(bounds.around), from);
        for may_hide in [false, true] {
            found.may_hide = may_hide;
            for at in &before {
                if self.is_settled(found) {
                    return Ok(());
                }
                match self.try_at(*at, bounds, found) {
                    Err(TooMany) if found.first.is_some() => {
                        // In this case nothing is proven.
                        found.common = Some(Vec::new());
                        return Ok(());
                    }
                    tried => tried?,
                }
            }
        }
        Ok(())
    }

    /// Whether another explanation can tell nothing new: there is one, and every transaction that all of them contain was acknowledged
    /// before the end of the read.
    fn is_settled(&self, found: &Found) -> bool {
        let is_early = |number: &u64| {
            self.log.get(*number).is_some_and(|transaction| transaction.known > self.read.answered)
        };
        found.first.is_some() && !found.common.iter().flatten().any(is_early)
    }

    /// Returns an older state that explains the answer, as far back as states are known, for the report.
    fn older(&self) -> Result<Option<Explanation>, TooMany> {
        let free = Bounds { through: 0, around: 0 };
        let mut found = Found::default();
        for at in self.moments_before(self.log.begins() + 1, self.read.asked) {
            self.try_at(at, &free, &mut found)?;
            if let Some((at, seen)) = found.first {
                return Ok(Some(self.explanation(at, &seen, Vec::new())));
            }
        }
        Ok(None)
    }

    fn bounds(&self) -> Bounds {
        let asked = self.read.asked;
        let late = asked.saturating_sub(self.lag);
        let session = self.floor.max(self.read.own_known).min(asked);
        match (self.read.path, self.level) {
            (Path::Around, _) | (_, Level::Semisync) => Bounds { through: asked, around: asked },
            (_, Level::Strict) => Bounds { through: asked, around: late },
            (_, Level::Session) => Bounds { through: late.max(session), around: late },
            (_, Level::Eventual) => Bounds { through: late, around: late },
        }
    }

    /// Returns the moments to try, beginning with `from`, in order.
    fn moments(&self, from: Nanos) -> Vec<Nanos> {
        let sent = self.log.between(from, self.read.until, self.tables()).map(|(_, other)| other.sent);
        let mut moments: Vec<Nanos> = sent.filter(|sent| *sent > from).collect();
        moments.push(from);
        moments.sort_unstable();
        moments
    }

    /// Returns the moments before `from`, down to `least`, the last one first.
    fn moments_before(&self, least: Nanos, from: Nanos) -> Vec<Nanos> {
        if least >= from {
            return Vec::new();
        }
        let between = self.log.between(least, from, self.tables());
        let mut moments: Vec<Nanos> = between.map(|(_, other)| other.sent.max(least)).collect();
        moments.push(least);
        moments.sort_unstable_by_key(|at| std::cmp::Reverse(*at));
        moments.dedup();
        moments
    }

    fn tables(&self) -> u8 {
        self.read.tables(self.pool)
    }

    fn try_at(&self, at: Nanos, bounds: &Bounds, found: &mut Found) -> Result<(), TooMany> {
        let clocks = Clocks { through: at.max(bounds.through), around: at.max(bounds.around) };
        let open = self.log.open(clocks, self.tables());
        if open.count > OPEN_MAX {
            return Err(TooMany);
        }
        for chosen in 0..1_u32 << open.count {
            let state = if found.may_hide {
                self.with_hidden(&open, chosen)
            } else {
                Some(self.after(&open, chosen))
            };
            if let Some((_, seen)) = state.filter(|(db, _)| self.gives_the_answer(db)) {
                found.add(at, seen);
            }
        }
        Ok(())
    }

    /// Returns the state after all certain transactions and the chosen open ones, with the numbers of those that `open.db` lacks.
    fn after(&self, open: &Open, chosen: u32) -> (Db, Vec<u64>) {
        let (mut db, mut seen, mut bit) = (open.db, Vec::new(), 1);
        for (number, standing) in &open.rest {
            let is_open = *standing == Standing::Open;
            let is_in = *standing == Standing::Certain || is_open && chosen & bit != 0;
            bit <<= u32::from(is_open);
            if let Some(transaction) = self.log.get(*number).filter(|_| is_in) {
                transaction.changes.iter().for_each(|change| db.apply(change));
                seen.push(*number);
            }
        }
        (db, seen)
    }

    fn gives_the_answer(&self, db: &Db) -> bool {
        self.read.parts.iter().all(|part| {
            let mut own = *db;
            part.own.iter().for_each(|change| own.apply(change));
            self.pool[part.query].ask(&own) == part.observed
        })
    }

    fn explanation(&self, at: Nanos, seen: &[u64], proven: Vec<u64>) -> Explanation {
        let lacks = |number: &u64, known: Nanos, sent: Nanos| {
            known < self.read.asked && !seen.contains(number) && (sent > at || known >= at)
        };
        let between = self.log.between(0, self.read.asked, self.tables());
        let missing = between
            .filter(|(number, other)| lacks(number, other.known, other.sent))
            .min_by_key(|(_, other)| other.known)
            .map(|(number, _)| number);
        Explanation { at, missing, proven }
    }
}

impl Found {
    /// Adds an explanation. A transaction that is certain at a later moment and open at an earlier one is missing in `seen` only at the
    /// later one. So fewer transactions may be common than could be; the ones that are common are proven.
    fn add(&mut self, at: Nanos, seen: Vec<u64>) {
        match &mut self.common {
            None => self.common = Some(seen.clone()),
            Some(common) => common.retain(|number| seen.contains(number)),
        }
        self.first.get_or_insert((at, seen));
    }
}
