//! Records a new value of a document.

use tonic::{Request, Response, Status};
use wire::proto::document::v1 as proto;
use wire::status::Problem;

use super::DocumentRpc;
use super::request::{change, locate};
use conversations::documents::{NewValue, put};
use conversations::request::{Call, idempotency_key};

pub(super) async fn handle(
    rpc: &DocumentRpc,
    request: Request<proto::PutDocumentRequest>,
) -> Result<Response<proto::PutDocumentResponse>, Status> {
    let call = Call::of(&request);
    let request = request.into_inner();
    let key = idempotency_key(&request.idempotency_key).map_err(Problem::from)?;
    let name = (request.namespace, request.key);
    let location = locate(rpc, &call, request.scope, name).await?;
    let change = change(rpc, &call, &location, request.expected_version, key);
    let value = NewValue { value_json: request.value_json, ttl_seconds: request.ttl_seconds };
    let written = put(change, value).await?;
    Ok(Response::new(proto::PutDocumentResponse {
        version: written.version,
        conversation_id: location.target.key.conversation.to_string(),
        recorded_at: written.recorded_at,
        position_token: written.position_token,
    }))
}
