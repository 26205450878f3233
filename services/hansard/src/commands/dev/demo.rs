//! The demo tenant with its agent, API key and service token, the same in every run.
//!
//! The registry stores no secrets, so a file with mode 0600 keeps them. The file belongs to one record: with another
//! record, everything is created again.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use domain::{AgentId, DisplayName, Label, TenantId};
use event_log::Record;
use registry::{AllowedOrigins, NewServiceToken, Registry, RegistryError, Scope};
use serde::{Deserialize, Serialize};

use super::args::Amount;
use crate::secret_file;
use crate::view::when::now;

/// The id of the demo tenant and of its agent.
pub(super) const NAME: &str = "demo";
const FILE: &str = "demo.json";

/// What the file keeps between runs.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Settings {
    /// The id of the record.
    record: String,
    pub(super) api_key: String,
    pub(super) token: String,
    /// How much of the data set was imported.
    pub(super) imported: Amount,
    /// The conversation whose context is printed.
    pub(super) conversation: Option<String>,
}

/// The settings and their file.
pub(super) struct Demo {
    pub(super) settings: Settings,
    path: PathBuf,
}

impl Demo {
    /// Changes the settings and saves them.
    pub(super) fn save(&mut self, change: impl FnOnce(&mut Settings)) -> anyhow::Result<()> {
        change(&mut self.settings);
        let text = serde_json::to_string_pretty(&self.settings)?;
        secret_file::write(&self.path, &text).with_context(|| format!("cannot write {}", self.path.display()))
    }
}

/// Loads the demo's settings, or creates them.
pub(super) async fn prepare(record: &Record, data_dir: &Path) -> anyhow::Result<Demo> {
    let path = data_dir.join(FILE);
    let id = hex::encode(record.id().0);
    let registry = Registry::open(record).await?;
    if let Some(settings) = read(&path).filter(|settings| settings.record == id)
        && registry.authenticate(&settings.token, now()).await.is_some()
    {
        return Ok(Demo { settings, path });
    }
    let (api_key, token) = create(&registry).await?;
    let settings = Settings { record: id, api_key, token, imported: Amount::None, conversation: None };
    let mut demo = Demo { settings, path };
    demo.save(|_| ())?;
    Ok(demo)
}

async fn create(registry: &Registry) -> anyhow::Result<(String, String)> {
    let (tenant, agent) = (TenantId::parse(NAME)?, AgentId::parse(NAME)?);
    let name = DisplayName::parse("Demo")?;
    ignore_existing(registry.create_tenant(&tenant, &name, now()).await)?;
    ignore_existing(registry.create_agent(&tenant, &agent, &name, now()).await)?;
    // Pages of any origin on a developer's machine may use the key.
    let origins = AllowedOrigins::any();
    let (_, api_key) = registry.create_api_key(&agent, &DisplayName::parse("dev")?, origins, None, now()).await?;
    let new = NewServiceToken {
        display_name: Label::parse("dev")?,
        scopes: Scope::ALL.into_iter().collect(),
        tenant: None,
        agents: BTreeSet::new(),
        expires_at: None,
    };
    let (_, token) = registry.create_service_token(new, now()).await?;
    Ok((api_key.reveal().to_owned(), token.reveal().to_owned()))
}

/// An earlier run may have created it.
fn ignore_existing<T>(result: Result<T, RegistryError>) -> Result<(), RegistryError> {
    match result {
        Ok(_) | Err(RegistryError::AlreadyExists { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns `None` if the file is missing, unreadable or malformed.
fn read(path: &Path) -> Option<Settings> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::secret_file::FILE_MODE;

    #[test]
    fn settings_are_saved_with_the_mode_of_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data").join(FILE);
        assert!(read(&path).is_none());
        let settings = Settings {
            record: "r".to_owned(),
            api_key: "k".to_owned(),
            token: "t".to_owned(),
            imported: Amount::Some(200),
            conversation: None,
        };
        let mut demo = Demo { settings, path: path.clone() };
        demo.save(|_| ()).unwrap();
        demo.save(|settings| settings.imported = Amount::All).unwrap();
        assert_eq!(read(&path).unwrap().imported, Amount::All);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, FILE_MODE);
        fs::write(&path, "{").unwrap();
        assert!(read(&path).is_none());
    }
}
