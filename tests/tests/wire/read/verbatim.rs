//! Values are stored and returned byte for byte, through tail and rows: texts, JSON, and every kind of part.

use tests::agent::Agent;
use tests::events::{assistant, call, error, event, message, note, result, text_part, user};
use tests::stack::Setup;
use wire::proto::event::v1 as proto;
use wire::proto::event::v1::event::Fact;
use wire::proto::event::v1::part::Kind;

use crate::write::with;

/// JSON that a parser would change.
const JSON: [&str; 10] = [
    "0.1000000000000000055511151231257827",
    "123456789012345678901234567890",
    "-0.0",
    "1e400",
    r#"{"b": 1,  "a":2, "b":3}"#,
    "{\"\\u0000\":\"\\u0000\", \"é\":\"\\u00e9\", \"s\":\"\\/\"}",
    " [1 ,\n\t2 ] ",
    r#""\ud83e\udd80""#,
    "[1.0, 1.00, 1E+2]",
    "null",
];

const TEXTS: [&str; 8] = [
    " ",
    "\0",
    "a\0b\0",
    "line\r\nline\u{2028}\u{feff}",
    "é e\u{301} \u{1F980} \u{202E}",
    "\u{7f}\u{1}\t",
    "'; DROP TABLE events; --",
    "\\x00 \\u0000 %00",
];

fn parts() -> Vec<proto::Part> {
    let part = |kind| proto::Part { kind: Some(kind) };
    let source = |kind| Some(proto::MediaSource { kind: Some(kind) });
    let url = "data:image/png;base64,AAAA".to_owned();
    vec![
        text_part("text\0"),
        part(Kind::Image(proto::Image {
            source: source(proto::media_source::Kind::Url(url)),
            media_type: "image/png".to_owned(),
            detail: "low".to_owned(),
        })),
        part(Kind::File(proto::File {
            source: source(proto::media_source::Kind::FileId("file_1".to_owned())),
            media_type: "application/pdf".to_owned(),
            filename: "a b.pdf".to_owned(),
        })),
        part(Kind::Thinking(proto::Thinking { text: "hm\0".to_owned(), signature: Some("c2ln+/==".to_owned()) })),
        part(Kind::Thinking(proto::Thinking { text: String::new(), signature: Some(String::new()) })),
        part(Kind::Thinking(proto::Thinking { text: "no signature".to_owned(), signature: None })),
        part(Kind::RedactedThinking("ZW5j".to_owned())),
        part(Kind::Refusal("no\0".to_owned())),
        part(Kind::ProviderItem(proto::ProviderItem {
            provider: "openai".to_owned(),
            item_json: r#"{"type":"x", "n":1.10}"#.to_owned(),
        })),
    ]
}

fn events() -> Vec<proto::Event> {
    let mut events: Vec<proto::Event> = TEXTS.iter().map(|text| user(*text)).collect();
    events.push(event(Fact::MessageAppended(proto::MessageAppended {
        role: proto::Role::Assistant.into(),
        parts: parts(),
        author: "é".to_owned(),
        model: "m".to_owned(),
        provider: "openai".to_owned(),
        provider_response_id: "resp".to_owned(),
        finish_reason: "stop".to_owned(),
        usage: Some(proto::Usage { input_tokens: u64::MAX, output_tokens: 2, cached_tokens: 3, reasoning_tokens: 4 }),
        usage_source: proto::UsageSource::Estimated.into(),
    })));
    events.push(message(proto::Role::Developer, "instructions"));
    for (index, json) in JSON.iter().enumerate() {
        let id = format!("call \u{e9} {index}");
        let signed = |event: &mut proto::Event| {
            if let Some(Fact::ToolCalled(call)) = &mut event.fact {
                call.signature = Some("sig\0".to_owned());
            }
        };
        events.push(with(call(&id, json), signed));
        events.push(with(result(&id, json), |event| {
            event.metadata_json = r#"{"z": 1.10, "a": [1e2]}"#.to_owned();
            // A recorded result always has its tool's name.
            if let Some(Fact::ToolReturned(result)) = &mut event.fact {
                result.tool_name = "search".to_owned();
                result.outcome = proto::ToolOutcome::Failed.into();
            }
        }));
    }
    events.push(call("parts", "{}"));
    events.push(event(Fact::ToolReturned(proto::ToolReturned {
        call_id: "parts".to_owned(),
        tool_name: "search".to_owned(),
        output: Some(proto::tool_returned::Output::OutputParts(proto::Parts { parts: parts() })),
        outcome: proto::ToolOutcome::Succeeded.into(),
    })));
    events.push(note("note\0"));
    events.push(error("error\0"));
    events.push(assistant("end"));
    events
}

async fn check(agent: &Agent, sent: &[proto::Event]) {
    let read = agent.events(agent.list_request("c")).await;
    assert_eq!(read.len(), sent.len() + 1);
    for (recorded, sent) in read[1..].iter().zip(sent) {
        let mut event = recorded.event.clone().expect("an event");
        // The writer sets it, because the test does not.
        event.event_id.clear();
        (event.tokens, event.tokens_through) = (0, 0);
        assert_eq!(event, *sent);
    }
    let context = agent.context("c", 1_000).await;
    let outputs = context.messages.iter().filter_map(|message| match &message.kind {
        Some(wire::proto::read::v1::context_message::Kind::ToolResult(result)) => result.output.clone(),
        _ => None,
    });
    let sent_outputs = sent.iter().filter_map(|event| match &event.fact {
        Some(Fact::ToolReturned(result)) => result.output.clone(),
        _ => None,
    });
    assert!(outputs.eq(sent_outputs));
}

#[tokio::test(flavor = "multi_thread")]
async fn through_the_tail_and_through_the_rows() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    stack.projector.stop().await;
    let metadata = r#"{"n": 0.1000000000000000055511151231257827,  "b":1, "a":2}"#;
    let mut request = agent.create_request("c");
    request.metadata_json = metadata.to_owned();
    agent.try_create(request).await.expect("a conversation");
    let sent = events();
    agent.append("c", sent.clone()).await;
    check(&agent, &sent).await;
    assert_eq!(agent.conversation("c").await.metadata_json, metadata);
    stack.projector.start().await;
    agent.wait_for_rows("c", agent.version("c").await).await;
    check(&agent, &sent).await;
    assert_eq!(agent.conversation("c").await.metadata_json, metadata);
}
