//! The deployment's master keys, as roles and operators' commands take them.

use std::fmt;
use std::path::{Path, PathBuf};

use event_log::seal::{MasterKey, MasterKeys};

use crate::exit::UsageError;

/// Variables of the keys, which are no settings of a role.
pub const VARIABLES: [&str; 3] = [
    "HANSARD_MASTER_KEY",
    "HANSARD_MASTER_KEY_FILE",
    "HANSARD_PREVIOUS_MASTER_KEY_FILE",
];

/// Where the keys are.
#[derive(Clone, Default, clap::Args)]
pub struct MasterKeyArgs {
    /// The master key: 64 hexadecimal digits. Only as a variable, since other users see command lines.
    #[arg(
        long,
        env = "HANSARD_MASTER_KEY",
        hide = true,
        hide_env_values = true,
        value_name = "HEX"
    )]
    master_key: Option<String>,
    /// A file with the master key, by which secrets are sealed at rest.
    #[arg(
        long,
        env = "HANSARD_MASTER_KEY_FILE",
        hide_env_values = true,
        value_name = "FILE"
    )]
    master_key_file: Option<PathBuf>,
    /// A file with the master key before this one, which opens secrets while keys are rotated.
    #[arg(
        long,
        env = "HANSARD_PREVIOUS_MASTER_KEY_FILE",
        hide_env_values = true,
        value_name = "FILE"
    )]
    previous_master_key_file: Option<PathBuf>,
}

impl MasterKeyArgs {
    /// Reads the keys.
    ///
    /// # Errors
    /// A file cannot be read or holds no key, or two current keys are given.
    pub fn read(&self) -> Result<MasterKeys, UsageError> {
        let current = match (self.master_key.as_deref(), &self.master_key_file) {
            (Some(_), Some(_)) => {
                return Err(UsageError(
                    "HANSARD_MASTER_KEY and a master key file are given: give one".to_owned(),
                ));
            }
            (Some(text), None) => Some(parse(text, "HANSARD_MASTER_KEY")?),
            (None, Some(file)) => Some(read(file)?),
            (None, None) => None,
        };
        let previous = self.previous_master_key_file.as_deref();
        Ok(MasterKeys {
            current,
            previous: previous.map(read).transpose()?,
        })
    }
}

// A key may be given as it is.
impl fmt::Debug for MasterKeyArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MasterKeyArgs").finish_non_exhaustive()
    }
}

fn read(file: &Path) -> Result<MasterKey, UsageError> {
    let name = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| {
        UsageError(format!(
            "the master key file {name} cannot be read: {error}"
        ))
    })?;
    parse(&text, &name.to_string())
}

fn parse(text: &str, name: &str) -> Result<MasterKey, UsageError> {
    let none = || {
        UsageError(format!(
            "{name} holds no master key: give 64 hexadecimal digits"
        ))
    };
    MasterKey::parse(text).ok_or_else(none)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_key_is_taken_and_none_is_printed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        let key = MasterKey::generate();
        std::fs::write(&file, format!("{}\n", key.reveal())).unwrap();
        let other = folder.path().join("other");
        std::fs::write(&other, "no key").unwrap();
        let args = |text: Option<String>, file: Option<&PathBuf>| MasterKeyArgs {
            master_key: text,
            master_key_file: file.cloned(),
            previous_master_key_file: None,
        };
        let read = |args: MasterKeyArgs| args.read().map(|keys| keys.current).ok();
        assert_eq!(read(args(None, None)), Some(None));
        assert_eq!(
            read(args(Some(key.reveal()), None)),
            Some(Some(key.clone()))
        );
        assert_eq!(read(args(None, Some(&file))), Some(Some(key.clone())));
        assert_eq!(read(args(Some(key.reveal()), Some(&file))), None);
        assert_eq!(read(args(Some(String::new()), None)), None);
        assert_eq!(read(args(None, Some(&other))), None);
        assert_eq!(read(args(None, Some(&folder.path().join("missing")))), None);
        let shown = format!("{:?}", args(Some(key.reveal()), None));
        assert!(!shown.contains(&key.reveal()));
    }
}
