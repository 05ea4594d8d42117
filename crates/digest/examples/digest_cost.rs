//! What the digest of a point select costs on this machine: `cargo run --profile quick -p freshet-digest --example digest_cost`.
#![expect(clippy::print_stdout, reason = "it prints")]

use std::hint::black_box;
use std::time::Instant;

use freshet_digest::{Digest, Options, put_text};

const ROUNDS: u32 = 2_000_000;

fn main() {
    let options = Options::default();
    let mut out = Vec::with_capacity(2048);
    let started = Instant::now();
    for _ in 0..ROUNDS {
        out.clear();
        put_text(black_box(b"SELECT c FROM sbtest1 WHERE id=4711"), &options, &mut out);
        black_box(Digest::of(&out));
    }
    println!("{} ns for a point select", (started.elapsed() / ROUNDS).as_nanos());
}
