//! Which row is asked for next.

use clap::ValueEnum;

/// How keys are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Distribution {
    /// All alike.
    Uniform,
    /// The n-th key in proportion to 1/n, as most caches see it.
    Zipf,
    /// Some of those in the middle far more often than the others: sysbench's `special`.
    Special,
}

/// How the keys are drawn that are not of the hot ones in the special distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Rest {
    /// The mean of twelve even draws, as in sysbench: those near the middle more often.
    Gaussian,
    /// All alike.
    Uniform,
}

/// How keys are drawn, with the options of the special distribution. Their defaults are sysbench's.
#[derive(Debug, Clone, Copy, PartialEq, clap::Args)]
pub struct Draw {
    /// Which keys are drawn how often
    #[arg(long, value_enum, default_value_t = Distribution::Uniform)]
    pub distribution: Distribution,
    /// Percent of the keys that are hot, of the special distribution
    #[arg(long, default_value_t = 1.0)]
    pub hot_keys: f64,
    /// Percent of all draws that are of those
    #[arg(long, default_value_t = 75, value_parser = clap::value_parser!(u8).range(0..=100))]
    pub hot_draws: u8,
    /// How the others are drawn
    #[arg(long, value_enum, default_value_t = Rest::Gaussian)]
    pub rest: Rest,
}

impl Draw {
    /// Returns how many of `keys` are hot.
    pub fn hot(&self, keys: u32) -> u32 {
        ((f64::from(keys) * self.hot_keys / 100.0) as u32).clamp(1, keys)
    }
}

/// Draws that a Gaussian one is the mean of.
const GAUSSIAN_DRAWS: u32 = 12;

/// A generator of keys from 1 to a maximum, the same for the same seed.
#[derive(Debug, Clone)]
pub struct Keys {
    state: u64,
    keys: u32,
    draw: Draw,
    hot: u32,
}

impl Keys {
    /// Returns a generator of its own for each client.
    pub fn new(seed: u64, keys: u32, draw: Draw) -> Keys {
        // Any state but zero is good; neighbouring seeds are spread far apart.
        Keys { state: (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15), keys, draw, hot: draw.hot(keys) }
    }

    /// Xorshift: a few instructions, and good enough to choose rows by.
    fn random(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Returns a number in 1..=`count`.
    pub fn one_of(&mut self, count: u32) -> u32 {
        (((self.random() >> 32) * u64::from(count)) >> 32) as u32 + 1
    }

    /// Returns a number in 0..100.
    pub fn percent(&mut self) -> u8 {
        (((self.random() >> 32) * 100) >> 32) as u8
    }

    /// Returns the next key.
    pub fn next_key(&mut self) -> u32 {
        match self.draw.distribution {
            Distribution::Uniform => self.one_of(self.keys),
            // The inverse of the continuous 1/x distribution over [1, keys + 1).
            Distribution::Zipf => {
                let share = (self.random() >> 32) as f64 / (1u64 << 32) as f64;
                (f64::from(self.keys + 1).powf(share) as u32).clamp(1, self.keys)
            }
            Distribution::Special => self.special(),
        }
    }

    fn special(&mut self) -> u32 {
        if self.percent() < self.draw.hot_draws {
            return (self.keys - self.hot) / 2 + self.one_of(self.hot);
        }
        match self.draw.rest {
            Rest::Uniform => self.one_of(self.keys),
            Rest::Gaussian => {
                let sum: u64 = (0..GAUSSIAN_DRAWS).map(|_| u64::from(self.one_of(self.keys))).sum();
                (sum / u64::from(GAUSSIAN_DRAWS)) as u32
            }
        }
    }
}

#[cfg(test)]
mod tests;
