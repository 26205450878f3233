//! `GET /widget/1/hansard-chat.js`: the file that pages load.

use axum::http::HeaderMap;
use axum::response::Response;

use super::serve;

/// Pages ask each time whether it has changed: its path does not.
const REVALIDATED: &str = "public, no-cache";

/// The loader of the chat widget.
///
/// An ES module that defines the element `hansard-chat`, for pages of any origin. `hansard widget snippet` prints the tag
/// with the integrity of the file.
#[utoipa::path(
    get,
    path = "/widget/1/hansard-chat.js",
    tag = "widget",
    responses((status = 200, description = "The module.", body = String, content_type = "text/javascript"))
)]
pub(in crate::http) async fn get_loader(headers: HeaderMap) -> Response {
    serve(&widget::release().loader, REVALIDATED, &headers)
}
