//! Makes a finding's input small.

use std::time::{Duration, Instant};

/// How long one finding is worked on.
const TIME_MAX: Duration = Duration::from_secs(5);

/// The smallest input found that still fails.
pub fn minimise(input: &[u8], still_fails: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let until = Instant::now() + TIME_MAX;
    let mut best = input.to_vec();
    let mut piece = best.len().div_ceil(2).max(1);
    loop {
        let before = best.len();
        best = without_pieces(best, piece, until, &still_fails);
        let at_rest = piece == 1 && best.len() == before;
        if at_rest || Instant::now() > until {
            return plainer(best, until, &still_fails);
        }
        piece = (piece / 2).max(1);
    }
}

/// Leaves out every piece of this length that is not needed.
fn without_pieces(
    mut best: Vec<u8>,
    piece: usize,
    until: Instant,
    still_fails: &impl Fn(&[u8]) -> bool,
) -> Vec<u8> {
    let mut at = 0;
    while at < best.len() && Instant::now() < until {
        let end = (at + piece).min(best.len());
        let shorter = [&best[..at], &best[end..]].concat();
        if still_fails(&shorter) {
            best = shorter;
        } else {
            at += piece;
        }
    }
    best
}

/// Puts a plain byte wherever the byte does not matter.
fn plainer(mut best: Vec<u8>, until: Instant, still_fails: &impl Fn(&[u8]) -> bool) -> Vec<u8> {
    for at in 0..best.len() {
        for plain in [0, b'a', b' '] {
            let was = best[at];
            if was == plain || Instant::now() > until {
                break;
            }
            best[at] = plain;
            if still_fails(&best) {
                break;
            }
            best[at] = was;
        }
    }
    best
}
