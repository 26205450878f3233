//! A token that is bound to agents: for it, conversations of other agents of the same tenant do not exist.

use tests::agent::Agent;
use tests::errors::{Expected, check_failure};
use tests::events::user;
use tests::stack::Setup;
use tonic::Code::{InvalidArgument, NotFound, PermissionDenied};
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::Scope;
use wire::proto::read::v1::list_conversations_request::Filter;
use wire::proto::read::v1::{WholeAgent, WholeTenant};

const SCOPES: [Scope; 3] = [Scope::Append, Scope::Read, Scope::Erase];
const NO_AGENT: fn(&'static str) -> Expected = |field| (NotFound, "AGENT_NOT_FOUND", field);

#[tokio::test(flavor = "multi_thread")]
async fn conversations_of_other_agents_do_not_exist() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    let support = operator.agent("acme", "support").await;
    let sales = operator.agent("acme", "sales").await;
    for (owner, conversation) in [(&support, "ours"), (&sales, "theirs")] {
        owner.create(conversation).await;
    }
    let token = operator.secret_key(&SCOPES, &["support"]).await;
    let caller = operator.caller().with_token(&token.secret);
    // The agent of the token, named and not named, and another agent.
    for agent in ["support", ""].map(|id| Agent::new(caller.clone(), id)) {
        agent.try_create(agent.create_request("")).await.expect("a conversation");
        let append = agent.append_request("ours", vec![user("hello")]);
        agent.try_append(append).await.expect("a commit");
        agent.try_get(agent.read_target("ours")).await.expect("ours");
        agent.try_events(agent.list_request("ours")).await.expect("events");
        let whole = Filter::WholeAgent(WholeAgent {});
        let listed = agent.try_conversations(agent.conversations_request(whole));
        listed.await.expect("a page");
        let whole = Filter::WholeTenant(WholeTenant {});
        let listed = agent.try_conversations(agent.conversations_request(whole));
        let refused = (PermissionDenied, "MISSING_SCOPE", "");
        check_failure("the tenant", listed.await, refused);
        let missing = (NotFound, "CONVERSATION_NOT_FOUND", "");
        for conversation in ["theirs", "missing"] {
            let read = agent.try_get(agent.read_target(conversation)).await;
            check_failure(conversation, read, missing);
            let events = agent.try_events(agent.list_request(conversation)).await;
            check_failure(conversation, events, missing);
            let append = agent.append_request(conversation, vec![user("hello")]);
            check_failure(conversation, agent.try_append(append).await, missing);
            let erased = agent.try_erase(agent.target(conversation)).await;
            check_failure(conversation, erased, missing);
        }
    }
    for id in ["sales", "missing"] {
        let agent = Agent::new(caller.clone(), id);
        let created = agent.try_create(agent.create_request("")).await;
        check_failure(id, created, NO_AGENT("agent_id"));
        let read = agent.try_get(agent.read_target("theirs")).await;
        check_failure(id, read, NO_AGENT("target.agent_id"));
        let append = agent.append_request("theirs", vec![user("hello")]);
        let appended = agent.try_append(append).await;
        check_failure(id, appended, NO_AGENT("target.agent_id"));
    }
    assert_eq!(sales.version("theirs").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_has_a_bounded_number_of_agents_of_one_tenant() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    operator.agent("acme", "support").await;
    operator.agent("acme", "sales").await;
    operator.agent("globex", "globex-support").await;
    let request = |agents: Vec<&str>, scope: Scope| proto::CreateServiceTokenRequest {
        display_name: "a back end".to_owned(),
        scopes: vec![scope.into()],
        tenant_id: String::new(),
        agent_ids: agents.into_iter().map(str::to_owned).collect(),
        expires_at: None,
    };
    let mut registry = operator.registry();
    let made = registry
        .create_service_token(request(vec!["support", "sales"], Scope::Read))
        .await
        .expect("a token")
        .into_inner();
    let entry = made.service_token.expect("an entry");
    assert_eq!((entry.tenant_id.as_str(), entry.agent_ids), ("acme", vec!["sales".to_owned(), "support".to_owned()]));
    assert!(made.secret.starts_with("hsk_"));
    registry.create_service_token(request(vec!["support"; 64], Scope::Read)).await.expect("a token");
    let many = (InvalidArgument, "FIELD_OUT_OF_RANGE", "agent_ids");
    let absent = (NotFound, "REGISTRY_ENTRY_NOT_FOUND", "agent_ids");
    for (agents, scope, expected) in [
        (vec!["support"; 65], Scope::Read, many),
        (vec!["support"], Scope::Operate, many),
        (vec!["missing"], Scope::Read, absent),
        (vec!["support", "globex-support"], Scope::Read, absent),
    ] {
        let refused = registry.create_service_token(request(agents, scope)).await;
        check_failure("a token", refused, expected);
    }
}
