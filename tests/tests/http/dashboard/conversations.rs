//! The list of conversations: filters, pages, and what it never shows.

use std::collections::BTreeSet;

use tests::agent::Agent;
use tests::dashboard::Browser;
use tests::events::{assistant, call, error, user};
use tests::eventually::eventually;
use wire::proto::operate::v1::DashboardRole;

use crate::fixture::Fixture;

async fn viewer(fixture: &Fixture, tenant: &str) -> Browser {
    let client = fixture.stack.http_client();
    Browser::signed_in(client, &fixture.operator, tenant, DashboardRole::Viewer).await
}

/// A conversation with these events, once its rows are complete.
async fn conversation(agent: &Agent, id: &str, events: Vec<wire::proto::event::v1::Event>) {
    agent.create(id).await;
    let appended = agent.append(id, events).await;
    agent.wait_for_rows(id, appended.version).await;
}

/// The conversations that a page links to.
fn listed(page: &str) -> BTreeSet<String> {
    let links = page.split("href=\"/dashboard/conversations/").skip(1);
    links.filter_map(|rest| Some(rest.split('"').next()?.to_owned())).collect()
}

fn path(filter: &str) -> String {
    let query: String = form_urlencoded::byte_serialize(filter.as_bytes()).collect();
    format!("/dashboard?q={query}")
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_select_conversations() {
    let fixture = Fixture::new().await;
    let agent = &fixture.agent;
    conversation(agent, "plain", vec![user("Where is my parcel?"), assistant("At the door.")]).await;
    conversation(agent, "tools", vec![user("search"), call("c1", "{}")]).await;
    conversation(agent, "errors", vec![user("fail"), error("it broke")]).await;
    let archived = agent.try_archive(agent.target("plain")).await.unwrap();
    agent.wait_for_rows("plain", archived.version).await;
    let browser = viewer(&fixture, fixture.tenant).await;
    let all = ["errors", "plain", "tools"];
    let check = async |filter: &str, expected: &[&str]| {
        let answer = browser.get(&path(filter)).await;
        let page = answer.text();
        assert_eq!(answer.status, 200, "{filter}: {page}");
        let expected: BTreeSet<String> = expected.iter().map(|id| (*id).to_owned()).collect();
        assert_eq!(listed(&page), expected, "{filter}");
    };
    check("", &all).await;
    check(&format!("agent:{}", fixture.agent_id), &all).await;
    check("agent:none", &[]).await;
    check("status:archived", &["plain"]).await;
    check("status:active", &["errors", "tools"]).await;
    check("errors:>0", &["errors"]).await;
    check("errors:0", &["plain", "tools"]).await;
    check("tool:search", &["tools"]).await;
    check("tool:other", &[]).await;
    check("model:none", &[]).await;
    check("outcome:failed", &[]).await;
    check("messages:>=2", &["plain"]).await;
    check("tokens:>1000000", &[]).await;
    check("id:tools", &["tools"]).await;
    check("owner:nobody", &[]).await;
    check("after:2020-01-01", &all).await;
    check("before:2020-01-01", &[]).await;
    check("sort:errors", &all).await;
    check("status:active errors:0 messages:1", &["tools"]).await;
    let page = browser.get("/dashboard").await.text();
    for text in ["Where is my parcel?", "At the door."] {
        assert!(page.contains(text), "{text}");
    }
    let wrong = browser.get(&path("colour:red")).await;
    assert_eq!(wrong.status, 400);
    assert!(wrong.text().contains("Filters are: agent"), "{}", wrong.text());
    assert!(wrong.text().contains("value=\"colour:red\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_have_every_conversation_once() {
    let fixture = Fixture::new().await;
    let mut expected = BTreeSet::new();
    for number in 0..120 {
        let id = format!("c{number}");
        fixture.agent.create(&id).await;
        expected.insert(id);
    }
    for id in &expected {
        fixture.agent.wait_for_rows(id, 1).await;
    }
    let browser = viewer(&fixture, fixture.tenant).await;
    for filter in ["", "messages:0"] {
        let (mut path, mut found, mut pages) = (path(filter), Vec::new(), 0);
        loop {
            let page = browser.get(&path).await.text();
            // Only a page that ends before it is full says how far it looked.
            assert!(!page.contains("found among"), "{filter}: {page}");
            found.extend(listed(&page));
            pages += 1;
            let Some((before, _)) = page.split_once("\" rel=\"next\"") else {
                break;
            };
            let next = before.rsplit("href=\"").next().unwrap();
            path = next.replace("&amp;", "&");
        }
        assert_eq!(pages, 3, "{filter}");
        assert_eq!(found.len(), expected.len(), "{filter}");
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
    }
    // A token is of its own filter.
    let page = browser.get("/dashboard").await.text();
    let (_, token) = page.split_once("page=").unwrap();
    let token = token.split('"').next().unwrap();
    let answer = browser.get(&format!("/dashboard?q=messages%3A0&page={token}")).await;
    assert_eq!(answer.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn views_are_shared_within_a_tenant() {
    let fixture = Fixture::new().await;
    let client = fixture.stack.http_client();
    let role = DashboardRole::Support;
    let support = Browser::signed_in(client, &fixture.operator, fixture.tenant, role).await;
    let own = viewer(&fixture, fixture.tenant).await;
    let foreign = viewer(&fixture, fixture.foreign_tenant).await;
    let view = [("name", "Broken <b>"), ("q", "errors:>0")];
    let saved = support.post("/dashboard/views", &view).await;
    assert_eq!(saved.status, 303);
    assert_eq!(saved.headers["location"], "/dashboard?q=errors%3A%3E0");
    let shown = async |browser: &Browser| {
        let page = browser.get("/dashboard").await.text();
        page.contains("Broken &lt;b&gt;")
    };
    eventually("the saved view", || async { shown(&own).await.then_some(()) }).await;
    assert!(!shown(&foreign).await);
    let wrong = [("name", "x"), ("q", "colour:red")];
    assert_eq!(support.post("/dashboard/views", &wrong).await.status, 400);
    for (name, expected) in [("a".repeat(64), 303), ("a".repeat(65), 400), (String::new(), 400)] {
        let view = [("name", name.as_str()), ("q", "errors:>0")];
        assert_eq!(support.post("/dashboard/views", &view).await.status, expected, "{name}");
    }
    // 50 views fit.
    for number in 2..50 {
        let name = format!("view {number}");
        let view = [("name", name.as_str()), ("q", "errors:>0")];
        assert_eq!(support.post("/dashboard/views", &view).await.status, 303, "{name}");
    }
    let past = [("name", "one more"), ("q", "errors:>0")];
    assert_eq!(support.post("/dashboard/views", &past).await.status, 400);
    let removed = support.post("/dashboard/views", &[("name", "Broken <b>")]).await;
    assert_eq!(removed.status, 303);
    eventually("the end of the view", || async { (!shown(&own).await).then_some(()) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_tenants_and_hostile_texts_are_harmless() {
    let fixture = Fixture::new().await;
    let script = "<script>alert(1)</script>";
    conversation(&fixture.agent, "hostile", vec![user(script), assistant(script)]).await;
    let other = viewer(&fixture, fixture.foreign_tenant).await;
    for filter in
        ["", &format!("agent:{}", fixture.agent_id), &format!("agent:{}", fixture.foreign_agent_id), "id:hostile"]
    {
        let page = other.get(&path(filter)).await.text();
        assert_eq!(listed(&page), BTreeSet::new(), "{filter}");
    }
    let own = viewer(&fixture, fixture.tenant).await;
    let page = own.get(&path(script)).await;
    assert_eq!(page.status, 400);
    assert!(!page.text().contains("<script>alert"));
    let page = own.get("/dashboard").await.text();
    assert!(page.contains("&lt;script&gt;alert"), "{page}");
    assert!(!page.contains("<script>alert"));
}
