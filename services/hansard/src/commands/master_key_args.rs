//! The master key arguments of roles and operator commands.

use std::path::{Path, PathBuf};

use event_log::seal::{MasterKey, MasterKeys};
use runtime::config::Secret;

use crate::exit::UsageError;
use crate::ids::secret;

/// The environment variables of the keys, which are not settings of a role.
pub(crate) const VARIABLES: [&str; 4] =
    ["HANSARD_MASTER_KEY", "HANSARD_MASTER_KEY_FILE", "HANSARD_PREVIOUS_MASTER_KEY_FILE", "HANSARD_REGISTRY_KEY"];

/// The sources of the keys.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct MasterKeyArgs {
    /// Master key: 64 hexadecimal digits. Use only the environment variable: other users can see command lines.
    #[arg(
        long, env = VARIABLES[0], hide = true, hide_env_values = true, value_name = "HEX",
        value_parser = secret()
    )]
    master_key: Option<Secret>,
    /// File with the master key, which encrypts secrets at rest.
    #[arg(long, env = VARIABLES[1], hide_env_values = true, value_name = "FILE")]
    master_key_file: Option<PathBuf>,
    /// File with the previous master key, which decrypts secrets during a rotation.
    #[arg(long, env = VARIABLES[2], hide_env_values = true, value_name = "FILE")]
    previous_master_key_file: Option<PathBuf>,
    /// Key of the registry's secrets: 64 hexadecimal digits. Gateways need it alone. Use only the environment variable.
    #[arg(
        long, env = VARIABLES[3], hide = true, hide_env_values = true, value_name = "HEX",
        value_parser = secret()
    )]
    registry_key: Option<Secret>,
}

impl MasterKeyArgs {
    /// Reads the keys.
    pub(crate) fn read(&self) -> Result<MasterKeys, UsageError> {
        let both = "both HANSARD_MASTER_KEY and a master key file are given: remove one";
        let current = match (&self.master_key, &self.master_key_file) {
            (Some(_), Some(_)) => return Err(UsageError(both.to_owned())),
            (Some(text), None) => Some(parse(text.expose(), "HANSARD_MASTER_KEY")?),
            (None, Some(file)) => Some(read(file)?),
            (None, None) => None,
        };
        let previous = self.previous_master_key_file.as_deref();
        let registry = self.registry_key.as_ref().map(|text| parse(text.expose(), VARIABLES[3]));
        Ok(MasterKeys { current, previous: previous.map(read).transpose()?, registry: registry.transpose()? })
    }
}

fn read(file: &Path) -> Result<MasterKey, UsageError> {
    let name = file.display();
    let unreadable = |error| UsageError(format!("cannot read the master key file {name}: {error}"));
    let text = std::fs::read_to_string(file).map_err(unreadable)?;
    parse(&text, &name.to_string())
}

fn parse(text: &str, name: &str) -> Result<MasterKey, UsageError> {
    let message = || format!("{name} does not contain a master key of 64 hexadecimal digits");
    MasterKey::parse(text).ok_or_else(|| UsageError(message()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_one_key_is_read_and_never_printed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        let key = MasterKey::generate();
        std::fs::write(&file, format!("{}\n", key.reveal())).unwrap();
        let other = folder.path().join("other");
        std::fs::write(&other, "no key").unwrap();
        let args = |text: Option<String>, file: Option<&PathBuf>| MasterKeyArgs {
            master_key: text.map(Secret::new),
            master_key_file: file.cloned(),
            previous_master_key_file: None,
            registry_key: None,
        };
        let read = |args: MasterKeyArgs| args.read().map(|keys| keys.current).ok();
        assert_eq!(read(args(None, None)), Some(None));
        assert_eq!(read(args(Some(key.reveal()), None)), Some(Some(key.clone())));
        assert_eq!(read(args(None, Some(&file))), Some(Some(key.clone())));
        assert_eq!(read(args(Some(key.reveal()), Some(&file))), None);
        assert_eq!(read(args(Some(String::new()), None)), None);
        assert_eq!(read(args(None, Some(&other))), None);
        assert_eq!(read(args(None, Some(&folder.path().join("missing")))), None);
        let own = |text: String| MasterKeyArgs { registry_key: Some(Secret::new(text)), ..MasterKeyArgs::default() };
        assert_eq!(
            own(key.reveal()).read().map(|keys| (keys.current, keys.registry)).ok(),
            Some((None, Some(key.clone())))
        );
        assert!(own("no key".to_owned()).read().is_err());
        assert!(!format!("{:?}", own(key.reveal())).contains(&key.reveal()));
        let shown = format!("{:?}", args(Some(key.reveal()), None));
        assert!(!shown.contains(&key.reveal()));
    }
}
