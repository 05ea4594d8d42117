use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use freshet_digest::Options;

use super::{Event, QueryLog};

fn event(query: &[u8]) -> Event<'_> {
    Event {
        command: "COM_QUERY",
        thread_id: 1,
        user: b"u",
        schema: "",
        client: Some(SocketAddr::from(([127, 0, 0, 1], 1))),
        query,
        digests: Options::default(),
        began: SystemTime::now(),
        took: Duration::ZERO,
        sent: None,
    }
}

/// Waits until a file has this many lines.
fn lines(path: &Path, count: usize) -> Vec<String> {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let text = fs::read_to_string(path).unwrap_or_default();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if lines.len() >= count {
            return lines;
        }
        assert!(Instant::now() < until, "{} has {} lines", path.display(), lines.len());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn files_have_numbers_that_grow() {
    let directory = std::env::temp_dir().join(format!("freshet-query-log-{}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("events.log.00000006"), "old\n").unwrap();
    let file = |number: u32| directory.join(format!("events.log.{number:08}"));
    let log = QueryLog::default();
    log.write(&event(b"SELECT 0"));
    assert!(log.set_path(Some(directory.join("none/events.log"))).is_err() && !log.is_on());
    let path = Some(directory.join("events.log"));
    log.set_path(path.clone()).unwrap();
    log.set_file_bytes(1);
    log.write(&event(b"SELECT 1"));
    log.write(&event(b"SELECT 'two'\n"));
    assert!(lines(&file(7), 1)[0].contains("\"query\":\"SELECT 1\""));
    assert!(lines(&file(8), 1)[0].contains("SELECT 'two'\\n"));
    log.set_path(path).unwrap();
    log.write(&event(b"SELECT 3"));
    lines(&file(9), 1);
    log.begin_anew().unwrap();
    log.write(&event(b"SELECT 5"));
    assert!(lines(&file(10), 1)[0].contains("SELECT 5"));
    log.set_path(None).unwrap();
    log.begin_anew().unwrap();
    log.write(&event(b"SELECT 4"));
    assert!(!log.is_on() && !file(11).exists() && log.lost() == 0);
    assert_eq!(fs::read_to_string(file(6)).unwrap(), "old\n");
    fs::remove_dir_all(&directory).unwrap();
}
