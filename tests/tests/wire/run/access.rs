//! Access to runs: foreign and missing ones have the same answer.

use tests::agent::Agent;
use tests::errors::check_failure;
use tests::parts::alive;
use tests::stack::{Setup, Stack};
use tonic::{Code, Status};
use wire::proto::operate::v1::Scope;

use super::{CONVERSATION, Run};

/// The outcomes of every rpc on a run of a conversation.
async fn outcomes(agent: &Agent, conversation: &str, run: &str) -> [Result<(), Status>; 4] {
    let parts = agent.parts_request(conversation, run, 0, vec![alive(1)]);
    [
        agent.try_start(agent.start_request(conversation, run, vec![])).await.map(drop),
        agent.try_parts(parts).await.map(drop),
        agent.try_stop(agent.stop_request(conversation, run)).await.map(drop),
        agent.try_finish(agent.finish_request(conversation, run, vec![])).await.map(drop),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_runs_look_missing() {
    let stack = Setup::tasks().start().await;
    let mut run = Run::begin(&stack).await;
    run.say("secret").await;
    let stranger = stack.any_agent().await;
    let tenant = run.agent.id().replacen("a-", "t-", 1);
    let colleague = stack.agent(&tenant, &format!("{}-2", run.agent.id())).await;
    let missing = (Code::NotFound, "CONVERSATION_NOT_FOUND", "");
    for (case, agent) in [("another tenant", stranger), ("another agent", colleague)] {
        let foreign = outcomes(&agent, CONVERSATION, &run.id).await;
        let none = outcomes(&agent, "none", &run.id).await;
        for (foreign, none) in foreign.into_iter().zip(none) {
            let foreign = check_failure(case, foreign, missing);
            assert_eq!(foreign, check_failure(case, none, missing));
        }
    }
    // A token of another tenant, with the agent's id in the request.
    let operator = stack.operator().await;
    operator.tenant("other").await;
    let token = operator.token(&[Scope::Append], "other").await;
    let thief = Agent::new(run.agent.caller().with_token(&token.secret), run.agent.id());
    for outcome in outcomes(&thief, CONVERSATION, &run.id).await {
        let failure: tests::errors::Failure = outcome.expect_err("a refusal").into();
        assert_eq!(failure.reason, "AGENT_NOT_FOUND", "{failure:?}");
    }
    run.say("still here").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_need_the_scope_to_append() {
    let stack = Stack::shared().await;
    let run = Run::begin(stack).await;
    let operator = stack.operator().await;
    let token = operator.token(&[Scope::Read, Scope::Operate], "").await;
    let caller = run.agent.caller();
    for (case, caller, expected) in [
        ("no scope", caller.with_token(&token.secret), (Code::PermissionDenied, "MISSING_SCOPE", "")),
        ("no token", caller.without_token(), (Code::Unauthenticated, "UNAUTHENTICATED", "")),
    ] {
        let agent = Agent::new(caller, run.agent.id());
        for outcome in outcomes(&agent, CONVERSATION, &run.id).await {
            check_failure(case, outcome, expected);
        }
    }
    assert_eq!(run.active().await, run.id);
}
