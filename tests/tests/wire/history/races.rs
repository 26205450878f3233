//! Concurrent runs of one chat: each message is recorded once.

use std::collections::BTreeMap;

use futures::future::join_all;
use tests::agent::Agent;
use tests::eventually::within;
use tests::stack::Stack;
use wire::proto::history::v1 as proto;

use super::calls::{codes, key, load, messages, short, try_record};

const RACERS: usize = 4;
const ROUNDS: usize = 15;

/// Loads, answers and records the whole thread in rounds, with retries after conflicts.
async fn chat(agent: Agent, key: proto::HistoryKey, name: String) -> Vec<String> {
    let mut texts = Vec::new();
    for round in 0..ROUNDS {
        let question = format!("u {name}-{round}");
        let loaded = load(&agent, &key, &[&question]).await;
        let answer = format!("a {name}-{round}");
        let request = proto::RecordHistoryRequest {
            key: Some(key.clone()),
            messages: [loaded.messages, messages(&[&answer])].concat(),
            loaded_version: Some(loaded.version),
            ..proto::RecordHistoryRequest::default()
        };
        loop {
            let recorded = try_record(&agent, request.clone()).await.expect("an answer");
            if recorded.warnings.is_empty() {
                break;
            }
            assert_eq!(codes(&recorded.warnings), ["CONFLICT"]);
        }
        texts.extend([question, answer]);
    }
    texts
}

#[tokio::test(flavor = "multi_thread")]
async fn racing_runs_lose_and_duplicate_nothing() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let key = key(&agent, "room");
    let racers = (0..RACERS).map(|name| tokio::spawn(chat(agent.clone(), key.clone(), name.to_string())));
    let racers = within("every racer", join_all(racers.collect::<Vec<_>>())).await;
    let kept = short(&load(&agent, &key, &[]).await.messages);
    let mut places = BTreeMap::new();
    for (place, text) in kept.iter().enumerate() {
        assert_eq!(places.insert(text.clone(), place), None, "{text} is there twice");
    }
    assert_eq!(kept.len(), RACERS * ROUNDS * 2);
    for texts in racers {
        let texts = texts.expect("a racer");
        let order: Vec<_> = texts.iter().map(|text| places[text]).collect();
        assert!(order.is_sorted(), "{texts:?} in {kept:?}");
    }
}

/// The first records of a key race to create its conversation.
#[tokio::test(flavor = "multi_thread")]
async fn racing_first_records() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    for room in 0..10 {
        let key = key(&agent, &format!("room-{room}"));
        let record = |text: &'static str| {
            let request = super::calls::record_request(&key, &[text]);
            try_record(&agent, request)
        };
        let outcomes = tokio::join!(record("u 1"), record("u 2"), record("u 3"));
        for outcome in [outcomes.0, outcomes.1, outcomes.2] {
            let recorded = outcome.expect("an answer");
            assert_eq!((recorded.warnings, recorded.appended_count), (vec![], 1));
        }
        let mut kept = short(&load(&agent, &key, &[]).await.messages);
        kept.sort();
        assert_eq!(kept, ["u 1", "u 2", "u 3"]);
    }
}
