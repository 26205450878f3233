//! `hansard partitions`: the list, the plan of a growth, and invalid growths.

use tests::stack::Setup;

use crate::operator_cli::{OperatorCli, lines_of};

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
        (
            "partitions add 8",
            "has 8 partitions already: give a larger number",
        ),
        ("partitions add 4", "has 8 partitions already"),
        (
            "partitions add 1025",
            "1025 partitions are too many: give at most 1024",
        ),
        (
            "partitions add 24 --stage-seconds 10",
            "10 is not in 11..=3600",
        ),
        (
            "partitions add 24 --stage-seconds 3601",
            "3601 is not in 11..=3600",
        ),
    ] {
        cli.check(line, 2, problem).await;
    }
    assert_eq!(cli.json("partitions list --json", 0).await, listed);
    // One server leads all partitions.
    assert_eq!(cli.check("partitions balance --json", 0, "").await, "");
}
