//! What can be wrong with a configuration, and how it is told to its author.

use std::fmt;
use std::path::PathBuf;

/// Where a setting came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The program's own default.
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

/// What is wrong with one setting, and the mend.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The key names no setting.
    #[error("is no setting; {0}")]
    UnknownKey(String),
    /// The value is of another type; the value itself is not kept.
    #[error("holds {found}; write {expected}")]
    WrongType {
        /// The kind of value that was found.
        found: &'static str,
        /// What the setting takes.
        expected: String,
    },
    /// A number is outside its bounds.
    #[error("is {value}, outside {min} to {max} {unit}; choose a value within")]
    OutOfBounds {
        /// The value that was found.
        value: String,
        /// The smallest allowed value.
        min: String,
        /// The largest allowed value.
        max: String,
        /// What the number counts.
        unit: &'static str,
    },
    /// The value breaks a rule of its own, which the text states with its mend.
    #[error("{0}")]
    Invalid(String),
}

/// One fault at one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The dotted path of the setting; empty for a file as a whole.
    pub key: String,
    /// Which source holds it.
    pub origin: Origin,
    /// What is wrong.
    pub fault: Fault,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key.is_empty() {
            write!(f, "{} {}", self.origin, self.fault)
        } else {
            write!(f, "`{}` ({}) {}", self.key, self.origin, self.fault)
        }
    }
}

/// Every mistake of a configuration; displays one line each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors(pub Vec<Mistake>);

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (line, mistake) in self.0.iter().enumerate() {
            if line > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{mistake}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}
