//! A small generator of numbers, the same for the same seed (splitmix64).

/// A sequence of numbers.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Begins a sequence.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below a bound, which must not be 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.next() % bound).unwrap_or(0)
    }

    /// Whether a chance of so many percent comes true.
    pub fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    /// Returns one of several things. There must be at least one.
    pub fn one_of<T: Copy>(&mut self, things: &[T]) -> T {
        things[self.below(things.len())]
    }

    /// Returns a number of a small column.
    pub fn code(&mut self, bound: u8) -> i8 {
        i8::try_from(self.below(usize::from(bound))).unwrap_or(0)
    }
}
