//! Fields of a form.

use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use bytes::Bytes;
use runtime::http::HttpProblem;
use serde::de::DeserializeOwned;

/// The fields of a form that was sent by POST. [`super::guard`] has checked its origin and its token.
#[derive(Debug, Clone, Copy, Default)]
pub struct Form<T>(pub T);

impl<T, S> FromRequest<S> for Form<T>
where
    T: DeserializeOwned,
    S: Send + Sync,
{
    type Rejection = HttpProblem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Self::Rejection> {
        let malformed = || {
            let detail = "the form cannot be read: reload the page and send it again";
            HttpProblem::new(StatusCode::BAD_REQUEST, "FORM_MALFORMED", detail)
        };
        let body = Bytes::from_request(request, state).await.map_err(|_| malformed())?;
        serde_urlencoded::from_bytes(&body).map(Self).map_err(|_| malformed())
    }
}
