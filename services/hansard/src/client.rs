//! gRPC clients for commands: a connection with a bearer token, deadlines and retries.
//!
//! Independent of the commands. Retries are safe because a retried write has the same idempotency key.

mod append_stream;
mod failure;
mod retry;

use std::time::Duration;

use runtime::grpc::{Authenticated, Bearer};
use runtime::tls::{self, EndpointError};
use tonic::transport::Channel;
use tonic::{Response, Status};
use wire::proto::history::v1::history_service_client::HistoryServiceClient;
use wire::proto::operate::v1::audit_service_client::AuditServiceClient;
use wire::proto::operate::v1::registry_service_client::RegistryServiceClient;
use wire::proto::read::v1::read_service_client::ReadServiceClient;
use wire::proto::write::v1::write_service_client::WriteServiceClient;

pub use append_stream::AppendStream;
pub use failure::Failure;
pub use retry::retrying;

/// The deadline for opening a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The deadline of one unary call, sent with it.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// The largest accepted answer, in bytes: a page of events has at most 3 MiB, a context may be larger.
const ANSWER_BYTES_MAX: usize = 64 * 1_024 * 1_024;

/// A client of the write service.
pub type Writer = WriteServiceClient<Authenticated>;
/// A client of the read service.
pub type Reader = ReadServiceClient<Authenticated>;
/// A client of the audit service.
pub type AuditClient = AuditServiceClient<Authenticated>;
/// A client of the history service.
pub(crate) type HistoryClient = HistoryServiceClient<Authenticated>;
/// A client of the registry service.
pub type RegistryClient = RegistryServiceClient<Authenticated>;

/// The address of a service and the token for it. The connection opens with the first call.
#[derive(Clone, Debug)]
pub struct Service {
    channel: Channel,
    bearer: Bearer,
}

impl Service {
    /// Creates a service at `url`, as [`tls::endpoint`] parses it. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`AddressError`], with the remedy.
    pub fn at(url: &str, token: &str) -> Result<Self, AddressError> {
        let endpoint = tls::endpoint(url).map_err(|problem| AddressError::Url { url: url.to_owned(), problem })?;
        let bearer = Bearer::new(Some(token));
        if !bearer.is_valid() {
            return Err(AddressError::Token);
        }
        let endpoint = endpoint.connect_timeout(CONNECT_TIMEOUT);
        let channel = endpoint.tcp_nodelay(true).connect_lazy();
        Ok(Self { channel, bearer })
    }

    /// A client of the write service.
    #[must_use]
    pub fn writer(&self) -> Writer {
        WriteServiceClient::new(self.authenticated()).max_decoding_message_size(ANSWER_BYTES_MAX)
    }

    /// A client of the read service.
    #[must_use]
    pub fn reader(&self) -> Reader {
        ReadServiceClient::new(self.authenticated()).max_decoding_message_size(ANSWER_BYTES_MAX)
    }

    /// A client of the history service.
    pub(crate) fn history(&self) -> HistoryClient {
        HistoryServiceClient::new(self.authenticated()).max_decoding_message_size(ANSWER_BYTES_MAX)
    }

    /// A client of the registry service.
    #[must_use]
    pub fn registry(&self) -> RegistryClient {
        RegistryServiceClient::new(self.authenticated())
    }

    /// A client of the audit service for streams, which have no deadline.
    pub(crate) fn audit(&self) -> AuditClient {
        AuditServiceClient::new(self.bearer.clone().intercept(self.channel.clone()))
    }

    /// A client of the write service for streams, which have no deadline.
    fn stream_writer(&self) -> Writer {
        WriteServiceClient::new(self.bearer.clone().intercept(self.channel.clone()))
    }

    fn authenticated(&self) -> Authenticated {
        let bearer = self.bearer.clone().timeout(CALL_TIMEOUT);
        bearer.intercept(self.channel.clone())
    }
}

/// Returns the message of a unary call's response.
pub(crate) fn answer<T>(response: Result<Response<T>, Status>) -> Result<T, Failure> {
    Ok(response?.into_inner())
}

/// An address or a token with which no service can be called.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// The URL is invalid.
    #[error("{url} {problem}")]
    Url {
        /// The given URL.
        url: String,
        /// Its error.
        problem: EndpointError,
    },
    /// The token contains invalid characters.
    #[error("the service token contains invalid characters: copy it exactly as it was printed")]
    Token,
}
