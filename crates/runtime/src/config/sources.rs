//! Where settings come from: a file, the environment, flags.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use figment::providers::{Format, Toml};
use figment::value::{Dict, Value};
use serde::Serialize;

use super::error::{Fault, Mistake, Origin};
use super::leaf::{Leaf, known};

/// The prefix of every environment variable that is a setting.
pub const ENV_PREFIX: &str = "HANSARD_";

/// Separates sections in a variable's name: `HANSARD_GRPC__CALLS_MAX` is `grpc.calls_max`.
const ENV_NESTING: &str = "__";

/// Names the configuration file for the command line; it is not a setting.
pub const CONFIG_PATH_VARIABLE: &str = "HANSARD_CONFIG";

/// The largest configuration file, in bytes.
pub const CONFIG_FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The layers above the defaults, in rising order: file, environment, flags.
#[derive(Default)]
pub struct Sources {
    file: Option<PathBuf>,
    variables: Vec<(OsString, OsString)>,
    reserved: Vec<String>,
    flags: Option<Result<Value, String>>,
}

// The variables may hold secrets, so only their number is shown.
impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources")
            .field("file", &self.file)
            .field("variables", &self.variables.len())
            .finish_non_exhaustive()
    }
}

impl Sources {
    /// No source at all: the defaults alone.
    #[must_use]
    pub fn new() -> Self {
        Self {
            reserved: vec![CONFIG_PATH_VARIABLE.to_owned()],
            ..Self::default()
        }
    }

    /// Reads the TOML file at `path`, which must exist; `None` reads no file.
    #[must_use]
    pub fn file(mut self, path: Option<PathBuf>) -> Self {
        self.file = path;
        self
    }

    /// Reads the process environment, of which only `HANSARD_…` counts.
    #[must_use]
    pub fn environment(self) -> Self {
        self.variables(std::env::vars_os())
    }

    /// Reads of the process environment what stands in one section, such as `HANSARD_MODELS__…` of `models`: for a program
    /// that takes no other settings, so that variables for others are no unknown keys.
    #[must_use]
    pub fn environment_of(self, section: &str) -> Self {
        let prefix = format!("{ENV_PREFIX}{}{ENV_NESTING}", section.to_ascii_uppercase());
        let is_of = |name: &OsString| name.to_str().is_some_and(|name| name.starts_with(&prefix));
        self.variables(std::env::vars_os().filter(|(name, _)| is_of(name)))
    }

    /// Reads these variables instead of the process environment.
    #[must_use]
    pub fn variables<N, V>(mut self, variables: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: Into<OsString>,
        V: Into<OsString>,
    {
        self.variables = variables
            .into_iter()
            .map(|(n, v)| (n.into(), v.into()))
            .collect();
        self.variables.sort();
        self
    }

    /// Names `HANSARD_…` variables that something else reads, so that they are no unknown keys; those that are keys count
    /// as such.
    #[must_use]
    pub fn reserved(mut self, names: &[&str]) -> Self {
        self.reserved
            .extend(names.iter().map(|name| (*name).to_owned()));
        self
    }

    /// Lays the flags on top: a struct shaped like the configuration, whose `None` and absent
    /// fields change nothing. A `Secret` in it would arrive redacted: use a `String` there.
    #[must_use]
    pub fn flags(mut self, flags: &impl Serialize) -> Self {
        self.flags = Some(Value::serialize(flags).map_err(|e| e.kind.to_string()));
        self
    }

    /// Every known setting, lowest layer first; unknown keys and unreadable sources become mistakes.
    pub(super) fn leaves(&self, defaults: &Value, mistakes: &mut Vec<Mistake>) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        if let Some(path) = &self.file {
            let origin = Origin::File(path.clone());
            match read_file(path) {
                Ok(dict) => flatten(&dict, defaults, &mut vec![], &origin, &mut leaves),
                Err(fault) => mistakes.push(Mistake {
                    key: String::new(),
                    origin,
                    fault,
                }),
            }
        }
        leaves.extend(self.variable_leaves(defaults, mistakes));
        match &self.flags {
            Some(Ok(Value::Dict(_, dict))) => {
                flatten(dict, defaults, &mut vec![], &Origin::Flag, &mut leaves);
            }
            Some(Err(why)) => mistakes.push(Mistake {
                key: String::new(),
                origin: Origin::Flag,
                fault: Fault::Invalid(format!("cannot be read: {why}; report it")),
            }),
            Some(Ok(_)) | None => {}
        }
        leaves.retain(|leaf| match known(defaults, &leaf.path) {
            Ok(()) => true,
            Err(fault) => {
                mistakes.push(Mistake {
                    key: leaf.key(),
                    origin: leaf.origin.clone(),
                    fault,
                });
                false
            }
        });
        leaves
    }

    fn variable_leaves(&self, defaults: &Value, mistakes: &mut Vec<Mistake>) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        for (name, value) in &self.variables {
            let Some(name) = name.to_str() else { continue };
            let Some(key) = name.strip_prefix(ENV_PREFIX) else {
                continue;
            };
            let path: Vec<String> = key
                .to_ascii_lowercase()
                .split(ENV_NESTING)
                .map(str::to_owned)
                .collect();
            let is_reserved = self.reserved.iter().any(|reserved| reserved == name);
            if is_reserved && known(defaults, &path).is_err() {
                continue;
            }
            let origin = Origin::Environment(name.to_owned());
            match value.to_str() {
                Some(text) => leaves.push(Leaf {
                    path,
                    origin,
                    candidates: readings(text),
                }),
                None => mistakes.push(Mistake {
                    key: path.join("."),
                    origin,
                    fault: Fault::Invalid("is not UTF-8; write it as UTF-8".to_owned()),
                }),
            }
        }
        leaves
    }
}

/// Text first, so that a password of digits stays a text.
fn readings(text: &str) -> Vec<Value> {
    let mut readings = vec![Value::from(text)];
    readings.extend(text.parse::<Value>());
    readings
}

fn read_file(path: &Path) -> Result<Dict, Fault> {
    let unreadable = |e: std::io::Error| {
        Fault::Invalid(format!(
            "cannot be read: {}; correct the path or its access",
            e.kind()
        ))
    };
    let mut text = String::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(CONFIG_FILE_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    if u64::try_from(text.len()).is_ok_and(|bytes| bytes > CONFIG_FILE_BYTES_MAX) {
        return Err(Fault::Invalid(format!(
            "is larger than {CONFIG_FILE_BYTES_MAX} bytes; shorten it"
        )));
    }
    // The error's own Display quotes the line, which may hold a secret.
    Toml::from_str::<Dict>(&text).map_err(|e| {
        let start = e.span().map_or(0, |span| span.start);
        let line = text
            .bytes()
            .take(start)
            .filter(|byte| *byte == b'\n')
            .count()
            + 1;
        Fault::Invalid(format!(
            "is no TOML at line {line}: {}; correct the line",
            e.message()
        ))
    })
}

/// Splits sections into settings; what the defaults do not hold as a section stays whole.
fn flatten(
    dict: &Dict,
    defaults: &Value,
    path: &mut Vec<String>,
    origin: &Origin,
    leaves: &mut Vec<Leaf>,
) {
    for (name, value) in dict {
        path.push(name.clone());
        match (value, defaults.find_ref(&path.join("."))) {
            (Value::Empty(..), _) => {}
            (Value::Dict(_, inner), Some(Value::Dict(_, shape))) if !shape.is_empty() => {
                flatten(inner, defaults, path, origin, leaves);
            }
            _ => leaves.push(Leaf {
                path: path.clone(),
                origin: origin.clone(),
                candidates: vec![value.clone()],
            }),
        }
        path.pop();
    }
}
