//! `GET /dashboard/assets/{hash}/{name}`: style sheet, icon and scripts.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use pages::assets;
use runtime::http::{HttpProblem, Path};

/// An embedded file. A URL with the hash of another build gets this build's file, which browsers must not keep: gateways of
/// two builds serve one page during an update.
pub(super) async fn get_asset(Path((hash, name)): Path<(String, String)>) -> Result<Response, HttpProblem> {
    let asset = assets::find(&name).ok_or_else(|| {
        let detail = "there is no such file: reload the page";
        HttpProblem::new(StatusCode::NOT_FOUND, "ASSET_NOT_FOUND", detail)
    })?;
    let mut headers = HeaderMap::new();
    let content_type = HeaderValue::from_static(asset.content_type);
    headers.insert(header::CONTENT_TYPE, content_type);
    if hash == assets::hash() {
        let kept = HeaderValue::from_static(assets::CACHE_CONTROL);
        headers.insert(header::CACHE_CONTROL, kept);
    }
    Ok((headers, asset.content).into_response())
}
