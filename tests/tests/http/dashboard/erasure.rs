//! Erasing a conversation from its page: the preview's counts are what is removed, and the receipt shows it.

use event_log::Record;
use serde_json::json;
use tests::events::{assistant, user};
use tests::eventually::eventually;
use tests::http_client::HttpClient;
use wire::proto::operate::v1::DashboardRole;

use super::transcript::person;
use crate::fixture::{Fixture, begin};

/// The counts of a name in a page, one of each conversation.
fn counts(page: &str, name: &str) -> Vec<u64> {
    let cells = page.split(&format!("data-count=\"{name}\">")).skip(1).collect::<Vec<_>>();
    let counts = cells.iter().map(|cell| cell.split('<').next().unwrap().replace(',', ""));
    counts.map(|count| count.parse().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_preview_counts_what_the_erasure_removes() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s");
    let (chat, fork) = chat_with_run_and_fork(&fixture, &session).await;
    let fork = fork.as_str();
    let version = async |id: &str| {
        let chat = session.get(&format!("/api/chats/{id}")).await.ok(200);
        let inherited = chat["forkedFrom"]["version"].as_u64().unwrap_or_default();
        chat["version"].as_u64().unwrap() - inherited
    };
    let browser = person(&fixture, DashboardRole::Support).await;
    let page = format!("/dashboard/conversations/{chat}");
    let preview = eventually("a preview with the fork", || async {
        // The projector may be behind with the fork, and the title may follow.
        let expected = [version(&chat).await, version(fork).await];
        let preview = browser.get(&format!("{page}/erase")).await.text();
        (counts(&preview, "events") == expected).then_some(preview)
    });
    let preview = preview.await;
    assert_eq!(counts(&preview, "archived"), [0, 0]);
    let record = Record::open(tests::settings::record(&fixture.stack.servers)).await.expect("a record");
    for (id, expected) in [&*chat, fork].into_iter().zip(counts(&preview, "commits")) {
        assert_eq!(record.commits_of(&key(&fixture, id)).await.unwrap(), expected, "{id}");
    }
    for (confirmation, forks, expected) in [("no", "1", "Nothing was erased"), (&*chat, "0", "more forks")] {
        let fields = [("confirmation", confirmation), ("forks", forks)];
        let rejected = browser.post(&format!("{page}/erase"), &fields).await.text();
        assert!(rejected.contains(expected), "{rejected}");
    }
    assert_eq!(browser.get(&page).await.status, 200);
    let fields = [("confirmation", chat.as_str()), ("forks", "1")];
    for _ in 0..2 {
        // A form that is sent twice leads to the receipt again.
        let erased = browser.post(&format!("{page}/erase"), &fields).await;
        assert_eq!(erased.status, 303, "{}", erased.text());
        assert_eq!(erased.headers["location"], format!("{page}/erasure"));
    }
    for id in [&*chat, fork] {
        let page = format!("/dashboard/conversations/{id}");
        assert_eq!(browser.get(&page).await.status, 404);
    }
    eventually("a complete erasure", || async {
        let receipt = browser.get(&format!("{page}/erasure")).await.text();
        receipt.contains("overwritten in every store").then_some(())
    })
    .await;
    for id in [&*chat, fork] {
        assert_eq!(record.commits_of(&key(&fixture, id)).await.unwrap(), 1, "{id}");
    }
    let administrator = person(&fixture, DashboardRole::Administrator).await;
    let log = administrator.get("/dashboard/audit").await.text();
    assert!(log.contains("erased") && log.contains("with 1 forks"), "{log}");
    let never = browser.get("/dashboard/conversations/none/erasure").await;
    assert_eq!(never.status, 404);
}

/// A chat with a run, whose parts are stored too, and a fork of it.
async fn chat_with_run_and_fork(fixture: &Fixture, session: &HttpClient) -> (String, String) {
    let chat = begin(session, &json!({})).await;
    let events = vec![user("Hi"), assistant("Hello")];
    fixture.agent.append(&chat, events).await;
    let path = format!("/api/chats/{chat}/messages");
    let question = json!({"content": "Where is my parcel?"});
    assert_eq!(session.post(&path, &question).await.status, 200);
    let path = format!("/api/chats/{chat}/fork");
    let forked = session.post(&path, &json!({})).await.ok(201);
    let fork = forked["id"].as_str().unwrap().to_owned();
    fixture.agent.append(&fork, vec![user("in the fork")]).await;
    (chat, fork)
}

fn key(fixture: &Fixture, id: &str) -> domain::ConversationKey {
    domain::ConversationKey {
        tenant: domain::TenantId::parse(fixture.tenant).unwrap(),
        conversation: domain::ConversationId::parse(id).unwrap(),
    }
}
