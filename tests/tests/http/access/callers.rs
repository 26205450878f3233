//! Every kind of caller of the matrix.

use serde_json::json;
use tests::eventually::eventually;
use tests::http_client::HttpClient;
use tests::jwt;
use wire::proto::operate::v1::Scope;

use crate::fixture::{Fixture, bearer};

/// The session that owns the requested conversation.
pub(crate) const SESSION: &str = "owner-session";
/// The id of the user of some callers.
pub(crate) const USER: &str = "ada";

/// The callers, in the order of the matrix's columns.
pub(crate) const CALLERS: [&str; 12] = [
    "no key",
    "the session that owns it",
    "another session",
    "a user by name",
    "a user by a forged token",
    "a user by an expired token",
    "a user by a token",
    "another tenant's key",
    "a revoked key",
    "an administrator",
    "another tenant's administrator",
    "a service token",
];

/// A client for each of [`CALLERS`].
pub(crate) async fn callers(fixture: &Fixture) -> Vec<HttpClient> {
    let client = fixture.stack.http_client();
    let frontend = fixture.frontend();
    let session = |client: HttpClient| client.with("x-session-id", SESSION);
    let token = |token: String| session(frontend.clone()).with("x-user-token", &token);
    let expired = json!({"sub": USER, "exp": jwt::seconds_from_now(-3_600)});
    let foreign = client.with("x-api-key", &fixture.foreign_key.secret);
    let revoked = fixture.operator.api_key(fixture.agent_id).await;
    fixture.operator.revoke_api_key(&revoked).await;
    let revoked = session(client.with("x-api-key", &revoked.secret));
    eventually("a revoked key", || async { (revoked.get("/api/chats").await.status == 401).then_some(()) }).await;
    let service = fixture.operator.token(&[Scope::Append, Scope::Read], fixture.tenant);
    vec![
        session(client.clone()),
        session(frontend.clone()),
        frontend.with("x-session-id", "another-session"),
        frontend.with("x-user-id", USER),
        token(jwt::user("another secret of thirty-two bytes", USER)),
        token(jwt::hs256(&fixture.user_secret, &expired)),
        token(jwt::user(&fixture.user_secret, USER)),
        session(foreign),
        revoked,
        fixture.admin(),
        fixture.foreign_admin(),
        bearer(&fixture.stack, &service.await.secret),
    ]
}
