//! One conversation, without its events.

use tonic::{Request, Response, Status};
use wire::proto::read::v1::{GetConversationRequest, GetConversationResponse};

use crate::Gateway;
use crate::fresh::position_token;
use crate::present::present;
use crate::request::{Call, Target};

pub(super) async fn handle(
    gateway: &Gateway,
    request: Request<GetConversationRequest>,
) -> Result<Response<GetConversationResponse>, Status> {
    let call = Call::of(&request);
    let target = Target::of(gateway, &call, request.into_inner().target).await?;
    let (conversation, place) = present(gateway, &target).await?;
    Ok(Response::new(GetConversationResponse {
        conversation: Some(wire::reads::conversation(conversation)),
        position_token: position_token(gateway, &target.key, place),
    }))
}
