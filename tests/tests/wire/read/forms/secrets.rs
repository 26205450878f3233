//! Secrets stay in the record: no body, receipt, error or log contains them, from any place of a conversation.

use std::collections::BTreeMap;

use serde_json::json;
use tests::agent::Agent;
use tests::events::{assistant, call, result, summary, text_of, user};
use tests::program;
use tests::stack::Setup;
use wire::proto::event::v1::ClientContext;
use wire::proto::read::v1::Receipt;

use super::{FORMS, assemble, policy_request, room, try_assemble};
use crate::write::with;

/// A part of every secret, and of nothing else.
const SECRET: &str = "Xyzzy42";

/// A secret in every field that callers can write.
async fn conversation(agent: &Agent) {
    let client = ClientContext {
        page_url: format!("https://shop.example/?access_token={SECRET}abcdefgh0123456789"),
        custom_metadata_json: json!({"password": SECRET}).to_string(),
        ..ClientContext::default()
    };
    let request = with(agent.create_request("c"), |request| {
        request.client_context = Some(client);
    });
    agent.try_create(request).await.expect("a conversation");
    let events = vec![
        user(format!("Covered: password={SECRET}")),
        summary(2, format!("They gave the password={SECRET}.")),
        user(format!("Authorization: Bearer {SECRET}abcdefgh0123456789")),
        call("a", &json!({"api_key": SECRET}).to_string()),
        result("a", &json!({"session": {"cookie": SECRET}, "n": 1}).to_string()),
        assistant(format!("The order is ORD-{SECRET}.")),
    ];
    agent.append("c", events).await;
}

fn counts(receipt: &Receipt) -> BTreeMap<&str, u32> {
    let counts = receipt.redactions.iter();
    counts.map(|redaction| (redaction.rule.as_str(), redaction.count)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_reach_no_model_and_no_log() {
    let mut stack = Setup::processes(program!()).prepare().await;
    for node in [&mut stack.writer, &mut stack.projector, &mut stack.gateway] {
        let filter = ("HANSARD_TELEMETRY__LOG_FILTER".to_owned(), "debug".to_owned());
        node.settings.variables.push(filter);
    }
    stack.start().await;
    let agent = stack.any_agent().await;
    conversation(&agent).await;
    let policy = json!({
        "instructions": "On {{ page_url }}.",
        "inject": {"fields": ["page_url", "custom_metadata"]},
        "redact": {"patterns": ["ORD-\\w+"]},
    });
    for form in FORMS {
        let request = with(policy_request(&agent, &policy), |request| {
            request.format = form.into();
        });
        let context = assemble(&agent, request).await;
        let outputs = format!("{} {:?}", String::from_utf8_lossy(&context.bytes), context.receipt);
        assert!(!outputs.contains(SECRET), "{form:?}: {outputs}");
        let counts = counts(&context.receipt);
        let once = ["authorization", "cookie", "api_key", "token", "pattern"];
        assert!(once.iter().all(|rule| counts.get(rule) == Some(&1)), "{form:?}: {counts:?}");
        // In the summary, and in the metadata.
        assert_eq!(counts.get("password"), Some(&2), "{form:?}: {counts:?}");
    }
    let without = with(policy_request(&agent, &json!({"summary": "none"})), |request| {
        request.messages_max = 1;
    });
    let text = String::from_utf8(assemble(&agent, without).await.bytes).expect("text");
    assert!(text.contains(SECRET), "the pattern is of the other policy: {text}");
    let long = format!("{{{{ metadata.password }}}} {}", " word".repeat(300));
    let no_room = room(256, json!({"instructions": long}));
    let refused = try_assemble(&agent, policy_request(&agent, &no_room)).await.expect_err("no room");
    assert!(!format!("{refused:?}").contains(SECRET), "{refused:?}");
    // The record has all of it, verbatim.
    let events = agent.events(agent.list_request("c")).await;
    let kept = events.iter().filter_map(text_of);
    assert_eq!(kept.filter(|text| text.contains(SECRET)).count(), 3);
    for node in [&mut stack.writer, &mut stack.projector, &mut stack.gateway] {
        let logged = node.process().expect("a process").log();
        assert!(!logged.contains(SECRET), "{logged}");
    }
}
