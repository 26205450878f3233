//! The model servers by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use formats::{CallOutputs, Format};

use crate::config::{ModelServerConfig, ModelServersConfig, ServerKind};
use crate::echo::ECHO;
use crate::error::{ModelError, ModelsError};
use crate::reply_pieces::ReplyPieces;
use crate::request::ModelRequest;
use crate::server::Server;
use crate::tls::{self, Trust};

/// The model servers by name. Clones share connections, breakers and bounds.
#[derive(Debug, Clone)]
pub struct ModelServers {
    servers: Arc<BTreeMap<String, Server>>,
}

impl ModelServers {
    /// Sets up the servers, and [`ECHO`] beside them where the settings do not name it. Speaks to none of them.
    ///
    /// # Errors
    /// [`ModelsError`].
    pub fn new(config: &ModelServersConfig) -> Result<Self, ModelsError> {
        if let Some((key, problem)) = config.mistakes().into_iter().next() {
            return Err(ModelsError::Configuration { key, problem });
        }
        let is_over_tls = config.0.values().any(is_over_tls);
        let trust = if is_over_tls {
            Trust::System
        } else {
            Trust::Nobody
        };
        let tls = tls::config(trust)?;
        let mut configs = config.0.clone();
        configs.entry(ECHO.to_owned()).or_default();
        let servers = configs.into_iter().map(|(name, config)| {
            let server = Server::new(&name, &config, &tls)?;
            Ok((name, server))
        });
        Ok(Self {
            servers: Arc::new(servers.collect::<Result<_, _>>()?),
        })
    }

    /// The servers' names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.servers.keys().map(String::as_str)
    }

    /// The format in which a server reads a context: that in which a request's body must be rendered.
    #[must_use]
    pub fn format(&self, server: &str) -> Option<Format> {
        Some(self.servers.get(server)?.kind().format())
    }

    /// Where a server wants the outputs of a turn's calls, in a request's body.
    #[must_use]
    pub fn call_outputs(&self, server: &str) -> CallOutputs {
        let server = self.servers.get(server);
        server.map_or_else(CallOutputs::default, Server::call_outputs)
    }

    /// Whose models a server serves, as facts name a provider.
    #[must_use]
    pub fn provider(&self, server: &str) -> Option<&'static str> {
        Some(self.servers.get(server)?.kind().provider())
    }

    /// Asks a server. Comes back with the first piece at hand: until then the request is tried again where that may help,
    /// after it never.
    ///
    /// # Errors
    /// [`ModelError`].
    pub async fn stream(
        &self,
        server: &str,
        request: ModelRequest,
    ) -> Result<ReplyPieces, ModelError> {
        let server = self.servers.get(server).ok_or(ModelError::UnknownServer)?;
        server.stream(&request).await
    }
}

/// Whether TLS is spoken to it. The providers' own addresses are `https`; Ollama's is this machine.
fn is_over_tls(config: &ModelServerConfig) -> bool {
    match (&config.base_url, config.kind) {
        (Some(url), _) => url.starts_with("https"),
        (None, ServerKind::Echo | ServerKind::Ollama) => false,
        (None, ServerKind::OpenAiChat | ServerKind::OpenAiResponses | ServerKind::Anthropic) => {
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_stand_where_a_server_wants_them() {
        let config = r#"{"own":{"kind":"openai_responses","base_url":"http://a","call_outputs":"adjacent"}}"#;
        let servers = ModelServers::new(&serde_json::from_str(config).unwrap()).unwrap();
        assert_eq!(servers.call_outputs("own"), CallOutputs::Adjacent);
        assert_eq!(servers.call_outputs(ECHO), CallOutputs::Together);
        assert_eq!(servers.call_outputs("nobody"), CallOutputs::Together);
    }
}
