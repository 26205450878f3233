//! Every kind of caller that the matrix knows.

use serde_json::json;
use tests::door::Door;
use tests::eventually::eventually;
use tests::jwt;
use wire::proto::operate::v1::Scope;

use crate::ground::{Ground, TENANT, bearer};

/// The session that owns the conversation that callers ask for.
pub(crate) const SESSION: &str = "owner-session";
/// The user that some callers are.
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

/// A door for each of [`CALLERS`].
pub(crate) async fn callers(ground: &Ground) -> Vec<Door> {
    let door = ground.stack.door();
    let frontend = ground.frontend();
    let session = |door: Door| door.with("x-session-id", SESSION);
    let token = |token: String| session(frontend.clone()).with("x-user-token", &token);
    let expired = json!({"sub": USER, "exp": jwt::seconds_from_now(-3_600)});
    let foreign = door.with("x-api-key", &ground.foreign_key.secret);
    let revoked = ground.operator.api_key(crate::ground::AGENT).await;
    ground.operator.revoke_api_key(&revoked).await;
    let revoked = session(door.with("x-api-key", &revoked.secret));
    eventually("a revoked key", || async {
        (revoked.get("/api/chats").await.status == 401).then_some(())
    })
    .await;
    let service = ground.operator.token(&[Scope::Append, Scope::Read], TENANT);
    vec![
        session(door.clone()),
        session(frontend.clone()),
        frontend.with("x-session-id", "another-session"),
        frontend.with("x-user-id", USER),
        token(jwt::user("another secret of thirty-two bytes", USER)),
        token(jwt::hs256(&ground.user_secret, &expired)),
        token(jwt::user(&ground.user_secret, USER)),
        session(foreign),
        revoked,
        ground.admin(),
        ground.foreign_admin(),
        bearer(&ground.stack, &service.await.secret),
    ]
}
