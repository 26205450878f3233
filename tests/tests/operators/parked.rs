//! `hansard parked`: a conversation with a message that is no commit, from its discovery to its return.

use serde_json::Value;
use tests::agent::Agent;
use tests::events::user;
use tests::eventually::eventually;
use tests::stack::{Setup, Stack};

use crate::desk::Desk;

/// Where the message that is no commit stands.
struct Bad {
    tenant: String,
    partition: u64,
    sequence: u64,
}

/// Puts a message that is no commit behind a conversation's last.
async fn spoil(desk: &Desk, conversation: &str) -> Bad {
    let commits = desk.json("tail", 0).await;
    let mut commits = commits.iter();
    let commit = commits.find(|commit| commit["envelope"]["conversationId"] == conversation);
    let commit = commit.expect("a commit of it");
    let tenant = commit["envelope"]["tenantId"].as_str().unwrap().to_owned();
    let partition = commit["partition"].as_u64().unwrap();
    let subject = format!("hansard.{partition}.{tenant}.{conversation}");
    desk.publish(&subject, "sesame is no commit").await;
    let listed = eventually("a parked conversation", || async {
        let listed = desk.json("parked list --json", 0).await;
        listed.into_iter().next()
    })
    .await;
    assert_eq!(listed["conversationId"], conversation);
    assert_eq!(listed["commits"], 1);
    assert_eq!(listed["partition"], partition);
    Bad {
        tenant,
        partition,
        sequence: listed["sequence"].as_u64().unwrap(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spoilt_conversation_is_found_freed_and_goes_on() {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    let desk = Desk::at(&stack);
    agent.create("c").await;
    agent.append("c", vec![user("one")]).await;
    agent.projected("c", 2).await;
    let bad = spoil(&desk, "c").await;
    it_is_shown(&stack, &desk, &bad).await;
    it_stays_parked(&desk, &bad).await;
    it_is_dropped(&desk, &bad).await;
    it_goes_on(&stack, &desk, &agent, &bad).await;
}

async fn it_is_shown(stack: &Stack, desk: &Desk, bad: &Bad) {
    let (tenant, sequence) = (&bad.tenant, bad.sequence);
    let table = desk.check("parked list", 0, "").await;
    for told in ["REASON", tenant, "the message is not a commit"] {
        assert!(table.contains(told), "{told}: {table}");
    }
    assert!(!table.contains("sesame"), "{table}");
    let shown = desk
        .json(&format!("parked show {tenant} c --json"), 0)
        .await;
    let waiting = &shown[0]["waiting"][0];
    assert_eq!(waiting["sequence"], sequence);
    assert_eq!(waiting["unreadable"], "the message is not a commit");
    let table = desk.check(&format!("parked show {tenant} c"), 0, "").await;
    assert!(table.contains("partition"), "{table}");
    desk.check(&format!("parked show {tenant} other"), 1, "is not parked")
        .await;
    let partition = (bad.partition + 1) % 8;
    let elsewhere = format!("parked list --json --partition {partition}");
    assert_eq!(desk.json(&elsewhere, 0).await, Vec::<Value>::new());
    let addr = stack.writer.admin_addr();
    let line = format!("status --role writer=http://{addr}");
    let status = desk.check(&line, 6, "").await;
    assert!(
        status.contains("parked conversations: 1; see hansard parked list"),
        "{status}"
    );
}

async fn it_stays_parked(desk: &Desk, bad: &Bad) {
    let tenant = &bad.tenant;
    let dry = desk
        .json(&format!("parked retry {tenant} c --dry-run --json"), 0)
        .await;
    assert_eq!(dry[0]["outcome"], "would be tried");
    for line in [
        format!("parked retry {tenant} c"),
        "parked retry --all".to_owned(),
    ] {
        let tried = desk.json(&format!("{line} --json"), 6).await;
        assert_eq!(tried[0]["outcome"], "still parked");
        assert_eq!(tried[0]["why"], "the message is not a commit");
    }
    let listed = desk.json("parked list --json", 0).await;
    assert_eq!(listed[0]["attempts"], 3);
}

async fn it_is_dropped(desk: &Desk, bad: &Bad) {
    let (tenant, sequence) = (&bad.tenant, bad.sequence);
    let drop = format!("parked drop {tenant} c");
    let said = desk.check(&format!("{drop} --dry-run"), 0, "").await;
    let would = format!("would drop the commit at sequence {sequence} of {tenant} / c");
    assert!(said.contains(&would), "{said}");
    desk.check(&drop, 2, "give --yes to drop the commit").await;
    let waits = desk.json("parked list --json", 0).await;
    assert_eq!(waits[0]["commits"], 1, "nothing was dropped yet");
    desk.check(
        &format!("{drop} --sequence 999 --yes"),
        1,
        "has no waiting commit at sequence 999",
    )
    .await;
    let said = desk.check(&format!("{drop} --yes"), 0, "").await;
    assert!(said.contains("next: hansard parked retry"), "{said}");
    desk.check(&format!("{drop} --yes"), 1, "has no waiting commit")
        .await;
    let tried = desk
        .json(&format!("parked retry {tenant} c --json"), 0)
        .await;
    assert_eq!(tried[0]["outcome"], "nothing waits");
}

/// Once the message is out of the record, too, the writer goes on, and a retry brings the conversation back.
async fn it_goes_on(stack: &Stack, desk: &Desk, agent: &Agent, bad: &Bad) {
    let delete = format!("$JS.API.STREAM.MSG.DELETE.HANSARD_{}", bad.partition);
    desk.request(&delete, &format!("{{\"seq\":{}}}", bad.sequence))
        .await;
    eventually("an append", || async {
        let request = agent.append_request("c", vec![user("two")]);
        agent.try_append(request).await.ok()
    })
    .await;
    eventually("a commit that waits", || async {
        let listed = desk.json("parked list --json", 0).await;
        (listed[0]["commits"] == 1).then_some(())
    })
    .await;
    let tenant = &bad.tenant;
    let shown = desk
        .json(&format!("parked show {tenant} c --json"), 0)
        .await;
    let waiting = &shown[0]["waiting"][0];
    assert_eq!(
        (&waiting["firstVersion"], &waiting["lastVersion"]),
        (&3.into(), &3.into())
    );
    let tried = desk.json("parked retry --all --json", 0).await;
    assert_eq!(tried[0]["outcome"], "freed");
    agent.projected("c", 3).await;
    assert_eq!(
        desk.json("parked list --json", 0).await,
        Vec::<Value>::new()
    );
    agent.append("c", vec![user("three")]).await;
    agent.projected("c", 4).await;
    let addr = stack.writer.admin_addr();
    let line = format!("status --json --role writer=http://{addr}");
    // The message that was taken out by hand is a hole that no erasure explains.
    let told = desk.json(&line, 6).await;
    let needs = told[0]["needs"].as_array().unwrap();
    assert!(
        needs.len() == 1 && needs[0].as_str().unwrap().contains("hansard verify"),
        "{needs:?}"
    );
    let told = desk.json(&format!("{line} --unexplained-max 1"), 0).await;
    let partition = usize::try_from(bad.partition).unwrap();
    let partition = &told[0]["partitions"][partition];
    assert_eq!(
        (
            &partition["holes"],
            &partition["holesErased"],
            &partition["holesUnexplained"]
        ),
        (&1.into(), &0.into(), &1.into())
    );
}
