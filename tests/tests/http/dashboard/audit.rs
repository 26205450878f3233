//! The audit log: what is recorded, and who can read, change and forge it.

use tests::dashboard::Browser;
use tests::errors::check_failure;
use tests::eventually::eventually;
use tonic::Code;
use wire::proto::operate::v1::{DashboardAction, DashboardRole, RecordDashboardActionRequest, Scope};
use wire::proto::write::v1::CreateConversationRequest;

use crate::fixture::Fixture;

async fn person(fixture: &Fixture, tenant: &str, role: DashboardRole) -> Browser {
    Browser::signed_in(fixture.stack.http_client(), &fixture.operator, tenant, role).await
}

/// The id of the log that the page of administrators shows.
fn log_of(page: &str) -> String {
    let (_, month) = page.split_once("<strong>20").expect("a month");
    format!("history:audit:20{}", month.get(..5).expect("a month"))
}

#[tokio::test(flavor = "multi_thread")]
async fn sign_ins_and_outs_are_recorded_for_their_tenant_alone() {
    let fixture = Fixture::new().await;
    let viewer = person(&fixture, fixture.tenant, DashboardRole::Viewer).await;
    viewer.post("/dashboard/sign-out", &[]).await;
    let administrator = person(&fixture, fixture.tenant, DashboardRole::Administrator).await;
    let page = administrator.get("/dashboard/audit").await.text();
    for text in ["signed_in", "signed_out", "viewer", "administrator", "link"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let foreign = person(&fixture, fixture.foreign_tenant, DashboardRole::Administrator).await;
    let page = foreign.get("/dashboard/audit").await.text();
    let (_, entries) = page.split_once("<tbody>").expect("entries");
    assert!(!entries.contains("signed_out"), "{page}");
    let empty = administrator.get("/dashboard/audit?month=2020-01").await;
    assert_eq!(empty.status, 200);
    assert!(empty.text().contains("No entries"));
    let wrong = administrator.get("/dashboard/audit?month=13").await;
    assert_eq!(wrong.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_list_and_no_token_reaches_an_audit_log() {
    let fixture = Fixture::new().await;
    let administrator = person(&fixture, fixture.tenant, DashboardRole::Administrator).await;
    let page = administrator.get("/dashboard/audit").await.text();
    let log = log_of(&page);
    // Rows of a later conversation of the same tenant show that the projector has seen the log.
    fixture.agent.create("later").await;
    fixture.agent.wait_for_rows("later", 1).await;
    let list = eventually("the rows", || async {
        let list = fixture.admin().get("/v1/admin/conversations").await.json();
        list.to_string().contains("later").then_some(list)
    });
    assert!(!list.await.to_string().contains("history:audit"));
    let missing = fixture.admin().get("/v1/admin/conversations/none").await;
    let read = fixture.admin().get(&format!("/v1/admin/conversations/{log}")).await;
    assert_eq!((read.status, read.body), (404, missing.body));
    let failures = [
        fixture.agent.try_archive(fixture.agent.target(&log)).await.map(drop),
        fixture.agent.try_erase(fixture.agent.target(&log)).await.map(drop),
    ];
    for failure in failures {
        check_failure(&log, failure, (Code::NotFound, "CONVERSATION_NOT_FOUND", ""));
    }
    // No caller can take the log of a coming month.
    let squat = CreateConversationRequest {
        conversation_id: "history:audit:2099-01".to_owned(),
        owner: Some(wire::proto::event::v1::Owner {
            kind: Some(wire::proto::event::v1::owner::Kind::ChannelId("0".repeat(64))),
        }),
        ..fixture.agent.create_request("c")
    };
    let outcome = fixture.agent.try_create(squat).await.map(drop);
    check_failure("squat", outcome, (Code::InvalidArgument, "FIELD_RESERVED", "conversation_id"));
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_need_a_valid_session() {
    let fixture = Fixture::new().await;
    let caller = fixture.operator.caller();
    let token = fixture.operator.token(&[Scope::Append], fixture.tenant).await;
    let caller = caller.with_token(&token.secret);
    let link = fixture.operator.dashboard_link(fixture.tenant, DashboardRole::Viewer).await;
    for session_token in [String::new(), "a.b.c".to_owned(), link] {
        let request = RecordDashboardActionRequest {
            session_token,
            action: DashboardAction::Erased.into(),
            ..RecordDashboardActionRequest::default()
        };
        let outcome = caller.registry().record_dashboard_action(request).await;
        let expected = (Code::NotFound, "REGISTRY_ENTRY_NOT_FOUND", "session_token");
        check_failure("forged", outcome.map(drop), expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_is_filtered() {
    let fixture = Fixture::new().await;
    fixture.agent.create("c").await;
    let administrator = person(&fixture, fixture.tenant, DashboardRole::Administrator).await;
    assert_eq!(fixture.admin().get("/v1/admin/conversations/c").await.status, 200);
    let check = async |query: &str, shown: &[&str], hidden: &[&str]| {
        let page = administrator.get(&format!("/dashboard/audit?{query}")).await.text();
        let table = page.split_once("<tbody>").map_or("", |(_, table)| table);
        for text in shown {
            assert!(table.contains(text), "{query} {text}: {page}");
        }
        for text in hidden {
            assert!(!table.contains(text), "{query} {text}: {page}");
        }
    };
    let of_token = "GET /v1/admin/conversations/{id}";
    check("", &["signed_in", of_token], &[]).await;
    check("actor=person", &["signed_in"], &[of_token]).await;
    check("actor=administrator", &[of_token, "root"], &["signed_in"]).await;
    check("name=root&action=viewed&conversation=c", &[of_token], &["signed_in"]).await;
    check("actor=service_token", &[], &["signed_in", of_token]).await;
    check("name=%3Cscript%3E", &[], &["signed_in", of_token]).await;
    let page = administrator.get("/dashboard/audit?name=%3Cscript%3E&actor=person").await.text();
    assert!(!page.contains("<script>") && page.contains("&amp;actor=person&amp;name=%3Cscript%3E"), "{page}");
    assert_eq!(administrator.get("/dashboard/audit?actor=robot").await.status, 400);
}
