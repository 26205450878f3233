//! `GET /widget/1/{release}/{file}`: a file that the loader names.

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use runtime::http::{HttpProblem, Path};

use super::serve;

/// The path changes with the content.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// A file of the chat widget.
///
/// The loader names the files of its own build. Another build of the gateway has others: 404.
#[utoipa::path(
    get,
    path = "/widget/1/{release}/{file}",
    tag = "widget",
    params(
        ("release" = String, Path, description = "The build, as the loader names it."),
        ("file" = String, Path, description = "The file: `chat.js` or `chat.css`."),
    ),
    responses((status = 200, description = "The file.", content(
        (String = "text/javascript"),
        (String = "text/css"),
    )))
)]
pub(in crate::http) async fn get_widget_file(
    Path((release, file)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, HttpProblem> {
    let path = format!("{release}/{file}");
    if let Some(file) = widget::release().other(&path) {
        Ok(serve(file, IMMUTABLE, &headers))
    } else {
        let detail = "the file is not of this build of the gateway: load hansard-chat.js again";
        let status = StatusCode::NOT_FOUND;
        Err(HttpProblem::new(status, "ROUTE_NOT_FOUND", detail))
    }
}
