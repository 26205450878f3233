//! Closes a conversation for events.

use domain::Action;
use tonic::Request;
use wire::proto::write::v1::{ArchiveConversationRequest, ArchiveConversationResponse};
use wire::status::Problem;

use super::execute_on;
use crate::Writer;
use crate::request::split;

pub(super) async fn handle(
    writer: &Writer,
    request: Request<ArchiveConversationRequest>,
) -> Result<ArchiveConversationResponse, Problem> {
    let (caller, digest, request) = split(request);
    let result = execute_on(writer, &caller, request.target, digest, Action::Archive).await?;
    Ok(ArchiveConversationResponse {
        result: Some(result),
    })
}
