//! A histogram of latencies. It has a fixed size, and is exact to 1/16 of each value.

use std::time::Duration;

/// Buckets for each power of two.
const STEPS: usize = 16;
/// Powers of two of nanoseconds: up to 18 minutes.
const POWERS: usize = 40;

/// A histogram of times.
#[derive(Debug, Clone)]
pub struct Latency {
    counts: Vec<u64>,
}

impl Default for Latency {
    fn default() -> Latency {
        Latency { counts: vec![0; STEPS * POWERS] }
    }
}

impl Latency {
    /// Counts one time.
    pub fn add(&mut self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).max(STEPS as u64);
        let power = nanos.ilog2() as usize;
        let step = (nanos >> (power - STEPS.ilog2() as usize)) as usize - STEPS;
        if let Some(count) = self.counts.get_mut(power.min(POWERS - 1) * STEPS + step) {
            *count += 1;
        }
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Latency) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
    }

    /// Returns how many were counted.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the time in microseconds that `share` of the counted times did not exceed; 0 if there are none.
    pub fn quantile_us(&self, share: f64) -> f64 {
        let wanted = (self.count() as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted && seen > 0 {
                let nanos = ((bucket % STEPS + STEPS) as f64 + 0.5) * 2f64.powi((bucket / STEPS) as i32 - 4);
                return nanos / 1000.0;
            }
        }
        0.0
    }
}

#[cfg(test)]
mod tests;
