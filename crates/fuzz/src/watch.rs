//! What cannot be caught in the process: an input that ends it, or that never ends.
//!
//! The present input stands in a file, so that whoever started the process finds it there when the process is gone. A
//! thread looks whether inputs still come to their end.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// How long one input may take.
const INPUT_SECONDS_MAX: u64 = 20;

/// Keeps the present input.
#[derive(Debug)]
pub struct Watch {
    path: PathBuf,
    file: File,
    executions: Arc<AtomicU64>,
}

impl Watch {
    /// Begins to watch; the process ends with a word if an input takes too long.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn begin(folder: &Path, target: &str) -> std::io::Result<Self> {
        let path = folder.join(format!("{target}.present"));
        let file = File::create(&path)?;
        let executions = Arc::new(AtomicU64::new(0));
        let (seen, at) = (Arc::clone(&executions), path.clone());
        thread::spawn(move || look(&seen, &at));
        Ok(Self { path, file, executions })
    }

    /// Notes an input before it is read: its length, and its bytes.
    pub fn note(&self, input: &[u8]) {
        let whole = [&(input.len() as u64).to_le_bytes()[..], input].concat();
        let _ = self.file.write_all_at(&whole, 0);
        self.executions.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends well.
    pub fn end(self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Ends the process when nothing has moved for too long.
fn look(executions: &AtomicU64, path: &Path) {
    let mut before = u64::MAX;
    loop {
        let now = executions.load(Ordering::Relaxed);
        if now == before && now > 0 {
            println!("FINDING an input takes more than {INPUT_SECONDS_MAX} s; it is in {}", path.display());
            std::process::exit(1);
        }
        before = now;
        thread::sleep(Duration::from_secs(INPUT_SECONDS_MAX));
    }
}
