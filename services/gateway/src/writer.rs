//! The client of the writer.
//!
//! A command of a caller with a service token is sent under that token, and the writer authorizes it. A change of settings and
//! keys is sent under the session token of the person of the dashboard. All other commands are sent under the gateway's token.

mod channel;
mod error;

pub(crate) use channel::Outages;
pub use channel::WriterChannel;
pub use error::{WriterError, has_reason, without_headers};

use std::time::Duration;

use domain::{AgentId, ConversationId};
use runtime::config::Secret;
use runtime::grpc::Bearer;
use runtime::tls::{self, EndpointError};
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Endpoint;
use wire::proto::operate::v1::registry_service_client::RegistryServiceClient;
use wire::proto::run::v1::run_service_client::RunServiceClient;
use wire::proto::write::v1::CommandTarget;
use wire::proto::write::v1::write_service_client::WriteServiceClient;

use crate::problem;
use crate::request::Call;

/// Timeout of opening a connection to the writer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// The deadline of one call of the run service.
pub const ATTEMPT_MAX: Duration = Duration::from_secs(5);

/// Calls of the writer under a token.
pub type WriterService = InterceptedService<WriterChannel, Bearer>;

/// A connection to the writer. It opens with the first call and reconnects after a loss. Clones share it.
#[derive(Debug, Clone)]
pub struct WriterClient {
    channel: WriterChannel,
    token: Secret,
}

impl WriterClient {
    /// The writer at a URL in the syntax of [`tls::endpoint`], with the gateway's own token. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`EndpointError`].
    pub fn at(url: &str, token: Secret) -> Result<Self, EndpointError> {
        Ok(Self { channel: WriterChannel::to(&Self::endpoint(url)?), token })
    }

    /// The endpoint of the writer at a URL.
    ///
    /// # Errors
    /// As [`WriterClient::at`].
    pub fn endpoint(url: &str) -> Result<Endpoint, EndpointError> {
        let endpoint = tls::endpoint(url)?;
        Ok(endpoint.connect_timeout(CONNECT_TIMEOUT).tcp_nodelay(true))
    }

    /// The write service under the gateway's token; `timeout` is the deadline of each call.
    #[must_use]
    pub fn write(&self, timeout: Duration) -> WriteServiceClient<WriterService> {
        WriteServiceClient::new(self.own(timeout))
    }

    /// The write service under a caller's token, within the caller's deadline.
    #[must_use]
    pub fn write_for(&self, call: &Call) -> WriteServiceClient<WriterService> {
        WriteServiceClient::new(self.under(call.bearer(), call.deadline.left()))
    }

    /// The run service under the gateway's token; [`ATTEMPT_MAX`] is the deadline of each call.
    #[must_use]
    pub fn runs(&self) -> RunServiceClient<WriterService> {
        RunServiceClient::new(self.own(ATTEMPT_MAX))
    }

    /// The registry service under the gateway's token; `timeout` is the deadline of each call.
    #[must_use]
    pub fn registry(&self, timeout: Duration) -> RegistryServiceClient<WriterService> {
        RegistryServiceClient::new(self.own(timeout))
    }

    /// The registry service under the session token of a person of the dashboard; `timeout` is the deadline of each call.
    #[must_use]
    pub fn registry_for(&self, session_token: &str, timeout: Duration) -> RegistryServiceClient<WriterService> {
        RegistryServiceClient::new(self.under(Some(session_token), timeout))
    }

    fn own(&self, timeout: Duration) -> WriterService {
        self.under(Some(self.token.expose()), timeout)
    }

    fn under(&self, token: Option<&str>, timeout: Duration) -> WriterService {
        let bearer = Bearer::new(token).invalid_token_status(|| problem::unauthenticated().into());
        bearer.timeout(timeout).intercept(self.channel.with_timeout(timeout))
    }
}

/// The target of a command; `key`: its idempotency key, or empty.
#[must_use]
pub fn command_target(agent: &AgentId, conversation: &ConversationId, key: String) -> CommandTarget {
    CommandTarget {
        agent_id: agent.to_string(),
        conversation_id: conversation.to_string(),
        idempotency_key: key,
        expected_version: None,
    }
}
