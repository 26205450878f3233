//! `hansard parked`: a conversation with an invalid message, from its discovery to its repair.

use serde_json::Value;
use tests::agent::Agent;
use tests::events::user;
use tests::eventually::eventually;
use tests::stack::{Setup, Stack};

use crate::operator_cli::OperatorCli;

/// The position of the invalid message.
struct InvalidMessage {
    tenant: String,
    partition: u64,
    sequence: u64,
}

/// Publishes an invalid message after a conversation's last one.
async fn publish_invalid(cli: &OperatorCli, conversation: &str) -> InvalidMessage {
    let tail = cli.json("tail", 0).await;
    let mut commits = tail.iter();
    let commit = commits.find(|commit| commit["envelope"]["conversationId"] == conversation).expect("a commit of it");
    let tenant = commit["envelope"]["tenantId"].as_str().unwrap().to_owned();
    let partition = commit["partition"].as_u64().unwrap();
    let subject = format!("hansard.{partition}.{tenant}.{conversation}");
    cli.publish(&subject, "sesame is no commit").await;
    let listed = eventually("a parked conversation", || async {
        let listed = cli.json("parked list --json", 0).await;
        listed.into_iter().next()
    })
    .await;
    assert_eq!(listed["conversationId"], conversation);
    assert_eq!(listed["commits"], 1);
    assert_eq!(listed["partition"], partition);
    InvalidMessage { tenant, partition, sequence: listed["sequence"].as_u64().unwrap() }
}

#[tokio::test(flavor = "multi_thread")]
async fn parked_conversations_are_found_and_repaired() {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    let cli = OperatorCli::at(&stack);
    agent.create("c").await;
    agent.append("c", vec![user("one")]).await;
    agent.wait_for_rows("c", 2).await;
    let bad = publish_invalid(&cli, "c").await;
    check_listing(&stack, &cli, &bad).await;
    check_failed_retry(&cli, &bad).await;
    check_drop(&cli, &bad).await;
    check_recovery(&stack, &cli, &agent, &bad).await;
}

async fn check_listing(stack: &Stack, cli: &OperatorCli, bad: &InvalidMessage) {
    let (tenant, sequence) = (&bad.tenant, bad.sequence);
    let table = cli.check("parked list", 0, "").await;
    for text in ["REASON", tenant, "the message is not a commit"] {
        assert!(table.contains(text), "{text}: {table}");
    }
    assert!(!table.contains("sesame"), "{table}");
    let shown = cli.json(&format!("parked show {tenant} c --json"), 0).await;
    let waiting = &shown[0]["waiting"][0];
    assert_eq!(waiting["sequence"], sequence);
    assert_eq!(waiting["unreadable"], "the message is not a commit");
    let table = cli.check(&format!("parked show {tenant} c"), 0, "").await;
    assert!(table.contains("partition"), "{table}");
    cli.check(&format!("parked show {tenant} other"), 1, "is not parked").await;
    let partition = (bad.partition + 1) % 8;
    let other_partition = format!("parked list --json --partition {partition}");
    assert_eq!(cli.json(&other_partition, 0).await, Vec::<Value>::new());
    let addr = stack.writer.admin_addr();
    let line = format!("status --role writer=http://{addr}");
    let status = cli.check(&line, 6, "").await;
    assert!(status.contains("parked conversations: 1; see hansard parked list"), "{status}");
}

async fn check_failed_retry(cli: &OperatorCli, bad: &InvalidMessage) {
    let tenant = &bad.tenant;
    let dry = cli.json(&format!("parked retry {tenant} c --dry-run --json"), 0).await;
    assert_eq!(dry[0]["outcome"], "would be tried");
    for line in [format!("parked retry {tenant} c"), "parked retry --all".to_owned()] {
        let tried = cli.json(&format!("{line} --json"), 6).await;
        assert_eq!(tried[0]["outcome"], "still parked");
        assert_eq!(tried[0]["why"], "the message is not a commit");
    }
    let listed = cli.json("parked list --json", 0).await;
    assert_eq!(listed[0]["attempts"], 3);
}

async fn check_drop(cli: &OperatorCli, bad: &InvalidMessage) {
    let (tenant, sequence) = (&bad.tenant, bad.sequence);
    let drop = format!("parked drop {tenant} c");
    let output = cli.check(&format!("{drop} --dry-run"), 0, "").await;
    let would = format!("would drop the commit at sequence {sequence} of {tenant} / c");
    assert!(output.contains(&would), "{output}");
    cli.check(&drop, 2, "give --yes to drop the commit").await;
    let still_listed = cli.json("parked list --json", 0).await;
    assert_eq!(still_listed[0]["commits"], 1, "nothing was dropped yet");
    cli.check(&format!("{drop} --sequence 999 --yes"), 1, "has no waiting commit at sequence 999").await;
    let output = cli.check(&format!("{drop} --yes"), 0, "").await;
    assert!(output.contains("next: hansard parked retry"), "{output}");
    cli.check(&format!("{drop} --yes"), 1, "has no waiting commit").await;
    let tried = cli.json(&format!("parked retry {tenant} c --json"), 0).await;
    assert_eq!(tried[0]["outcome"], "nothing waits");
}

/// After the message is removed from the record, too, the writer continues, and a retry repairs the conversation.
async fn check_recovery(stack: &Stack, cli: &OperatorCli, agent: &Agent, bad: &InvalidMessage) {
    let delete = format!("$JS.API.STREAM.MSG.DELETE.HANSARD_{}", bad.partition);
    cli.request(&delete, &format!("{{\"seq\":{}}}", bad.sequence)).await;
    eventually("an append", || async {
        let request = agent.append_request("c", vec![user("two")]);
        agent.try_append(request).await.ok()
    })
    .await;
    eventually("a commit that waits", || async {
        let listed = cli.json("parked list --json", 0).await;
        (listed[0]["commits"] == 1).then_some(())
    })
    .await;
    let tenant = &bad.tenant;
    let shown = cli.json(&format!("parked show {tenant} c --json"), 0).await;
    let waiting = &shown[0]["waiting"][0];
    assert_eq!((&waiting["firstVersion"], &waiting["lastVersion"]), (&3.into(), &3.into()));
    let tried = cli.json("parked retry --all --json", 0).await;
    assert_eq!(tried[0]["outcome"], "freed");
    agent.wait_for_rows("c", 3).await;
    assert_eq!(cli.json("parked list --json", 0).await, Vec::<Value>::new());
    agent.append("c", vec![user("three")]).await;
    agent.wait_for_rows("c", 4).await;
    let addr = stack.writer.admin_addr();
    let line = format!("status --json --role writer=http://{addr}");
    // The message that was removed by hand is a hole without an erasure.
    let report = cli.json(&line, 6).await;
    let needs = report[0]["needs"].as_array().unwrap();
    assert!(needs.len() == 1 && needs[0].as_str().unwrap().contains("hansard verify"), "{needs:?}");
    let report = cli.json(&format!("{line} --unexplained-max 1"), 0).await;
    let partition = &report[0]["partitions"][usize::try_from(bad.partition).unwrap()];
    assert_eq!(
        (&partition["holes"], &partition["holesErased"], &partition["holesUnexplained"]),
        (&1.into(), &0.into(), &1.into())
    );
}
