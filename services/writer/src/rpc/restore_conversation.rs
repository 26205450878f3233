//! Opens an archived conversation again.

use domain::Action;
use tonic::Request;
use wire::proto::write::v1::{RestoreConversationRequest, RestoreConversationResponse};
use wire::status::Problem;

use super::execute_on;
use crate::Writer;
use crate::request::split;

pub(super) async fn handle(
    writer: &Writer,
    request: Request<RestoreConversationRequest>,
) -> Result<RestoreConversationResponse, Problem> {
    let (caller, digest, request) = split(request);
    let result = execute_on(writer, &caller, request.target, digest, Action::Restore).await?;
    Ok(RestoreConversationResponse {
        result: Some(result),
    })
}
