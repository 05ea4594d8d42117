use super::*;

fn finding(subject: &'static str, state: Readiness, remedy: Option<&str>) -> Finding {
    Finding { subject, state, found: format!("{subject} as found"), remedy: remedy.map(str::to_owned) }
}

#[test]
fn the_worst_finding_decides() {
    let fine = finding("log_bin", Readiness::Fine, None);
    let degraded = finding("gtid_mode", Readiness::Degraded, Some("SET GLOBAL ..."));
    let missing = finding("binlog_format", Readiness::Missing, Some("SET GLOBAL binlog_format = ROW"));
    for (findings, expected, said) in [
        (vec![], Exit::Done, "Everything"),
        (vec![fine.clone()], Exit::Done, "Everything"),
        (vec![degraded.clone(), fine.clone()], Exit::Done, "losses"),
        (vec![fine.clone(), missing.clone(), degraded.clone()], Exit::Missing, "caches nothing"),
    ] {
        assert_eq!(exit(&findings), expected);
        assert!(table(&findings).contains(said), "{}", table(&findings));
    }
    let text = table(&[fine, missing]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "ok        log_bin        log_bin as found");
    assert_eq!(lines[1], "MISSING   binlog_format  binlog_format as found");
    assert_eq!(lines[2], "                         -> SET GLOBAL binlog_format = ROW");
}
