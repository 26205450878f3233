//! The writer, for runs: under the gateway's own token, since frontends have none that a writer knows.

use std::time::Duration;

use domain::Sequence;
use runtime::config::Secret;
use runtime::tls::EndpointError;
use tonic::Status;
use tonic::transport::Channel;
use wire::proto::run::v1 as proto;
use wire::proto::run::v1::run_service_client::RunServiceClient;
use wire::proto::write::v1::CommitResult;

use crate::patience::Patience;
use crate::request::Call;
use crate::writer::{Writer, on_behalf};

/// The longest wait for one answer of the writer: an attempt beyond it is made again.
pub const ATTEMPT_MAX: Duration = Duration::from_secs(5);

/// A connection to the writer's run service. It opens with the first call, and again after a loss; clones share it.
#[derive(Debug, Clone)]
pub struct RunClient {
    service: RunServiceClient<Channel>,
    token: Secret,
}

impl RunClient {
    /// The service at a URL, called with a token. Needs a tokio runtime.
    ///
    /// # Errors
    /// As [`Writer::at`].
    pub fn at(url: &str, token: Secret) -> Result<Self, EndpointError> {
        let channel = Writer::endpoint(url)?.connect_lazy();
        Ok(Self {
            service: RunServiceClient::new(channel),
            token,
        })
    }

    /// A call by the gateway itself, of one attempt.
    #[must_use]
    pub fn call(&self) -> Call {
        let patience = Patience::until(None).at_most(ATTEMPT_MAX);
        Call::with_token(self.token.expose(), patience)
    }

    /// Starts a run.
    ///
    /// # Errors
    /// What the writer says, or that it does not answer within [`ATTEMPT_MAX`].
    pub async fn start(&self, request: proto::StartRunRequest) -> Result<CommitResult, Status> {
        let request = on_behalf(&self.call(), request)?;
        let answer = self.service.clone().start_run(request).await?;
        Ok(answer.into_inner().result.unwrap_or_default())
    }

    /// Publishes parts; where they stand.
    ///
    /// # Errors
    /// As [`RunClient::start`].
    pub async fn append_parts(
        &self,
        request: proto::AppendPartsRequest,
    ) -> Result<Sequence, Status> {
        let request = on_behalf(&self.call(), request)?;
        let answer = self.service.clone().append_parts(request).await?;
        Ok(Sequence(answer.into_inner().sequence))
    }

    /// Keeps a call of a model server in the log; whether the agent's settings say so.
    ///
    /// # Errors
    /// As [`RunClient::start`].
    pub async fn log_model_call(
        &self,
        request: proto::LogModelCallRequest,
    ) -> Result<bool, Status> {
        let request = on_behalf(&self.call(), request)?;
        let answer = self.service.clone().log_model_call(request).await?;
        Ok(answer.into_inner().is_kept)
    }

    /// Counts the tokens of a call of a model; `false`: the record has no stream for it.
    ///
    /// # Errors
    /// As [`RunClient::start`].
    pub async fn meter(&self, request: proto::MeterModelCallRequest) -> Result<bool, Status> {
        let request = on_behalf(&self.call(), request)?;
        let answer = self.service.clone().meter_model_call(request).await?;
        Ok(answer.into_inner().is_counted)
    }

    /// Asks a run to stop.
    ///
    /// # Errors
    /// As [`RunClient::start`].
    pub async fn stop(&self, request: proto::StopRunRequest) -> Result<CommitResult, Status> {
        let request = on_behalf(&self.call(), request)?;
        let answer = self.service.clone().stop_run(request).await?;
        Ok(answer.into_inner().result.unwrap_or_default())
    }

    /// Finishes a run.
    ///
    /// # Errors
    /// As [`RunClient::start`].
    pub async fn finish(&self, request: proto::FinishRunRequest) -> Result<CommitResult, Status> {
        let request = on_behalf(&self.call(), request)?;
        let answer = self.service.clone().finish_run(request).await?;
        Ok(answer.into_inner().result.unwrap_or_default())
    }
}
