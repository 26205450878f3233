//! Returns the versions of a document.

use tonic::{Request, Response, Status};
use wire::proto::document::v1 as proto;
use wire::status::Problem;

use super::DocumentRpc;
use super::request::locate;
use conversations::documents::{DOCUMENTS_PAGE, DocumentVersion, versions};
use conversations::request::Call;

pub(super) async fn handle(
    rpc: &DocumentRpc,
    request: Request<proto::ListDocumentVersionsRequest>,
) -> Result<Response<proto::ListDocumentVersionsResponse>, Status> {
    let call = Call::of(&request);
    let request = request.into_inner();
    let limit = DOCUMENTS_PAGE.take(request.limit).map_err(Problem::from)?;
    let name = (request.namespace, request.key);
    let location = locate(rpc, &call, request.scope, name).await?;
    let page = versions(&rpc.gateway, &location, request.before_version, limit).await?;
    Ok(Response::new(proto::ListDocumentVersionsResponse {
        versions: page.versions.into_iter().map(version).collect(),
        next_before_version: page.next_before,
    }))
}

fn version(version: DocumentVersion) -> proto::DocumentVersion {
    let value = version.value;
    proto::DocumentVersion {
        version: version.version.0,
        recorded_at: Some(wire::time::to_proto(version.recorded_at)),
        value_json: value.map_or_else(String::new, |value| value.as_str().to_owned()),
        ttl_seconds: version.ttl_seconds.unwrap_or_default(),
    }
}
