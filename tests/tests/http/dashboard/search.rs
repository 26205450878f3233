//! The search of the dashboard.

use tests::dashboard::Browser;
use tests::events::{assistant, user};
use tests::eventually::eventually;
use wire::proto::operate::v1::DashboardRole;

use super::transcript::person;
use crate::fixture::Fixture;

const PATH: &str = "/dashboard/search?q=";

#[tokio::test(flavor = "multi_thread")]
async fn a_search_finds_texts_of_the_own_tenant_as_text() {
    let fixture = Fixture::new().await;
    let agent = &fixture.agent;
    agent.create("c").await;
    let question = "<script>alert(1)</script> Where is my parcel?";
    agent.append("c", vec![user(question), assistant("In Leeds.")]).await;
    let viewer = person(&fixture, DashboardRole::Viewer).await;
    let found = eventually("the result", async || {
        let page = viewer.get(&format!("{PATH}parcel")).await.text();
        page.contains("<mark>parcel</mark>").then_some(page)
    })
    .await;
    assert!(found.contains("&lt;script&gt;alert(1)&lt;/script&gt; Where is my "));
    assert!(!found.contains("<script>alert"));
    assert!(found.contains(r#"href="/dashboard/conversations/c?at=2#v2""#), "{found}");
    let administrator = DashboardRole::Administrator;
    let (client, operator) = (fixture.stack.http_client(), &fixture.operator);
    let foreign = Browser::signed_in(client, operator, fixture.foreign_tenant, administrator).await;
    let nothing = foreign.get(&format!("{PATH}parcel")).await.text();
    assert!(nothing.contains("Nothing found") && !nothing.contains("<mark>"));
    // The search is in the audit log, its words are not.
    let reader = person(&fixture, administrator).await;
    let log = reader.get("/dashboard/audit").await.text();
    assert!(log.contains("<td>search</td>") && !log.contains("parcel"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_query_is_explained_and_kept() {
    let fixture = Fixture::new().await;
    let viewer = person(&fixture, DashboardRole::Viewer).await;
    let wrong = viewer.get(&format!("{PATH}role%3Anobody")).await;
    assert_eq!(wrong.status, 400);
    let page = wrong.text();
    assert!(page.contains("query-error") && page.contains(r#"value="role:nobody""#), "{page}");
    let long = "x".repeat(513);
    assert_eq!(viewer.get(&format!("{PATH}{long}")).await.status, 400);
    assert_eq!(viewer.get("/dashboard/search").await.status, 200);
}
