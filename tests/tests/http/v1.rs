//! `/v1`: endpoints of administrators and back ends, and chats for simple programs.

mod admin;
mod chat;
mod conversations;
mod documents;
mod histories;

use tests::http_client::HttpClient;
use wire::proto::operate::v1::Scope;

use crate::fixture::{Fixture, bearer};

/// A back end of [`Fixture::tenant`] with these scopes.
async fn service(fixture: &Fixture, scopes: &[Scope]) -> HttpClient {
    let token = fixture.operator.token(scopes, fixture.tenant).await;
    bearer(&fixture.stack, &token.secret)
}
