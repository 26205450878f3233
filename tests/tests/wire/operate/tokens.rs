//! Service tokens: revoked at once, also on an open stream; and invalid tokens.

use futures::StreamExt as _;
use tests::agent::Agent;
use tests::errors::check_failure;
use tests::events::user;
use tests::eventually::{eventually, within};
use tests::stack::{Setup, Stack};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Code;
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::Scope;
use wire::proto::write::v1 as write;
use wire::proto::write::v1::append_stream_response::Outcome;

/// A revoked token is invalid at once at the writer that revoked it, and soon at other roles.
#[tokio::test(flavor = "multi_thread")]
async fn revoked_tokens_are_rejected() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    let owner = operator.agent("acme", "support").await;
    owner.create("c").await;
    let token = operator.token(&[Scope::Append, Scope::Read], "acme").await;
    let agent = Agent::new(owner.caller().with_token(&token.secret), owner.id());
    assert_eq!(agent.append("c", vec![user("x")]).await.version, agent.version("c").await);
    operator.revoke(&token).await;
    let ended = (Code::Unauthenticated, "UNAUTHENTICATED", "");
    let refused = agent.try_append(agent.append_request("c", vec![user("x")])).await;
    check_failure("a write", refused, ended);
    let refused =
        eventually("the news at the gateway", || async { agent.try_get(agent.read_target("c")).await.err() }).await;
    check_failure::<(), _>("a read", Err(refused), ended);
    assert_eq!(owner.version("c").await, 2);
    // A second revocation changes nothing.
    operator.revoke(&token).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn revoked_tokens_end_open_streams() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    let owner = operator.agent("acme", "support").await;
    owner.create("c").await;
    let token = operator.token(&[Scope::Append], "acme").await;
    let agent = Agent::new(owner.caller().with_token(&token.secret), owner.id());
    let (commands, receiver) = mpsc::channel(1);
    let mut answers =
        agent.caller().write().append_stream(ReceiverStream::new(receiver)).await.expect("a stream").into_inner();
    let mut send = async || {
        let request = agent.append_request("c", vec![user("x")]);
        let command = write::append_stream_request::Command::AppendEvents(request);
        let request = write::AppendStreamRequest { correlation_id: 0, command: Some(command) };
        commands.send(request).await.expect("an open stream");
        let answer = within("an answer", answers.next()).await.expect("an open stream");
        match answer.expect("no failure of the stream").outcome.expect("an outcome") {
            Outcome::Result(result) => Ok(result.version),
            Outcome::Error(error) => Err(error),
        }
    };
    assert_eq!(send().await.expect("a commit"), 2);
    operator.revoke(&token).await;
    check_failure("in the stream", send().await, (Code::Unauthenticated, "UNAUTHENTICATED", ""));
    assert_eq!(owner.version("c").await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_tokens_are_not_created() {
    let stack = Stack::shared().await;
    let operator = stack.operator().await;
    let token = |display_name: &str, scopes: Vec<i32>| proto::CreateServiceTokenRequest {
        display_name: display_name.to_owned(),
        scopes,
        tenant_id: String::new(),
        agent_ids: Vec::new(),
    };
    let read = vec![Scope::Read.into()];
    let cases = [
        ("no scope", token("x", vec![]), "FIELD_MISSING", "scopes"),
        ("scope 0", token("x", vec![0]), "FIELD_MALFORMED", "scopes"),
        ("scope 9", token("x", vec![2, 9]), "FIELD_MALFORMED", "scopes"),
        ("no name", token("", read.clone()), "FIELD_MISSING", "display_name"),
        ("257", token(&"n".repeat(257), read.clone()), "FIELD_TOO_LONG", "display_name"),
        ("a line break", token("a\n", read), "FIELD_MALFORMED", "display_name"),
    ];
    for (case, request, reason, field) in cases {
        let expected = (Code::InvalidArgument, reason, field);
        check_failure(case, operator.registry().create_service_token(request).await, expected);
    }
}
