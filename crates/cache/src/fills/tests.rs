use super::*;

#[test]
fn lists_go_from_the_fullest_to_the_emptiest_without_a_gap() {
    assert_eq!((list(0), list(1)), (None, Some(0)));
    let lists: Vec<usize> = (1..=BLOCKS_PER_CHUNK).map(|free| list(free).unwrap()).collect();
    assert!(lists.windows(2).all(|two| two[1] == two[0] || two[1] == two[0] + 1));
    let widest = |at: &usize| lists.iter().filter(|other| *other == at).count();
    let first = |at: &usize| 1 + lists.iter().position(|other| other == at).unwrap();
    assert!((0..LISTS).all(|at| widest(&at) * 8 <= first(&at).max(8)), "within an eighth");
}

/// The answers are within an eighth of what a look at every chunk finds.
#[test]
fn finds_the_fullest_and_the_emptiest_among_any() {
    let mut fills = Fills::default();
    let mut random = 1u64;
    for n in 0..20_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let pick = (random >> 33) as usize;
        if n % 9 == 0 || fills.fills.is_empty() {
            fills.add();
        } else {
            let chunk = pick % fills.fills.len();
            let free = [0, 1, 7, pick / 7 % 20, pick / 7 % (BLOCKS_PER_CHUNK + 1)][pick / 3 % 5];
            match () {
                () if fills.gaps.contains(&(chunk as u32)) => {}
                () if n % 10 == 1 => drop(fills.take_out(chunk)),
                () => fills.set_free(chunk, free),
            }
        }
        let open = || fills.fills.iter().map(|fill| usize::from(fill.free)).filter(|free| *free > 0);
        let free = |chunk: usize| fills.free_in(chunk);
        assert_eq!(fills.fullest().map(|chunk| list(free(chunk))), open().min().map(list));
        assert_eq!(fills.emptiest().map(|chunk| list(free(chunk))), open().max().map(list));
        if n % 500 == 0 {
            fills.audit();
        }
    }
}
