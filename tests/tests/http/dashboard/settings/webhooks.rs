//! Webhooks: their list, their secret, and the recent calls.

use tests::events::{call, failed_result, result, user};
use tests::eventually::eventually;
use tests::operator::echo;
use wire::proto::operate::v1 as proto;

use super::{administrator, agent_path, check_shown, secret};

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_are_listed_with_their_recent_calls() {
    let (fixture, browser) = administrator().await;
    let path = format!("{}/webhooks", agent_path(&fixture));
    check_shown(&browser.get(&path).await, 200, "No webhooks");
    let tool = |name: &str, url: &str| proto::ToolSettings {
        tool_name: name.to_owned(),
        input_schema_json: "{}".to_owned(),
        webhook_url: url.to_owned(),
        ..proto::ToolSettings::default()
    };
    let settings = proto::AgentSettings {
        tools: vec![tool("search", "https://tools.example/search"), tool("local", "")],
        ..echo()
    };
    fixture.operator.settings(fixture.agent_id, settings).await;
    fixture.agent.create("c").await;
    let events = vec![user("q"), call("c1", "{}"), result("c1", r#"{"private": 1}"#)];
    fixture.agent.append("c", events).await;
    // Failures of the gateway are shown, other texts are not.
    for (id, text) in [("c2", "the tool answered with status 503"), ("c3", "private")] {
        let events = vec![call(id, "{}"), failed_result(id, text)];
        fixture.agent.append("c", events).await;
    }
    let page = eventually("the recorded call", || async {
        let page = browser.get(&path).await.text();
        page.contains("/dashboard/conversations/c?at=8#v8").then_some(page)
    })
    .await;
    assert!(page.contains("https://tools.example/search"), "{page}");
    assert!(page.contains("succeeded") && page.contains("14 B"), "{page}");
    let calls = ["at=4#v4", "at=6#v6", "at=8#v8"];
    assert!(calls.iter().all(|call| page.contains(call)), "{page}");
    assert!(page.contains("failed: the tool answered with status 503"), "{page}");
    assert_eq!(page.matches("0.0 s").count(), 3, "{page}");
    for hidden in ["<code>local</code>", "private"] {
        assert!(!page.contains(hidden), "{page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_secret_is_shown_once() {
    let (fixture, browser) = administrator().await;
    let path = format!("{}/webhooks", agent_path(&fixture));
    let rotate = async |overlap: &str| {
        let fields = [("overlap", overlap)];
        browser.post(&format!("{path}/secret"), &fields).await
    };
    let page = check_shown(&rotate("60").await, 200, "The webhook secret");
    let secret = secret(&page);
    assert!(secret.starts_with("whsec_"), "{secret}");
    let later = browser.get(&path).await.text();
    let log = browser.get("/dashboard/audit").await.text();
    assert!(log.contains(&format!("agent {}: webhook secret", fixture.agent_id)), "{log}");
    assert!(!later.contains(&secret) && !log.contains(&secret));
    check_shown(&rotate("2592001").await, 400, "the maximum is 2592000");
    check_shown(&rotate("-1").await, 400, "FORM_MALFORMED");
}
