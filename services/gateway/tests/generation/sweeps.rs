//! The sweeper: runs whose gateway was killed.

use std::time::Duration;

use devstack::test;
use domain::{RunEnd, RunOutcome, RunPart, RunPartKind, Sequence};
use tokio::time::Instant;
use wire::proto::run::v1 as proto;

use crate::chat::Chat;
use crate::node::Node;
use crate::stack::{MUTE, MUTE_ABANDONED_AFTER_MS, SLOW, Stack, abandon_soon, run, shared};
use crate::texts::{answers, prose, text_of};

#[test]
fn a_run_whose_gateway_is_killed_ends_as_abandoned() {
    run(async {
        let nats = test::nats().await;
        let stack = Stack::over(&nats).await;
        let (dying, other) = (Node::start(&stack).await, Node::start(&stack).await);
        let chat = Chat::answered_by(&stack, SLOW).await;
        let handle = chat.say(&dying, &prose(500)).await;
        chat.wait_for_words(&other, handle.run, 8).await;
        dying.kill();
        let killed = Instant::now();
        let third = Node::start_with(&stack, abandon_soon).await;
        // A follower on another gateway receives the end too.
        let parts = chat.parts(&other, handle.run, 1).await;
        // The other gateway alone would wait 20 s.
        assert!(killed.elapsed() < Duration::from_secs(15), "{:?}", killed.elapsed());
        let (outcome, events) = chat.wait_for_finish(&third, handle.run).await;
        assert_eq!(outcome, RunOutcome::Abandoned);
        third.kill();
        let kept = answers(&events).pop().unwrap();
        assert!(kept.split_whitespace().count() >= 8);
        assert_eq!(text_of(&parts), kept);
        let next = chat.say(&other, "and now?").await;
        chat.stop(&other, next.run).await;
        chat.wait_for_finish(&other, next.run).await;
        stack.shutdown.begin();
    });
}

#[test]
fn a_silent_run_is_not_ended() {
    run(async {
        let nats = test::nats().await;
        let stack = Stack::over(&nats).await;
        let sweeping = |config: &mut gateway::GatewayConfig| {
            config.generation.abandoned_after_ms = MUTE_ABANDONED_AFTER_MS;
        };
        let (one, _other) = (Node::start_with(&stack, sweeping).await, Node::start_with(&stack, sweeping).await);
        let chat = Chat::answered_by(&stack, MUTE).await;
        let handle = chat.say(&one, "x").await;
        let (outcome, _) = chat.wait_for_finish(&one, handle.run).await;
        assert_eq!(outcome, RunOutcome::Completed);
        stack.shutdown.begin();
    });
}

#[test]
fn a_run_that_was_closed_and_not_finished_does_not_block_the_next_one() {
    run(async {
        let stack = shared().await;
        let dying = Node::start(stack).await;
        let other = Node::start(stack).await;
        let chat = Chat::answered_by(stack, SLOW).await;
        let handle = chat.say(&dying, &prose(500)).await;
        chat.wait_for_words(&other, handle.run, 3).await;
        dying.kill();
        let last = stack.record.last_parts(&chat.key, handle.run).await.unwrap().unwrap();
        let parts = wire::run::decode_batch(last.bytes).unwrap();
        let ended = RunPart {
            number: parts.last().unwrap().number + 1,
            kind: RunPartKind::RunEnded(RunEnd { outcome: RunOutcome::Completed, error: None }),
        };
        close(stack, &chat, handle.run, last.sequence, &ended).await;
        let next = chat.say(&other, "next").await;
        let (outcome, events) = chat.wait_for_finish(&other, handle.run).await;
        assert_eq!(outcome, RunOutcome::Completed);
        assert!(!answers(&events).is_empty());
        chat.stop(&other, next.run).await;
        chat.wait_for_finish(&other, next.run).await;
    });
}

async fn close(stack: &Stack, chat: &Chat<'_>, run: domain::RunId, previous: Sequence, end: &RunPart) {
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
