//! Deletes a document.

use tonic::{Request, Response, Status};
use wire::proto::document::v1 as proto;
use wire::status::Problem;

use super::DocumentRpc;
use super::request::{change, locate};
use conversations::documents::delete;
use conversations::request::{Call, idempotency_key};

pub(super) async fn handle(
    rpc: &DocumentRpc,
    request: Request<proto::DeleteDocumentRequest>,
) -> Result<Response<proto::DeleteDocumentResponse>, Status> {
    let call = Call::of(&request);
    let request = request.into_inner();
    let key = idempotency_key(&request.idempotency_key).map_err(Problem::from)?;
    let name = (request.namespace, request.key);
    let location = locate(rpc, &call, request.scope, name).await?;
    let change = change(rpc, &call, &location, request.expected_version, key);
    let deleted = delete(change).await?;
    Ok(Response::new(proto::DeleteDocumentResponse {
        deleted: deleted.deleted,
        version: deleted.written.version,
        position_token: deleted.written.position_token,
    }))
}
