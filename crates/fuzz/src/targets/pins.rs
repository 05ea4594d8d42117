//! Pins against a naive evaluation: a row outside of its pins changes no result.
//!
//! Statements, data and the evaluation are those of the `sql` crate's own test; here they come from any seed, and the
//! texts are written in other ways that mean the same.

use crate::evaluation::evaluator;
use crate::random::Random;
use crate::target::{Outcome, Target, behaviour};

/// The target.
pub static TARGET: Target = Target {
    name: "pins",
    promise: "a row that fails a pin changes no result, however the statement is written",
    is_text: false,
    seeds,
    check,
};

/// How many statements one seed gives.
const STATEMENTS: usize = 8;

/// Eight bytes of a seed.
fn seeds() -> Vec<Vec<u8>> {
    (1..64u64).map(|seed| seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes().to_vec()).collect()
}

fn check(input: &[u8]) -> Outcome {
    let (seed, rest) = crate::input::head::<8>(input);
    let seed =
        rest.iter().fold(u64::from_le_bytes(seed), |seed, byte| seed.rotate_left(7) ^ u64::from(*byte));
    let mut random = Random::new(seed);
    let mut disguise = |text: &str| disguise(&mut random, text);
    let tally = evaluator::some(seed | 1, STATEMENTS, &mut disguise);
    Ok(behaviour((tally.pinned.min(8), tally.mattered.min(16), tally.added.min(32))))
}

/// The same statement, written in another way: blanks, comments, cases, and parentheses around conditions.
fn disguise(random: &mut Random, text: &str) -> String {
    if random.chance(40) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() * 2);
    let [comments, cases, symbols, truths] =
        [random.chance(50), random.chance(50), random.chance(30), random.chance(30)];
    let mut between = false;
    for word in text.split(' ') {
        // The AND of BETWEEN is no operator.
        let in_between = between;
        between = word == "BETWEEN" || between && word != "AND";
        if !out.is_empty() {
            out += match random.below(if comments { 6 } else { 2 }) {
                0 | 1 | 5 => " ",
                2 => " /* OR 1 = 1 */ ",
                3 => "\n\t",
                _ => " -- AND 1 = 0\n",
            };
        }
        match word {
            "AND" if symbols && !in_between && random.chance(30) => out += "&&",
            "WHERE" | "ON" if truths && random.chance(30) => out += &format!("{word} TRUE AND"),
            "AND" if truths && !in_between && random.chance(10) => out += "AND 1 AND",
            _ if cases && random.chance(50) && is_keyword(word) => out += &word.to_ascii_lowercase(),
            _ => out += word,
        }
    }
    out
}

/// A word whose case means nothing.
fn is_keyword(word: &str) -> bool {
    [
        "SELECT", "FROM", "WHERE", "AND", "OR", "NOT", "JOIN", "LEFT", "RIGHT", "ON", "IN", "AS", "WITH",
        "UNION", "GROUP", "BY",
    ]
    .contains(&word)
}
