//! `GET /dashboard/sign-in`: how to sign in.

use axum::extract::State;
use pages::dashboard::sign_in::{SignInPage, sign_in};
use runtime::http::Query;
use serde::Deserialize;

use super::page_or_first;
use crate::page::Page;
use http_listener::state::HttpState;

#[derive(Debug, Default, Deserialize)]
pub(crate) struct SignInQuery {
    /// The page to come back to.
    next: Option<String>,
}

pub(crate) async fn show_sign_in(State(state): State<HttpState>, Query(query): Query<SignInQuery>) -> Page {
    let url = state.provider.as_ref().map(|_| {
        let mut url = form_urlencoded::Serializer::new(String::new());
        url.append_pair("next", page_or_first(query.next.as_deref()));
        format!("/dashboard/sign-in/provider?{}", url.finish())
    });
    let provider = url.as_deref();
    Page(sign_in(SignInPage { provider }))
}
