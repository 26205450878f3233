//! `/openai/v1`: the APIs of OpenAI.

mod completions;
mod conversations;
mod errors;
mod models;
mod recorded;
mod responses;
mod schemas;

use tests::http_client::HttpClient;
use wire::proto::operate::v1::Scope;

use crate::fixture::{Fixture, bearer};

/// A back end with a key of [`Fixture::agent_id`].
async fn back_end(fixture: &Fixture) -> HttpClient {
    let scopes = [Scope::Append, Scope::Read];
    let key = fixture.operator.secret_key(&scopes, &[fixture.agent_id]).await;
    bearer(&fixture.stack, &key.secret)
}
