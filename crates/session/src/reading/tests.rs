use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

const SETTINGS: ParseSettings = ParseSettings {
    modes: Modes::new(Flavor::MySql),
    modes_of_write: Modes::new(Flavor::MySql),
    zone: Zone::Other,
};

fn on_one_loop<T>(run: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, run)
}

/// While a text is read, other sessions of the event loop run: the reading waits for one of them.
#[test]
fn an_event_loop_goes_on_while_a_long_text_is_read() {
    on_one_loop(async {
        let readers = Readers::default();
        let (sender, receiver) = std::sync::mpsc::channel();
        let other = tokio::task::spawn_local(async move { sender.send(()).unwrap() });
        let text = Bytes::from_static(b"SELECT 1");
        let wait = move |text: &[u8]| {
            receiver.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
            query(text, SETTINGS).request
        };
        assert_eq!(readers.read(text, wait).await, Some(Request::Select { hint: None }));
        other.await.unwrap();
    });
}

/// Only a fixed number of threads read, however many sessions have a long text.
#[test]
fn few_threads_read() {
    on_one_loop(async {
        let readers = Readers(Arc::new(Semaphore::new(2)));
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut reads = Vec::new();
        for _ in 0..40 {
            let (readers, now, most) = (readers.clone(), Arc::clone(&now), Arc::clone(&most));
            reads.push(tokio::task::spawn_local(async move {
                let work = move |_: &[u8]| {
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::yield_now();
                    now.fetch_sub(1, Ordering::SeqCst);
                };
                readers.read(Bytes::new(), work).await.unwrap();
            }));
        }
        for read in reads {
            read.await.unwrap();
        }
        assert!(most.load(Ordering::SeqCst) <= 2);
    });
}

#[test]
fn a_long_text_is_read_as_a_short_one() {
    let insert =
        [b"INSERT INTO t VALUES (1, '".to_vec(), vec![b'x'; CACHED_BYTES_MAX], b"')".to_vec()].concat();
    let read = query(&insert, SETTINGS);
    assert!(matches!(&read.write, Some(RowWrite::Insert { rows, .. }) if rows.len() == 1));
    assert_eq!(read.request, freshet_sql::read(&insert, SETTINGS.modes));
    let select = [b"SELECT SQL_CACHE '".to_vec(), vec![b'x'; CACHED_BYTES_MAX], b"'".to_vec()].concat();
    let read = query(&select, SETTINGS);
    let select = read.select.unwrap();
    assert_eq!((read.write, select.hint_error), (None, None));
    assert!(select.stripped.is_some_and(|text| text.starts_with(b"SELECT '")));
    assert!(query(b"SELECT 1", SETTINGS).select.is_none(), "a shorter one has a template");
}
