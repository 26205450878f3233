//! One model server: its bound of concurrent requests, and its backend.

use std::time::Duration;

use formats::CallOutputs;
use rustls::ClientConfig;
use tracing::Instrument as _;

use crate::config::{ModelServerConfig, ServerKind};
use crate::echo::Echo;
use crate::error::{ModelError, ModelsError};
use crate::fair::{FairPermit, FairSemaphore};
use crate::piece::Piece;
use crate::provider::Provider;
use crate::remote::Remote;
use crate::reply_pieces::{ReplyPieces, Source};
use crate::request::ModelRequest;
use crate::request_metrics::RequestMetrics;
use crate::retry::RETRY_AFTER_MS_DEFAULT;

/// A model server.
#[derive(Debug)]
pub(crate) struct Server {
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

impl Server {
    pub(crate) fn new(
        name: &str,
        config: &ModelServerConfig,
        tls: &ClientConfig,
    ) -> Result<Self, ModelsError> {
        let backend = match Provider::from_kind(config.kind) {
            None => Backend::Echo {
                word_delay: Duration::from_millis(config.echo_word_delay_ms),
            },
            Some(provider) => Backend::Remote(Remote::new(name, provider, config, tls.clone())?),
        };
        Ok(Self {
            name: name.to_owned(),
            kind: config.kind,
            call_outputs: config.call_outputs,
            permits: FairSemaphore::new(
                config.requests_max,
                config.waiting_max,
                Duration::from_millis(config.wait_timeout_ms),
            ),
            backend,
        })
    }

    pub(crate) fn kind(&self) -> ServerKind {
        self.kind
    }

    pub(crate) fn call_outputs(&self) -> CallOutputs {
        self.call_outputs
    }

    pub(crate) async fn stream(&self, request: &ModelRequest) -> Result<ReplyPieces, ModelError> {
        let mut metrics = RequestMetrics::begin(&self.name, request.body.len());
        let span = metrics.span().clone();
        match self.begin(request).instrument(span).await {
            Ok((source, first, permit)) => Ok(ReplyPieces::new(source, first, permit, metrics)),
            Err(error) => {
                metrics.record(&Err(error.clone()));
                Err(error)
            }
        }
    }

    async fn begin(
        &self,
        request: &ModelRequest,
    ) -> Result<(Source, Option<Piece>, FairPermit), ModelError> {
        request.check()?;
        let permit = self.permits.acquire(&request.tenant).await;
        let permit = permit.map_err(|_| ModelError::Overloaded {
            retry_after_ms: RETRY_AFTER_MS_DEFAULT,
        })?;
        match &self.backend {
            Backend::Echo { word_delay } => {
                let echo = Echo::new(request, *word_delay)?;
                Ok((Source::Echo(echo), None, permit))
            }
            Backend::Remote(remote) => {
                let (first, reader) = remote.stream(request).await?;
                Ok((Source::Remote(Box::new(reader)), Some(first), permit))
            }
        }
    }
}
