//! The typed settings: texts, and where each came from. Flags count before the environment, and the environment before the file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use clap::parser::ValueSource;

use super::refusal::{Refusal, SettingSource};
use crate::settings::{self, Setting};

/// The largest configuration file that is read.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Every setting for which a value was given.
#[derive(Debug, Default)]
pub struct Typed {
    given: HashMap<&'static str, (String, SettingSource)>,
}

impl Typed {
    /// Gathers flags, environment and file.
    ///
    /// # Errors
    /// A file that cannot be read, is not TOML, or has keys that are no settings.
    pub fn gather(matches: &ArgMatches) -> Result<Typed, Refusal> {
        let mut typed = Typed::default();
        for setting in settings::ALL {
            typed.take_match(matches, setting);
        }
        let path = typed.text(&settings::CONFIG).0;
        if !path.is_empty() {
            typed.take_file(Path::new(&path))?;
        }
        Ok(typed)
    }

    fn take_match(&mut self, matches: &ArgMatches, setting: &'static Setting) {
        let Some(value) = matches.get_one::<String>(setting.name) else { return };
        let source = match matches.value_source(setting.name) {
            Some(ValueSource::CommandLine) => SettingSource::Flag(setting.flag()),
            _ => SettingSource::Environment(setting.env),
        };
        // An empty variable counts as not set.
        if !(value.is_empty() && matches!(source, SettingSource::Environment(_))) {
            self.given.insert(setting.name, (value.clone(), source));
        }
    }

    fn take_file(&mut self, path: &Path) -> Result<(), Refusal> {
        let refuse = |why: String| Refusal::File { path: path.into(), why };
        let bytes = std::fs::metadata(path).map_err(|error| refuse(error.to_string()))?.len();
        if bytes > FILE_BYTES_MAX {
            return Err(refuse(format!("{bytes} bytes are too many; allowed: {FILE_BYTES_MAX}")));
        }
        let text = std::fs::read_to_string(path).map_err(|error| refuse(error.to_string()))?;
        self.take_toml(path, &text)
    }

    /// Takes the values that neither a flag nor the environment has given.
    pub fn take_toml(&mut self, path: &Path, text: &str) -> Result<(), Refusal> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let line = error.span().map_or(1, |span| text[..span.start].lines().count().max(1));
            Refusal::File { path: path.into(), why: format!("line {line}: {}", error.message()) }
        })?;
        for (key, value) in table {
            let setting = settings::find(&key)
                .filter(|setting| setting.name != settings::CONFIG.name)
                .ok_or_else(|| Refusal::UnknownKey { path: path.into(), key })?;
            let text = plain(&value).ok_or_else(|| Refusal::Shape { path: path.into(), setting })?;
            let source = SettingSource::File(PathBuf::from(path));
            self.given.entry(setting.name).or_insert((text, source));
        }
        Ok(())
    }

    /// Gives a value as a flag would; for tests.
    #[cfg(test)]
    pub fn say(&mut self, setting: &'static Setting, value: &str) {
        self.given.insert(setting.name, (value.to_owned(), SettingSource::Flag(setting.flag())));
    }

    /// Returns the text of a setting; the default if no value was given.
    fn text(&self, setting: &'static Setting) -> (String, SettingSource) {
        let default = || (setting.default.unwrap_or_default().to_owned(), SettingSource::Default);
        self.given.get(setting.name).cloned().unwrap_or_else(default)
    }

    /// Returns the meaning of the setting's text, by `reader`, which returns `None` for a text that is not allowed.
    ///
    /// # Errors
    /// The text is not allowed, or none was given and there is no default.
    pub fn read<T>(
        &self,
        setting: &'static Setting,
        reader: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, Refusal> {
        let (value, source) = self.text(setting);
        if source == SettingSource::Default && setting.default.is_none() {
            return Err(Refusal::Missing(setting));
        }
        reader(&value).ok_or(Refusal::Value { setting, source, value })
    }

    /// As [`Self::read`], for a setting that may be empty; `None` if it is.
    ///
    /// # Errors
    /// As those of [`Self::read`].
    pub fn read_unless_empty<T>(
        &self,
        setting: &'static Setting,
        reader: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, Refusal> {
        self.read(setting, |text| if text.is_empty() { Some(None) } else { reader(text).map(Some) })
    }

    /// Returns a refusal of a setting's value with a reason that the table does not have. `why` must not hold a secret.
    pub fn refuse(&self, setting: &'static Setting, why: &str) -> Refusal {
        let source = self.text(setting).1;
        Refusal::Beside { setting, why: format!("from {source}: {why}") }
    }
}

/// Returns a value of the file as it would be typed on the command line; tables and dates have no such form.
fn plain(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        toml::Value::Boolean(switch) => Some(if *switch { "on" } else { "off" }.to_owned()),
        toml::Value::Array(items) => Some(items.iter().map(plain).collect::<Option<Vec<_>>>()?.join(",")),
        toml::Value::Datetime(_) | toml::Value::Table(_) => None,
    }
}
