//! The command line's side of the gRPC services: a connection with a bearer token, deadlines and retries.
//!
//! Knows no command. Retries are safe because every write carries an idempotency key that stays the same.

mod append_stream;
mod failure;
mod retry;

use std::time::Duration;

use runtime::grpc::{Authenticated, Bearer};
use runtime::tls::{self, EndpointError};
use tonic::transport::Channel;
use wire::proto::history::v1::history_service_client::HistoryServiceClient;
use wire::proto::operate::v1::registry_service_client::RegistryServiceClient;
use wire::proto::read::v1::read_service_client::ReadServiceClient;
use wire::proto::write::v1::write_service_client::WriteServiceClient;

pub use append_stream::{AppendStream, WINDOW_MAX};
pub use failure::Failure;
pub use retry::{PATIENCE, retrying};

/// How long a connection may take to open.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The deadline of one unary call, sent with it.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// The largest answer that is taken, in bytes: a page of events is at most 3 MiB, a context may be larger.
const ANSWER_BYTES_MAX: usize = 64 * 1_024 * 1_024;

/// The write service.
pub type Writer = WriteServiceClient<Authenticated>;
/// The read service.
pub type Reader = ReadServiceClient<Authenticated>;
/// The history service.
pub type Historian = HistoryServiceClient<Authenticated>;
/// The registry service.
pub type Registrar = RegistryServiceClient<Authenticated>;

/// Where a service is, and the token that it takes. Connections open with the first call.
#[derive(Clone, Debug)]
pub struct Service {
    channel: Channel,
    bearer: Bearer,
    url: String,
}

impl Service {
    /// A service at `url`, as [`tls::endpoint`] reads it.
    ///
    /// # Errors
    /// [`AddressError`], which says what to mend. Needs a tokio runtime.
    pub fn at(url: &str, token: &str) -> Result<Self, AddressError> {
        let endpoint = tls::endpoint(url).map_err(|problem| AddressError::Url {
            url: url.to_owned(),
            problem,
        })?;
        let bearer = Bearer::new(Some(token));
        if !bearer.is_valid() {
            return Err(AddressError::Token);
        }
        let channel = endpoint
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .connect_lazy();
        Ok(Self {
            channel,
            bearer,
            url: url.to_owned(),
        })
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its write service.
    #[must_use]
    pub fn writer(&self) -> Writer {
        WriteServiceClient::new(self.authenticated()).max_decoding_message_size(ANSWER_BYTES_MAX)
    }

    /// Its read service.
    #[must_use]
    pub fn reader(&self) -> Reader {
        ReadServiceClient::new(self.authenticated()).max_decoding_message_size(ANSWER_BYTES_MAX)
    }

    /// Its history service.
    #[must_use]
    pub fn historian(&self) -> Historian {
        HistoryServiceClient::new(self.authenticated()).max_decoding_message_size(ANSWER_BYTES_MAX)
    }

    /// Its registry service.
    #[must_use]
    pub fn registrar(&self) -> Registrar {
        RegistryServiceClient::new(self.authenticated())
    }

    /// Its write service, for streams, which have no deadline.
    #[must_use]
    pub fn stream_writer(&self) -> Writer {
        WriteServiceClient::new(self.bearer.clone().on(self.channel.clone()))
    }

    fn authenticated(&self) -> Authenticated {
        let bearer = self.bearer.clone().timeout(CALL_TIMEOUT);
        bearer.on(self.channel.clone())
    }
}

/// Why a service cannot even be called.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// The address is of another form.
    #[error("{url} {problem}")]
    Url {
        /// What was given.
        url: String,
        /// What is wrong with it.
        problem: EndpointError,
    },
    /// The token has characters that no token has.
    #[error("the token is not one of Hansard's: pass it on as it was printed")]
    Token,
}
