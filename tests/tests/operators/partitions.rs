//! `hansard partitions`: the list, the plan of a growth, and invalid growths.

use domain::Stage;
use event_log::Record;
use tests::events::user;
use tests::eventually::eventually;
use tests::settings;
use tests::stack::Setup;

use crate::operator_cli::{OperatorCli, lines_of};

/// Conversations before and after the growth.
const EACH: usize = 24;

#[tokio::test(flavor = "multi_thread")]
async fn partitions_are_listed_and_a_growth_is_planned() {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let cli = OperatorCli::at(&stack);
    let listed = cli.json("partitions list --json", 0).await;
    assert_eq!(listed.len(), 8);
    let messages = listed.iter().map(|one| one["messages"].as_u64().unwrap());
    assert_eq!(messages.sum::<u64>(), 1);
    assert!(listed.iter().all(|one| one["generation"] == 0));
    let table = cli.check("partitions list", 0, "").await;
    assert!(table.starts_with("PARTITION  GENERATION"), "{table}");
    assert_eq!(table.lines().count(), 9);

    let plan = cli.check("partitions add 24 --dry-run", 0, "").await;
    let expected = "would add partitions 8 to 23: 66% of new conversations use them; the growth begins and takes at least 360 s; nothing was changed\n";
    assert_eq!(plan, expected);
    let plan = cli.check("partitions add 24 --dry-run --json", 0, "").await;
    let [plan] = &lines_of(&plan)[..] else {
        panic!("{plan}");
    };
    assert_eq!((&plan["before"], &plan["after"]), (&8.into(), &24.into()));

    for (line, problem) in [
        ("partitions add 8", "has 8 partitions already: give a larger number"),
        ("partitions add 4", "has 8 partitions already"),
        ("partitions add 1025", "1025 partitions are too many: give at most 1024"),
        ("partitions add 24 --stage-seconds 10", "10 is not in 11..=3600"),
        ("partitions add 24 --stage-seconds 3601", "3601 is not in 11..=3600"),
    ] {
        cli.check(line, 2, problem).await;
    }
    assert_eq!(cli.json("partitions list --json", 0).await, listed);
    // One server leads all partitions.
    assert_eq!(cli.check("partitions balance --json", 0, "").await, "");
}

/// After a growth, conversations in old and new partitions have rows, are verified, rebuilt, read and erased.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_has_grown_is_operated_as_before() {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    let cli = OperatorCli::at(&stack);
    for number in 0..EACH {
        agent.create(&format!("old-{number}")).await;
    }
    // Without the time between stages: nothing is created meanwhile.
    let record = Record::open(settings::record(&stack.servers)).await.unwrap();
    record.announce_partitions(24, &[]).await.unwrap();
    while record.layout().stage() != Stage::Open {
        record.advance_layout().await.unwrap();
    }
    let mut new = 0;
    eventually("a conversation in a new partition", || {
        new += 1;
        let (agent, cli, id) = (&agent, &cli, format!("new-{new}"));
        async move {
            agent.create(&id).await;
            let listed = cli.json("partitions list --json", 0).await;
            let messages = listed.iter().map(|one| one["messages"].as_u64().unwrap());
            (messages.skip(8).sum::<u64>() > 0).then_some(())
        }
    })
    .await;
    for number in new + 1..=new + EACH {
        agent.create(&format!("new-{number}")).await;
    }
    let ids: Vec<_> = (0..EACH)
        .map(|number| format!("old-{number}"))
        .chain((1..=new + EACH).map(|number| format!("new-{number}")))
        .collect();
    for id in &ids {
        agent.append(id, vec![user("one more")]).await;
        agent.wait_for_rows(id, 2).await;
    }
    cli.check("verify", 0, "").await;
    cli.check("verify --digests", 0, "").await;
    cli.check("rebuild conversations", 0, "").await;
    cli.check("verify", 0, "").await;
    let commits = cli.json("tail", 0).await;
    assert_eq!(commits.len(), ids.len() * 2);
    let partitions = commits.iter().map(|one| one["partition"].as_u64().unwrap());
    assert!(partitions.clone().any(|one| one < 8) && partitions.clone().any(|one| one >= 8));
    let tenant = commits[0]["envelope"]["tenantId"].as_str().unwrap();
    for id in ["old-0", "new-1", ids.last().unwrap()] {
        let line = format!("erase conversation {id} --tenant {tenant} --receipt @{id}.json");
        cli.check(&line, 0, "").await;
    }
    cli.check("verify", 0, "").await;
}
