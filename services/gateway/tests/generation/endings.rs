//! Ends of runs: by a stop request, an error of the model, a timeout, or the shutdown of the gateway.

use std::time::Duration;

use devstack::test;
use domain::{Annotation, Fact, RunId, RunOutcome, RunPart, RunPartKind};
use tokio::time::Instant;
use wire::proto::run::v1 as proto;

use crate::chat::Chat;
use crate::fake_server::{self, Reply};
use crate::node::Node;
use crate::stack::{SLOW, Stack, run, shared};
use crate::texts::{answers, prose, text_of};

/// The limit of a stop on a busy machine. The rest of the answer takes 20 s.
const STOP_MAX: Duration = Duration::from_secs(8);

#[test]
fn a_stop_on_another_gateway_ends_a_run_long_before_its_answer() {
    run(async {
        let stack = shared().await;
        let (one, other) = (Node::start(stack).await, Node::start(stack).await);
        let chat = Chat::answered_by(stack, SLOW).await;
        let handle = chat.say(&one, &prose(500)).await;
        chat.wait_for_words(&other, handle.run, 5).await;
        let requested = Instant::now();
        chat.stop(&other, handle.run).await;
        let parts = chat.parts(&other, handle.run, 1).await;
        assert!(requested.elapsed() < STOP_MAX, "{:?}", requested.elapsed());
        let (outcome, events) = chat.wait_for_finish(&other, handle.run).await;
        assert_eq!(outcome, RunOutcome::Stopped);
        let kept = answers(&events).pop().unwrap();
        assert!(format!("echo: {}", prose(500)).starts_with(&kept));
        assert!(kept.split_whitespace().count() >= 5);
        assert_eq!(text_of(&parts), kept);
        late_parts_are_refused(stack, &chat, &parts, handle.run).await;
        // The conversation is usable, and a second stop changes nothing.
        chat.stop(&other, handle.run).await;
        let next = chat.say(&other, "go on").await;
        chat.stop(&one, next.run).await;
        chat.wait_for_finish(&one, next.run).await;
    });
}

async fn late_parts_are_refused(stack: &Stack, chat: &Chat<'_>, parts: &[RunPart], run: RunId) {
    let last = stack.record.last_parts(&chat.key, run).await.unwrap().unwrap();
    let late = RunPart { number: parts.last().unwrap().number + 1, kind: RunPartKind::TextDelta("late".to_owned()) };
    let request = proto::AppendPartsRequest {
        agent_id: chat.agent.as_str().to_owned(),
        conversation_id: chat.key.conversation.as_str().to_owned(),
        run_id: run.to_string(),
        previous_sequence: last.sequence.0,
        parts: vec![wire::run::part_to_proto(&late)],
    };
    let mut runs = stack.writer().runs();
    assert!(runs.append_parts(request).await.is_err());
}

#[test]
fn a_model_that_fails_ends_a_run_and_its_text_is_kept() {
    run(async {
        let stack = shared().await;
        let cases: [(Vec<Reply>, &str, &[&str]); 3] = [
            (vec![Reply::Refused(401)], "model_refused", &[]),
            (vec![Reply::BrokenOff("so far")], "model_reply_broken", &["so far"]),
            (vec![Reply::Failing("so far")], "model_failed", &["so far"]),
        ];
        for (replies, error_type, kept) in cases {
            let (_server, node) = Node::with_replies(stack, replies).await;
            let chat = Chat::answered_by(stack, fake_server::NAME).await;
            let handle = chat.say(&node, "x").await;
            let (outcome, events) = chat.wait_for_finish(&node, handle.run).await;
            assert_eq!(outcome, RunOutcome::Failed, "{error_type}");
            let errors = events.iter().filter_map(|event| match &event.event.fact {
                Fact::Annotation(Annotation::ErrorOccurred(error)) => Some(error.error_type.as_str()),
                _ => None,
            });
            assert_eq!(errors.collect::<Vec<_>>(), [error_type]);
            assert_eq!(answers(&events), kept);
        }
    });
}

#[test]
fn an_unknown_model_server_fails_the_run() {
    run(async {
        let (node, chat) = Chat::with_node("nowhere").await;
        let handle = chat.say(&node, "x").await;
        let (outcome, _) = chat.wait_for_finish(&node, handle.run).await;
        assert_eq!(outcome, RunOutcome::Failed);
    });
}

#[test]
fn a_run_has_a_timeout() {
    run(async {
        let stack = shared().await;
        let short = |config: &mut gateway::GatewayConfig| config.generation.run_timeout_ms = 1_000;
        let node = Node::start_with(stack, short).await;
        let chat = Chat::answered_by(stack, SLOW).await;
        let handle = chat.say(&node, &prose(500)).await;
        let (outcome, events) = chat.wait_for_finish(&node, handle.run).await;
        assert_eq!(outcome, RunOutcome::Failed);
        assert!(!answers(&events).is_empty());
    });
}

#[test]
fn a_gateway_drains_its_runs_at_shutdown() {
    run(async {
        let stack = shared().await;
        for (drain_ms, words, expected) in [(20_000, 20, RunOutcome::Completed), (200, 500, RunOutcome::Abandoned)] {
            let drain = |config: &mut gateway::GatewayConfig| config.generation.drain_ms = drain_ms;
            let (node, other) = (Node::start_with(stack, drain).await, Node::start(stack).await);
            let chat = Chat::answered_by(stack, SLOW).await;
            let handle = chat.say(&node, &prose(words)).await;
            chat.wait_for_words(&other, handle.run, 3).await;
            node.drain().await;
            let (outcome, events) = chat.wait_for_finish(&other, handle.run).await;
            assert_eq!(outcome, expected);
            let parts = chat.parts(&other, handle.run, 1).await;
            assert_eq!(text_of(&parts), answers(&events).pop().unwrap());
            assert!(chat.start(&node, vec![]).await.is_err(), "it starts no more");
        }
    });
}

#[test]
fn an_erased_conversation_has_no_run() {
    run(async {
        let stack = shared().await;
        let node = Node::start(stack).await;
        let chat = Chat::answered_by(stack, SLOW).await;
        let handle = chat.say(&node, &prose(500)).await;
        chat.wait_for_words(&node, handle.run, 3).await;
        chat.erase().await;
        // Its task ends, so that the drain does not wait.
        node.drain().await;
        let last = stack.record.last_parts(&chat.key, handle.run).await.unwrap();
        assert_eq!(last, None);
    });
}

#[test]
fn a_run_outlives_the_server_of_the_record() {
    run(async {
        let mut nats = test::nats().await;
        let stack = Stack::over(&nats).await;
        // No other gateway ends the run while no part can be published.
        let patient = |config: &mut gateway::GatewayConfig| {
            config.generation.abandoned_after_ms = 60_000;
        };
        let (one, other) = (Node::start_with(&stack, patient).await, Node::start_with(&stack, patient).await);
        let chat = Chat::answered_by(&stack, SLOW).await;
        let handle = chat.say(&one, &prose(100)).await;
        let following = chat.parts(&other, handle.run, 1);
        let outage = async {
            chat.wait_for_words(&one, handle.run, 10).await;
            nats.kill();
            nats.restart().await.unwrap();
        };
        let (parts, ()) = tokio::join!(following, outage);
        let (outcome, events) = chat.wait_for_finish(&other, handle.run).await;
        assert_eq!(outcome, RunOutcome::Completed);
        let committed = answers(&events).pop().unwrap();
        assert_eq!(committed, format!("echo: {}", prose(100)));
        assert_eq!(text_of(&parts), committed);
        stack.shutdown.begin();
    });
}
