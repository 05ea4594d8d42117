//! The tables of configuration as a file, and files of ProxySQL's.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::Admin;
use crate::command::Module;
use crate::config_file::{self, read};
use crate::error::Refusal;
use crate::libconfig;
use crate::store::Answer;

impl Admin {
    /// Carries out `LOAD … FROM CONFIG`.
    pub(super) fn load_file(&mut self, module: Module) -> Result<Answer, Refusal> {
        let text = read(&self.file)?;
        let imported = config_file::load(&mut self.store, "main", Some(module), &text)?;
        for left in &imported.left {
            tracing::warn!(file = %self.file.display(), "not taken over: {left}");
        }
        let affected = imported.rows.iter().map(|(_, count)| *count as u64).sum();
        Ok(Answer::changed(affected))
    }

    /// Carries out `SAVE CONFIG TO FILE`: writes under another name first, so that the file is whole at any moment.
    pub(super) fn save_file(&self, path: &Path) -> Result<Answer, Refusal> {
        let failed = |error: std::io::Error| Refusal::NotRead(format!("{}: {error}", path.display()));
        // A file that is no configuration is probably not meant to be replaced.
        if path.exists()
            && read(path)
                .and_then(|text| libconfig::parse(&text).map_err(|wrong| Refusal::NotRead(wrong.to_string())))
                .is_err()
        {
            return Err(Refusal::NotRead(format!("{} is there, and is no configuration", path.display())));
        }
        let text = config_file::write(&self.store)?;
        let mut beside = path.as_os_str().to_owned();
        beside.push(".new");
        // It holds passwords.
        let opened = File::options().create(true).write(true).truncate(true).mode(0o600).open(&beside);
        let mut file = opened.map_err(failed)?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
        std::fs::rename(&beside, path).map_err(failed)?;
        Ok(Answer::ok())
    }
}
