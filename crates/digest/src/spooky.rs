//! SpookyHash V2, by its author's description, which is in the public domain (burtleburtle.net/bob/hash/spooky.html), with
//! seeds of 0: the first of its two words.

/// A constant that is neither zero nor regular.
const CONST: u64 = 0xdead_beef_dead_beef;
/// Up to this length, in bytes, texts take the short way.
const SHORT_BYTES_MAX: usize = 191;
/// The size of a step of the long way, in words and in bytes.
const BLOCK_WORDS: usize = 12;
const BLOCK_BYTES: usize = BLOCK_WORDS * 8;

/// Returns the hash of a text.
pub fn hash64(text: &[u8]) -> u64 {
    if text.len() <= SHORT_BYTES_MAX { short(text) } else { long(text) }
}

/// Up to eight bytes as a number, the first being the lowest.
fn word(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
    }
}

fn short(text: &[u8]) -> u64 {
    let mut state = [0, 0, CONST, CONST];
    let mut pairs = text.chunks_exact(32);
    for pair in pairs.by_ref() {
        add(&mut state, 2, 3, pair);
        mix(&mut state);
        add(&mut state, 0, 1, pair.get(16..).unwrap_or_default());
    }
    let mut rest = pairs.remainder();
    if let Some((half, behind)) = rest.split_at_checked(16) {
        add(&mut state, 2, 3, half);
        mix(&mut state);
        rest = behind;
    }
    state[3] = state[3].wrapping_add((text.len() as u64) << 56);
    if rest.is_empty() {
        state[2] = state[2].wrapping_add(CONST);
        state[3] = state[3].wrapping_add(CONST);
    } else {
        add(&mut state, 2, 3, rest);
    }
    end(&mut state);
    state[0]
}

/// Adds up to sixteen bytes to two words of the state.
fn add(state: &mut [u64; 4], low: usize, high: usize, bytes: &[u8]) {
    state[low] = state[low].wrapping_add(word(bytes.get(..8.min(bytes.len())).unwrap_or_default()));
    let above = bytes.get(8..).unwrap_or_default();
    state[high] = state[high].wrapping_add(word(above.get(..8.min(above.len())).unwrap_or_default()));
}

fn mix(state: &mut [u64; 4]) {
    const TURNS: [u32; 12] = [50, 52, 30, 41, 54, 48, 38, 37, 62, 34, 5, 36];
    let [mut h0, mut h1, mut h2, mut h3] = *state;
    for turns in TURNS.as_chunks::<4>().0 {
        h2 = h2.rotate_left(turns[0]).wrapping_add(h3);
        h0 ^= h2;
        h3 = h3.rotate_left(turns[1]).wrapping_add(h0);
        h1 ^= h3;
        h0 = h0.rotate_left(turns[2]).wrapping_add(h1);
        h2 ^= h0;
        h1 = h1.rotate_left(turns[3]).wrapping_add(h2);
        h3 ^= h1;
    }
    *state = [h0, h1, h2, h3];
}

fn end(state: &mut [u64; 4]) {
    const TURNS: [u32; 11] = [15, 52, 26, 51, 28, 9, 47, 54, 32, 25, 63];
    for (step, turns) in TURNS.into_iter().enumerate() {
        let (into, from) = ((step + 3) % 4, (step + 2) % 4);
        state[into] ^= state[from];
        state[from] = state[from].rotate_left(turns);
        state[into] = state[into].wrapping_add(state[from]);
    }
}

fn long(text: &[u8]) -> u64 {
    let mut state: [u64; BLOCK_WORDS] = std::array::from_fn(|at| if at % 3 == 2 { CONST } else { 0 });
    let mut blocks = text.chunks_exact(BLOCK_BYTES);
    for block in blocks.by_ref() {
        mix_block(&mut state, &words(block));
    }
    let rest = blocks.remainder();
    let mut last = [0; BLOCK_BYTES];
    last[..rest.len()].copy_from_slice(rest);
    last[BLOCK_BYTES - 1] = u8::try_from(rest.len()).unwrap_or(u8::MAX);
    for (into, from) in state.iter_mut().zip(words(&last)) {
        *into = into.wrapping_add(from);
    }
    (0..3).for_each(|_| end_partial(&mut state));
    state[0]
}

fn words(block: &[u8]) -> [u64; BLOCK_WORDS] {
    std::array::from_fn(|at| word(block.get(at * 8..at * 8 + 8).unwrap_or_default()))
}

fn mix_block(state: &mut [u64; BLOCK_WORDS], block: &[u64; BLOCK_WORDS]) {
    const TURNS: [u32; BLOCK_WORDS] = [11, 32, 43, 31, 17, 28, 39, 57, 55, 54, 22, 46];
    for at in 0..BLOCK_WORDS {
        let behind = |by: usize| (at + by) % BLOCK_WORDS;
        state[at] = state[at].wrapping_add(block[at]);
        state[behind(2)] ^= state[behind(10)];
        state[behind(11)] ^= state[at];
        state[at] = state[at].rotate_left(TURNS[at]);
        state[behind(11)] = state[behind(11)].wrapping_add(state[behind(1)]);
    }
}

fn end_partial(state: &mut [u64; BLOCK_WORDS]) {
    const TURNS: [u32; BLOCK_WORDS] = [44, 15, 34, 21, 38, 33, 10, 13, 38, 53, 42, 54];
    for (at, turns) in TURNS.into_iter().enumerate() {
        let (sum, one, two) = ((at + 11) % BLOCK_WORDS, (at + 1) % BLOCK_WORDS, (at + 2) % BLOCK_WORDS);
        state[sum] = state[sum].wrapping_add(state[one]);
        state[two] ^= state[sum];
        state[one] = state[one].rotate_left(turns);
    }
}

#[cfg(test)]
mod tests;
