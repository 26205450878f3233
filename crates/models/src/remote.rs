//! Asks a server over HTTP: the attempts of one request, until its first piece has come or none will.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use formats::{Format, Names, ParseError};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url};
use rustls::ClientConfig;
use tokio::time::{Instant, timeout_at};

use crate::breaker::{Breaker, Passage};
use crate::config::{ModelServerConfig, OutputLimit};
use crate::declared::declare;
use crate::error::{ErrorText, ModelError, ModelsError, Step};
use crate::exchange::Attempt;
use crate::framing::EVENT_BYTES_MAX;
use crate::meter;
use crate::piece::Piece;
use crate::provider::{Outgoing, Provider};
use crate::reading::{Reading, Times, outcome_of};
use crate::request::ModelRequest;
use crate::retry::{self, RETRY_AFTER_MS_DEFAULT};

/// How the client calls itself.
const USER_AGENT: &str = concat!("hansard/", env!("CARGO_PKG_VERSION"));
/// The status with which Anthropic says that it takes no more requests.
const SITE_OVERLOADED: u16 = 529;
/// Most causes of a failure that are told.
const CAUSES_MAX: usize = 8;

/// A server that is spoken to over HTTP.
#[derive(Debug)]
pub(crate) struct Remote {
    name: String,
    provider: Provider,
    format: Format,
    client: Client,
    url: Url,
    first_piece: Duration,
    silence: Duration,
    total: Duration,
    retries_max: u32,
    num_ctx: Option<u32>,
    output_limit: OutputLimit,
    breaker: Arc<Breaker>,
}

/// Why an attempt was in vain.
struct Failure {
    error: ModelError,
    /// How long the server asks to wait, in ms.
    told: Option<u64>,
}

impl Remote {
    pub(crate) fn new(
        name: &str,
        provider: Provider,
        config: &ModelServerConfig,
        tls: ClientConfig,
    ) -> Result<Self, ModelsError> {
        let wrong = |field: &str, problem: &str| ModelsError::Configuration {
            key: format!("{name}.{field}"),
            problem: problem.to_owned(),
        };
        let url = Url::parse(&provider.url(config));
        let key = config.api_key.as_ref().filter(|key| !key.is_empty());
        let headers = provider.headers(key);
        let mut headers = headers.ok_or_else(|| wrong("api_key", "fits in no header"))?;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(Self {
            name: name.to_owned(),
            provider,
            format: config.kind.format(),
            client: client(config, headers, tls)?,
            url: url.map_err(|_| wrong("base_url", "is no URL"))?,
            first_piece: Duration::from_millis(config.first_token_timeout_ms),
            silence: Duration::from_millis(config.idle_timeout_ms),
            total: Duration::from_millis(config.total_timeout_ms),
            retries_max: config.retries_max,
            num_ctx: config.num_ctx,
            output_limit: config.output_limit,
            breaker: Arc::new(Breaker::new(&config.breaker)),
        })
    }

    /// Sends the request, again where that may help, and gives its first piece with what follows.
    pub(crate) async fn ask(&self, request: &ModelRequest) -> Result<(Piece, Reading), ModelError> {
        let mut names = request.names.clone();
        let body = self.body(request, &mut names)?;
        let total_until = Instant::now() + self.total;
        let mut attempts = 0;
        let mut last = None;
        loop {
            let passage = match self.breaker.pass(std::time::Instant::now()) {
                Ok(passage) => passage,
                Err(wait) => return Err(last.unwrap_or_else(|| breaker_open(wait))),
            };
            let attempt = Attempt::begin(request.listener.as_ref(), attempts + 1, &body);
            let (body, names) = (body.clone(), names.clone());
            let attempt = self.attempt(body, names, total_until, passage, attempt);
            let failure = match attempt.await {
                Ok(begun) => return Ok(begun),
                Err(failure) => failure,
            };
            attempts += 1;
            let wait = retry::wait(&failure.error, failure.told, attempts);
            let wait = wait.filter(|wait| Instant::now() + *wait < total_until);
            match wait {
                Some(wait) if attempts <= self.retries_max => {
                    meter::retried(&self.name);
                    last = Some(failure.error);
                    tokio::time::sleep(wait).await;
                }
                _ => return Err(failure.error),
            }
        }
    }

    fn body(&self, request: &ModelRequest, names: &mut Names) -> Result<bytes::Bytes, ModelError> {
        let outgoing = Outgoing {
            request,
            tools: declare(&request.tools, names)?,
            num_ctx: self.num_ctx,
            output_limit: self.output_limit,
        };
        Ok(self.provider.write(&outgoing)?.into())
    }

    async fn attempt(
        &self,
        body: bytes::Bytes,
        names: Names,
        total_until: Instant,
        passage: Passage,
        mut attempt: Attempt,
    ) -> Result<(Piece, Reading), Failure> {
        let times = Times {
            first_piece_until: Instant::now() + self.first_piece,
            silence_max: self.silence,
            total_until,
        };
        let response = match self.send(body, &times, &mut attempt).await {
            Ok(response) => response,
            Err(failure) => {
                attempt.note(&Err(failure.error.clone()));
                if let Some(outcome) = outcome_of(&failure.error) {
                    passage.settle(outcome, std::time::Instant::now());
                }
                return Err(failure);
            }
        };
        let mut reading = Reading::new(response, self.provider, names, times, passage, attempt);
        let first = reading.next().await;
        let first = first.map_err(|error| Failure { error, told: None })?;
        Ok((first, reading))
    }

    /// Sends the request and waits for the head of its answer.
    async fn send(
        &self,
        body: bytes::Bytes,
        times: &Times,
        attempt: &mut Attempt,
    ) -> Result<Response, Failure> {
        let (until, which) = if times.total_until < times.first_piece_until {
            (times.total_until, Step::Total)
        } else {
            (times.first_piece_until, Step::FirstPiece)
        };
        let request = self.client.post(self.url.clone()).body(body).send();
        let failed = |error| Failure { error, told: None };
        let response = match timeout_at(until, request).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                let reason = reason(error);
                tracing::warn!(
                    model.server = self.name,
                    reason,
                    "no answer from a model server"
                );
                return Err(failed(unavailable(None)));
            }
            Err(_) => return Err(failed(ModelError::TimedOut { which })),
        };
        tracing::Span::current().record("response.status", response.status().as_u16());
        attempt.answered(response.status().as_u16());
        if response.status().is_success() {
            return Ok(response);
        }
        let told = retry::told(response.headers());
        let refused = timeout_at(until, self.refusal(response, told, attempt)).await;
        let error = refused.unwrap_or(ModelError::TimedOut { which });
        Err(Failure { error, told })
    }

    /// What an answer without success means.
    async fn refusal(
        &self,
        response: Response,
        told: Option<u64>,
        attempt: &mut Attempt,
    ) -> ModelError {
        let status = response.status();
        let retry_after_ms = told.unwrap_or(RETRY_AFTER_MS_DEFAULT);
        if status == StatusCode::TOO_MANY_REQUESTS || status.as_u16() == SITE_OVERLOADED {
            return ModelError::Overloaded { retry_after_ms };
        }
        if status.is_server_error() || status == StatusCode::REQUEST_TIMEOUT {
            return unavailable(told);
        }
        let body = bounded(response).await;
        attempt.refused(&body);
        let said = formats::parse_reply(self.format, &body);
        let (error_type, message) = match said {
            Some(Err(ParseError::Failed {
                error_type,
                message,
            })) => (error_type, message),
            _ => (format!("http_{}", status.as_u16()), String::new()),
        };
        ModelError::Refused {
            status: status.as_u16(),
            error_type,
            message: ErrorText::new(&message),
        }
    }
}

fn client(
    config: &ModelServerConfig,
    headers: HeaderMap,
    tls: ClientConfig,
) -> Result<Client, ModelsError> {
    Client::builder()
        .tls_backend_preconfigured(tls)
        .default_headers(headers)
        .user_agent(USER_AGENT)
        .connect_timeout(Duration::from_millis(config.connect_timeout_ms))
        // The request carries a key and contents: both go where the settings say, and nowhere else.
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
        .map_err(|_| ModelsError::Tls)
}

/// The beginning of a body: as much as an event may hold, as far as it comes.
async fn bounded(mut response: Response) -> Vec<u8> {
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

/// Why nothing came, down to its first cause; the URL is left out, since it may hold a password.
fn reason(error: reqwest::Error) -> String {
    let error = error.without_url();
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes
        .take(CAUSES_MAX)
        .fold(error.to_string(), |reason, cause| {
            format!("{reason}: {cause}")
        })
}

fn unavailable(told: Option<u64>) -> ModelError {
    ModelError::Unavailable {
        retry_after_ms: told.unwrap_or(RETRY_AFTER_MS_DEFAULT),
    }
}

fn breaker_open(wait: Duration) -> ModelError {
    ModelError::BreakerOpen {
        retry_after_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1),
    }
}
