//! Numbers that the seed decides (splitmix64).

pub struct Random(u64);

impl Random {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number in `0..bound`, nearly uniform.
    pub const fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub const fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    pub fn pick(&mut self, from: &[usize]) -> Option<usize> {
        if from.is_empty() { None } else { Some(from[self.below(from.len() as u64) as usize]) }
    }
}
