//! Returns a document.

use tonic::{Request, Response, Status};
use wire::proto::document::v1 as proto;

use super::request::locate;
use super::{DocumentRpc, document};
use conversations::documents::{Document, find};
use conversations::request::Call;

pub(super) async fn handle(
    rpc: &DocumentRpc,
    request: Request<proto::GetDocumentRequest>,
) -> Result<Response<proto::GetDocumentResponse>, Status> {
    let call = Call::of(&request);
    let request = request.into_inner();
    let name = (request.namespace, request.key);
    let location = locate(rpc, &call, request.scope, name).await?;
    let state = find(&rpc.gateway, &location).await?;
    let found = state.live(rpc.gateway.now()).cloned().map(|value| Document {
        conversation: location.target.key.conversation,
        name: location.name,
        value,
    });
    Ok(Response::new(proto::GetDocumentResponse { document: found.map(document) }))
}
