//! The gRPC services.

/// Implements a gRPC service of a struct with a `writer`. Each line is an rpc: name, request, response with its fields, and the
/// handler that returns them.
macro_rules! rpcs {
    (
        $service:ident for $server:ident { $($other:tt)* }
        $($name:ident($request:ident) -> $response:ident { $($field:ident),+ } = $handler:path;)*
    ) => {
        #[tonic::async_trait]
        impl $service for $server {
            $($other)*

            $(
                async fn $name(
                    &self,
                    request: Request<proto::$request>,
                ) -> Result<Response<proto::$response>, Status> {
                    #[allow(unused_parens, reason = "a single field needs none")]
                    let ($($field),+) = $handler(&self.writer, request).await?;
                    Ok(Response::new(proto::$response { $($field: $field.into()),+ }))
                }
            )*
        }
    };
}

mod append_events;
mod append_stream;
mod archive_conversation;
mod create_conversation;
mod erase_conversation;
mod registry;
mod runs;
mod update_conversation;

use domain::{Action, Owner, RequestDigest, Violation};
use tonic::{Request, Response, Status};
use wire::conversation::owner_from_proto;
use wire::proto::write::v1 as proto;
use wire::proto::write::v1::write_service_server::WriteService;
use wire::status::Problem;

pub(crate) use append_stream::StreamSettings;
pub(crate) use registry::RegistryRpc;
pub(crate) use runs::RunRpc;

use crate::Writer;
use crate::commit::commit_in_turn;
use crate::request::{Caller, intent};

#[derive(Debug, Clone)]
pub(crate) struct WriteRpc {
    writer: Writer,
    streams: StreamSettings,
}

impl WriteRpc {
    pub(crate) fn new(writer: Writer, streams: StreamSettings) -> Self {
        Self { writer, streams }
    }
}

/// Executes an action on a target.
async fn execute_on(
    writer: &Writer,
    caller: &Caller,
    target: Option<proto::CommandTarget>,
    digest: RequestDigest,
    action: Action,
) -> Result<proto::CommitResult, Problem> {
    let intent = intent(writer, caller, target.as_ref(), digest, action).await?;
    commit_in_turn(writer, intent).await
}

/// The field `expected_owner` of a request.
fn optional_owner(owner: Option<wire::proto::event::v1::Owner>) -> Result<Option<Owner>, Violation> {
    let owner = owner.map(|owner| owner_from_proto(Some(owner))).transpose();
    owner.map_err(|violation| violation.within("expected_owner"))
}

rpcs! {
    WriteService for WriteRpc {
        type AppendStreamStream = append_stream::Responses;

        async fn append_stream(
            &self,
            request: Request<tonic::Streaming<proto::AppendStreamRequest>>,
        ) -> Result<Response<Self::AppendStreamStream>, Status> {
            Ok(append_stream::handle(&self.writer, &self.streams, request))
        }
    }
    create_conversation(CreateConversationRequest) -> CreateConversationResponse { result } = create_conversation::handle;
    append_events(AppendEventsRequest) -> AppendEventsResponse { result } = append_events::handle;
    update_conversation(UpdateConversationRequest) -> UpdateConversationResponse { result } = update_conversation::update;
    archive_conversation(ArchiveConversationRequest) -> ArchiveConversationResponse { result } = archive_conversation::archive;
    restore_conversation(RestoreConversationRequest) -> RestoreConversationResponse { result } = archive_conversation::restore;
    change_owner(ChangeOwnerRequest) -> ChangeOwnerResponse { result } = update_conversation::change_owner;
    erase_conversation(EraseConversationRequest)
        -> EraseConversationResponse { result, pending_commits } = erase_conversation::handle;
}
