//! Scopes of tokens, for every rpc of every service.

use std::time::SystemTime;

use tests::agent::Agent;
use tests::errors::{Failure, check_failure};
use tests::events::user;
use tests::stack::Setup;
use tonic::{Code, Status};
use uuid::Uuid;
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::Scope;
use wire::proto::operate::v1::WatchAuditLogRequest;
use wire::proto::read::v1::list_conversations_request::Filter;
use wire::proto::run::v1::usage_correction::Counts;
use wire::proto::run::v1::{CorrectedMessages, UsageCorrection};

type Outcomes = Vec<Result<(), Status>>;

/// The outcomes of every rpc with the scope append, except erasures.
async fn append_outcomes(agent: &Agent) -> Outcomes {
    let append = agent.append_request("c", vec![user("x")]);
    let update = agent.update_request("c", &["title"]);
    vec![
        agent.try_create(agent.create_request("")).await.map(drop),
        agent.try_append(append).await.map(drop),
        agent.try_update(update).await.map(drop),
        agent.try_archive(agent.target("c")).await.map(drop),
        agent.try_restore(agent.target("c")).await.map(drop),
        agent.caller().registry().record_key_uses(proto::RecordKeyUsesRequest::default()).await.map(drop),
    ]
}

/// The outcomes of every rpc with the scope read.
async fn read_outcomes(agent: &Agent) -> Outcomes {
    let mut reader = agent.caller().read();
    let watch = agent.watch_request("c", 0);
    let list = agent.conversations_request(Filter::SessionId("s".to_owned()));
    vec![
        agent.try_get(agent.read_target("c")).await.map(drop),
        agent.try_events(agent.list_request("c")).await.map(drop),
        agent.try_context(agent.read_target("c"), 5).await.map(drop),
        agent.try_conversations(list).await.map(drop),
        reader.watch_conversation(watch).await.map(drop),
    ]
}

/// The outcomes of the listings, with the scope operate.
async fn operate_outcomes(agent: &Agent) -> Outcomes {
    let mut registry = agent.caller().registry();
    let tenant_id = "acme".to_owned();
    let agents = proto::ListAgentsRequest { tenant_id };
    let agent_id = agent.id().to_owned();
    let keys = proto::ListApiKeysRequest { agent_id };
    let signing_keys = proto::ListSigningKeysRequest { tenant_id: "acme".to_owned() };
    let settings =
        proto::SetAgentSettingsRequest { agent_id: agent.id().to_owned(), settings: None, update_mask: None };
    let revoked = proto::RevokeSessionRequest { tenant_id: "acme".to_owned(), session_id: "issued:x".to_owned() };
    let tokens = proto::ListServiceTokensRequest {};
    let tenants = proto::ListTenantsRequest {};
    let audit = WatchAuditLogRequest { tenant_id: "acme".to_owned(), ..WatchAuditLogRequest::default() };
    let audit_settings =
        proto::SetTenantAuditRequest { tenant_id: "acme".to_owned(), ..proto::SetTenantAuditRequest::default() };
    let correction = UsageCorrection {
        correction_id: Uuid::now_v7().to_string(),
        agent_id: agent.id().to_owned(),
        day: Some(SystemTime::now().into()),
        counts: Some(Counts::Messages(CorrectedMessages::default())),
        output_tokens: 1,
        ..UsageCorrection::default()
    };
    let usage = proto::CorrectUsageRequest { correction: Some(correction), reason: "a test".to_owned() };
    vec![
        registry.list_tenants(tenants).await.map(drop),
        registry.list_agents(agents).await.map(drop),
        registry.list_api_keys(keys).await.map(drop),
        registry.list_signing_keys(signing_keys).await.map(drop),
        registry.set_agent_settings(settings).await.map(drop),
        registry.list_service_tokens(tokens).await.map(drop),
        registry.set_tenant_audit(audit_settings).await.map(drop),
        agent.caller().audit().watch_audit_log(audit).await.map(drop),
        registry.correct_usage(usage).await.map(drop),
        registry.revoke_session(revoked).await.map(drop),
    ]
}

/// The outcome of an erasure; its retries have the same answer.
async fn erase_outcomes(agent: &Agent) -> Outcomes {
    vec![agent.try_erase(agent.target("erased")).await.map(drop)]
}

async fn outcomes(agent: &Agent) -> [(Scope, Outcomes); 4] {
    [
        (Scope::Append, append_outcomes(agent).await),
        (Scope::Read, read_outcomes(agent).await),
        (Scope::Operate, operate_outcomes(agent).await),
        (Scope::Erase, erase_outcomes(agent).await),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn each_scope_allows_only_its_service() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    let owner = operator.agent("acme", "support").await;
    owner.create("c").await;
    owner.create("erased").await;
    let subsets: [&[Scope]; 10] = [
        &[Scope::Append],
        &[Scope::Read],
        &[Scope::Operate],
        &[Scope::Append, Scope::Read],
        &[Scope::Append, Scope::Operate],
        &[Scope::Read, Scope::Operate],
        &[Scope::Append, Scope::Read, Scope::Operate],
        &[Scope::Erase],
        &[Scope::Erase, Scope::Append],
        &[Scope::Append, Scope::Read, Scope::Operate, Scope::Erase],
    ];
    for tenant in ["", "acme"] {
        for scopes in subsets {
            let token = operator.token(scopes, tenant).await;
            let agent = Agent::new(owner.caller().with_token(&token.secret), owner.id());
            for (scope, outcomes) in outcomes(&agent).await {
                for (rpc, outcome) in outcomes.into_iter().enumerate() {
                    let case = format!("rpc {rpc} of {scope:?} with {scopes:?} of {tenant:?}");
                    if scopes.contains(&scope) {
                        outcome.unwrap_or_else(|status| panic!("{case}: {status:?}"));
                    } else {
                        let expected = (Code::PermissionDenied, "MISSING_SCOPE", "");
                        check_failure(&case, outcome, expected);
                    }
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_tokens_are_rejected() {
    let stack = Setup::tasks().start().await;
    let owner = stack.agent("acme", "support").await;
    owner.create("c").await;
    let caller = owner.caller();
    let nobodies = [
        ("no token", caller.without_token()),
        ("an empty token", caller.with_token("")),
        ("an unknown token", caller.with_token("hs_unknown")),
        ("another scheme", caller.with_header("authorization", "Basic YTpi")),
        ("a token alone", caller.with_header("authorization", "x")),
    ];
    for (case, nobody) in nobodies {
        let agent = Agent::new(nobody, owner.id());
        for (_, outcomes) in outcomes(&agent).await {
            for outcome in outcomes {
                check_failure(case, outcome, (Code::Unauthenticated, "UNAUTHENTICATED", ""));
            }
        }
    }
    assert_eq!(owner.version("c").await, 1);
    // Fields are validated first: a caller without a token gets errors of fields, and nothing stored.
    let agent = Agent::new(caller.without_token(), owner.id());
    let failure: Failure = agent.try_get(agent.read_target("")).await.expect_err("a refusal").into();
    assert!([Code::InvalidArgument, Code::Unauthenticated].contains(&failure.code), "{failure:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bearer_scheme_is_case_insensitive() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    let owner = operator.agent("acme", "support").await;
    let token = operator.token(&[Scope::Append], "").await.secret;
    for header in [format!("bearer {token}"), format!("BEARER {token}"), format!("Bearer  {token}")] {
        let caller = owner.caller().with_header("authorization", &header);
        let agent = Agent::new(caller, owner.id());
        agent.try_create(agent.create_request("")).await.expect("a conversation");
    }
}
