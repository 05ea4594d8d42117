//! The lock that lets only one process use a directory.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

/// The file that is locked. It is never removed, so that all processes lock the same file.
const FILE: &str = "freshet.lock";

/// Holds a directory until it is dropped, or the process ends in any way.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes a directory that no other process has.
    ///
    /// # Errors
    /// If another process has it, or the system refuses.
    pub fn take(directory: &Path) -> io::Result<Self> {
        let file = File::options().create(true).truncate(false).write(true).open(directory.join(FILE))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::Error(error)) => Err(error),
            Err(TryLockError::WouldBlock) => {
                Err(io::Error::other("another Freshet that runs has this state_dir"))
            }
        }
    }
}
