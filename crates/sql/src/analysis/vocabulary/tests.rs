use super::*;

#[test]
fn words_are_in_order() {
    assert!(WORDS.windows(2).all(|pair| pair[0].0 < pair[1].0));
    assert!(UNITS.windows(2).all(|pair| pair[0] < pair[1]));
}
