//! Events that break a rule: code, reason and path, by unary call and in a stream alike, and nothing is appended.

use prost_types::Timestamp;
use tests::events::{call, event, result, text_part, user};
use tests::stack::Setup;
use tonic::Code::InvalidArgument;
use wire::proto::event::v1 as event_proto;
use wire::proto::event::v1::event::Fact;

use super::bad_fields::{CONVERSATION, check};
use super::{Ask, with};

#[tokio::test(flavor = "multi_thread")]
async fn bad_events_are_told_by_their_path() {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create(CONVERSATION).await;
    for (case, bad, reason, field) in bad_events() {
        // Second of two, so that the place in the path is told too.
        let events = vec![user("good"), bad];
        let ask = Ask::Append(agent.append_request(CONVERSATION, events));
        check(&agent, (case, ask, (InvalidArgument, reason, field))).await;
    }
    let none = Ask::Append(agent.append_request(CONVERSATION, Vec::new()));
    check(
        &agent,
        ("no events", none, (InvalidArgument, "NO_EVENTS", "events")),
    )
    .await;
}

/// Name, event, reason, field; the event is the second of two.
type BadEvent = (&'static str, event_proto::Event, &'static str, &'static str);

fn bad_events() -> Vec<BadEvent> {
    let with_parts = |parts| {
        event(Fact::MessageAppended(event_proto::MessageAppended {
            role: event_proto::Role::User.into(),
            parts,
            ..Default::default()
        }))
    };
    let item = |provider: &str, item_json: &str| {
        let item = event_proto::ProviderItem {
            provider: provider.to_owned(),
            item_json: item_json.to_owned(),
        };
        event_proto::Part {
            kind: Some(event_proto::part::Kind::ProviderItem(item)),
        }
    };
    let image = event_proto::Part {
        kind: Some(event_proto::part::Kind::Image(event_proto::Image::default())),
    };
    let no_kind = event_proto::Part::default();
    vec![
        (
            "no fact",
            event_proto::Event::default(),
            "FIELD_MISSING",
            "events[1].fact",
        ),
        (
            "an id that is no UUID",
            with(user("x"), |event| event.event_id = "7".to_owned()),
            "FIELD_MALFORMED",
            "events[1].event_id",
        ),
        (
            "a time in the year 1",
            with(user("x"), |event| {
                event.occurred_at = Some(Timestamp {
                    seconds: -62_135_596_800,
                    nanos: 0,
                })
            }),
            "FIELD_OUT_OF_RANGE",
            "events[1].occurred_at",
        ),
        (
            "a time with too many nanoseconds",
            with(user("x"), |event| {
                event.occurred_at = Some(Timestamp {
                    seconds: 0,
                    nanos: 1_000_000_000,
                })
            }),
            "FIELD_OUT_OF_RANGE",
            "events[1].occurred_at",
        ),
        (
            "metadata that is no JSON",
            with(user("x"), |event| {
                event.metadata_json = "{'a':1}".to_owned()
            }),
            "INVALID_JSON",
            "events[1].metadata_json",
        ),
        (
            "metadata with U+0000",
            with(user("x"), |event| {
                event.metadata_json = r#"{"a":"\u0000"}"#.to_owned()
            }),
            "NUL_CHARACTER",
            "events[1].metadata_json",
        ),
        (
            "no role",
            event(Fact::MessageAppended(
                event_proto::MessageAppended::default(),
            )),
            "FIELD_MISSING",
            "events[1].message_appended.role",
        ),
        (
            "a part of no kind",
            with_parts(vec![text_part("x"), no_kind]),
            "FIELD_MISSING",
            "events[1].message_appended.parts[1]",
        ),
        (
            "a picture from nowhere",
            with_parts(vec![image]),
            "FIELD_MISSING",
            "events[1].message_appended.parts[0].image.source",
        ),
        (
            "an item that is no JSON",
            with_parts(vec![item("openai", "{]")]),
            "INVALID_JSON",
            "events[1].message_appended.parts[0].provider_item.item_json",
        ),
        (
            "an item of nobody's",
            with_parts(vec![item("", "{}")]),
            "FIELD_MISSING",
            "events[1].message_appended.parts[0].provider_item.provider",
        ),
        (
            "a call with no id",
            call("", "{}"),
            "FIELD_MISSING",
            "events[1].tool_called.call_id",
        ),
        (
            "a call with no input",
            call("1", ""),
            "FIELD_MISSING",
            "events[1].tool_called.input_json",
        ),
        (
            "a call whose input is no JSON",
            call("1", r#"{"a":01}"#),
            "INVALID_JSON",
            "events[1].tool_called.input_json",
        ),
        (
            "a result with no output",
            event(Fact::ToolReturned(event_proto::ToolReturned {
                call_id: "1".to_owned(),
                ..Default::default()
            })),
            "FIELD_MISSING",
            "events[1].tool_returned.output",
        ),
        (
            "a result that is no JSON",
            result("1", "{} {}"),
            "INVALID_JSON",
            "events[1].tool_returned.output_json",
        ),
        (
            "an error of no kind",
            event(Fact::ErrorOccurred(event_proto::ErrorOccurred::default())),
            "FIELD_MISSING",
            "events[1].error_occurred.error_type",
        ),
        (
            "a lifecycle event",
            event(Fact::ConversationArchived(
                event_proto::ConversationArchived {},
            )),
            "FIELD_MALFORMED",
            "events[1].fact",
        ),
    ]
}
