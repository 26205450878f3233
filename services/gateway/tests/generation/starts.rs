//! Starts of runs: accepted, rejected and repeated.

use conversations::request_hash::RequestHash;
use domain::bounds::RUN_EVENTS_MAX;
use domain::{Fact, RunOutcome};
use generation::{RetryKey, Start, StartAt};
use wire::status::Reason;

use crate::chat::Chat;
use crate::node::Node;
use crate::stack::{SLOW, answered_by, run, shared};
use crate::texts::{answers, new_key, prose, text_of, user};

#[test]
fn every_gateway_streams_what_a_run_records() {
    run(async {
        let (one, other, chat) = Chat::with_two_nodes("echo").await;
        for turn in ["hello there", "and again, with more words"] {
            let handle = chat.say(&one, turn).await;
            let parts = chat.parts(&other, handle.run, 1).await;
            let (outcome, events) = chat.wait_for_finish(&other, handle.run).await;
            assert_eq!(outcome, RunOutcome::Completed);
            let last = answers(&events).pop().unwrap();
            assert_eq!(last, format!("echo: {turn}"));
            assert_eq!(text_of(&parts), last);
            // Also after its end.
            assert_eq!(chat.parts(&one, handle.run, 1).await, parts);
        }
    });
}

#[test]
fn a_second_run_is_rejected_with_the_id_of_the_first() {
    run(async {
        let (one, other, chat) = Chat::with_two_nodes(SLOW).await;
        let handle = chat.say(&one, &prose(30)).await;
        chat.wait_for_words(&other, handle.run, 2).await;
        let refused = chat.start(&other, vec![user("me too")]).await.unwrap_err();
        assert_eq!(refused.reason(), Reason::RunActive);
        assert_eq!(refused.metadata()["run_id"], handle.run.to_string());
        let (outcome, events) = chat.wait_for_finish(&other, handle.run).await;
        assert_eq!(outcome, RunOutcome::Completed);
        assert_eq!(answers(&events), [format!("echo: {}", prose(30))]);
    });
}

#[test]
fn a_repeated_start_starts_nothing() {
    run(async {
        let (node, chat) = Chat::with_node("echo").await;
        let key = new_key();
        let mut runs = Vec::new();
        for _ in 0..3 {
            let handle = chat
                .start_with(&node, vec![user("once")], |start| {
                    start.retry = RetryKey::Given(key);
                })
                .await
                .unwrap();
            chat.wait_for_finish(&node, handle.run).await;
            runs.push((handle.run, handle.commit.version));
        }
        assert!(runs.iter().all(|run| *run == runs[0]), "{runs:?}");
        assert_eq!(answers(&chat.events(&node).await), ["echo: once"]);
    });
}

#[test]
fn the_number_of_runs_is_limited() {
    run(async {
        let stack = shared().await;
        let node = Node::start_with(stack, |config| {
            config.generation.runs_max = 1;
            config.generation.run_wait_ms = 0;
        })
        .await;
        let first = Chat::answered_by(stack, SLOW).await;
        let second = Chat::begin(stack, &first.agent).await;
        let handle = first.say(&node, &prose(10)).await;
        let refused = second.start(&node, vec![user("x")]).await.unwrap_err();
        assert_eq!(refused.reason(), Reason::Overloaded);
        first.wait_for_finish(&node, handle.run).await;
        while second.start(&node, vec![user("x")]).await.is_err() {
            tokio::task::yield_now().await;
        }
    });
}

#[test]
fn two_gateways_execute_the_same_start_once() {
    run(async {
        let stack = shared().await;
        let (one, other) = (Node::start(stack).await, Node::start(stack).await);
        let agent = stack.agent(answered_by(SLOW)).await;
        for _ in 0..5 {
            let chat = Chat::begin(stack, &agent).await;
            let key = new_key();
            let start = async |node: &Node| {
                let named = |start: &mut Start| start.retry = RetryKey::Given(key);
                chat.start_with(node, vec![user("once")], named).await
            };
            let (first, second) = tokio::join!(start(&one), start(&other));
            let (first, second) = (first.unwrap(), second.unwrap());
            assert_eq!(first.run, second.run);
            let (outcome, events) = chat.wait_for_finish(&one, first.run).await;
            assert_eq!(outcome, RunOutcome::Completed);
            assert_eq!(answers(&events), ["echo: once"]);
        }
    });
}

/// Events that need several commits are recorded only after the start is accepted.
#[test]
fn a_refused_start_records_nothing() {
    run(async {
        let stack = shared().await;
        let node = Node::start_with(stack, |config| {
            config.generation.runs_max = 1;
            config.generation.run_wait_ms = 0;
        })
        .await;
        let other = Node::start(stack).await;
        let first = Chat::answered_by(stack, SLOW).await;
        let second = Chat::begin(stack, &first.agent).await;
        let before = second.events(&other).await;
        let many: Vec<_> = (0..=RUN_EVENTS_MAX).map(|number| user(&number.to_string())).collect();
        let last = before.last().unwrap();
        // A start that is recognised by its request takes several commits.
        let long = |start: &mut Start| {
            start.at = StartAt::Version(last.version);
            start.retry = RetryKey::Request { hash: RequestHash::of(&second.key, ["test"]), after: last.recorded_at };
        };
        let check = async |reason: Reason| {
            let refused = second.start_with(&node, many.clone(), long).await.unwrap_err();
            assert_eq!(refused.reason(), reason);
            assert_eq!(second.events(&other).await, before);
        };
        first.say(&node, &prose(30)).await;
        check(Reason::Overloaded).await;
        node.drain().await;
        check(Reason::Draining).await;
        let handle = second.start_with(&other, many.clone(), long).await.unwrap();
        let (outcome, events) = second.wait_for_finish(&other, handle.run).await;
        assert_eq!(outcome, RunOutcome::Completed);
        let messages = events.iter().filter(|event| matches!(event.event.fact, Fact::MessageAppended(_)));
        assert_eq!(messages.count(), many.len() + 1);
    });
}
