//! The variables of the query log.

use std::sync::{MutexGuard, PoisonError};

use super::Behind;
use super::digests::truth;

/// `mysql-eventslog_format` for lines of JSON, the only format that is written.
const JSON: &str = "2";
/// The allowed values of `mysql-eventslog_filesize`, in bytes.
const FILE_BYTES_MIN: u64 = 1 << 20;
const FILE_BYTES_MAX: u64 = 1 << 30;

impl Behind {
    /// Returns the value of the variable of this name, if it is one of these.
    pub(super) fn events_log(&self, name: &str) -> Option<String> {
        Some(match name {
            "mysql-eventslog_default_log" => u8::from(self.rules().1.logs).to_string(),
            "mysql-eventslog_filename" => self.log_name().clone(),
            "mysql-eventslog_filesize" => self.shared.query_log().file_bytes().to_string(),
            "mysql-eventslog_format" => JSON.to_owned(),
            _ => return None,
        })
    }

    /// Makes a value count; `None` if the variable of this name is none of these.
    pub(super) fn set_events_log(&self, name: &str, value: &str) -> Option<Result<(), String>> {
        Some(match name {
            "mysql-eventslog_default_log" => {
                truth(value).and_then(|logs| self.load(|rules| rules.1.logs = logs))
            }
            "mysql-eventslog_filename" => self.name_log(value),
            "mysql-eventslog_filesize" => match value.parse() {
                Ok(bytes) if (FILE_BYTES_MIN..=FILE_BYTES_MAX).contains(&bytes) => {
                    self.shared.query_log().set_file_bytes(bytes);
                    Ok(())
                }
                _ => Err(format!("'{value}' is no whole number from {FILE_BYTES_MIN} to {FILE_BYTES_MAX}")),
            },
            "mysql-eventslog_format" if value == JSON => Ok(()),
            "mysql-eventslog_format" => Err(format!(
                "Freshet writes lines of JSON, which is {JSON}; there is no format '{value}' here"
            )),
            _ => return None,
        })
    }

    /// Begins the log in files of this name, in the state directory unless the name is a path.
    fn name_log(&self, name: &str) -> Result<(), String> {
        let directory = self.config.admin.as_ref().map(|admin| admin.directory.clone()).unwrap_or_default();
        let path = (!name.is_empty()).then(|| directory.join(name));
        self.shared.query_log().set_path(path).map_err(|error| format!("'{name}': {error}"))?;
        name.clone_into(&mut self.log_name());
        Ok(())
    }

    fn log_name(&self) -> MutexGuard<'_, String> {
        self.log_name.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
