//! Service tokens: bound to a tenant, and ended at once.

use futures::StreamExt as _;
use tests::agent::Agent;
use tests::errors::{Failure, check_failure};
use tests::events::user;
use tests::eventually::{eventually, within};
use tests::operator::Operator;
use tests::stack::Setup;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Code;
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::Scope;
use wire::proto::write::v1 as write;
use wire::proto::write::v1::append_stream_response::Outcome;

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_a_tenant_sees_and_changes_that_tenant_alone() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    operator.agent("acme", "support").await;
    operator.agent("globex", "globex-support").await;
    let token = operator.token(&[Scope::Operate], "acme").await;
    let bound = Operator::new(operator.caller().with_token(&token.secret));
    let mut registry = bound.registry();
    let tenants = registry
        .list_tenants(proto::ListTenantsRequest {})
        .await
        .expect("tenants");
    let ids: Vec<String> = tenants
        .into_inner()
        .tenants
        .into_iter()
        .map(|tenant| tenant.tenant_id)
        .collect();
    assert_eq!(ids, ["acme"]);
    let new = proto::CreateTenantRequest {
        tenant_id: "new".to_owned(),
        ..Default::default()
    };
    let refused = (Code::PermissionDenied, "MISSING_SCOPE", "");
    check_failure("a new tenant", registry.create_tenant(new).await, refused);
    let missing = |field| (Code::NotFound, "REGISTRY_ENTRY_NOT_FOUND", field);
    for tenant in ["globex", "nobody"] {
        let agents = proto::ListAgentsRequest {
            tenant_id: tenant.to_owned(),
        };
        check_failure(
            tenant,
            registry.list_agents(agents).await,
            missing("tenant_id"),
        );
        let agent = proto::CreateAgentRequest {
            tenant_id: tenant.to_owned(),
            agent_id: "mine".to_owned(),
            ..Default::default()
        };
        check_failure(
            tenant,
            registry.create_agent(agent).await,
            missing("tenant_id"),
        );
        let token = proto::CreateServiceTokenRequest {
            display_name: "x".to_owned(),
            scopes: vec![Scope::Read.into()],
            tenant_id: tenant.to_owned(),
        };
        check_failure(
            tenant,
            registry.create_service_token(token).await,
            missing("tenant_id"),
        );
    }
    for agent in ["globex-support", "nobody"] {
        let keys = proto::ListApiKeysRequest {
            agent_id: agent.to_owned(),
        };
        check_failure(
            agent,
            registry.list_api_keys(keys).await,
            missing("agent_id"),
        );
    }
    // What it makes is bound as it is, and it sees no others.
    let made = bound.token(&[Scope::Append], "").await;
    let listed = registry
        .list_service_tokens(proto::ListServiceTokensRequest {})
        .await;
    let listed = listed.expect("tokens").into_inner().service_tokens;
    assert!(
        listed.iter().all(|token| token.tenant_id == "acme"),
        "{listed:?}"
    );
    assert!(listed.iter().any(|token| token.service_token_id == made.id));
    let stranger = Agent::new(operator.caller().with_token(&made.secret), "globex-support");
    let refused = stranger.try_create(stranger.create_request("c")).await;
    let failure: Failure = refused.expect_err("a foreign agent").into();
    assert_eq!(
        (failure.code, failure.reason.as_str()),
        (Code::NotFound, "AGENT_NOT_FOUND")
    );
}

/// A token that is ended ends at once: at the writer that ended it with the answer, elsewhere as soon as the news come.
#[tokio::test(flavor = "multi_thread")]
async fn an_ended_token_opens_nothing_more() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    let owner = operator.agent("acme", "support").await;
    owner.create("c").await;
    let token = operator.token(&[Scope::Append, Scope::Read], "acme").await;
    let agent = Agent::new(owner.caller().with_token(&token.secret), owner.id());
    assert_eq!(
        agent.append("c", vec![user("x")]).await.version,
        agent.version("c").await
    );
    operator.revoke(&token).await;
    let ended = (Code::Unauthenticated, "UNAUTHENTICATED", "");
    let refused = agent
        .try_append(agent.append_request("c", vec![user("x")]))
        .await;
    check_failure("a write", refused, ended);
    let refused = eventually("the news at the gateway", || async {
        agent.try_get(agent.read_target("c")).await.err()
    })
    .await;
    check_failure::<(), _>("a read", Err(refused), ended);
    assert_eq!(owner.version("c").await, 2);
    // Ending it again changes nothing.
    operator.revoke(&token).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_token_ends_on_a_stream_that_is_open() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    let owner = operator.agent("acme", "support").await;
    owner.create("c").await;
    let token = operator.token(&[Scope::Append], "acme").await;
    let agent = Agent::new(owner.caller().with_token(&token.secret), owner.id());
    let (commands, receiver) = mpsc::channel(1);
    let answers = agent
        .caller()
        .write()
        .append_stream(ReceiverStream::new(receiver))
        .await;
    let mut answers = answers.expect("a stream").into_inner();
    let mut send = async || {
        let request = agent.append_request("c", vec![user("x")]);
        let command = write::append_stream_request::Command::AppendEvents(request);
        let request = write::AppendStreamRequest {
            correlation_id: 0,
            command: Some(command),
        };
        commands.send(request).await.expect("an open stream");
        let answer = within("an answer", answers.next())
            .await
            .expect("an open stream");
        match answer
            .expect("no failure of the stream")
            .outcome
            .expect("an outcome")
        {
            Outcome::Result(result) => Ok(result.version),
            Outcome::Error(error) => Err(error),
        }
    };
    assert_eq!(send().await.expect("a commit"), 2);
    operator.revoke(&token).await;
    check_failure(
        "in the stream",
        send().await,
        (Code::Unauthenticated, "UNAUTHENTICATED", ""),
    );
    assert_eq!(owner.version("c").await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_cannot_be_made() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    let token = |display_name: &str, scopes: Vec<i32>| proto::CreateServiceTokenRequest {
        display_name: display_name.to_owned(),
        scopes,
        tenant_id: String::new(),
    };
    let read = vec![Scope::Read.into()];
    let cases = [
        ("no scope", token("x", vec![]), "FIELD_MISSING", "scopes"),
        ("scope 0", token("x", vec![0]), "FIELD_MALFORMED", "scopes"),
        (
            "scope 9",
            token("x", vec![2, 9]),
            "FIELD_MALFORMED",
            "scopes",
        ),
        (
            "no name",
            token("", read.clone()),
            "FIELD_MISSING",
            "display_name",
        ),
        (
            "257",
            token(&"n".repeat(257), read.clone()),
            "FIELD_TOO_LONG",
            "display_name",
        ),
        (
            "a line break",
            token("a\n", read),
            "FIELD_MALFORMED",
            "display_name",
        ),
    ];
    for (case, request, reason, field) in cases {
        let expected = (Code::InvalidArgument, reason, field);
        check_failure(
            case,
            operator.registry().create_service_token(request).await,
            expected,
        );
    }
}
