//! The sources of settings: a file, the environment, flags.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use figment::providers::{Format, Toml};
use figment::value::{Dict, Value};
use serde::Serialize;

use super::error::{ConfigError, ErrorKind, Origin};
use super::leaf::{Leaf, check_known};
use super::removed;
use super::service_link::is_service_link;

/// The prefix of every environment variable that is a setting.
pub const ENV_PREFIX: &str = "HANSARD_";

/// Separates sections in the name of a variable: `HANSARD_GRPC__CALLS_MAX` is `grpc.calls_max`.
const ENV_NESTING: &str = "__";

/// The variable that names the configuration file. It is not a setting.
pub const CONFIG_PATH_VARIABLE: &str = "HANSARD_CONFIG";

/// Maximum size of the configuration file, in bytes.
pub const CONFIG_FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The layers above the defaults; a later one replaces an earlier one: file, environment, flags.
#[derive(Default)]
#[must_use]
pub struct Sources {
    file: Option<PathBuf>,
    variables: Vec<(OsString, OsString)>,
    reserved: Vec<String>,
    flags: Option<Result<Value, String>>,
}

// The variables may contain secrets: only their number is shown.
impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources")
            .field("file", &self.file)
            .field("variables", &self.variables.len())
            .finish_non_exhaustive()
    }
}

impl Sources {
    /// No sources: the defaults apply.
    pub fn new() -> Self {
        Self { reserved: vec![CONFIG_PATH_VARIABLE.to_owned()], ..Self::default() }
    }

    /// Reads the TOML file at `path`, which must exist; `None` reads no file.
    pub fn file(mut self, path: Option<PathBuf>) -> Self {
        self.file = path;
        self
    }

    /// Reads the `HANSARD_…` variables of the process environment. Service links of Kubernetes are not reported as unknown keys.
    pub fn environment(self) -> Self {
        self.variables(std::env::vars_os())
    }

    /// Reads the variables of one section, such as `HANSARD_MODELS__…` of `models`, from the process environment. For
    /// programs that have no other settings: other variables are not reported as unknown keys.
    pub fn environment_of(self, section: &str) -> Self {
        let prefix = format!("{ENV_PREFIX}{}{ENV_NESTING}", section.to_ascii_uppercase());
        let in_section = |name: &OsString| name.to_str().is_some_and(|name| name.starts_with(&prefix));
        self.variables(std::env::vars_os().filter(|(name, _)| in_section(name)))
    }

    /// Reads these variables instead of the process environment.
    pub fn variables<N, V>(mut self, variables: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: Into<OsString>,
        V: Into<OsString>,
    {
        self.variables = variables.into_iter().map(|(n, v)| (n.into(), v.into())).collect();
        self.variables.sort();
        self
    }

    /// Names `HANSARD_…` variables that other code reads. They are not reported as unknown keys. Those that are keys are
    /// read as settings too.
    pub fn reserved(mut self, names: &[&str]) -> Self {
        self.reserved.extend(names.iter().map(|name| (*name).to_owned()));
        self
    }

    /// Adds flags as the last layer: a struct with the shape of the configuration. `None` and absent
    /// fields change nothing. Use `String` instead of `Secret` in it, since a secret serializes as redacted.
    pub fn flags(mut self, flags: &impl Serialize) -> Self {
        self.flags = Some(Value::serialize(flags).map_err(|e| e.kind.to_string()));
        self
    }

    /// All known settings, lowest layer first. Unknown keys and unreadable sources are added to `errors`.
    pub(super) fn leaves(&self, defaults: &Value, errors: &mut Vec<ConfigError>) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        if let Some(path) = &self.file {
            let origin = Origin::File(path.clone());
            match read_file(path) {
                Ok(dict) => flatten(&dict, defaults, &mut vec![], &origin, &mut leaves),
                Err(kind) => errors.push(kind.at(String::new(), origin)),
            }
        }
        leaves.extend(self.variable_leaves(defaults, errors));
        match &self.flags {
            Some(Ok(Value::Dict(_, dict))) => {
                flatten(dict, defaults, &mut vec![], &Origin::Flag, &mut leaves);
            }
            Some(Err(reason)) => {
                let kind = ErrorKind::Invalid(format!("cannot be read: {reason}; report it"));
                errors.push(kind.at(String::new(), Origin::Flag));
            }
            Some(Ok(_)) | None => {}
        }
        leaves.retain(|leaf| {
            let mut refused = removed::errors(leaf, defaults);
            if refused.is_empty() {
                let unknown = check_known(defaults, &leaf.path).err();
                refused.extend(unknown.map(|kind| (leaf.key(), kind)));
            }
            let is_known = refused.is_empty();
            errors.extend(refused.into_iter().map(|(key, kind)| kind.at(key, leaf.origin.clone())));
            is_known
        });
        leaves
    }

    fn variable_leaves(&self, defaults: &Value, errors: &mut Vec<ConfigError>) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        for (name, value) in &self.variables {
            let Some(name) = name.to_str() else { continue };
            let Some(key) = name.strip_prefix(ENV_PREFIX) else {
                continue;
            };
            let path: Vec<String> = key.to_ascii_lowercase().split(ENV_NESTING).map(str::to_owned).collect();
            let is_reserved = self.reserved.iter().any(|reserved| reserved == name);
            let is_link = value.to_str().is_some_and(|value| is_service_link(name, value));
            if (is_reserved || is_link) && check_known(defaults, &path).is_err() {
                continue;
            }
            let origin = Origin::Environment(name.to_owned());
            let Some(text) = value.to_str() else {
                let kind = ErrorKind::Invalid("is not UTF-8; write it as UTF-8".to_owned());
                errors.push(kind.at(path.join("."), origin));
                continue;
            };
            leaves.push(Leaf { path, origin, candidates: candidates(text) });
        }
        leaves
    }
}

/// The text comes first, so that a password of digits remains a text.
fn candidates(text: &str) -> Vec<Value> {
    let mut candidates = vec![Value::from(text)];
    candidates.extend(text.parse::<Value>());
    candidates
}

fn read_file(path: &Path) -> Result<Dict, ErrorKind> {
    let unreadable =
        |e: std::io::Error| ErrorKind::Invalid(format!("cannot be read: {}; correct the path or its access", e.kind()));
    let mut text = String::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(CONFIG_FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(unreadable)?;
    if u64::try_from(text.len()).is_ok_and(|bytes| bytes > CONFIG_FILE_BYTES_MAX) {
        return Err(ErrorKind::Invalid(format!("is larger than {CONFIG_FILE_BYTES_MAX} bytes; shorten it")));
    }
    // The Display of the error quotes the line, which may contain a secret.
    Toml::from_str::<Dict>(&text).map_err(|e| {
        let start = e.span().map_or(0, |span| span.start);
        let line = 1 + text.bytes().take(start).filter(|b| *b == b'\n').count();
        ErrorKind::Invalid(format!("is not valid TOML at line {line}: {}; correct the line", e.message()))
    })
}

/// Splits sections into settings. A value that is not a section in the defaults remains whole.
fn flatten(dict: &Dict, defaults: &Value, path: &mut Vec<String>, origin: &Origin, leaves: &mut Vec<Leaf>) {
    for (name, value) in dict {
        path.push(name.clone());
        match (value, defaults.find_ref(&path.join("."))) {
            (Value::Empty(..), _) => {}
            (Value::Dict(_, inner), Some(Value::Dict(_, shape))) if !shape.is_empty() => {
                flatten(inner, defaults, path, origin, leaves);
            }
            _ => leaves.push(Leaf { path: path.clone(), origin: origin.clone(), candidates: vec![value.clone()] }),
        }
        path.pop();
    }
}
