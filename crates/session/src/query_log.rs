//! ProxySQL's query log in its JSON form: a line for each statement whose rule has `log = 1`.
//!
//! Lines are written by a thread of their own, so that no session waits for a disk. What waits for the thread is bounded: a line for which there
//! is no room is left out, and counted.

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

/// When a file is this large, in bytes, the next one is begun; ProxySQL's default.
const FILE_BYTES: u64 = 100 << 20;

/// The log.
#[derive(Debug)]
pub struct QueryLog {
    /// Whether there is one. Read before each line, so that nobody takes a lock while there is none.
    is_on: AtomicBool,
    target: Mutex<LogTarget>,
    /// When a file is this large, the next one is begun, in bytes.
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

    /// Has lines go to files of this name from now on; `None`: there is no log. A name that it has already changes nothing.
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

    /// Has lines go to the next file from now on.
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

    /// The thread of the file before ends once it has written what waits for it.
    fn begin(&self, path: &Path) -> io::Result<Arc<Writer>> {
        let file = LogFile::create(path.to_owned(), Arc::clone(&self.file_bytes))?;
        Ok(Arc::new(Writer::start(file, Arc::clone(&self.lost))?))
    }

    /// Sets when the next file is begun, in bytes.
    pub fn set_file_bytes(&self, bytes: u64) {
        self.file_bytes.store(bytes, Ordering::Relaxed);
    }

    /// When the next file is begun, in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.file_bytes.load(Ordering::Relaxed)
    }

    /// How many lines were left out.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Whether there is one.
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
