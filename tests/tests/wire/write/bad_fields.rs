//! Fields of targets and creations that break a rule: code, reason and path, by unary call and in a stream alike, and
//! nothing is appended.

use tests::agent::Agent;
use tests::errors::{Expected, Failure, check_failure};
use tests::events::{session, user, user_owner};
use tests::stack::Setup;
use tokio_stream::StreamExt as _;
use tonic::Code::InvalidArgument;
use wire::proto::event::v1 as event_proto;
use wire::proto::write::v1 as proto;
use wire::proto::write::v1::append_stream_response::Outcome;

use super::{Ask, with};

pub(super) type Case = (&'static str, Ask, Expected);

/// The conversation that the cases are about.
pub(super) const CONVERSATION: &str = "c";

pub(super) async fn check(agent: &Agent, (case, ask, expected): Case) {
    let in_stream = ask.in_stream();
    let unary = check_failure(case, ask.send(agent).await, expected);
    assert_eq!(unary.retry_after, None, "{case}: {unary:?}");
    if let Some(command) = in_stream {
        assert_eq!(streamed(agent, command).await, unary, "{case}: in a stream");
    }
    assert_eq!(
        agent.version(CONVERSATION).await,
        1,
        "{case}: something was appended"
    );
}

async fn streamed(agent: &Agent, command: proto::append_stream_request::Command) -> Failure {
    let request = proto::AppendStreamRequest {
        correlation_id: 7,
        command: Some(command),
    };
    let answers = agent
        .caller()
        .write()
        .append_stream(tokio_stream::iter([request]))
        .await;
    let mut answers = answers.expect("a stream").into_inner();
    let answer = answers.next().await.expect("an answer").expect("no end");
    assert_eq!(answer.correlation_id, 7);
    match answer.outcome {
        Some(Outcome::Error(error)) => error.into(),
        outcome => panic!("{outcome:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_targets() {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create(CONVERSATION).await;
    let target = |change: fn(&mut proto::CommandTarget)| with(agent.target(CONVERSATION), change);
    let append = |change| {
        let request = agent.append_request(CONVERSATION, vec![user("x")]);
        Ask::Append(with(request, |request| {
            request.target = Some(target(change))
        }))
    };
    let missing = |field| (InvalidArgument, "FIELD_MISSING", field);
    let malformed = |field| (InvalidArgument, "FIELD_MALFORMED", field);
    let no_target = with(agent.append_request("", vec![user("x")]), |request| {
        request.target = None
    });
    let cases: [Case; 8] = [
        ("no target", Ask::Append(no_target), missing("target")),
        (
            "no agent",
            append(|target| target.agent_id.clear()),
            missing("target.agent_id"),
        ),
        (
            "an agent with a dot",
            append(|target| target.agent_id.push('.')),
            malformed("target.agent_id"),
        ),
        (
            "no conversation",
            append(|target| target.conversation_id.clear()),
            missing("target.conversation_id"),
        ),
        (
            "a conversation that is a wildcard",
            append(|target| target.conversation_id = ">".to_owned()),
            malformed("target.conversation_id"),
        ),
        (
            "a key that is no UUID",
            append(|target| target.idempotency_key = "1".to_owned()),
            malformed("target.idempotency_key"),
        ),
        (
            "archive: a conversation with a space",
            Ask::Archive(target(|target| target.conversation_id = "a b".to_owned())),
            malformed("target.conversation_id"),
        ),
        (
            "erase: a conversation with U+0000",
            Ask::Erase(target(|target| target.conversation_id = "a\0".to_owned())),
            malformed("target.conversation_id"),
        ),
    ];
    for case in cases {
        check(&agent, case).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_creations() {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create(CONVERSATION).await;
    let create = |change: fn(&mut proto::CreateConversationRequest)| {
        Ask::Create(with(agent.create_request("new"), change))
    };
    let context = |change: fn(&mut event_proto::ClientContext)| {
        let context = with(event_proto::ClientContext::default(), change);
        let request = agent.create_request("new");
        Ask::Create(with(request, |request| {
            request.client_context = Some(context)
        }))
    };
    let cases: [Case; 16] = [
        (
            "no agent",
            create(|r| r.agent_id.clear()),
            (InvalidArgument, "FIELD_MISSING", "agent_id"),
        ),
        (
            "a conversation with a slash",
            create(|r| r.conversation_id = "a/b".to_owned()),
            (InvalidArgument, "FIELD_MALFORMED", "conversation_id"),
        ),
        (
            "a key that is no UUID",
            create(|r| r.idempotency_key = "x".to_owned()),
            (InvalidArgument, "FIELD_MALFORMED", "idempotency_key"),
        ),
        (
            "no owner",
            create(|r| r.owner = None),
            (InvalidArgument, "FIELD_MISSING", "owner"),
        ),
        (
            "an owner of no kind",
            create(|r| r.owner = Some(event_proto::Owner::default())),
            (InvalidArgument, "FIELD_MISSING", "owner"),
        ),
        (
            "an empty user",
            create(|r| r.owner = Some(user_owner(""))),
            (InvalidArgument, "FIELD_MISSING", "owner.user_id"),
        ),
        (
            "a session with a line break",
            create(|r| r.owner = Some(session("a\n"))),
            (InvalidArgument, "FIELD_MALFORMED", "owner.session_id"),
        ),
        (
            "a title with U+0000",
            create(|r| r.title = "a\0b".to_owned()),
            (InvalidArgument, "NUL_CHARACTER", "title"),
        ),
        (
            "metadata that is no JSON",
            create(|r| r.metadata_json = "{".to_owned()),
            (InvalidArgument, "INVALID_JSON", "metadata_json"),
        ),
        (
            "metadata that is a list",
            create(|r| r.metadata_json = "[]".to_owned()),
            (InvalidArgument, "INVALID_JSON", "metadata_json"),
        ),
        (
            "metadata with U+0000, escaped",
            create(|r| r.metadata_json = r#"{"a":{"b":["\u0000"]}}"#.to_owned()),
            (InvalidArgument, "NUL_CHARACTER", "metadata_json"),
        ),
        (
            "metadata with U+0000 in a name",
            create(|r| r.metadata_json = r#"{"\u0000":1}"#.to_owned()),
            (InvalidArgument, "NUL_CHARACTER", "metadata_json"),
        ),
        (
            "a provider's id with a control character",
            create(|r| r.provider_conversation_id = "a\u{7f}".to_owned()),
            (
                InvalidArgument,
                "FIELD_MALFORMED",
                "provider_conversation_id",
            ),
        ),
        (
            "a page with U+0000",
            context(|c| c.page_url = "https://example.org/\0".to_owned()),
            (InvalidArgument, "NUL_CHARACTER", "client_context.page_url"),
        ),
        (
            "a timezone with U+0000",
            context(|c| c.timezone = "\0".to_owned()),
            (InvalidArgument, "NUL_CHARACTER", "client_context.timezone"),
        ),
        (
            "custom metadata that is no JSON",
            context(|c| c.custom_metadata_json = "nul".to_owned()),
            (
                InvalidArgument,
                "INVALID_JSON",
                "client_context.custom_metadata_json",
            ),
        ),
    ];
    for case in cases {
        check(&agent, case).await;
    }
    assert_eq!(agent.version("new").await, 0);
}
