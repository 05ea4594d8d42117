use super::*;

#[test]
fn quantiles_are_close() {
    let mut latency = Latency::default();
    assert_eq!(latency.quantile_us(0.5), 0.0);
    for us in 1..=1000 {
        latency.add(Duration::from_micros(us));
    }
    latency.add(Duration::ZERO);
    latency.add(Duration::from_secs(1 << 20));
    assert_eq!(latency.count(), 1002);
    for (share, expected) in [(0.25, 250.0), (0.5, 500.0), (0.99, 990.0)] {
        let found = latency.quantile_us(share);
        assert!((found / expected - 1.0_f64).abs() < 1.0 / 16.0, "{share}: {found}");
    }
}
