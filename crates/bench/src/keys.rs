//! Which row is asked for next.

use clap::ValueEnum;

/// How keys are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Distribution {
    /// All alike.
    Uniform,
    /// The n-th key in proportion to 1/n, as most caches see it.
    Zipf,
    /// Three quarters among the hundredth part in the middle, the others alike: sysbench's `special`.
    Special,
}

/// Of the keys, every so many are hot in the special distribution, and so many percent of all draws are of those.
const HOT_PART: u32 = 100;
const HOT_PERCENT: u8 = 75;

/// A generator of keys from 1 to a maximum, the same for the same seed.
#[derive(Debug, Clone)]
pub struct Keys {
    state: u64,
    keys: u32,
    distribution: Distribution,
}

impl Keys {
    /// A generator of its own for each client.
    pub fn new(seed: u64, keys: u32, distribution: Distribution) -> Keys {
        // Any state but zero is good; neighbouring seeds are spread far apart.
        Keys { state: (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15), keys, distribution }
    }

    /// Xorshift: a few instructions, and good enough to choose rows by.
    fn random(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number in 1..=`count`.
    pub fn one_of(&mut self, count: u32) -> u32 {
        (((self.random() >> 32) * u64::from(count)) >> 32) as u32 + 1
    }

    /// A number in 0..100.
    pub fn percent(&mut self) -> u8 {
        (((self.random() >> 32) * 100) >> 32) as u8
    }

    /// The next key.
    pub fn next_key(&mut self) -> u32 {
        match self.distribution {
            Distribution::Uniform => self.one_of(self.keys),
            // The inverse of the continuous 1/x distribution over [1, keys + 1).
            Distribution::Zipf => {
                let share = (self.random() >> 32) as f64 / (1u64 << 32) as f64;
                (f64::from(self.keys + 1).powf(share) as u32).clamp(1, self.keys)
            }
            Distribution::Special => {
                let hot = (self.keys / HOT_PART).max(1);
                if self.percent() < HOT_PERCENT {
                    (self.keys - hot) / 2 + self.one_of(hot)
                } else {
                    self.one_of(self.keys)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
