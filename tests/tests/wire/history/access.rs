//! Access to histories: an agent of another tenant, a token without a scope, and no token.

use tests::agent::Agent;
use tests::errors::{Expected, check_failure};
use tests::stack::Setup;
use tonic::Code;
use wire::proto::operate::v1::Scope;

use super::calls::{key, load_request, record, record_request, try_load, try_record};

/// The expected errors of a load and a record; `None` for success.
async fn check(case: &str, agent: &Agent, load: Option<Expected>, record: Option<Expected>) {
    let key = key(agent, "room");
    let loaded = try_load(agent, load_request(&key, &["u mine"])).await;
    let recorded = try_record(agent, record_request(&key, &["u mine"])).await;
    let outcomes = [(loaded.map(drop), load), (recorded.map(drop), record)];
    for (outcome, expected) in outcomes {
        match expected {
            Some(expected) => drop(check_failure(case, outcome, expected)),
            None => outcome.expect(case),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn histories_of_other_callers_are_rejected() {
    let stack = Setup::tasks().start().await;
    let agent = stack.agent("acme", "ours").await;
    let stranger = stack.agent("globex", "theirs").await;
    record(&agent, &key(&agent, "room"), &["u secret"]).await;
    let unknown = Some((Code::NotFound, "AGENT_NOT_FOUND", "key.agent_id"));
    let foreign = Agent::new(stranger.caller().clone(), agent.id());
    check("a foreign agent", &foreign, unknown, unknown).await;
    let missing = Agent::new(stranger.caller().clone(), "nobody");
    check("no such agent", &missing, unknown, unknown).await;
    let nobody = Agent::new(agent.caller().without_token(), agent.id());
    let unauthenticated = Some((Code::Unauthenticated, "UNAUTHENTICATED", ""));
    check("no token", &nobody, unauthenticated, unauthenticated).await;
    let operator = stack.operator().await;
    let lacking = Some((Code::PermissionDenied, "MISSING_SCOPE", ""));
    for (scope, load, record) in [(Scope::Read, None, lacking), (Scope::Append, lacking, lacking)] {
        let token = operator.token(&[scope], "acme").await.secret;
        let bound = Agent::new(agent.caller().with_token(&token), agent.id());
        check(scope.as_str_name(), &bound, load, record).await;
    }
}
