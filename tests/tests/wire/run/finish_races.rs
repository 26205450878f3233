//! Two writers race to finish a run: exactly one does.

use futures::future::join_all;
use tests::agent::Agent;
use tests::errors::check_failure;
use tests::parts::end;
use tests::settings::Role;
use tests::stack::Stack;
use tonic::Code::Aborted;
use wire::proto::event::v1::RunOutcome;

use super::{CONVERSATION, Run};

const ROUNDS: usize = 20;

#[tokio::test(flavor = "multi_thread")]
async fn one_end_wins() {
    let stack = Stack::shared().await;
    let mut other = stack.another(Role::Writer);
    other.start().await;
    let agent = stack.any_agent().await;
    agent.create(CONVERSATION).await;
    let caller = agent.caller().with_writer(&other.grpc_url());
    let other_writer = Agent::new(caller, agent.id());
    let mut wins = [0, 0];
    for round in 0..ROUNDS {
        let mut run = Run::start(&agent).await;
        run.say("a").await;
        let rivals =
            [(run.clone(), RunOutcome::Completed), (run.with_agent(other_writer.clone()), RunOutcome::Abandoned)];
        let closing = rivals.iter().map(|(run, outcome)| {
            let last = vec![end(2, *outcome)];
            run.try_publish(last)
        });
        let mut outcomes = join_all(closing).await;
        let winner = outcomes.iter().position(Result::is_ok).expect("a winner");
        wins[winner] += 1;
        let sequence = *outcomes[winner].as_ref().expect("a sequence");
        let loser = outcomes.swap_remove(1 - winner);
        let failure = check_failure(&format!("round {round}"), loser, (Aborted, "PARTS_SUPERSEDED", ""));
        assert_eq!(failure.metadata["last_sequence"], sequence.to_string());
        // Both may have the same result: that is one finish.
        let (one, two) = tokio::join!(rivals[0].0.finish(), rivals[1].0.finish());
        assert_eq!(one.commit_id, two.commit_id);
        assert!(one.replayed != two.replayed, "{one:?} {two:?}");
    }
    assert_eq!(wins.iter().sum::<usize>(), ROUNDS);
}

/// Two callers with the same parts at the same position both publish them, in any number.
#[tokio::test(flavor = "multi_thread")]
async fn equal_ends_are_one_finish() {
    let stack = Stack::shared().await;
    let mut run = Run::begin(stack).await;
    run.say("a").await;
    let last = || vec![end(2, RunOutcome::Abandoned)];
    let (one, two) = tokio::join!(run.try_publish(last()), run.try_publish(last()));
    assert_eq!(one.expect("published"), two.expect("published"));
}
