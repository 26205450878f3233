//! `/metrics`: the documented metrics exist, in the text format of Prometheus, and change.

use tests::admin;
use tests::agent::Agent;
use tests::client::Caller;
use tests::events::user;
use tests::eventually::eventually;
use tests::node::Node;
use tests::program;
use tests::settings::Role;
use tests::stack::Setup;
use tonic::Code;
use wire::proto::operate::v1::Scope;

/// The value of the first line with this prefix; `None` without one.
async fn value(node: &Node, begin: &str) -> Option<f64> {
    let page = admin::get(node.admin_addr(), "/metrics").await.ok()?;
    let line = page.body.lines().find(|line| line.starts_with(begin))?;
    line.rsplit(' ').next()?.parse().ok()
}

/// Waits for a line with this prefix and at least this value.
async fn check(node: &Node, begin: &str, least: f64) {
    eventually(&format!("{begin} of at least {least}"), || async {
        value(node, begin).await.filter(|value| *value >= least)
    })
    .await;
}

/// Both append concurrently; after repeated conflicts, one retries as the error demands.
async fn race(one: &Agent, two: &Agent) {
    let append = |agent: Agent| async move {
        for _ in 0..40 {
            let request = agent.append_request("c", vec![user("x")]);
            eventually("a commit", || async {
                match agent.try_append(request.clone()).await {
                    Err(status) if status.code() == Code::Aborted => None,
                    outcome => Some(outcome.expect("a commit")),
                }
            })
            .await;
        }
    };
    tokio::join!(append(one.clone()), append(two.clone()));
}

#[tokio::test(flavor = "multi_thread")]
async fn documented_metrics_exist() {
    let stack = Setup::processes(program!()).start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let refused = agent.try_append(agent.append_request("none", vec![user("x")])).await;
    assert_eq!(refused.expect_err("a refusal").code(), Code::NotFound);
    agent.wait_for_rows("c", 1).await;
    agent.context("c", 5).await;
    let writer = &stack.writer;
    check(writer, r#"hansard_writer_append_seconds_count{outcome="committed"}"#, 1.0).await;
    check(writer, r#"hansard_writer_append_seconds_count{outcome="CONVERSATION_NOT_FOUND"}"#, 1.0).await;
    check(writer, "hansard_writer_queue_seconds_count", 2.0).await;
    check(
        writer,
        r#"grpc_server_calls_total{service="hansard.write.v1.WriteService",method="CreateConversation",code="Ok"}"#,
        1.0,
    )
    .await;
    check(writer, "process_resident_memory_bytes", 1e6).await;
    check(writer, "hansard_build_info{", 1.0).await;
    check(&stack.gateway, r#"hansard_gateway_context_seconds_count{source="rows"}"#, 1.0).await;
    let projector = &stack.projector;
    for metric in [
        "hansard_projector_batch_seconds_count",
        "hansard_projector_batch_rows_count",
        "hansard_projector_batch_commits_count",
        "hansard_projector_commit_seconds_count",
    ] {
        check(projector, metric, 1.0).await;
    }
    for gauge in ["hansard_projector_lag_sequences{", "hansard_projector_lag_seconds{"] {
        check(projector, gauge, 0.0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_and_the_source_of_contexts() {
    let mut stack = Setup::processes(program!()).start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    agent.wait_for_rows("c", 1).await;
    stack.projector.stop().await;
    agent.append("c", vec![user("x")]).await;
    agent.context("c", 5).await;
    check(&stack.gateway, r#"hansard_gateway_context_seconds_count{source="tail"}"#, 1.0).await;
    check(&stack.gateway, "hansard_gateway_tail_commits_count", 1.0).await;
    let mut other = stack.another(Role::Writer);
    other.start().await;
    let operator = stack.operator().await;
    let token = operator.token(&[Scope::Append], "").await.secret;
    let caller = Caller::new(&other.grpc_url(), &stack.gateway.grpc_url(), &token);
    let rival = Agent::new(caller, agent.id());
    let rebases = async |node: &Node| value(node, "hansard_writer_rebases_total").await.unwrap_or(0.0);
    let mut races = 0;
    // On a busy machine one of them may be done before the other begins.
    let conflict = eventually("a rebase", || {
        races += 1;
        async {
            race(&agent, &rival).await;
            (rebases(&stack.writer).await + rebases(&other).await > 0.0).then_some(())
        }
    });
    Box::pin(conflict).await;
    assert_eq!(agent.version("c").await, 2 + races * 80);
}
