//! Sixteen writers on one conversation, half of them at an exact version, through two writer processes.

use tests::checker::Outcome;

use crate::ground::Ground;
use crate::judgement::judge;
use crate::strike::seed;
use crate::workload::{Exact, Workload, racing_for};

const RACERS: usize = 16;
const COMMITS_EACH: usize = 25;

#[tokio::test(flavor = "multi_thread")]
async fn racing_writers_neither_fork_nor_lose() {
    let mut ground = Ground::start().await;
    let mut load = Workload::new(&ground, seed());
    let raced = load.created("raced", 1).await.remove(0);
    for racer in 0..RACERS {
        let exact = if racer % 2 == 0 {
            Exact::Yes
        } else {
            Exact::No
        };
        let client = load.client();
        load.play(racing_for(client, raced.clone(), COMMITS_EACH, exact));
    }
    load.ended().await;
    let tried = load.finish().await;
    let count =
        |is: fn(&Outcome) -> bool| tried.calls.iter().filter(|call| is(&call.outcome)).count();
    let conflicts = count(|outcome| matches!(outcome, Outcome::Refused(_)));
    let committed = count(|outcome| matches!(outcome, Outcome::Committed(_)));
    let lines = [(
        "conflicts, each told the current version",
        conflicts.to_string(),
    )];
    judge(
        &mut ground,
        "16 writers race for one conversation",
        &tried,
        &lines,
    )
    .await;
    assert_eq!(committed, RACERS * COMMITS_EACH + 1);
    assert!(conflicts > 0, "nobody was ever too late: that was no race");
}
