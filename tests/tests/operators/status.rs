//! `hansard status` and `watch`: healthy, unhealthy and unreachable systems.

use domain::{ConversationId, Partition, TenantId};
use serde_json::{Value, json};
use tests::events::user;
use tests::eventually::eventually;
use tests::stack::{Setup, Stack};

use crate::operator_cli::OperatorCli;

fn roles(stack: &Stack) -> String {
    let nodes = [("writer", &stack.writer), ("projector", &stack.projector), ("gateway", &stack.gateway)];
    let roles = nodes.map(|(name, node)| format!("--role {name}=http://{}", node.admin_addr()));
    roles.join(" ")
}

/// A conversation of the tenant `acme` in the same partition.
fn neighbour(conversation: &str) -> String {
    let tenant = TenantId::parse("acme").unwrap();
    let partition = |id: &str| Partition::of(&tenant, &ConversationId::parse(id).unwrap(), 8);
    let mut names = (0..).map(|number| format!("n{number}"));
    names.find(|name| partition(name) == partition(conversation)).unwrap()
}

/// The status after it meets the condition.
async fn status(cli: &OperatorCli, line: &str, condition: impl Fn(&Value) -> bool) -> Value {
    eventually("a status", || async {
        let status_report = cli.json(line, 0).await.remove(0);
        condition(&status_report).then_some(status_report)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn status_of_healthy_and_unhealthy_systems() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.agent("acme", "a").await;
    let cli = OperatorCli::at(&stack);
    agent.create(&neighbour("c")).await;
    agent.create("c").await;
    agent.append("c", vec![user("one")]).await;
    agent.wait_for_rows("c", 2).await;
    let line = format!("status --json {}", roles(&stack));
    let status_report = cli.json(&line, 0).await.remove(0);
    assert_eq!(status_report["needs"], json!([]));
    assert_eq!(status_report["record"]["durability"], "durable");
    assert_eq!(status_report["record"]["messages"], 3);
    let read_model = &status_report["readModel"];
    assert_eq!(read_model["migration"], read_model["migrationKnown"]);
    assert!(read_model["migrationFloor"].as_i64() >= Some(21));
    assert_eq!(read_model["projectors"].as_array().map(Vec::len), Some(1));
    let search = &status_report["search"];
    assert!(search["lagSequences"].is_u64(), "{search}");
    assert!(search["indexBytes"].as_u64() > Some(0), "{search}");
    let partitions = status_report["partitions"].as_array().unwrap();
    assert_eq!(partitions.len(), 8);
    for partition in partitions {
        assert_eq!(partition["lagSequences"], 0, "{partition}");
        assert_eq!(partition["holder"], read_model["projectors"][0]);
    }
    for role in status_report["roles"].as_array().unwrap() {
        assert_eq!(role["state"], "ready", "{role}");
        assert_eq!(role["version"], env!("CARGO_PKG_VERSION"), "{role}");
    }
    assert_eq!(status_report["roles"].as_array().map(Vec::len), Some(3));

    check_holes_of_erasures(&cli, &agent).await;
    check_unhealthy_system(&mut stack, &cli, &agent).await;
}

async fn check_holes_of_erasures(cli: &OperatorCli, agent: &tests::agent::Agent) {
    agent.try_erase(agent.target("c")).await.unwrap();
    let status_report = status(cli, "status --json --no-roles", |status_report| {
        let mut partitions = status_report["partitions"].as_array().unwrap().iter();
        partitions.any(|one| one["holesErased"] == 2)
    })
    .await;
    assert_eq!(status_report["roles"], json!(null));
    for partition in status_report["partitions"].as_array().unwrap() {
        assert_eq!(partition["holes"], partition["holesErased"], "{partition}");
    }
}

async fn check_unhealthy_system(stack: &mut Stack, cli: &OperatorCli, agent: &tests::agent::Agent) {
    stack.projector.stop().await;
    agent.create("late").await;
    let line = format!("status --lag-max-seconds 0 {}", roles(stack));
    let shown = cli.check(&line, 6, "").await;
    for needed in [
        "needs an operator:",
        "no projector holds partitions 0, 1, 2, 3, 4, 5, 6, 7",
        "rows lag in partition ",
        &format!("projector at {}: no answer", stack.projector.admin_addr()),
        "projectors  none",
    ] {
        assert!(shown.contains(needed), "{needed}: {shown}");
    }
    // Roles without an address are not reported as missing.
    let shown = cli.check("status", 6, "").await;
    assert!(!shown.contains("7311: no answer"), "{shown}");

    let reports = cli.json("watch --count 2 --interval 2 --json", 6).await;
    assert_eq!(reports.len(), 2);
    assert_ne!(reports[0]["at"], reports[1]["at"]);
    let shown = cli.check("watch --count 1 --no-roles", 6, "").await;
    assert!(shown.starts_with("at "), "{shown}");
    assert!(shown.contains("roles: not read"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unreachable_servers_are_reported() {
    let stack = Setup::tasks().start().await;
    let cli = OperatorCli::at(&stack);
    let nobody = "postgres://nobody@127.0.0.1:1/nothing";
    let line = format!("status --json --no-roles --database-url {nobody}");
    let status_report = cli.json(&line, 6).await.remove(0);
    assert!(status_report["readModel"]["error"].is_string(), "{status_report}");
    assert_eq!(status_report["partitions"].as_array().map(Vec::len), Some(8));
    assert_eq!(status_report["partitions"][0]["checkpoint"], json!(null));
    let line = "status --json --no-roles --nats-url nats://127.0.0.1:1";
    let status_report = cli.json(line, 6).await.remove(0);
    assert!(status_report["record"]["error"].is_string(), "{status_report}");
    assert_eq!(status_report["readModel"]["parked"], 0);
    let line = "status --json --no-roles --partitions 4";
    let status_report = cli.json(line, 6).await.remove(0);
    let error = status_report["record"]["error"].as_str().unwrap();
    assert!(error.contains("configure 8"), "{error}");
}
