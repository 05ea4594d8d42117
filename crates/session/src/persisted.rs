//! The values that SET PERSIST keeps over restarts: a file of lines `name = value` in the state directory.
//!
//! The file is replaced as a whole: the new one is written beside it, brought to the disk, and renamed. A program that is killed
//! in between leaves the old file or the new one.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The file's name in the state directory.
const FILE: &str = "persisted.conf";
const NEW_FILE: &str = "persisted.conf.new";
/// The longest file that Freshet reads, in bytes.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// Names and values; `None` removes the name.
pub(crate) type Changes = BTreeMap<String, Option<String>>;

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PersistError {
    /// The system refuses it.
    #[error("{}: {source}", path.display())]
    System {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A line is not understood, or its value is not allowed.
    #[error("{}, line {line}: {why}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
}

/// The persisted values.
#[derive(Debug, Default)]
pub(crate) struct Persisted {
    /// `None` if nothing is persisted.
    directory: Option<PathBuf>,
    values: Mutex<BTreeMap<String, String>>,
}

impl Persisted {
    pub(crate) fn new(directory: Option<PathBuf>) -> Self {
        Self { directory, values: Mutex::default() }
    }

    /// Whether values are persisted at all.
    pub(crate) fn is_on(&self) -> bool {
        self.directory.is_some()
    }

    /// Returns the persisted values.
    pub(crate) fn values(&self) -> BTreeMap<String, String> {
        self.lock().clone()
    }

    /// Reads the file, and calls `take` for each value; a missing file has none.
    pub(crate) fn load(&self, take: impl Fn(&str, &str) -> Result<(), String>) -> Result<(), PersistError> {
        let Some(directory) = &self.directory else { return Ok(()) };
        fs::create_dir_all(directory)
            .map_err(|source| PersistError::System { path: directory.clone(), source })?;
        let path = directory.join(FILE);
        let text = match read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(PersistError::System { path, source }),
        };
        let mut values = BTreeMap::new();
        for (at, line) in text.lines().enumerate() {
            let bad = |why: String| PersistError::Line { path: path.clone(), line: at + 1, why };
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let Some((name, value)) = line.split_once('=') else {
                return Err(bad("`name = value` is expected".to_owned()));
            };
            let (name, value) = (name.trim(), value.trim());
            take(name, value).map_err(bad)?;
            values.insert(name.to_owned(), value.to_owned());
        }
        *self.lock() = values;
        Ok(())
    }

    /// Writes the file with these changes. Returns the changes that take them back.
    ///
    /// # Errors
    /// The file cannot be written; nothing has changed then.
    pub(crate) fn change(&self, changes: Changes) -> io::Result<Changes> {
        let Some(directory) = &self.directory else { return Ok(Changes::new()) };
        let mut values = self.lock();
        let mut changed = values.clone();
        let undo = changes.keys().map(|name| (name.clone(), values.get(name).cloned())).collect();
        for (name, value) in changes {
            match value {
                Some(value) => changed.insert(name, value),
                None => changed.remove(&name),
            };
        }
        write(directory, &changed)?;
        *values = changed;
        Ok(undo)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(path: &Path) -> io::Result<String> {
    if fs::metadata(path)?.len() > FILE_BYTES_MAX {
        return Err(io::Error::other("it is too long to be what SET PERSIST has written"));
    }
    fs::read_to_string(path)
}

fn write(directory: &Path, values: &BTreeMap<String, String>) -> io::Result<()> {
    let mut text = String::from("# Written by SET PERSIST. These values count before the options.\n");
    values.iter().for_each(|(name, value)| text.push_str(&format!("{name} = {value}\n")));
    let new = directory.join(NEW_FILE);
    let mut file = File::create(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, directory.join(FILE))?;
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(name: &str) -> PathBuf {
        let directory = std::env::temp_dir().join(format!("freshet-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        directory
    }

    #[test]
    fn what_is_changed_is_read_again_whatever_a_kill_has_left() {
        let directory = directory("persisted");
        let first = Persisted::new(Some(directory.clone()));
        first.load(|_, _| Ok(())).unwrap();
        let change =
            |name: &str, value: Option<&str>| Changes::from([(name.to_owned(), value.map(str::to_owned))]);
        first.change(change("a", Some("1"))).unwrap();
        let undo = first.change(change("a", Some("2"))).unwrap();
        assert_eq!(undo, change("a", Some("1")));
        // Half of a new file, as a kill leaves it.
        fs::write(directory.join(NEW_FILE), "a = ").unwrap();
        let second = Persisted::new(Some(directory.clone()));
        second
            .load(|name, value| if (name, value) == ("a", "2") { Ok(()) } else { Err(name.into()) })
            .unwrap();
        second.change(change("a", None)).unwrap();
        assert!(second.values().is_empty());
        fs::write(directory.join(FILE), "a = 1\nb\n").unwrap();
        let error = second.load(|_, _| Ok(())).unwrap_err().to_string();
        assert!(error.ends_with("line 2: `name = value` is expected"), "{error}");
        fs::remove_dir_all(directory).unwrap();
    }
}
