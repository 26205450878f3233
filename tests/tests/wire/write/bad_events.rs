//! Invalid events: code, reason and path, for unary calls and streams, and nothing is appended.

use prost_types::Timestamp;
use tests::events::{call, event, result, session, text_part, user};
use tests::stack::Stack;
use wire::proto::event::v1 as proto;
use wire::proto::event::v1::event::Fact;
use wire::proto::event::v1::part::Kind;

use super::bad_fields::{CONVERSATION, check};
use super::{Command, with};

#[tokio::test(flavor = "multi_thread")]
async fn bad_events_are_reported_by_path() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create(CONVERSATION).await;
    let bad = [bad_envelopes(), bad_messages(), bad_tool_events(), bad_others()];
    for (case, bad, reason, field) in bad.into_iter().flatten() {
        // The second of two events, so that the path contains its index.
        let events = vec![user("good"), bad];
        let command = Command::Append(agent.append_request(CONVERSATION, events));
        check(&agent, (case, command, reason, field)).await;
    }
    let command = Command::Append(agent.append_request(CONVERSATION, Vec::new()));
    check(&agent, ("no events", command, "NO_EVENTS", "events")).await;
}

/// Name, event, reason, field; the event is the second of two.
type BadEvent = (&'static str, proto::Event, &'static str, &'static str);

#[rustfmt::skip]
fn bad_envelopes() -> Vec<BadEvent> {
    let changed = |change: fn(&mut proto::Event)| with(user("x"), change);
    let time = |seconds, nanos| with(user("x"), |e| e.occurred_at = Some(Timestamp { seconds, nanos }));
    vec![
        ("an id of 7", changed(|e| e.event_id.push('7')), "FIELD_MALFORMED", "events[1].event_id"),
        ("the year 1", time(-62_135_596_800, 0), "FIELD_OUT_OF_RANGE", "events[1].occurred_at"),
        ("a second of nanos", time(0, 1_000_000_000), "FIELD_OUT_OF_RANGE", "events[1].occurred_at"),
        ("less than no nanos", time(0, -1), "FIELD_OUT_OF_RANGE", "events[1].occurred_at"),
        ("tokens", changed(|e| e.tokens = 2), "FIELD_MALFORMED", "events[1].tokens"),
        ("a sum of tokens", changed(|e| e.tokens_through = 2), "FIELD_MALFORMED", "events[1].tokens_through"),
        ("no JSON", changed(|e| e.metadata_json.push('{')), "INVALID_JSON", "events[1].metadata_json"),
        ("a number", changed(|e| e.metadata_json.push('1')), "INVALID_JSON", "events[1].metadata_json"),
        ("U+0000", changed(|e| e.metadata_json = r#"{"a":"\u0000"}"#.to_owned()), "NUL_CHARACTER", "events[1].metadata_json"),
    ]
}

#[rustfmt::skip]
fn bad_messages() -> Vec<BadEvent> {
    let with_part = |kind| {
        let part = proto::Part { kind };
        let message = proto::MessageAppended {
            role: proto::Role::User.into(),
            parts: vec![text_part("good"), part],
            ..Default::default()
        };
        event(Fact::MessageAppended(message))
    };
    let item = |provider: &str, item_json: &str| {
        let (provider, item_json) = (provider.to_owned(), item_json.to_owned());
        with_part(Some(Kind::ProviderItem(proto::ProviderItem { provider, item_json })))
    };
    let image = with_part(Some(Kind::Image(proto::Image::default())));
    let file = with_part(Some(Kind::File(proto::File::default())));
    let no_role = event(Fact::MessageAppended(proto::MessageAppended::default()));
    vec![
        ("no role", no_role, "FIELD_MISSING", "events[1].message_appended.role"),
        ("a part of no kind", with_part(None), "FIELD_MISSING", "events[1].message_appended.parts[1]"),
        ("an empty text", with_part(Some(Kind::Text(String::new()))), "FIELD_MISSING", "events[1].message_appended.parts[1].text"),
        ("an empty refusal", with_part(Some(Kind::Refusal(String::new()))), "FIELD_MISSING", "events[1].message_appended.parts[1].refusal"),
        ("a picture from nowhere", image, "FIELD_MISSING", "events[1].message_appended.parts[1].image.source"),
        ("a file from nowhere", file, "FIELD_MISSING", "events[1].message_appended.parts[1].file.source"),
        ("an item that is no JSON", item("a", "{]"), "INVALID_JSON", "events[1].message_appended.parts[1].provider_item.item_json"),
        ("an item of nobody's", item("", "{}"), "FIELD_MISSING", "events[1].message_appended.parts[1].provider_item.provider"),
    ]
}

#[rustfmt::skip]
fn bad_tool_events() -> Vec<BadEvent> {
    let no_output = proto::ToolReturned { call_id: "1".to_owned(), ..Default::default() };
    let no_output = event(Fact::ToolReturned(no_output));
    vec![
        ("a call without an id", call("", "{}"), "FIELD_MISSING", "events[1].tool_called.call_id"),
        ("a line break in an id", call("a\n", "{}"), "FIELD_MALFORMED", "events[1].tool_called.call_id"),
        ("a call without an input", call("1", ""), "FIELD_MISSING", "events[1].tool_called.input_json"),
        ("an input that is no JSON", call("1", r#"{"a":01}"#), "INVALID_JSON", "events[1].tool_called.input_json"),
        ("a result without an output", no_output, "FIELD_MISSING", "events[1].tool_returned.output"),
        ("two documents", result("1", "{} {}"), "INVALID_JSON", "events[1].tool_returned.output_json"),
        ("a result of no call", result("", "1"), "FIELD_MISSING", "events[1].tool_returned.call_id"),
    ]
}

fn bad_others() -> Vec<BadEvent> {
    let error = event(Fact::ErrorOccurred(proto::ErrorOccurred::default()));
    let note = event(Fact::SystemNoted(proto::SystemNoted::default()));
    let error_type = "events[1].error_occurred.error_type";
    let nothing = proto::Event::default();
    let mut cases = vec![
        ("no fact", nothing, "FIELD_MISSING", "events[1].fact"),
        ("an error of no type", error, "FIELD_MISSING", error_type),
        ("an empty note", note, "FIELD_MISSING", "events[1].system_noted.text"),
    ];
    let created =
        proto::ConversationCreated { agent_id: "a".to_owned(), owner: Some(session("s")), ..Default::default() };
    for fact in [
        Fact::ConversationCreated(created),
        Fact::ConversationUpdated(proto::ConversationUpdated::default()),
        Fact::ConversationArchived(proto::ConversationArchived {}),
        Fact::ConversationRestored(proto::ConversationRestored {}),
        Fact::ConversationErased(proto::ConversationErased {}),
    ] {
        let event = event(fact);
        cases.push(("a lifecycle event", event, "FIELD_MALFORMED", "events[1].fact"));
    }
    cases
}
