//! Returns one conversation, without its events.

use history::Snapshot;
use tonic::{Request, Response, Status};
use wire::proto::read::v1::{GetConversationRequest, GetConversationResponse};

use conversations::Gateway;
use conversations::request::{Call, read_target};

pub(super) async fn handle(
    gateway: &Gateway,
    request: Request<GetConversationRequest>,
) -> Result<Response<GetConversationResponse>, Status> {
    let call = Call::of(&request);
    let target = read_target(gateway, &call, request.into_inner().target).await?;
    let snapshot = Snapshot::open(&gateway.reader, &target).await?;
    let position_token = snapshot.position_token().await?;
    let conversation = snapshot.into_conversation().await?;
    Ok(Response::new(GetConversationResponse {
        conversation: Some(wire::reads::conversation(conversation)),
        position_token,
    }))
}
