use super::*;

#[test]
fn size_classes_cover_the_request_and_waste_a_quarter_at_most() {
    for bytes in 1..200_000usize {
        let class = allocated(bytes);
        assert!(class >= bytes, "{bytes} takes {class}");
        assert!(class <= bytes + bytes / 4 + 16, "{bytes} takes {class}");
        assert_eq!(allocated(class), class, "a class is its own class");
    }
}

#[test]
fn known_size_classes() {
    let expected = [(0, 0), (1, 16), (64, 64), (65, 80), (81, 96), (129, 160), (1025, 1280), (4097, 5120)];
    for (bytes, class) in expected {
        assert_eq!(allocated(bytes), class, "{bytes}");
    }
}

#[test]
fn reserves_up_to_the_limit_and_not_beyond() {
    let budget = Budget::new(100);
    assert!(budget.reserve(60));
    assert!(!budget.reserve(41));
    assert!(budget.reserve(40));
    budget.release(60);
    assert_eq!(budget.used(), 40);
    budget.set_limit(30);
    assert!(budget.is_over());
    assert!(!budget.reserve(0), "nothing gets in while it is over");
    assert!(!budget.reserve(usize::MAX), "no overflow");
}
