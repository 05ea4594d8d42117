//! The files of the log: a name and a growing number of eight digits.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The log contains data of statements, so nobody else may read it.
const MODE: u32 = 0o600;

/// The present file.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    number: u64,
    file: BufWriter<File>,
    /// How much was written to it, in bytes.
    bytes: u64,
    bytes_max: Arc<AtomicU64>,
}

impl LogFile {
    /// Begins a file after the existing ones.
    ///
    /// # Errors
    /// The file cannot be made.
    pub(super) fn create(path: PathBuf, bytes_max: Arc<AtomicU64>) -> io::Result<Self> {
        let (number, file) = create_behind(&path, last(&path)?)?;
        Ok(Self { path, number, file, bytes: 0, bytes_max })
    }

    /// Writes a line; if this file is full, to the next one.
    ///
    /// # Errors
    /// The system's error.
    pub(super) fn write(&mut self, line: &[u8]) -> io::Result<()> {
        let len = line.len() as u64;
        if self.bytes > 0 && self.bytes + len > self.bytes_max.load(Ordering::Relaxed) {
            self.flush()?;
            (self.number, self.file) = create_behind(&self.path, self.number)?;
            self.bytes = 0;
        }
        self.file.write_all(line)?;
        self.bytes += len;
        Ok(())
    }

    /// Hands buffered bytes over to the system.
    ///
    /// # Errors
    /// The system's error.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Creates the file of the first unused number after this one.
fn create_behind(path: &Path, number: u64) -> io::Result<(u64, BufWriter<File>)> {
    let mut number = number;
    loop {
        number += 1;
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{number:08}"));
        match OpenOptions::new().append(true).create_new(true).mode(MODE).open(name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            file => return Ok((number, BufWriter::new(file?))),
        }
    }
}

/// Returns the highest number of the existing files; 0 if there are none.
fn last(path: &Path) -> io::Result<u64> {
    let directory = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut last = 0;
    for entry in directory.read_dir()? {
        let entry = entry?.file_name();
        let number = entry.to_str().and_then(|it| it.strip_prefix(&name)?.strip_prefix('.')?.parse().ok());
        last = last.max(number.unwrap_or(0));
    }
    Ok(last)
}
