//! Sends a request to a server over HTTP, with retries until the first piece is received.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use formats::{Format, Names, ParseError};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url};
use rustls::ClientConfig;
use tokio::time::{Instant, timeout_at};

use crate::breaker::{Breaker, BreakerPermit};
use crate::config::{ModelServerConfig, OutputLimit};
use crate::error::{ErrorText, ModelError, ModelsError, Step};
use crate::exchange::Attempt;
use crate::framing::EVENT_BYTES_MAX;
use crate::piece::Piece;
use crate::provider::{OutgoingRequest, Provider};
use crate::reply_reader::{Deadlines, ReplyReader, outcome_of};
use crate::request::{ModelRequest, declare, output_schema};
use crate::request_metrics;
use crate::retry::{self, RETRY_AFTER_MS_DEFAULT};

/// Maximum time to connect to a server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
const USER_AGENT: &str = concat!("hansard/", env!("CARGO_PKG_VERSION"));
/// Anthropic's status for an overload.
const SITE_OVERLOADED: u16 = 529;
/// Maximum number of causes of an error that are logged.
const CAUSES_MAX: usize = 8;

#[derive(Debug)]
pub(crate) struct Remote {
    name: String,
    provider: Provider,
    format: Format,
    client: Client,
    url: Url,
    first_piece_max: Duration,
    silence_max: Duration,
    total_max: Duration,
    retries_max: u32,
    num_ctx: Option<u32>,
    output_limit: OutputLimit,
    breaker: Arc<Breaker>,
}

struct Failure {
    error: ModelError,
    /// The wait that the server requests, in ms.
    retry_after_ms: Option<u64>,
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        let retry_after_ms = None;
        Self { error, retry_after_ms }
    }
}

impl Remote {
    pub(crate) fn new(
        name: &str,
        provider: Provider,
        config: &ModelServerConfig,
        tls: ClientConfig,
    ) -> Result<Self, ModelsError> {
        let invalid = |field: &str, problem: &str| ModelsError::Configuration {
            key: format!("{name}.{field}"),
            problem: problem.to_owned(),
        };
        let url = Url::parse(&provider.url(config));
        let key = config.api_key.as_ref().filter(|key| !key.is_empty());
        let mut headers = provider.headers(key).ok_or_else(|| invalid("api_key", "is not valid in a header"))?;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(Self {
            name: name.to_owned(),
            provider,
            format: config.kind.format(),
            client: client(headers, tls)?,
            url: url.map_err(|_| invalid("base_url", "is not a URL"))?,
            first_piece_max: Duration::from_millis(config.first_token_timeout_ms),
            silence_max: Duration::from_millis(config.idle_timeout_ms),
            total_max: Duration::from_millis(config.total_timeout_ms),
            retries_max: config.retries_max,
            num_ctx: config.num_ctx,
            output_limit: config.output_limit,
            breaker: Arc::new(Breaker::new(&config.breaker)),
        })
    }

    /// Sends the request, with retries. Returns the first piece and the reader of the rest.
    pub(crate) async fn stream(&self, request: &ModelRequest) -> Result<(Piece, ReplyReader), ModelError> {
        let mut names = request.names.clone();
        let body = self.body(request, &mut names)?;
        let total = Instant::now() + self.total_max;
        let mut attempts = 0;
        let mut last = None;
        loop {
            let permit = match self.breaker.acquire(std::time::Instant::now()) {
                Ok(permit) => permit,
                Err(wait) => return Err(last.unwrap_or_else(|| breaker_open(wait))),
            };
            let attempt = Attempt::begin(request.listener.as_ref(), attempts + 1, &body);
            let (body, names) = (body.clone(), names.clone());
            let attempt = self.attempt(body, names, total, permit, attempt);
            let failure = match attempt.await {
                Ok(started) => return Ok(started),
                Err(failure) => failure,
            };
            attempts += 1;
            let wait = retry::wait(&failure.error, failure.retry_after_ms, attempts)
                .filter(|wait| Instant::now() + *wait < total);
            match wait {
                Some(wait) if attempts <= self.retries_max => {
                    request_metrics::count_retry(&self.name);
                    last = Some(failure.error);
                    tokio::time::sleep(wait).await;
                }
                _ => return Err(failure.error),
            }
        }
    }

    fn body(&self, request: &ModelRequest, names: &mut Names) -> Result<bytes::Bytes, ModelError> {
        let outgoing = OutgoingRequest {
            request,
            tools: declare(&request.tools, names)?,
            output_schema: output_schema(request)?,
            num_ctx: self.num_ctx,
            output_limit: self.output_limit,
        };
        Ok(self.provider.write(&outgoing)?.into())
    }

    async fn attempt(
        &self,
        body: bytes::Bytes,
        names: Names,
        total: Instant,
        permit: BreakerPermit,
        mut attempt: Attempt,
    ) -> Result<(Piece, ReplyReader), Failure> {
        let deadlines =
            Deadlines { first_piece: Instant::now() + self.first_piece_max, silence_max: self.silence_max, total };
        let response = match self.send(body, &deadlines, &mut attempt).await {
            Ok(response) => response,
            Err(failure) => {
                attempt.record(&Err(failure.error.clone()));
                if let Some(outcome) = outcome_of(&failure.error) {
                    permit.record(outcome, std::time::Instant::now());
                }
                return Err(failure);
            }
        };
        let mut reader = ReplyReader::new(response, self.provider, names, deadlines, permit, attempt);
        let first = reader.next().await?;
        Ok((first, reader))
    }

    /// Sends the request and waits for the head of the response.
    async fn send(
        &self,
        body: bytes::Bytes,
        deadlines: &Deadlines,
        attempt: &mut Attempt,
    ) -> Result<Response, Failure> {
        let (until, which) = if deadlines.total < deadlines.first_piece {
            (deadlines.total, Step::Total)
        } else {
            (deadlines.first_piece, Step::FirstPiece)
        };
        let request = self.client.post(self.url.clone()).body(body).send();
        let response = match timeout_at(until, request).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                let (server, reason) = (&self.name, describe(error));
                tracing::warn!(model.server = server, reason, "model server did not answer");
                let retry_after_ms = RETRY_AFTER_MS_DEFAULT;
                return Err(ModelError::Unavailable { retry_after_ms }.into());
            }
            Err(_) => return Err(ModelError::TimedOut { which }.into()),
        };
        tracing::Span::current().record("response.status", response.status().as_u16());
        attempt.record_status(response.status().as_u16());
        if response.status().is_success() {
            return Ok(response);
        }
        let retry_after_ms = retry::retry_after_ms(response.headers());
        let read = timeout_at(until, self.read_error(response, retry_after_ms, attempt)).await;
        Err(Failure { error: read.unwrap_or(ModelError::TimedOut { which }), retry_after_ms })
    }

    async fn read_error(&self, response: Response, retry_after_ms: Option<u64>, attempt: &mut Attempt) -> ModelError {
        let status = response.status();
        let retry_after_ms = retry_after_ms.unwrap_or(RETRY_AFTER_MS_DEFAULT);
        if status == StatusCode::TOO_MANY_REQUESTS || status.as_u16() == SITE_OVERLOADED {
            return ModelError::Overloaded { retry_after_ms };
        }
        if status.is_server_error() || status == StatusCode::REQUEST_TIMEOUT {
            return ModelError::Unavailable { retry_after_ms };
        }
        let body = read_bounded(response).await;
        attempt.record_rejection(&body);
        let parsed = formats::parse_reply(self.format, &body);
        let (error_type, message) = match parsed {
            Some(Err(ParseError::Failed { error_type, message })) => (error_type, message),
            _ => (format!("http_{}", status.as_u16()), String::new()),
        };
        ModelError::Refused { status: status.as_u16(), error_type, message: ErrorText::new(&message) }
    }
}

fn client(headers: HeaderMap, tls: ClientConfig) -> Result<Client, ModelsError> {
    Client::builder()
        .tls_backend_preconfigured(tls)
        .default_headers(headers)
        .user_agent(USER_AGENT)
        .connect_timeout(CONNECT_TIMEOUT)
        // The request contains a key and message contents. They must be sent only to the configured URL.
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
        .map_err(|_| ModelsError::Tls)
}

/// Reads the first [`EVENT_BYTES_MAX`] bytes of a body.
async fn read_bounded(mut response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(bytes)) = response.chunk().await {
        let room = EVENT_BYTES_MAX - body.len();
        body.extend_from_slice(bytes.get(..room).unwrap_or(&bytes));
        if body.len() == EVENT_BYTES_MAX {
            break;
        }
    }
    body
}

/// An error with its causes, without the URL, which may contain a password.
fn describe(error: reqwest::Error) -> String {
    let error = error.without_url();
    let causes = std::iter::successors(error.source(), |cause| (*cause).source()).take(CAUSES_MAX);
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

fn breaker_open(wait: Duration) -> ModelError {
    ModelError::BreakerOpen { retry_after_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1) }
}
