//! Bounds of recorded completions, at their edges.

use serde_json::{Value, json};
use tests::http_client::HttpClient;

use super::{CONVERSATION, PATH, System, body, conversation, error, say, send, user};

#[tokio::test(flavor = "multi_thread")]
async fn values_at_their_bounds() {
    let system = System::start().await;
    let check = async |header: &str, value: &str, metadata: Value, expected: (u16, &str)| {
        let client = system.client.with(CONVERSATION, "chat-1").with(header, value);
        let mut request = body(&[user("a")]);
        request["metadata"] = metadata;
        let answer = client.post(PATH, &request).await;
        let param = error(&answer).2;
        assert_eq!((answer.status, param.as_str()), expected, "{header} {value}");
    };
    let ok = (200, "");
    for header in [CONVERSATION, "x-hansard-message"] {
        check(header, &"x".repeat(256), json!(null), ok).await;
        let refused = (400, header);
        check(header, &"x".repeat(257), json!(null), refused).await;
    }
    let user = "x-hansard-user";
    check(user, &"x".repeat(256), json!(null), ok).await;
    check(user, &"x".repeat(257), json!(null), (400, user)).await;
    let context = "x-hansard-context";
    check(context, "managed", json!(null), ok).await;
    check(context, "Managed", json!(null), (400, context)).await;
    let pairs = |count: usize| -> Value {
        let pairs = (0..count).map(|index| (index.to_string(), json!("x")));
        Value::Object(pairs.collect())
    };
    check(context, "", pairs(16), ok).await;
    check(context, "", pairs(17), (400, "metadata")).await;
}

/// A new conversation and the start of the run have a place each in a commit of 500 events.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_history_takes_several_commits() {
    let system = System::start().await;
    let ada = system.client.with("x-hansard-user", "ada");
    for (count, in_first_commit) in [(498, 500), (499, 1), (2_000, 500)] {
        let chat = ada.with(CONVERSATION, &format!("new-{count}"));
        let sent: Vec<Value> = numbered(0..count);
        let id = check_recorded(&system, &chat, &sent, 0).await;
        let page = ada.get(&format!("/v1/conversations/{id}/events?limit=500")).await.ok(200);
        let commits = page["events"].as_array().unwrap().iter().map(|event| &event["commitId"]);
        assert_eq!(
            commits.filter(|commit| *commit == &page["events"][0]["commitId"]).count(),
            in_first_commit,
            "{count}"
        );
    }
    // In a conversation that exists, the end of the history is new.
    let chat = ada.with(CONVERSATION, "longer");
    let first = say(&chat, &[user("a")]).await;
    for (count, recorded) in [(499, 2), (1_300, 501)] {
        let earlier = if recorded == 2 { first.clone() } else { [first.clone(), numbered(0..499)].concat() };
        let sent = [earlier, numbered(0..count)].concat();
        check_recorded(&system, &chat, &sent, recorded).await;
    }
}

fn numbered(numbers: std::ops::Range<usize>) -> Vec<Value> {
    numbers.map(|number| user(&number.to_string())).collect()
}

/// Sends a history of which the conversation has the first messages, and a retry. Returns the conversation.
async fn check_recorded(system: &System, chat: &HttpClient, sent: &[Value], recorded: usize) -> String {
    let version =
        async |id: &str| system.client.get(&format!("/v1/conversations/{id}")).await.ok(200)["version"].clone();
    let answer = send(chat, sent).await;
    let id = conversation(&answer);
    let last = sent.last().unwrap()["content"].as_str().unwrap();
    let text = answer.ok(200)["choices"][0]["message"]["content"].clone();
    assert!(text.as_str().unwrap().ends_with(&format!(": {last}")), "{text}");
    assert_eq!(system.last_context().len(), sent.len(), "{recorded} are recorded");
    let after = version(&id).await;
    let retry = send(&chat.with("x-stainless-retry-count", "1"), sent).await;
    assert_eq!(retry.ok(200)["choices"][0]["message"]["content"], text);
    assert_eq!(version(&id).await, after);
    let path = format!("/openai/v1/conversations/{id}/items?order=desc&limit=100");
    let items = chat.get(&path).await.ok(200);
    let shown = items["data"].as_array().unwrap().iter().skip(1).map(|item| &item["content"][0]["text"]);
    let expected = sent.iter().rev().take(99).map(|message| &message["content"]);
    assert!(shown.eq(expected), "{items}");
    id
}
