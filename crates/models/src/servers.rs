//! The model servers by name. Each has a bound of concurrent requests, and a backend.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use formats::{CallOutputs, Format};
use runtime::fair::{FairPermit, FairSemaphore};
use rustls::ClientConfig;
use tracing::Instrument as _;

use crate::config::{ModelServerConfig, ModelServersConfig, ServerKind};
use crate::echo::{ECHO, Echo};
use crate::error::{ModelError, ModelsError};
use crate::piece::Piece;
use crate::provider::Provider;
use crate::remote::Remote;
use crate::reply_pieces::{ReplyPieces, Source};
use crate::request::ModelRequest;
use crate::request_metrics::RequestMetrics;
use crate::retry::RETRY_AFTER_MS_DEFAULT;
use crate::tls::{self, Trust};
use crate::unsupported_option::unsupported_option;
use formats::RequestOptions;

/// Maximum number of waiting requests of one tenant at a server. Further requests are rejected.
const WAITING_MAX: usize = 256;

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
        Ok(Self { servers: Arc::new(servers.collect::<Result<_, _>>()?) })
    }

    /// The names of the servers, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.servers.keys().map(String::as_str)
    }

    /// The format in which the body of a request to a server must be rendered.
    #[must_use]
    pub fn format(&self, server: &str) -> Option<Format> {
        Some(self.servers.get(server)?.kind.format())
    }

    /// The position of the outputs of a turn's calls in the body of a request to a server.
    #[must_use]
    pub fn call_outputs(&self, server: &str) -> CallOutputs {
        let server = self.servers.get(server);
        server.map_or_else(CallOutputs::default, |server| server.call_outputs)
    }

    /// The name of the first given option that a server does not have; `None`: it has all.
    #[must_use]
    pub fn unsupported_option(&self, server: &str, options: &RequestOptions) -> Option<&'static str> {
        unsupported_option(options, self.servers.get(server)?.kind)
    }

    /// The provider of a server, as recorded in facts.
    #[must_use]
    pub fn provider(&self, server: &str) -> Option<&'static str> {
        Some(self.servers.get(server)?.kind.provider())
    }

    /// Sends a request to a server. Returns when the first piece was received. The request is retried only before that.
    ///
    /// # Errors
    /// [`ModelError`].
    pub async fn stream(&self, server: &str, request: ModelRequest) -> Result<ReplyPieces, ModelError> {
        let server = self.servers.get(server).ok_or(ModelError::UnknownServer)?;
        server.stream(&request).await
    }
}

#[derive(Debug)]
struct Server {
    name: String,
    kind: ServerKind,
    call_outputs: CallOutputs,
    permits: FairSemaphore,
    backend: Backend,
}

#[derive(Debug)]
enum Backend {
    Echo { word_delay: Duration },
    Remote(Remote),
}

/// A reply that a server has started.
struct StartedReply {
    source: Source,
    /// The piece that was received before the reply was returned.
    first: Option<Piece>,
    permit: FairPermit,
}

impl Server {
    fn new(name: &str, config: &ModelServerConfig, tls: &ClientConfig) -> Result<Self, ModelsError> {
        let backend = match Provider::from_kind(config.kind) {
            None => Backend::Echo { word_delay: Duration::from_millis(config.echo_word_delay_ms) },
            Some(provider) => Backend::Remote(Remote::new(name, provider, config, tls.clone())?),
        };
        Ok(Self {
            name: name.to_owned(),
            kind: config.kind,
            call_outputs: config.call_outputs,
            permits: FairSemaphore::new(
                config.requests_max,
                WAITING_MAX,
                Duration::from_millis(config.wait_timeout_ms),
            ),
            backend,
        })
    }

    async fn stream(&self, request: &ModelRequest) -> Result<ReplyPieces, ModelError> {
        let mut metrics = RequestMetrics::begin(&self.name, request.body.len());
        let span = metrics.span().clone();
        match self.begin(request).instrument(span).await {
            Ok(reply) => Ok(ReplyPieces::new(reply.source, reply.first, reply.permit, metrics)),
            Err(error) => {
                metrics.record(&Err(error.clone()));
                Err(error)
            }
        }
    }

    async fn begin(&self, request: &ModelRequest) -> Result<StartedReply, ModelError> {
        request.check()?;
        let permit = self
            .permits
            .acquire(&request.tenant)
            .await
            .map_err(|_| ModelError::Overloaded { retry_after_ms: RETRY_AFTER_MS_DEFAULT })?;
        match &self.backend {
            Backend::Echo { word_delay } => {
                let echo = Echo::new(request, *word_delay)?;
                Ok(StartedReply { source: Source::Echo(echo), first: None, permit })
            }
            Backend::Remote(remote) => {
                let (first, reader) = remote.stream(request).await?;
                Ok(StartedReply { source: Source::Remote(Box::new(reader)), first: Some(first), permit })
            }
        }
    }
}

/// Whether the server is called over TLS. The default URLs are `https`, except that of Ollama.
fn uses_tls(config: &ModelServerConfig) -> bool {
    match (&config.base_url, config.kind) {
        (Some(url), _) => url.starts_with("https"),
        (None, ServerKind::Echo | ServerKind::Ollama) => false,
        (None, ServerKind::OpenAiChat | ServerKind::OpenAiResponses | ServerKind::Anthropic) => true,
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
