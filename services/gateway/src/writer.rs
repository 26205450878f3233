//! The writer, for what callers append through the gateway: under their own token, so that the writer judges them itself.

use std::time::Duration;

use runtime::tls::{self, EndpointError};
use tonic::metadata::{Ascii, MetadataKey, MetadataValue};
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use wire::proto::write::v1 as proto;
use wire::proto::write::v1::write_service_client::WriteServiceClient;

use crate::problem;
use crate::request::Call;

/// How long a connection to the writer may take to open.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// A connection to the writer. It opens with the first call, and again after a loss; clones share it.
#[derive(Debug, Clone)]
pub struct Writer(WriteServiceClient<Channel>);

impl Writer {
    /// The writer at a URL, as [`tls::endpoint`] reads it. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`EndpointError`].
    pub fn at(url: &str) -> Result<Self, EndpointError> {
        let channel = Self::endpoint(url)?.connect_lazy();
        Ok(Self(WriteServiceClient::new(channel)))
    }

    /// How the writer at a URL is reached.
    ///
    /// # Errors
    /// As [`Writer::at`].
    pub fn endpoint(url: &str) -> Result<Endpoint, EndpointError> {
        let endpoint = tls::endpoint(url)?;
        Ok(endpoint.connect_timeout(CONNECT_TIMEOUT).tcp_nodelay(true))
    }

    /// Begins a conversation.
    ///
    /// # Errors
    /// What the writer says, or that it does not answer within the call's patience.
    pub async fn create(
        &self,
        call: &Call,
        request: proto::CreateConversationRequest,
    ) -> Result<proto::CommitResult, Status> {
        let request = on_behalf(call, request)?;
        let answer = self.0.clone().create_conversation(request).await?;
        Ok(answer.into_inner().result.unwrap_or_default())
    }

    /// Appends events as one commit.
    ///
    /// # Errors
    /// As [`Writer::create`].
    pub async fn append(
        &self,
        call: &Call,
        request: proto::AppendEventsRequest,
    ) -> Result<proto::CommitResult, Status> {
        let request = on_behalf(call, request)?;
        let answer = self.0.clone().append_events(request).await?;
        Ok(answer.into_inner().result.unwrap_or_default())
    }

    /// Changes title, metadata or provider ids.
    ///
    /// # Errors
    /// As [`Writer::create`].
    pub async fn update(
        &self,
        call: &Call,
        request: proto::UpdateConversationRequest,
    ) -> Result<proto::CommitResult, Status> {
        let request = on_behalf(call, request)?;
        let answer = self.0.clone().update_conversation(request).await?;
        Ok(answer.into_inner().result.unwrap_or_default())
    }

    /// Closes a conversation for events.
    ///
    /// # Errors
    /// As [`Writer::create`].
    pub async fn archive(
        &self,
        call: &Call,
        request: proto::ArchiveConversationRequest,
    ) -> Result<proto::CommitResult, Status> {
        let request = on_behalf(call, request)?;
        let answer = self.0.clone().archive_conversation(request).await?;
        Ok(answer.into_inner().result.unwrap_or_default())
    }

    /// Opens an archived conversation again.
    ///
    /// # Errors
    /// As [`Writer::create`].
    pub async fn restore(
        &self,
        call: &Call,
        request: proto::RestoreConversationRequest,
    ) -> Result<proto::CommitResult, Status> {
        let request = on_behalf(call, request)?;
        let answer = self.0.clone().restore_conversation(request).await?;
        Ok(answer.into_inner().result.unwrap_or_default())
    }

    /// Erases a conversation for good; the answer says how many of its commits are not overwritten yet.
    ///
    /// # Errors
    /// As [`Writer::create`].
    pub async fn erase(
        &self,
        call: &Call,
        request: proto::EraseConversationRequest,
    ) -> Result<proto::EraseConversationResponse, Status> {
        let request = on_behalf(call, request)?;
        let answer = self.0.clone().erase_conversation(request).await?;
        Ok(answer.into_inner())
    }

    /// Makes a conversation someone else's.
    ///
    /// # Errors
    /// As [`Writer::create`].
    pub async fn change_owner(
        &self,
        call: &Call,
        request: proto::ChangeOwnerRequest,
    ) -> Result<proto::CommitResult, Status> {
        let request = on_behalf(call, request)?;
        let answer = self.0.clone().change_owner(request).await?;
        Ok(answer.into_inner().result.unwrap_or_default())
    }
}

/// A request with the caller's token, trace and patience.
pub(crate) fn on_behalf<T>(call: &Call, message: T) -> Result<Request<T>, Status> {
    let bearer = call.bearer().ok_or_else(problem::unauthenticated)?;
    let authorization = MetadataValue::<Ascii>::try_from(format!("Bearer {bearer}"));
    let mut authorization = authorization.map_err(|_| problem::unauthenticated())?;
    authorization.set_sensitive(true);
    let mut request = Request::new(message);
    request.set_timeout(call.patience.left());
    let metadata = request.metadata_mut();
    metadata.insert("authorization", authorization);
    runtime::telemetry::inject(|name, value| {
        let header = MetadataKey::<Ascii>::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (header, value.parse()) {
            metadata.insert(name, value);
        }
    });
    Ok(request)
}
