//! Errors of a configuration, and their messages.

use std::fmt;
use std::path::PathBuf;

/// The source of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The default.
    Default,
    /// The TOML file at this path.
    File(PathBuf),
    /// The environment variable of this name.
    Environment(String),
    /// A command-line flag.
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Environment(name) => write!(f, "environment variable {name}"),
            Self::Flag => f.write_str("flag"),
        }
    }
}

/// What is wrong with a setting, and how to correct it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ErrorKind {
    /// There is no setting with this key.
    #[error("is not a setting; {0}")]
    UnknownKey(String),
    /// The key was a setting of earlier versions. Its value is now always the one in the error.
    #[error("is gone: its value is fixed at {0}; remove the line")]
    Removed(&'static str),
    /// The value has the wrong type; the error does not contain the value.
    #[error("is {found}; write {expected}")]
    WrongType {
        /// The type of the value.
        found: &'static str,
        /// The type of the setting.
        expected: String,
    },
    /// A number is outside its bounds.
    #[error("is {value}; write a value from {min} to {max} {unit}")]
    OutOfBounds {
        /// The value.
        value: String,
        /// The smallest allowed value.
        min: String,
        /// The largest allowed value.
        max: String,
        /// The unit of the number.
        unit: &'static str,
    },
    /// The value breaks another rule; the text states the rule and the correction.
    #[error("{0}")]
    Invalid(String),
}

impl ErrorKind {
    pub(super) fn at(self, key: String, origin: Origin) -> ConfigError {
        ConfigError { key, origin, kind: self }
    }
}

/// An error of one setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The dotted path of the setting; empty for the source as a whole.
    pub key: String,
    /// The source of the setting.
    pub origin: Origin,
    /// What is wrong.
    pub kind: ErrorKind,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key.is_empty() {
            write!(f, "{} {}", self.origin, self.kind)
        } else {
            write!(f, "`{}` ({}) {}", self.key, self.origin, self.kind)
        }
    }
}

/// All errors of a configuration; displays one line for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for ConfigErrors {}
