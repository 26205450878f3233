//! Returns the documents whose values match.

use tonic::{Request, Response, Status};
use wire::proto::document::v1 as proto;
use wire::status::Problem;

use super::request::{authorize, labels};
use super::{DocumentRpc, document};
use conversations::documents::{DOCUMENTS_PAGE, DocumentSearch, DocumentsPage, parse_filter, search};
use conversations::request::{Call, fences};

pub(super) async fn handle(
    rpc: &DocumentRpc,
    request: Request<proto::SearchDocumentsRequest>,
) -> Result<Response<proto::SearchDocumentsResponse>, Status> {
    let call = Call::of(&request);
    let request = request.into_inner();
    let prefix = labels(request.namespace_prefix, "namespace_prefix").map_err(Problem::from)?;
    let conditions =
        parse_filter(&request.filter_json).map_err(|violation| Problem::from(violation.within("filter_json")))?;
    let page = DocumentsPage {
        offset: DocumentsPage::check_offset(request.offset).map_err(Problem::from)?,
        limit: DOCUMENTS_PAGE.take(request.limit).map_err(Problem::from)?,
        fences: fences(&rpc.gateway, &request.position_tokens)?,
        deadline: call.deadline,
    };
    let (access, scope) = authorize(rpc, &call, request.scope).await?;
    let wanted = DocumentSearch { access, scope, prefix, conditions, page, now: rpc.gateway.now() };
    let (found, has_more) = search(&rpc.gateway, wanted).await?;
    Ok(Response::new(proto::SearchDocumentsResponse { documents: found.into_iter().map(document).collect(), has_more }))
}
