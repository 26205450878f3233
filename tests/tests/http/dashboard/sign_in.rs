//! Signing in with one-time links, and signing out.

use tests::dashboard::{Browser, LINK_PATH, is_sign_in_required};
use tests::errors::check_failure;
use tests::eventually::eventually;
use tonic::Code;
use wire::proto::operate::v1::{CreateDashboardLinkRequest, DashboardRole, Scope};

use crate::fixture::Fixture;

const VIEWER: DashboardRole = DashboardRole::Viewer;

#[tokio::test(flavor = "multi_thread")]
async fn a_link_signs_in_once() {
    let fixture = Fixture::new().await;
    let browser = Browser::new(fixture.stack.http_client());
    let token = fixture.operator.dashboard_link(fixture.tenant, VIEWER).await;
    let page = format!("{LINK_PATH}?token={token}");
    // A preview of the link does not use it.
    for _ in 0..2 {
        let shown = browser.get(&page).await;
        assert_eq!(shown.status, 200);
        assert!(shown.text().contains("viewer of"), "{}", shown.text());
        assert!(!shown.headers.contains_key("set-cookie"));
    }
    let first = browser.post(LINK_PATH, &[("token", &token)]).await;
    let signed_in = browser.with_session(&first).await;
    let cookie = &first.headers["set-cookie"];
    for attribute in ["__Host-hansard.dashboard=", "Path=/;", "Secure", "HttpOnly", "SameSite=Lax"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    let second = browser.post(LINK_PATH, &[("token", &token)]).await;
    assert_eq!(second.status, 401);
    assert!(!second.headers.contains_key("set-cookie"));
    assert_eq!(signed_in.get("/dashboard").await.status, 200);
    // A link is no session.
    let forged = browser.with_header("cookie", &format!("__Host-hansard.dashboard={token}"));
    assert!(is_sign_in_required(&forged.get("/dashboard").await));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_concurrent_uses_of_a_link_one_succeeds() {
    let fixture = Fixture::new().await;
    let browser = Browser::new(fixture.stack.http_client());
    let token = fixture.operator.dashboard_link(fixture.tenant, VIEWER).await;
    let uses = (0..8).map(|_| async {
        let answer = browser.post(LINK_PATH, &[("token", &token)]).await;
        (answer.status, answer.headers.contains_key("set-cookie"))
    });
    let uses = futures::future::join_all(uses).await;
    let sessions = uses.iter().filter(|(_, is_session)| *is_session).count();
    assert_eq!(sessions, 1, "{uses:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_with_the_sign_out() {
    let fixture = Fixture::new().await;
    let client = fixture.stack.http_client();
    let person = Browser::signed_in(client.clone(), &fixture.operator, fixture.tenant, VIEWER).await;
    let other = Browser::signed_in(client, &fixture.operator, fixture.tenant, VIEWER).await;
    let answer = person.post("/dashboard/sign-out", &[]).await;
    assert_eq!(answer.headers["location"], "/dashboard/sign-in");
    assert!(answer.headers["set-cookie"].contains("Max-Age=0"));
    // A copy of the cookie is worth nothing any more.
    eventually("the end of the session", || async {
        is_sign_in_required(&person.get("/dashboard").await).then_some(())
    })
    .await;
    assert_eq!(other.get("/dashboard").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_session_leads_to_the_sign_in_and_back() {
    let fixture = Fixture::new().await;
    let browser = Browser::new(fixture.stack.http_client());
    let answer = browser.get("/dashboard?page=a").await;
    assert_eq!(answer.status, 303);
    let expected = "/dashboard/sign-in?next=%2Fdashboard%3Fpage%3Da";
    assert_eq!(answer.headers["location"], expected);
    let from_script = browser.with_header("sec-fetch-mode", "cors");
    let answer = from_script.get("/dashboard").await;
    assert_eq!(answer.status, 401);
    assert!(answer.text().contains("SIGN_IN_REQUIRED"), "{}", answer.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn links_are_created_within_the_rights_of_the_token() {
    let fixture = Fixture::new().await;
    let link = |tenant: &str, role: DashboardRole| CreateDashboardLinkRequest {
        tenant_id: tenant.to_owned(),
        name: "ada".to_owned(),
        role: role.into(),
    };
    let caller = fixture.operator.caller();
    let token = async |scope, tenant| fixture.operator.token(&[scope], tenant).await;
    let bound = caller.with_token(&token(Scope::Operate, fixture.tenant).await.secret);
    let append = caller.with_token(&token(Scope::Append, fixture.tenant).await.secret);
    for role in [DashboardRole::Viewer, DashboardRole::Administrator] {
        bound.registry().create_dashboard_link(link("", role)).await.expect("a link of the token's tenant");
    }
    let cases = [
        (&bound, link(fixture.foreign_tenant, VIEWER), (Code::NotFound, "REGISTRY_ENTRY_NOT_FOUND", "tenant_id")),
        (&bound, link(fixture.tenant, DashboardRole::Operator), (Code::InvalidArgument, "FIELD_OUT_OF_RANGE", "role")),
        (&bound, link(fixture.tenant, DashboardRole::Unspecified), (Code::InvalidArgument, "FIELD_MISSING", "role")),
        (&append, link(fixture.tenant, VIEWER), (Code::PermissionDenied, "MISSING_SCOPE", "")),
    ];
    for (caller, request, expected) in cases {
        let case = format!("{request:?}");
        let outcome = caller.registry().create_dashboard_link(request).await;
        check_failure(&case, outcome.map(drop), expected);
    }
}
