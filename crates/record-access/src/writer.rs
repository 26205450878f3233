//! The client of the writers.
//!
//! A command of a caller with a service token is sent under that token, and the writer authorizes it. A change of settings and
//! keys is sent under the session token of the person of the dashboard. All other commands are sent under the gateway's token.

mod attempts;
mod channel;
mod error;
mod peer;
mod pool;
mod repeatable;

pub use channel::{NoWriter, Repeated, WriterChannel};
pub use error::WriterError;

use std::time::Duration;

use runtime::config::Secret;
use runtime::grpc::Bearer;
use runtime::tls::{self, EndpointError};
use tonic::service::interceptor::InterceptedService;
use wire::proto::operate::v1::registry_service_client::RegistryServiceClient;
use wire::proto::run::v1::run_service_client::RunServiceClient;
use wire::proto::write::v1::write_service_client::WriteServiceClient;

use crate::problem;
use crate::request::Call;

/// The deadline of one call of the run service.
pub const ATTEMPT_MAX: Duration = Duration::from_secs(5);

/// Calls of the writer under a token.
pub type WriterService = InterceptedService<WriterChannel, Bearer>;

/// Connections to the writers. They open with the first call and reconnect after a loss. Clones share them.
#[derive(Debug, Clone)]
pub struct WriterClient {
    channel: WriterChannel,
    token: Secret,
}

impl WriterClient {
    /// The writers at URLs in the syntax of [`tls::endpoints`], with the gateway's own token. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`EndpointError`].
    pub fn at(urls: &str, token: Secret) -> Result<Self, EndpointError> {
        Ok(Self { channel: WriterChannel::to(tls::endpoints(urls)?), token })
    }

    /// Checks that a writer may answer at one of the URLs. One that is down may.
    ///
    /// # Errors
    /// [`NoWriter`].
    pub fn check(&self) -> Result<(), NoWriter> {
        self.channel.check()
    }

    /// A channel for calls of gRPC callers under their own tokens.
    #[must_use]
    pub fn forwarding(&self) -> WriterChannel {
        self.channel.forwarding()
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
