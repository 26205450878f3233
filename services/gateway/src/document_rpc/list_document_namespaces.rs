//! Returns the namespaces of documents.

use tonic::{Request, Response, Status};
use wire::proto::document::v1 as proto;
use wire::status::Problem;

use super::DocumentRpc;
use super::request::{authorize, labels};
use conversations::documents::{DOCUMENT_DEPTH, DOCUMENT_NAMESPACES_PAGE, DocumentsPage, NamespaceSearch, namespaces};
use conversations::request::{Call, fences};

pub(super) async fn handle(
    rpc: &DocumentRpc,
    request: Request<proto::ListDocumentNamespacesRequest>,
) -> Result<Response<proto::ListDocumentNamespacesResponse>, Status> {
    let call = Call::of(&request);
    let request = request.into_inner();
    let prefix = labels(request.prefix, "prefix").map_err(Problem::from)?;
    let suffix = labels(request.suffix, "suffix").map_err(Problem::from)?;
    let limit = DOCUMENT_NAMESPACES_PAGE.take(request.limit);
    let page = DocumentsPage {
        offset: DocumentsPage::check_offset(request.offset).map_err(Problem::from)?,
        limit: limit.map_err(Problem::from)?,
        fences: fences(&rpc.gateway, &request.position_tokens)?,
        deadline: call.deadline,
    };
    let depth_max = DOCUMENT_DEPTH.take(request.max_depth).map_err(Problem::from)?;
    let (access, scope) = authorize(rpc, &call, request.scope).await?;
    let wanted = NamespaceSearch { access, scope, prefix, suffix, depth_max, page, now: rpc.gateway.now() };
    let (found, has_more) = namespaces(&rpc.gateway, wanted).await?;
    let found = found.iter().map(|namespace| proto::DocumentNamespace { labels: namespace.labels().to_vec() });
    Ok(Response::new(proto::ListDocumentNamespacesResponse { namespaces: found.collect(), has_more }))
}
