//! The model servers of the gateway: those of the environment, as for a deployed gateway, and the one of `--model-server`.
//! The demo agent uses the latter if it is given, else the built-in `echo`.

use domain::AgentId;
use event_log::Record;
use models::{ApiKey, ECHO, ModelServerConfig, ModelServersConfig};
use registry::{CheckedSettings, Registry};
use runtime::config::{Checks, ConfigErrors, Sources, Validate};
use serde::{Deserialize, Serialize};
use wire::proto::operate::v1::ModelSettings;

use super::Args;
use super::demo::NAME;

/// The name of the server of `--model-server` in the gateway's configuration.
const SERVER: &str = "dev";

/// The section of the gateway's configuration that is also read here.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Environment {
    models: ModelServersConfig,
}

impl Validate for Environment {
    fn validate(&self, checks: &mut Checks<'_>) {
        checks.invalid_section("models", self.models.errors());
    }
}

/// The gateway's model servers. The one of `--model-server` overrides one with its name in the environment.
pub(super) fn configured(args: &Args) -> Result<ModelServersConfig, ConfigErrors> {
    let sources = Sources::new().environment_of("models");
    let Environment { mut models } = runtime::config::load(&sources)?;
    if let Some(server) = &args.model_server {
        let given = ModelServerConfig {
            kind: server.kind,
            base_url: Some(server.base_url.clone()),
            api_key: args.model_api_key.as_deref().map(ApiKey::new),
            ..ModelServerConfig::default()
        };
        models.0.insert(SERVER.to_owned(), given);
    }
    Ok(models)
}

/// Sets the demo agent's model to the one of `--model-server`; without it, removes the one of an earlier run.
pub(super) async fn choose(record: &Record, args: &Args, servers: &ModelServersConfig) -> anyhow::Result<()> {
    let registry = Registry::open(record).await?;
    let agent = AgentId::parse(NAME)?;
    let Some(current) = registry.agent(&agent) else {
        return Ok(());
    };
    let mut settings = current.settings.unwrap_or_default();
    let chosen = chosen(settings.model.as_ref(), args.model.as_deref(), servers);
    if chosen == settings.model {
        return Ok(());
    }
    settings.model = chosen;
    registry.set_agent_settings(&agent, CheckedSettings::parse(settings)?).await?;
    Ok(())
}

/// The model settings of the demo agent. Other settings of the model stay.
fn chosen(current: Option<&ModelSettings>, model: Option<&str>, servers: &ModelServersConfig) -> Option<ModelSettings> {
    let is_gone = |current: &ModelSettings| current.server == SERVER && !servers.0.contains_key(SERVER);
    let (server, model) = match model {
        Some(model) => (SERVER, model),
        None if current.is_none_or(is_gone) => (ECHO, ""),
        None => return current.cloned(),
    };
    Some(ModelSettings { server: server.to_owned(), model: model.to_owned(), ..current.cloned().unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_settings_of_the_model_stay() {
        let settings = |server: &str, model: &str| ModelSettings {
            server: server.to_owned(),
            model: model.to_owned(),
            output_tokens_max: 64,
            ..ModelSettings::default()
        };
        let none = ModelServersConfig::default();
        let check = |current: &ModelSettings, model: Option<&str>, expected: &ModelSettings| {
            assert_eq!(chosen(Some(current), model, &none).as_ref(), Some(expected));
        };
        check(&settings(SERVER, "a"), Some("a"), &settings(SERVER, "a"));
        check(&settings(SERVER, "a"), Some("b"), &settings(SERVER, "b"));
        check(&settings(SERVER, "a"), None, &settings(ECHO, ""));
        check(&settings("own", "a"), None, &settings("own", "a"));
        let first = chosen(None, None, &none);
        assert_eq!(first.map(|first| first.server), Some(ECHO.to_owned()));
        let named = ModelServersConfig([(SERVER.to_owned(), ModelServerConfig::default())].into());
        let kept = settings(SERVER, "a");
        assert_eq!(chosen(Some(&kept), None, &named), Some(kept));
        let fresh = chosen(None, Some("a"), &none);
        assert_eq!(fresh.map(|fresh| fresh.server), Some(SERVER.to_owned()));
    }
}
