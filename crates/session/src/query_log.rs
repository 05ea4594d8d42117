//! ProxySQL's query log in its JSON form: a line for each statement whose rule has `log = 1`.
//!
//! A thread of its own writes the lines, so that no session waits for a disk. The lines that wait for the thread are bounded: a line without
//! room is left out, and counted.

mod event;
mod file;
mod writer;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use event::{Event, Sent};
use file::LogFile;
use writer::Writer;

/// At this size, in bytes, the next file begins; ProxySQL's default.
const FILE_BYTES: u64 = 100 << 20;

/// The log.
#[derive(Debug)]
pub struct QueryLog {
    /// Whether there is a log. Read before each line, so that nobody takes a lock while there is none.
    is_on: AtomicBool,
    target: Mutex<LogTarget>,
    /// At this size, in bytes, the next file begins.
    file_bytes: Arc<AtomicU64>,
    /// Lines that were left out.
    lost: Arc<AtomicU64>,
}

/// Where lines go.
#[derive(Debug, Default)]
struct LogTarget {
    /// The files' path without their numbers.
    path: Option<PathBuf>,
    writer: Option<Arc<Writer>>,
}

impl Default for QueryLog {
    fn default() -> Self {
        Self {
            is_on: AtomicBool::new(false),
            target: Mutex::default(),
            file_bytes: Arc::new(AtomicU64::new(FILE_BYTES)),
            lost: Arc::default(),
        }
    }
}

impl QueryLog {
    fn target(&self) -> MutexGuard<'_, LogTarget> {
        self.target.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends lines to files of this name from now on; `None`: there is no log. The present name changes nothing.
    ///
    /// # Errors
    /// The file cannot be made; lines go where they went before.
    pub fn set_path(&self, path: Option<PathBuf>) -> io::Result<()> {
        let mut target = self.target();
        if target.path != path {
            let writer = path.as_ref().map(|path| self.begin(path)).transpose()?;
            self.is_on.store(writer.is_some(), Ordering::Relaxed);
            *target = LogTarget { path, writer };
        }
        Ok(())
    }

    /// Sends lines to the next file from now on.
    ///
    /// # Errors
    /// The file cannot be made; lines go where they went before.
    pub fn begin_anew(&self) -> io::Result<()> {
        let mut target = self.target();
        if let Some(path) = &target.path {
            target.writer = Some(self.begin(path)?);
        }
        Ok(())
    }

    /// Begins a file. The thread of the earlier file ends once it has written its waiting lines.
    fn begin(&self, path: &Path) -> io::Result<Arc<Writer>> {
        let file = LogFile::create(path.to_owned(), Arc::clone(&self.file_bytes))?;
        Ok(Arc::new(Writer::start(file, Arc::clone(&self.lost))?))
    }

    /// Sets the size at which the next file begins, in bytes.
    pub fn set_file_bytes(&self, bytes: u64) {
        self.file_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Returns the size at which the next file begins, in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.file_bytes.load(Ordering::Relaxed)
    }

    /// How many lines were left out.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Whether there is a log.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Writes a line for a statement, sooner or later.
    pub(crate) fn write(&self, event: &Event<'_>) {
        let Some(writer) = self.target().writer.clone() else { return };
        writer.write(event.line());
    }
}

#[cfg(test)]
mod tests;
