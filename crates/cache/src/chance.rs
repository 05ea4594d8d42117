//! A choice by chance, for what is counted, or looked at, only now and then.

use std::cell::Cell;

thread_local! {
    /// The state of a generator of random numbers (xorshift).
    static STATE: Cell<u32> = const { Cell::new(0x9e37_79b9) };
}

/// Returns `true` about once in `times` calls, and always if that is 0 or 1. Each thread draws numbers of its own, and the same ones in each
/// process.
#[inline]
#[must_use]
pub fn once_in(times: u32) -> bool {
    STATE.with(|state| {
        let mut drawn = state.get();
        drawn ^= drawn << 13;
        drawn ^= drawn >> 17;
        drawn ^= drawn << 5;
        state.set(drawn);
        drawn.is_multiple_of(times.max(1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_chosen_about_so_often() {
        for times in [1, 8, 16, 100] {
            let chosen = (0..100_000).filter(|_| once_in(times)).count() as f64;
            let expected = 100_000.0 / f64::from(times);
            assert!((chosen - expected).abs() <= 5.0 * expected.sqrt(), "{chosen} in place of {expected}");
        }
    }
}
