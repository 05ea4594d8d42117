//! The files of the log: a name and a number of eight digits, which grows.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Statements have data in them, which is for nobody else to read.
const MODE: u32 = 0o600;

/// The file that is written.
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
    /// Begins a file behind those that are there.
    ///
    /// # Errors
    /// It cannot be made.
    pub(super) fn create(path: PathBuf, bytes_max: Arc<AtomicU64>) -> io::Result<Self> {
        let (number, file) = create_behind(&path, last(&path)?)?;
        Ok(Self { path, number, file, bytes: 0, bytes_max })
    }

    /// Writes a line, to the next file if this one is full.
    ///
    /// # Errors
    /// The system's.
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

    /// Hands over to the system what it was not given yet.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The file of the first number behind this one that nobody has.
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

/// The highest number of the files that are there; 0 if there are none.
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
