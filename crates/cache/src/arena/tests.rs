use super::*;

/// Returns bytes that differ from entry to entry.
fn bytes(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at / 7 + seed * 31) as u8).collect()
}

fn contents(arena: &Arena, head: u32, len: usize) -> Vec<u8> {
    arena.read(head, 0, len).collect::<Vec<_>>().concat()
}

#[test]
fn every_part_of_a_chain_can_be_read() {
    let mut arena = Arena::default();
    let whole = bytes(1, 3 * BLOCK_BYTES);
    let (front, back) = whole.split_at(100);
    let _other = arena.store(0, &[&bytes(2, 10)]);
    let head = arena.store(1, &[front, &[], back]).unwrap();
    for from in [0, 1, 99, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 3 * BLOCK_BYTES] {
        for len in [0, 1, BLOCK_BYTES, 2 * BLOCK_BYTES, whole.len() - from] {
            let len = len.min(whole.len() - from);
            let read = arena.read(head, from, len).collect::<Vec<_>>().concat();
            assert_eq!(read, &whole[from..from + len], "{len} from {from}");
        }
    }
    assert_eq!(arena.read(head, 0, whole.len()).count(), 1, "blocks side by side are one piece");
    assert_eq!(arena.head(head), &whole[..BLOCK_BYTES]);
}

/// Entries of sizes that change come and go; what stays is unharmed by the moves, and what is mapped is bounded.
#[test]
fn moves_keep_all_contents_and_bound_what_is_mapped() {
    let mut arena = Arena::default();
    let mut entries: Vec<(u32, usize, usize)> = Vec::new();
    let (mut random, mut chunks_freed) = (1u64, 0);
    for n in 0..24_000usize {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let pick = (random >> 33) as usize;
        let phase_len = [300, 400_000, 1000][n / 2000 % 3];
        let is_full = arena.in_use() * BLOCK_BYTES > 4 << 20;
        if is_full || (n / 1000 % 2 == 1 && !entries.is_empty()) {
            let at = pick % entries.len();
            let (head, ..) = entries.swap_remove(at);
            arena.free(head);
            if let Some((head, ..)) = entries.get(at) {
                arena.set_slot(*head, at as u32);
            }
            while arena.compact(&mut |slot, head| entries[slot as usize].0 = head).is_some() {
                chunks_freed += 1;
            }
        } else {
            let len = 1 + pick % phase_len;
            let head = arena.store(entries.len() as u32, &[&bytes(n, len)]).unwrap();
            entries.push((head, n, len));
        }
        let slack = arena.free;
        let total = slack + arena.in_use;
        assert!(slack <= BLOCKS_PER_CHUNK + total / SLACK_SHARE, "{slack} of {total} blocks are free");
        if n % 1000 == 0 {
            arena.audit(&entries.iter().map(|(head, ..)| *head).collect::<Vec<_>>());
            for (head, seed, len) in &entries {
                assert_eq!(contents(&arena, *head, *len), bytes(*seed, *len));
            }
        }
    }
    assert!(chunks_freed > 20, "{chunks_freed}");
}
