//! Who reads the audit log over gRPC, its filters, and how a stream continues.

use tests::dashboard::Browser;
use tests::errors::check_failure;
use tests::eventually::within;
use tonic::Code;
use wire::proto::operate::v1::{AuditActorKind, AuditEntry, WatchAuditLogRequest};
use wire::proto::operate::v1::{DashboardRole, Scope};

use super::{entries, open, open_with, request};
use crate::fixture::Fixture;

async fn sign_in(fixture: &Fixture) -> Browser {
    let client = fixture.stack.http_client();
    Browser::signed_in(client, &fixture.operator, fixture.tenant, DashboardRole::Administrator).await
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_of_the_tenant_read_its_log_and_nobody_else() {
    let fixture = Fixture::new().await;
    sign_in(&fixture).await;
    let (tenant, foreign) = (fixture.tenant, fixture.foreign_tenant);
    let operator = &fixture.operator;
    let of_tenant = operator.token(&[Scope::Operate], tenant).await.secret;
    let missing_scope = Some((Code::PermissionDenied, "MISSING_SCOPE", ""));
    let not_found = Some((Code::NotFound, "REGISTRY_ENTRY_NOT_FOUND", "tenant_id"));
    let unauthenticated = Some((Code::Unauthenticated, "UNAUTHENTICATED", ""));
    // No token with the scope `operate` is bound to agents.
    let bound = operator.secret_key(&[Scope::Read, Scope::Append], &[fixture.agent_id]).await.secret;
    let read = operator.token(&[Scope::Read, Scope::Append, Scope::Erase], tenant).await.secret;
    let others = operator.token(&[Scope::Operate], foreign).await.secret;
    for (case, token, tenant, expected) in [
        ("its operator", of_tenant.as_str(), tenant, None),
        ("its operator, without a name", &of_tenant, "", None),
        ("the operator of all", fixture.stack.token().await, tenant, None),
        ("the operator of all, without a name", fixture.stack.token().await, "", not_found),
        ("an operator of a missing tenant", fixture.stack.token().await, "none", not_found),
        ("its operator, of a missing tenant", &of_tenant, "none", not_found),
        ("its operator, of a foreign tenant", &of_tenant, foreign, not_found),
        ("a foreign operator", &others, tenant, not_found),
        ("a token of an agent", &bound, tenant, missing_scope),
        ("a token of an agent, without a name", &bound, "", missing_scope),
        ("a token without the scope", &read, tenant, missing_scope),
        ("no service token", "hst_forged", tenant, unauthenticated),
        ("an API key", &fixture.key.secret, tenant, unauthenticated),
    ] {
        let opened = open_with(&fixture, token, request(tenant)).await;
        if let Some(expected) = expected {
            check_failure(case, opened.map(drop), expected);
            continue;
        }
        let first = opened.expect(case).message().await.expect(case).expect(case);
        assert_eq!(first.entry.expect("an entry").action, "signed_in", "{case}");
    }
    // A foreign operator reads its own log, which is empty.
    let mut own = open_with(&fixture, &others, request("")).await.expect("a stream");
    assert_eq!(own.message().await.expect("an end"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_follows_no_longer() {
    let fixture = Fixture::new().await;
    sign_in(&fixture).await;
    let token = fixture.operator.token(&[Scope::Operate], fixture.tenant).await;
    let live = WatchAuditLogRequest { follow: true, ..request(fixture.tenant) };
    let mut stream = open_with(&fixture, &token.secret, live).await.expect("a stream");
    assert!(stream.message().await.expect("an entry").is_some());
    fixture.operator.revoke(&token).await;
    let end = within("the end of the stream", async {
        loop {
            if let Err(status) = stream.message().await {
                return status;
            }
        }
    });
    assert_eq!(end.await.code(), Code::Unauthenticated);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_part_of_a_filter_counts() {
    let fixture = Fixture::new().await;
    fixture.agent.create("c").await;
    sign_in(&fixture).await.post("/dashboard/sign-out", &[]).await;
    let admin = fixture.admin();
    for path in ["/v1/admin/conversations/c", "/v1/admin/conversations/c/export?format=csv"] {
        assert_eq!(admin.get(path).await.status, 200);
    }
    let check = async |filter: WatchAuditLogRequest, expected: &[&str]| {
        let found = entries(&fixture, filter.clone()).await;
        let actions: Vec<&str> = found.iter().map(|entry| entry.action.as_str()).collect();
        assert_eq!(actions, expected, "{filter:?}");
    };
    let all = || request(fixture.tenant);
    let text = str::to_owned;
    check(all(), &["signed_in", "signed_out", "viewed", "exported"]).await;
    let people = AuditActorKind::Person.into();
    check(WatchAuditLogRequest { actor_kind: people, ..all() }, &["signed_in", "signed_out"]).await;
    check(WatchAuditLogRequest { name: text("root"), ..all() }, &["viewed", "exported"]).await;
    check(WatchAuditLogRequest { action: text("exported"), ..all() }, &["exported"]).await;
    check(WatchAuditLogRequest { conversation_id: text("c"), ..all() }, &["viewed", "exported"]).await;
    check(WatchAuditLogRequest { actor_kind: people, conversation_id: text("c"), ..all() }, &[]).await;
    let tokens = AuditActorKind::ServiceToken.into();
    check(WatchAuditLogRequest { actor_kind: tokens, ..all() }, &[]).await;
    let long = WatchAuditLogRequest { name: "n".repeat(257), ..all() };
    let expected = (Code::InvalidArgument, "FIELD_OUT_OF_RANGE", "name");
    check_failure("a long name", open(&fixture, long).await.map(drop), expected);
    let wrong = WatchAuditLogRequest { after_position: text("7"), ..all() };
    let expected = (Code::InvalidArgument, "FIELD_MALFORMED", "after_position");
    check_failure("no position", open(&fixture, wrong).await.map(drop), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_continues_after_any_position() {
    let fixture = Fixture::new().await;
    for _ in 0..3 {
        sign_in(&fixture).await;
    }
    let all: Vec<AuditEntry> = entries(&fixture, request(fixture.tenant)).await;
    assert_eq!(all.len(), 3);
    for (index, entry) in all.iter().enumerate() {
        let after = WatchAuditLogRequest { after_position: entry.position.clone(), ..request(fixture.tenant) };
        assert_eq!(entries(&fixture, after).await, all[index + 1..]);
    }
}
