//! The thread that writes the log.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use tracing::warn;

use super::file::LogFile;

/// How many lines wait for the thread at most.
const LINES_MAX: usize = 8192;
/// The most bytes of all waiting lines together.
const BYTES_MAX: usize = 32 << 20;

/// Hands lines to the thread. The thread ends with this value.
#[derive(Debug)]
pub(super) struct Writer {
    lines: SyncSender<String>,
    /// The bytes of the lines that wait.
    waiting: Arc<AtomicUsize>,
    lost: Arc<AtomicU64>,
}

impl Writer {
    /// Starts the thread. `lost` counts lines that are left out.
    ///
    /// # Errors
    /// No thread can be started.
    pub(super) fn start(file: LogFile, lost: Arc<AtomicU64>) -> io::Result<Self> {
        let (lines, receiver) = sync_channel(LINES_MAX);
        let waiting = Arc::new(AtomicUsize::new(0));
        let (counted, left_out) = (Arc::clone(&waiting), Arc::clone(&lost));
        let thread = std::thread::Builder::new().name("freshet-log".to_owned());
        thread.spawn(move || run(file, &receiver, &counted, &left_out))?;
        Ok(Self { lines, waiting, lost })
    }

    /// Hands a line over; without room, the line is left out.
    pub(super) fn write(&self, line: String) {
        let bytes = line.len();
        let has_room = self.waiting.fetch_add(bytes, Ordering::Relaxed) + bytes <= BYTES_MAX;
        if !has_room || self.lines.try_send(line).is_err() {
            self.waiting.fetch_sub(bytes, Ordering::Relaxed);
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Writes the lines as they come, and flushes whenever no more lines wait.
fn run(mut file: LogFile, lines: &Receiver<String>, waiting: &AtomicUsize, lost: &AtomicU64) {
    let mut has_failed = false;
    while let Ok(line) = lines.recv() {
        let mut done = write(&mut file, &line, waiting, lost);
        while let Ok(line) = lines.try_recv() {
            done = done.and(write(&mut file, &line, waiting, lost));
        }
        if let Err(error) = done.and(file.flush()) {
            if !has_failed {
                warn!(%error, "the query log cannot be written");
            }
            has_failed = true;
        } else {
            has_failed = false;
        }
    }
}

fn write(file: &mut LogFile, line: &str, waiting: &AtomicUsize, lost: &AtomicU64) -> io::Result<()> {
    waiting.fetch_sub(line.len(), Ordering::Relaxed);
    let written = file.write(line.as_bytes());
    if written.is_err() {
        lost.fetch_add(1, Ordering::Relaxed);
    }
    written
}
