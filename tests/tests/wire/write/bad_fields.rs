//! Invalid fields of targets and creations: code, reason and path, for unary calls and streams, and nothing is
//! appended.

use tests::agent::Agent;
use tests::errors::{Failure, check_failure};
use tests::events::{session, user, user_owner};
use tests::stack::Stack;
use tokio_stream::StreamExt as _;
use tonic::Code::InvalidArgument;
use wire::proto::event::v1::{ClientContext, Owner};
use wire::proto::write::v1 as proto;
use wire::proto::write::v1::append_stream_response::Outcome;

use super::{Command, with};

/// The conversation of the cases; at version 1.
pub(super) const CONVERSATION: &str = "c";

/// A case's name, the command, and the reason and field of the expected error.
pub(super) type Case = (&'static str, Command, &'static str, &'static str);

pub(super) async fn check(agent: &Agent, (case, command, reason, field): Case) {
    let in_stream = command.in_stream();
    let expected = (InvalidArgument, reason, field);
    let unary = check_failure(case, command.send(agent).await, expected);
    assert_eq!(unary.retry_after, None, "{case}: {unary:?}");
    if let Some(command) = in_stream {
        let streamed = send_on_stream(agent, command).await;
        assert_eq!(streamed, unary, "{case}: in a stream");
    }
    let version = agent.version(CONVERSATION).await;
    assert_eq!(version, 1, "{case}: something was appended");
}

async fn send_on_stream(agent: &Agent, command: proto::append_stream_request::Command) -> Failure {
    let request = proto::AppendStreamRequest { correlation_id: 7, command: Some(command) };
    let mut answers =
        agent.caller().write().append_stream(tokio_stream::iter([request])).await.expect("a stream").into_inner();
    let answer = answers.next().await.expect("an answer").expect("no end");
    assert_eq!(answer.correlation_id, 7);
    match answer.outcome {
        Some(Outcome::Error(error)) => error.into(),
        outcome => panic!("{outcome:?}"),
    }
}

/// Name, reason, field, and the change of an append's target.
type Target = (&'static str, &'static str, &'static str, fn(&mut proto::CommandTarget));

#[rustfmt::skip]
const TARGETS: [Target; 10] = [
    ("no agent", "FIELD_MISSING", "target.agent_id", |t| t.agent_id.clear()),
    ("an agent with a dot", "FIELD_MALFORMED", "target.agent_id", |t| t.agent_id.push('.')),
    ("an agent of 65", "FIELD_TOO_LONG", "target.agent_id", |t| t.agent_id = "a".repeat(65)),
    ("no conversation", "FIELD_MISSING", "target.conversation_id", |t| t.conversation_id.clear()),
    ("a wildcard", "FIELD_MALFORMED", "target.conversation_id", |t| t.conversation_id = ">".to_owned()),
    ("two tokens", "FIELD_MALFORMED", "target.conversation_id", |t| t.conversation_id.push_str(".a")),
    ("a space", "FIELD_MALFORMED", "target.conversation_id", |t| t.conversation_id.push(' ')),
    ("U+0000", "FIELD_MALFORMED", "target.conversation_id", |t| t.conversation_id.push('\0')),
    ("129", "FIELD_TOO_LONG", "target.conversation_id", |t| t.conversation_id = "c".repeat(129)),
    ("a key that is no UUID", "FIELD_MALFORMED", "target.idempotency_key", |t| t.idempotency_key.push('1')),
];

#[tokio::test(flavor = "multi_thread")]
async fn of_targets() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create(CONVERSATION).await;
    for (name, reason, field, change) in TARGETS {
        let target = Some(with(agent.target(CONVERSATION), change));
        let events = vec![user("x")];
        let command =
            Command::Append(proto::AppendEventsRequest { target, events, ..proto::AppendEventsRequest::default() });
        check(&agent, (name, command, reason, field)).await;
    }
    let (target, events) = (None, vec![user("x")]);
    let command =
        Command::Append(proto::AppendEventsRequest { target, events, ..proto::AppendEventsRequest::default() });
    check(&agent, ("no target", command, "FIELD_MISSING", "target")).await;
    let bad = || agent.target("a/b");
    for command in [Command::Archive(bad()), Command::Restore(bad()), Command::Erase(bad())] {
        check(&agent, ("a slash", command, "FIELD_MALFORMED", "target.conversation_id")).await;
    }
}

/// Name, reason, field, and the change of a creation.
type Creation = (&'static str, &'static str, &'static str, fn(&mut proto::CreateConversationRequest));

#[rustfmt::skip]
const CREATIONS: [Creation; 15] = [
    ("no agent", "FIELD_MISSING", "agent_id", |r| r.agent_id.clear()),
    ("a slash", "FIELD_MALFORMED", "conversation_id", |r| r.conversation_id.push('/')),
    ("a key that is no UUID", "FIELD_MALFORMED", "idempotency_key", |r| r.idempotency_key.push('x')),
    ("no owner", "FIELD_MISSING", "owner", |r| r.owner = None),
    ("an owner of no kind", "FIELD_MISSING", "owner", |r| r.owner = Some(Owner::default())),
    ("an empty user", "FIELD_MISSING", "owner.user_id", |r| r.owner = Some(user_owner(""))),
    ("U+0000 in a session", "FIELD_MALFORMED", "owner.session_id", |r| r.owner = Some(session("a\0"))),
    ("U+0000 in a title", "NUL_CHARACTER", "title", |r| r.title.push('\0')),
    ("no JSON", "INVALID_JSON", "metadata_json", |r| r.metadata_json = "{".to_owned()),
    ("a list", "INVALID_JSON", "metadata_json", |r| r.metadata_json = "[]".to_owned()),
    ("a number", "INVALID_JSON", "metadata_json", |r| r.metadata_json = "1".to_owned()),
    ("raw U+0000", "INVALID_JSON", "metadata_json", |r| r.metadata_json = "{\"a\":\"\0\"}".to_owned()),
    ("U+0000, deep", "NUL_CHARACTER", "metadata_json", |r| r.metadata_json = r#"{"a":{"b":["\u0000"]}}"#.to_owned()),
    ("U+0000 in a name", "NUL_CHARACTER", "metadata_json", |r| r.metadata_json = r#"{"\u0000":1}"#.to_owned()),
    ("a provider's id", "FIELD_MALFORMED", "provider_conversation_id", |r| r.provider_conversation_id.push('\n')),
];

/// Name, reason, field, and the change of a creation's client context.
type Context = (&'static str, &'static str, &'static str, fn(&mut ClientContext));

#[rustfmt::skip]
const CONTEXTS: [Context; 6] = [
    ("a page", "NUL_CHARACTER", "client_context.page_url", |c| c.page_url.push('\0')),
    ("a referrer", "NUL_CHARACTER", "client_context.referrer", |c| c.referrer.push('\0')),
    ("a user agent", "NUL_CHARACTER", "client_context.user_agent", |c| c.user_agent.push('\0')),
    ("a locale", "NUL_CHARACTER", "client_context.locale", |c| c.locale.push('\0')),
    ("a timezone", "NUL_CHARACTER", "client_context.timezone", |c| c.timezone.push('\0')),
    ("no JSON", "INVALID_JSON", "client_context.custom_metadata_json", |c| c.custom_metadata_json.push('x')),
];

#[tokio::test(flavor = "multi_thread")]
async fn of_creations() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create(CONVERSATION).await;
    for (name, reason, field, change) in CREATIONS {
        let command = Command::Create(with(agent.create_request("new"), change));
        check(&agent, (name, command, reason, field)).await;
    }
    for (name, reason, field, change) in CONTEXTS {
        let mut request = agent.create_request("new");
        request.client_context = Some(with(ClientContext::default(), change));
        check(&agent, (name, Command::Create(request), reason, field)).await;
    }
    assert_eq!(agent.version("new").await, 0);
}
