//! Why the program does not start, in one line.

use std::fmt;
use std::path::PathBuf;

use crate::settings::Setting;

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingSource {
    /// A flag on the command line.
    Flag(String),
    /// An environment variable.
    Environment(&'static str),
    /// The configuration file.
    File(PathBuf),
    /// No value was given.
    Default,
}

impl fmt::Display for SettingSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingSource::Flag(flag) => write!(f, "flag --{flag}"),
            SettingSource::Environment(variable) => write!(f, "environment variable {variable}"),
            SettingSource::File(path) => write!(f, "file {}", path.display()),
            SettingSource::Default => write!(f, "default"),
        }
    }
}

/// A configuration that cannot be used.
#[derive(Debug)]
pub enum Refusal {
    /// A value that is not allowed.
    Value {
        /// The setting.
        setting: &'static Setting,
        /// Where the value came from.
        source: SettingSource,
        /// The value.
        value: String,
    },
    /// A setting that is allowed by itself, but not beside another.
    Beside {
        /// The setting.
        setting: &'static Setting,
        /// The fault, as the rest of a sentence that begins with the setting's name.
        why: String,
    },
    /// A setting without a default, for which no value was given.
    Missing(&'static Setting),
    /// A key of the file that is no setting.
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
    },
    /// A value in the file that is neither text, number, switch nor a list of these.
    Shape {
        /// The file.
        path: PathBuf,
        /// The key.
        setting: &'static Setting,
    },
    /// A file that cannot be read, or is not TOML.
    File {
        /// The file.
        path: PathBuf,
        /// What the system or the parser says, on one line.
        why: String,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Value { setting, source, value } => {
                let shown =
                    if setting.secret { "the value (not shown)".to_owned() } else { format!("{value:?}") };
                write!(
                    f,
                    "{} from {source}: {shown} is not allowed; allowed: {}",
                    setting.name, setting.allowed
                )
            }
            Refusal::Beside { setting, why } => write!(f, "{} {why}", setting.name),
            Refusal::Missing(setting) => write!(
                f,
                "{} is not set; set the environment variable {}, --{}, or {} in the file; allowed: {}",
                setting.name,
                setting.env,
                setting.flag(),
                setting.name,
                setting.allowed
            ),
            Refusal::UnknownKey { path, key } => {
                let known: Vec<&str> = crate::settings::ALL.iter().map(|setting| setting.name).collect();
                write!(f, "{key:?} in file {} is no setting; settings: {}", path.display(), known.join(", "))
            }
            Refusal::Shape { path, setting } => write!(
                f,
                "{} from file {}: a table or a date is not allowed; allowed: {}",
                setting.name,
                path.display(),
                setting.allowed
            ),
            Refusal::File { path, why } => write!(f, "config file {}: {why}", path.display()),
        }
    }
}

impl std::error::Error for Refusal {}
