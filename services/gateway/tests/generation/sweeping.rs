//! Runs whose gateway is gone.

use std::time::Duration;

use domain::{RunEnd, RunOutcome, RunPart, RunPartKind, Sequence};
use tokio::time::Instant;
use wire::proto::run::v1 as proto;

use crate::chat::Chat;
use crate::node::Node;
use crate::stack::{MUTE, SLOW, Stack, answered_by, run, shared};
use crate::words::{prose, said, text_of};

#[test]
fn a_run_whose_gateway_is_killed_ends_as_abandoned() {
    run(async {
        let stack = shared().await;
        let (dying, other) = (Node::start(stack).await, Node::start(stack).await);
        let third = Node::start(stack).await;
        let agent = stack.agent(answered_by(SLOW)).await;
        let chat = Chat::begin(stack, &agent).await;
        let handle = chat.say(&dying, &prose(500)).await;
        chat.words(&other, handle.run, 8).await;
        dying.kill();
        let killed = Instant::now();
        // A reader on another gateway sees the end too.
        let parts = chat.parts(&other, handle.run, 1).await;
        assert!(
            killed.elapsed() < Duration::from_secs(8),
            "{:?}",
            killed.elapsed()
        );
        let (outcome, events) = chat.finished(&third, handle.run).await;
        assert_eq!(outcome, RunOutcome::Abandoned);
        let kept = said(&events).pop().unwrap();
        assert!(kept.split_whitespace().count() >= 8);
        assert_eq!(text_of(&parts), kept);
        let next = chat.say(&other, "and now?").await;
        chat.stop(&other, next.run).await;
        chat.finished(&other, next.run).await;
    });
}

#[test]
fn a_run_that_says_nothing_for_long_is_left_alone() {
    run(async {
        let stack = shared().await;
        let (one, _other) = (Node::start(stack).await, Node::start(stack).await);
        let agent = stack.agent(answered_by(MUTE)).await;
        let chat = Chat::begin(stack, &agent).await;
        let handle = chat.say(&one, "x").await;
        let (outcome, _) = chat.finished(&one, handle.run).await;
        assert_eq!(outcome, RunOutcome::Completed);
    });
}

#[test]
fn a_run_that_was_closed_and_not_finished_does_not_stand_in_the_way() {
    run(async {
        let stack = shared().await;
        let dying = Node::start(stack).await;
        let calm = |config: &mut gateway::GatewayConfig| {
            config.generation.sweep_every_ms = 60_000;
        };
        let other = Node::start_with(stack, calm).await;
        let agent = stack.agent(answered_by(SLOW)).await;
        let chat = Chat::begin(stack, &agent).await;
        let handle = chat.say(&dying, &prose(500)).await;
        chat.words(&other, handle.run, 3).await;
        dying.kill();
        let last = stack.record.last_parts(&chat.key, handle.run).await;
        let last = last.unwrap().unwrap();
        let parts = wire::run::decode_batch(last.bytes).unwrap();
        let ended = RunPart {
            number: parts.last().unwrap().number + 1,
            kind: RunPartKind::RunEnded(RunEnd {
                outcome: RunOutcome::Completed,
                error: None,
            }),
        };
        close(stack, &chat, (handle.run, last.sequence), &ended).await;
        let next = chat.say(&other, "next").await;
        let (outcome, events) = chat.finished(&other, handle.run).await;
        assert_eq!(outcome, RunOutcome::Completed);
        assert!(!said(&events).is_empty());
        chat.stop(&other, next.run).await;
        chat.finished(&other, next.run).await;
    });
}

async fn close(
    stack: &Stack,
    chat: &Chat<'_>,
    (run, previous): (domain::RunId, Sequence),
    end: &RunPart,
) {
    let request = proto::AppendPartsRequest {
        agent_id: chat.agent.as_str().to_owned(),
        conversation_id: chat.key.conversation.as_str().to_owned(),
        run_id: run.to_string(),
        previous_sequence: previous.0,
        parts: vec![wire::run::part_to_proto(end)],
    };
    let mut runs = stack.writer().runs();
    runs.append_parts(request).await.unwrap();
}
