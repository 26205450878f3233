//! Every bound of what is written, at its edge and one past it; what is past is told with bound and value.

use domain::bounds;
use prost::Message as _;
use tests::agent::Agent;
use tests::errors::check_failure;
use tests::events::{call, event, session, text_part, user, user_owner};
use tests::stack::Setup;
use tonic::Code::InvalidArgument;
use uuid::Uuid;
use wire::proto::event::v1 as event_proto;
use wire::proto::event::v1::event::Fact;
use wire::proto::write::v1 as proto;

use super::{Ask, with};

/// A bound, and a command that goes up to it or past it.
struct Edge {
    case: &'static str,
    bound: usize,
    reason: &'static str,
    field: &'static str,
    ask: Box<dyn Fn(usize) -> Ask>,
}

async fn check(agent: &Agent, edge: Edge) {
    let Edge {
        case,
        bound,
        reason,
        field,
        ask,
    } = edge;
    ask(bound)
        .send(agent)
        .await
        .unwrap_or_else(|status| panic!("{case}: {status:?}"));
    let outcome = ask(bound + 1).send(agent).await;
    let failure = check_failure(case, outcome, (InvalidArgument, reason, field));
    for number in [bound, bound + 1] {
        assert!(
            failure.message.contains(&number.to_string()),
            "{case}: {}",
            failure.message
        );
    }
}

fn text(bytes: usize) -> String {
    "x".repeat(bytes)
}

/// A JSON object of so many bytes.
fn object(bytes: usize) -> String {
    format!(r#"{{"a":"{}"}}"#, text(bytes - r#"{"a":""}"#.len()))
}

/// JSON nested so deep.
fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

#[tokio::test(flavor = "multi_thread")]
async fn creations() {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    let edge = |case, bound, field, change: fn(&mut proto::CreateConversationRequest, usize)| {
        let agent = agent.clone();
        let ask = move |size: usize| {
            let request = agent.create_request(&Uuid::now_v7().to_string());
            Ask::Create(with(request, |request| change(request, size)))
        };
        Edge {
            case,
            bound,
            reason: "FIELD_TOO_LONG",
            field,
            ask: Box::new(ask),
        }
    };
    let context = |page_url: String| event_proto::ClientContext {
        page_url,
        ..Default::default()
    };
    let edges = [
        edge("title", bounds::TITLE_BYTES_MAX, "title", |r, n| {
            r.title = text(n)
        }),
        edge("title of é", bounds::TITLE_BYTES_MAX, "title", |r, n| {
            r.title = "é".repeat(n / 2) + &text(n % 2);
        }),
        edge(
            "metadata",
            bounds::METADATA_BYTES_MAX,
            "metadata_json",
            |r, n| {
                r.metadata_json = object(n);
            },
        ),
        edge(
            "conversation",
            bounds::CONVERSATION_ID_CHARS_MAX,
            "conversation_id",
            |r, n| {
                r.conversation_id = text(n);
            },
        ),
        edge("user", bounds::LABEL_BYTES_MAX, "owner.user_id", |r, n| {
            r.owner = Some(user_owner(&text(n)));
        }),
        edge(
            "session",
            bounds::LABEL_BYTES_MAX,
            "owner.session_id",
            |r, n| {
                r.owner = Some(session(&text(n)));
            },
        ),
        edge(
            "provider's id",
            bounds::LABEL_BYTES_MAX,
            "provider_conversation_id",
            |r, n| {
                r.provider_conversation_id = text(n);
            },
        ),
    ];
    for edge in edges {
        check(&agent, edge).await;
    }
    let request = |bytes| {
        let request = agent.create_request(&Uuid::now_v7().to_string());
        with(request, |request| {
            request.client_context = Some(context(text(bytes)))
        })
    };
    agent
        .try_create(request(bounds::CLIENT_TEXT_BYTES_MAX))
        .await
        .expect("a page at its bound");
    let past = agent
        .try_create(request(bounds::CLIENT_TEXT_BYTES_MAX + 1))
        .await;
    check_failure(
        "page",
        past,
        (InvalidArgument, "FIELD_TOO_LONG", "client_context.page_url"),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn events() {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let edge = |case, bound, (reason, field), events: fn(usize) -> Vec<event_proto::Event>| {
        let agent = agent.clone();
        let ask = move |size: usize| Ask::Append(agent.append_request("c", events(size)));
        Edge {
            case,
            bound,
            reason,
            field,
            ask: Box::new(ask),
        }
    };
    let edges = [
        edge(
            "events",
            bounds::EVENTS_PER_COMMIT_MAX,
            ("TOO_MANY_EVENTS", "events"),
            |n| vec![user("x"); n],
        ),
        edge(
            "an event",
            bounds::EVENT_BYTES_MAX,
            ("EVENT_TOO_LARGE", "events[1]"),
            |n| vec![user("x"), sized(n)],
        ),
        edge(
            "metadata",
            bounds::METADATA_BYTES_MAX,
            ("FIELD_TOO_LONG", "events[0].metadata_json"),
            |n| vec![with(user("x"), |event| event.metadata_json = object(n))],
        ),
        edge(
            "call id",
            bounds::LABEL_BYTES_MAX,
            ("FIELD_TOO_LONG", "events[0].tool_called.call_id"),
            |n| vec![call(&text(n), "{}")],
        ),
        edge(
            "depth of an input",
            bounds::JSON_DEPTH_MAX,
            ("INVALID_JSON", "events[0].tool_called.input_json"),
            |n| vec![call(&Uuid::now_v7().to_string(), &nested(n))],
        ),
        edge(
            "parts",
            bounds::PARTS_MAX,
            ("FIELD_TOO_LONG", "events[0].message_appended.parts"),
            |n| vec![of_parts(n)],
        ),
    ];
    for edge in edges {
        check(&agent, edge).await;
    }
}

/// A message of so many bytes, as the record encodes it.
fn sized(bytes: usize) -> event_proto::Event {
    let named = |text: String| {
        with(user(text), |event| {
            event.event_id = Uuid::now_v7().to_string()
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

#[tokio::test(flavor = "multi_thread")]
async fn metadata_nested_at_its_bound_and_one_past() {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let metadata = |depth| {
        let json = format!(r#"{{"a":{}}}"#, nested(depth - 1));
        with(user("x"), |event| event.metadata_json = json)
    };
    let append = |depth| agent.try_append(agent.append_request("c", vec![metadata(depth)]));
    append(bounds::JSON_DEPTH_MAX)
        .await
        .expect("metadata at its bound");
    let past = append(bounds::JSON_DEPTH_MAX + 1).await;
    let expected = (InvalidArgument, "INVALID_JSON", "events[0].metadata_json");
    check_failure("metadata", past, expected);
}
