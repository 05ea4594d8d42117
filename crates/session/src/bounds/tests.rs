use super::*;

const KIB: usize = 1024;

fn budget() -> Arc<SharedBudget> {
    Arc::new(SharedBudget::new(100 * KIB, 10 * KIB))
}

#[test]
fn what_is_small_is_free_and_what_is_held_comes_back() {
    let budget = budget();
    let mut permit = Permit::default();
    assert!(permit.cover(&budget, 10 * KIB) && !permit.is_held());
    assert_eq!(budget.used(), 0);
    assert!(permit.cover(&budget, 60 * KIB) && permit.cover(&budget, 50 * KIB));
    assert_eq!(budget.used(), 60 * KIB);
    let mut other = Permit::default();
    assert!(!other.cover(&budget, 50 * KIB));
    assert_eq!(budget.refused(), 1);
    assert!(other.cover(&budget, 40 * KIB));
    drop(permit);
    assert_eq!(budget.used(), 40 * KIB);
    other.release();
    assert_eq!(budget.used(), 0);
}

#[test]
fn what_is_larger_than_the_budget_is_alone_in_it() {
    let budget = budget();
    let mut permit = Permit::default();
    assert!(permit.cover(&budget, 1000 * KIB));
    assert_eq!(budget.used(), 100 * KIB);
    assert!(!Permit::default().cover(&budget, 11 * KIB));
}

#[tokio::test]
async fn holders_of_parts_go_through_one_after_the_other() {
    let budget = budget();
    let (mut a, mut b) = (Permit::default(), Permit::default());
    assert!(a.cover(&budget, 50 * KIB) && b.cover(&budget, 50 * KIB));
    let wait = Duration::from_millis(50);
    assert!(a.cover_in_time(&budget, 80 * KIB, wait).await, "one may go beyond");
    assert!(!b.cover_in_time(&budget, 80 * KIB, wait).await, "two may not");
    drop(a);
    assert!(b.cover_in_time(&budget, 80 * KIB, wait).await);
    assert_eq!((budget.waits(), budget.refused()), (2, 1));
    assert!(!budget.is_wanted());
}
