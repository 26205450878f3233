//! Open an archived conversation again.

use domain::Action;
use tonic::{Request, Response, Status};
use wire::proto::write::v1::{RestoreConversationRequest, RestoreConversationResponse};

use super::carry_out;
use crate::Writer;
use crate::request::{Asked, Caller, digest, intent};

pub(super) async fn handle(
    writer: &Writer,
    request: Request<RestoreConversationRequest>,
) -> Result<Response<RestoreConversationResponse>, Status> {
    let caller = Caller::of(request.metadata());
    let request = request.into_inner();
    let asked = Asked {
        digest: digest(&request),
        action: Action::Restore,
    };
    let intent = intent(writer, &caller, request.target.as_ref(), asked).await?;
    let result = carry_out(writer, intent).await?;
    Ok(Response::new(RestoreConversationResponse {
        result: Some(result),
    }))
}
