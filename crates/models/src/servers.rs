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
    /// Creates clients of the servers in the settings, and of [`ECHO`]. Opens no connection.
    ///
    /// # Errors
    /// [`ModelsError`].
    pub fn new(config: &ModelServersConfig) -> Result<Self, ModelsError> {
        if let Some((key, problem)) = config.errors().into_iter().next() {
            return Err(ModelsError::Configuration { key, problem });
        }
        let uses_tls = config.0.values().any(uses_tls);
        let tls = tls::config(if uses_tls { Trust::System } else { Trust::None })?;
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

    /// The names of the servers, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.servers.keys().map(String::as_str)
    }

    /// The format in which the body of a request to a server must be rendered.
    #[must_use]
    pub fn format(&self, server: &str) -> Option<Format> {
        Some(self.servers.get(server)?.kind().format())
    }

    /// The position of the outputs of a turn's calls in the body of a request to a server.
    #[must_use]
    pub fn call_outputs(&self, server: &str) -> CallOutputs {
        let server = self.servers.get(server);
        server.map_or_else(CallOutputs::default, Server::call_outputs)
    }

    /// The provider of a server, as recorded in facts.
    #[must_use]
    pub fn provider(&self, server: &str) -> Option<&'static str> {
        Some(self.servers.get(server)?.kind().provider())
    }

    /// Sends a request to a server. Returns when the first piece was received. The request is retried only before that.
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

/// Whether the server is called over TLS. The default URLs are `https`, except that of Ollama.
fn uses_tls(config: &ModelServerConfig) -> bool {
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
    fn the_position_of_outputs_is_configurable() {
        let config = r#"{"own":{"kind":"openai_responses","base_url":"http://a","call_outputs":"adjacent"}}"#;
        let servers = ModelServers::new(&serde_json::from_str(config).unwrap()).unwrap();
        assert_eq!(servers.call_outputs("own"), CallOutputs::Adjacent);
        assert_eq!(servers.call_outputs(ECHO), CallOutputs::Together);
        assert_eq!(servers.call_outputs("nobody"), CallOutputs::Together);
    }
}
