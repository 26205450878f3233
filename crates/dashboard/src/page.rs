//! The response of a page.

use axum::response::{Html, IntoResponse, Response};
use pages::Markup;

/// A rendered page.
#[derive(Debug)]
pub struct Page(pub Markup);

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        Html(self.0.into_string()).into_response()
    }
}
