//! Sixteen writers race for one conversation, half of them with an exact version, through two writer processes.

use tests::checker::Outcome;

use crate::fixture::Fixture;
use crate::injection::seed;
use crate::verdict::check_all;
use crate::workload::{ExpectVersion, Workload, append_times};

const RACERS: usize = 16;
const COMMITS_EACH: usize = 25;

#[tokio::test(flavor = "multi_thread")]
async fn racing_writers_lose_nothing_and_create_no_fork() {
    let mut fixture = Fixture::start().await;
    let mut load = Workload::new(&fixture, seed());
    let raced = load.create("raced", 1).await.remove(0);
    for racer in 0..RACERS {
        let exact = if racer % 2 == 0 { ExpectVersion::Yes } else { ExpectVersion::No };
        let client = load.client();
        load.spawn(append_times(client, raced.clone(), COMMITS_EACH, exact));
    }
    load.wait().await;
    let tried = load.finish().await;
    let count = |is: fn(&Outcome) -> bool| tried.calls.iter().filter(|call| is(&call.outcome)).count();
    let conflicts = count(|outcome| matches!(outcome, Outcome::Refused(_)));
    let committed = count(|outcome| matches!(outcome, Outcome::Committed(_)));
    let lines = [("conflicts, each with the current version", conflicts.to_string())];
    check_all(&mut fixture, "16 writers race for one conversation", &tried, &lines).await;
    assert_eq!(committed, RACERS * COMMITS_EACH + 1);
    assert!(conflicts > 0, "no conflict: the writers did not race");
}
