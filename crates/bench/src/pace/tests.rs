use super::*;

#[test]
fn what_is_late_is_due_all_the_same() {
    let pace = Pace::new();
    let began = Instant::now() - Duration::from_millis(10);
    let mut due = began;
    pace.release(&mut due, Duration::from_millis(1));
    assert!(pace.free.available_permits() >= 10);
    let moments: Vec<_> = pace.due.borrow().iter().copied().collect();
    assert_eq!(moments[3] - moments[0], Duration::from_millis(3));
    assert_eq!(moments[0], began);
}

#[test]
fn a_rate_is_kept() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let pace = Pace::new();
    let until = Instant::now() + Duration::from_millis(300);
    let count = runtime.block_on(async {
        let taking = async {
            let mut count = 0;
            while pace.next().await.is_some() {
                count += 1;
            }
            count
        };
        let (kept, count) = tokio::join!(pace.keep(1_000, until), taking);
        kept.unwrap();
        count
    });
    assert!((250..=320).contains(&count), "{count}");
}
