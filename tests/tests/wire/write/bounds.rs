//! Every bound of written values, at its edge and one past it; errors contain bound and value.

use prost::Message as _;
use tests::agent::Agent;
use tests::errors::check_failure;
use tests::events::{call, event, session, text_part, user, user_owner};
use tests::stack::Stack;
use tonic::Code::InvalidArgument;
use uuid::Uuid;
use wire::proto::event::v1 as event_proto;
use wire::proto::event::v1::ClientContext;
use wire::proto::event::v1::event::Fact;
use wire::proto::write::v1 as proto;

use super::{Command, with};

/// Name, bound, reason, field.
type BoundCase = (&'static str, usize, &'static str, &'static str);

/// A value at the bound is accepted; a value one past it is rejected with an error that contains the value.
async fn check(agent: &Agent, (case, bound, reason, field): BoundCase, command: impl Fn(usize) -> Command) {
    let at_the_bound = command(bound).send(agent).await;
    at_the_bound.unwrap_or_else(|status| panic!("{case}: {status:?}"));
    let past = command(bound + 1).send(agent).await;
    let failure = check_failure(case, past, (InvalidArgument, reason, field));
    for number in [bound, bound + 1] {
        let is_in_message = failure.message.contains(&number.to_string());
        assert!(is_in_message, "{case}: {}", failure.message);
    }
}

fn text(bytes: usize) -> String {
    "x".repeat(bytes)
}

/// A JSON object of this size in bytes.
fn object(bytes: usize) -> String {
    format!(r#"{{"a":"{}"}}"#, text(bytes - r#"{"a":""}"#.len()))
}

/// JSON of this depth.
fn nested_json(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

/// A JSON object of this depth.
fn nested_object(depth: usize) -> String {
    format!(r#"{{"a":{}}}"#, nested_json(depth - 1))
}

type Creation = (BoundCase, fn(&mut proto::CreateConversationRequest, usize));

#[rustfmt::skip]
const CREATIONS: [Creation; 7] = [
    (("a title", 1_024, "FIELD_TOO_LONG", "title"), |r, n| r.title = text(n)),
    (("a title of é", 1_024, "FIELD_TOO_LONG", "title"), |r, n| r.title = "é".repeat(n / 2) + &text(n % 2)),
    (("metadata", 65_536, "FIELD_TOO_LONG", "metadata_json"), |r, n| r.metadata_json = object(n)),
    (("a conversation", 128, "FIELD_TOO_LONG", "conversation_id"), |r, n| r.conversation_id = text(n)),
    (("a user", 256, "FIELD_TOO_LONG", "owner.user_id"), |r, n| r.owner = Some(user_owner(&text(n)))),
    (("a session", 256, "FIELD_TOO_LONG", "owner.session_id"), |r, n| r.owner = Some(session(&text(n)))),
    (("a provider's id", 256, "FIELD_TOO_LONG", "provider_conversation_id"), |r, n| r.provider_conversation_id = text(n)),
];

type Context = (BoundCase, fn(&mut ClientContext, usize));

#[rustfmt::skip]
const CONTEXTS: [Context; 3] = [
    (("a page", 4_096, "FIELD_TOO_LONG", "client_context.page_url"), |c, n| c.page_url = text(n)),
    (("a user agent", 4_096, "FIELD_TOO_LONG", "client_context.user_agent"), |c, n| c.user_agent = text(n)),
    (("metadata", 65_536, "FIELD_TOO_LONG", "client_context.custom_metadata_json"), |c, n| c.custom_metadata_json = object(n)),
];

#[tokio::test(flavor = "multi_thread")]
async fn creations() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let new = || agent.create_request(&Uuid::now_v7().to_string());
    for (edge, change) in CREATIONS {
        let command = |size| Command::Create(with(new(), |request| change(request, size)));
        check(&agent, edge, command).await;
    }
    for (edge, change) in CONTEXTS {
        let context = |size| with(ClientContext::default(), |context| change(context, size));
        let command = |size| Command::Create(with(new(), |r| r.client_context = Some(context(size))));
        check(&agent, edge, command).await;
    }
}

type Events = (BoundCase, fn(usize) -> Vec<event_proto::Event>);

#[rustfmt::skip]
const EVENTS: [Events; 7] = [
    (("events", 500, "TOO_MANY_EVENTS", "events"), |n| vec![user("x"); n]),
    (("an event", 512 * 1_024, "EVENT_TOO_LARGE", "events[1]"), |n| vec![user("x"), message_of_size(n)]),
    (("metadata", 65_536, "FIELD_TOO_LONG", "events[0].metadata_json"), |n| vec![with(user("x"), |e| e.metadata_json = object(n))]),
    (("depth of metadata", 128, "INVALID_JSON", "events[0].metadata_json"), |n| vec![with(user("x"), |e| e.metadata_json = nested_object(n))]),
    (("a call's id", 256, "FIELD_TOO_LONG", "events[0].tool_called.call_id"), |n| vec![call(&text(n), "{}")]),
    (("depth of an input", 128, "INVALID_JSON", "events[0].tool_called.input_json"), |n| vec![call(&Uuid::now_v7().to_string(), &nested_json(n))]),
    (("parts", 1_000, "FIELD_TOO_LONG", "events[0].message_appended.parts"), |n| vec![of_parts(n)]),
];

#[tokio::test(flavor = "multi_thread")]
async fn events() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    for (edge, events) in EVENTS {
        check(&agent, edge, |size| Command::Append(agent.append_request("c", events(size)))).await;
    }
}

/// A message of this size in bytes, in the record's encoding.
fn message_of_size(bytes: usize) -> event_proto::Event {
    let named = |text: String| {
        with(user(text), |event| {
            event.event_id = Uuid::now_v7().to_string();
        })
    };
    let overhead = bytes - named(text(bytes - 100)).encoded_len();
    let event = named(text(bytes - 100 + overhead));
    assert_eq!(event.encoded_len(), bytes);
    event
}

fn of_parts(parts: usize) -> event_proto::Event {
    event(Fact::MessageAppended(event_proto::MessageAppended {
        role: event_proto::Role::User.into(),
        parts: vec![text_part("x"); parts],
        ..Default::default()
    }))
}
