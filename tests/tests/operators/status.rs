//! `hansard status` and `watch`: what is well, what is not, and what nobody answers to.

use domain::{ConversationId, Partition, TenantId};
use serde_json::{Value, json};
use tests::events::user;
use tests::eventually::eventually;
use tests::stack::{Setup, Stack};

use crate::desk::Desk;

fn roles(stack: &Stack) -> String {
    let nodes = [
        ("writer", &stack.writer),
        ("projector", &stack.projector),
        ("gateway", &stack.gateway),
    ];
    let roles = nodes.map(|(name, node)| format!("--role {name}=http://{}", node.admin_addr()));
    roles.join(" ")
}

/// A conversation of the tenant `acme` in the same partition.
fn neighbour(conversation: &str) -> String {
    let tenant = TenantId::parse("acme").unwrap();
    let partition = |id: &str| Partition::of(&tenant, &ConversationId::parse(id).unwrap(), 8);
    let mut names = (0..).map(|number| format!("n{number}"));
    let neighbour = names.find(|name| partition(name) == partition(conversation));
    neighbour.unwrap()
}

/// The status once it is as asked for.
async fn status(desk: &Desk, line: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    eventually("a status", || async {
        let told = desk.json(line, 0).await.remove(0);
        is_so(&told).then_some(told)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_system_that_is_well_and_one_that_is_not() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.agent("acme", "a").await;
    let desk = Desk::at(&stack);
    agent.create(&neighbour("c")).await;
    agent.create("c").await;
    agent.append("c", vec![user("one")]).await;
    agent.projected("c", 2).await;
    let line = format!("status --json {}", roles(&stack));
    let told = desk.json(&line, 0).await.remove(0);
    assert_eq!(told["needs"], json!([]));
    assert_eq!(told["record"]["durability"], "durable");
    assert_eq!(told["record"]["messages"], 3);
    let read_model = &told["readModel"];
    assert_eq!(read_model["migration"], read_model["migrationKnown"]);
    assert_eq!(read_model["projectors"].as_array().map(Vec::len), Some(1));
    let partitions = told["partitions"].as_array().unwrap();
    assert_eq!(partitions.len(), 8);
    for partition in partitions {
        assert_eq!(partition["lagSequences"], 0, "{partition}");
        assert_eq!(partition["holder"], read_model["projectors"][0]);
    }
    for role in told["roles"].as_array().unwrap() {
        assert_eq!(role["state"], "ready", "{role}");
        assert_eq!(role["version"], "0.1.0", "{role}");
    }
    assert_eq!(told["roles"].as_array().map(Vec::len), Some(3));

    erasures_explain_holes(&desk, &agent).await;
    trouble_is_named(&mut stack, &desk, &agent).await;
}

async fn erasures_explain_holes(desk: &Desk, agent: &tests::agent::Agent) {
    agent.try_erase(agent.target("c")).await.unwrap();
    let told = status(desk, "status --json --no-roles", |told| {
        let partitions = told["partitions"].as_array().unwrap();
        let mut partitions = partitions.iter();
        partitions.any(|one| one["holesErased"] == 2)
    })
    .await;
    assert_eq!(told["roles"], json!(null));
    for partition in told["partitions"].as_array().unwrap() {
        assert_eq!(partition["holes"], partition["holesErased"], "{partition}");
    }
}

async fn trouble_is_named(stack: &mut Stack, desk: &Desk, agent: &tests::agent::Agent) {
    stack.projector.stop().await;
    agent.create("late").await;
    let line = format!("status --lag-max-seconds 0 {}", roles(stack));
    let shown = desk.check(&line, 6, "").await;
    for needed in [
        "needs an operator:",
        "no projector holds partitions 0, 1, 2, 3, 4, 5, 6, 7",
        "rows lag in partition ",
        &format!("projector at {}: no answer", stack.projector.admin_addr()),
        "projectors  none",
    ] {
        assert!(shown.contains(needed), "{needed}: {shown}");
    }
    // Roles that nobody named are not missed.
    let shown = desk.check("status", 6, "").await;
    assert!(!shown.contains("7311: no answer"), "{shown}");

    let reports = desk.json("watch --count 2 --interval 2 --json", 6).await;
    assert_eq!(reports.len(), 2);
    assert_ne!(reports[0]["at"], reports[1]["at"]);
    let shown = desk.check("watch --count 1 --no-roles", 6, "").await;
    assert!(shown.starts_with("at "), "{shown}");
    assert!(shown.contains("roles: not read"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_answer_is_in_the_report() {
    let stack = Setup::tasks().start().await;
    let desk = Desk::at(&stack);
    let nobody = "postgres://nobody@127.0.0.1:1/nothing";
    let line = format!("status --json --no-roles --database-url {nobody}");
    let told = desk.json(&line, 6).await.remove(0);
    assert!(told["readModel"]["error"].is_string(), "{told}");
    assert_eq!(told["partitions"].as_array().map(Vec::len), Some(8));
    assert_eq!(told["partitions"][0]["checkpoint"], json!(null));
    let line = "status --json --no-roles --nats-url nats://127.0.0.1:1";
    let told = desk.json(line, 6).await.remove(0);
    assert!(told["record"]["error"].is_string(), "{told}");
    assert_eq!(told["readModel"]["parked"], 0);
    let line = "status --json --no-roles --partitions 4";
    let told = desk.json(line, 6).await.remove(0);
    let error = told["record"]["error"].as_str().unwrap();
    assert!(error.contains("configure 8"), "{error}");
}
