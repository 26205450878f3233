//! Service tokens: revoked at once, also on an open stream; and invalid tokens.

use futures::StreamExt as _;
use runtime::clock::Clock;
use tests::agent::Agent;
use tests::errors::check_failure;
use tests::events::user;
use tests::eventually::{eventually, within};
use tests::http_client::HttpClient;
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

/// A token and a key with an end are valid until then, at every role.
#[tokio::test(flavor = "multi_thread")]
async fn tokens_and_keys_end() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    let owner = operator.agent("acme", "support").await;
    owner.create("c").await;
    let in_seconds = |seconds: i64| {
        let now = Clock::System.now_nanos() / 1_000_000_000;
        Some(prost_types::Timestamp { seconds: now + seconds, nanos: 0 })
    };
    let token = async |expires_at| {
        let request = proto::CreateServiceTokenRequest {
            display_name: "a visitor".to_owned(),
            scopes: vec![Scope::Append.into(), Scope::Read.into()],
            tenant_id: "acme".to_owned(),
            expires_at,
            ..proto::CreateServiceTokenRequest::default()
        };
        operator.registry().create_service_token(request).await.map(tonic::Response::into_inner)
    };
    let key = async |expires_at| {
        let request = proto::CreateApiKeyRequest {
            agent_id: owner.id().to_owned(),
            expires_at,
            ..proto::CreateApiKeyRequest::default()
        };
        operator.registry().create_api_key(request).await.map(tonic::Response::into_inner)
    };
    let refused = (Code::InvalidArgument, "FIELD_OUT_OF_RANGE", "expires_at");
    check_failure("a token", token(in_seconds(-1)).await, refused);
    check_failure("a key", key(in_seconds(-1)).await, refused);
    let (short, long) =
        (token(in_seconds(3)).await.expect("a token"), token(in_seconds(3_600)).await.expect("a token"));
    assert!(short.service_token.expect("a token").expires_at.is_some());
    let [short, long] =
        [short.secret, long.secret].map(|secret| Agent::new(owner.caller().with_token(&secret), owner.id()));
    let ended = (Code::Unauthenticated, "UNAUTHENTICATED", "");
    let append = |agent: Agent| async move { agent.try_append(agent.append_request("c", vec![user("x")])).await.err() };
    let get = |agent: Agent| async move { agent.try_get(agent.read_target("c")).await.err() };
    let at_writer = eventually("its end at the writer", || append(short.clone())).await;
    check_failure::<(), _>("a write", Err(at_writer), ended);
    let at_gateway = eventually("its end at the gateway", || get(short.clone())).await;
    check_failure::<(), _>("a read", Err(at_gateway), ended);
    assert!(append(long.clone()).await.is_none() && get(long).await.is_none());

    let client = |made: proto::CreateApiKeyResponse| stack.http_client().with("x-api-key", &made.secret);
    let (short, long) =
        (client(key(in_seconds(3)).await.expect("a key")), client(key(in_seconds(3_600)).await.expect("a key")));
    let status = async |client: &HttpClient| client.post("/api/sessions", &serde_json::json!({})).await.status;
    eventually("its end", || async { (status(&short).await == 401).then_some(()) }).await;
    assert_eq!(status(&long).await, 201);
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
        expires_at: None,
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
