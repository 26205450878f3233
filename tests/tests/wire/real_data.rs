//! Real conversations: every transcript equals its source, through tail and rows.
//!
//! A first part of the chitchat data set by default. All 7,168 conversations and 258,145 messages:
//! `cargo test --release -p tests --test wire real_data -- --ignored`.

use std::collections::BTreeMap;

use futures::{StreamExt as _, stream};
use hansard::import::plan::{Destination, conversation_id};
use tests::agent::Agent;
use tests::chitchat::{self, Transcript, transcript_of};
use tests::import;
use tests::program;
use tests::stack::Setup;

/// How many conversations the default test imports.
const PART: usize = 300;
/// The number of conversations that are read concurrently.
const READERS: usize = 32;

/// By the import's id of the conversation.
type Expected = BTreeMap<String, Transcript>;

/// The imported conversations, from the tail of the record only.
async fn wait_for_import(agent: &Agent, sources: BTreeMap<String, Transcript>) -> Expected {
    let destination = Destination { agent: agent.id().to_owned(), dataset: chitchat::DATASET.to_owned() };
    let by_id =
        sources.into_iter().map(|(key, transcript)| (conversation_id(&destination, &key).to_string(), transcript));
    let there = stream::iter(by_id)
        .map(|(id, transcript)| async move { (agent.version(&id).await > 0).then_some((id, transcript)) });
    there.buffer_unordered(READERS).filter_map(std::future::ready).collect().await
}

async fn check_transcripts(agent: &Agent, expected: &Expected) {
    let checks = stream::iter(expected).map(|(id, transcript)| async move {
        let events = agent.events(agent.list_request(id)).await;
        assert_eq!(transcript_of(&events), *transcript, "{id}");
        let context = agent.context(id, 1_000).await;
        assert_eq!(context.messages.len(), transcript.messages.min(1_000), "{id}");
    });
    checks.buffer_unordered(READERS).collect::<()>().await;
}

async fn check(limit: usize) {
    let mut stack = Setup::processes(program!()).start().await;
    stack.projector.stop().await;
    let agent = stack.agent("acme", "demo").await;
    let sources = chitchat::transcripts().await;
    let summary = import::chitchat(&program!(), &stack, &agent, limit).await;
    let expected = wait_for_import(&agent, sources).await;
    assert_eq!(expected.len(), limit);
    let messages: usize = expected.values().map(|transcript| transcript.messages).sum();
    assert_eq!(summary["messages"], serde_json::json!(messages));
    check_transcripts(&agent, &expected).await;
    stack.projector.start().await;
    for (id, transcript) in &expected {
        agent.wait_for_rows(id, u64::try_from(transcript.messages).unwrap() + 1).await;
    }
    check_transcripts(&agent, &expected).await;
    let again = import::chitchat(&program!(), &stack, &agent, limit).await;
    assert_eq!(again["commits"], serde_json::json!(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_reads_as_its_source() {
    check(PART).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: all 258,145 messages"]
async fn all_of_it_reads_as_its_source() {
    let sources = chitchat::transcripts().await;
    let messages: usize = sources.values().map(|transcript| transcript.messages).sum();
    assert_eq!((sources.len(), messages), (7_168, 258_145));
    check(sources.len()).await;
}
