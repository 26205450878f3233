//! Many concurrent runs.

use domain::RunOutcome;

use crate::chat::Chat;
use crate::node::Node;
use crate::stack::{SLOW, answered_by, run, shared};
use crate::texts::{answers, prose, text_of};

/// Runs at once.
const RUNS: usize = 100;

#[test]
fn concurrent_runs_do_not_affect_each_other() {
    run(async {
        let stack = shared().await;
        let (one, other) = (Node::start(stack).await, Node::start(stack).await);
        let agent = stack.agent(answered_by(SLOW)).await;
        let words: Vec<usize> = (0..RUNS).map(|number| 10 + number % 7).collect();
        let runs = words.into_iter().map(async |words| {
            let chat = Chat::begin(stack, &agent).await;
            let handle = chat.say(&one, &prose(words)).await;
            let parts = chat.parts(&other, handle.run, 1).await;
            let (outcome, events) = chat.wait_for_finish(&other, handle.run).await;
            assert_eq!(outcome, RunOutcome::Completed);
            assert_eq!(answers(&events), [format!("echo: {}", prose(words))]);
            assert_eq!(text_of(&parts), format!("echo: {}", prose(words)));
        });
        futures::future::join_all(runs).await;
    });
}
