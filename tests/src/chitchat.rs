//! Reads the chitchat data set: the expected transcripts.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;

use prost_types::Timestamp;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use wire::proto::event::v1::event::Fact;
use wire::proto::read::v1::RecordedEvent;

use crate::events::{fact, text_of_parts};

/// SHA-256 over the speaker, time and text of every message, in order.
pub type TranscriptDigest = [u8; 32];

/// Conversations of the data set.
pub const CONVERSATIONS: usize = 7_168;

/// The name of the data set in `hansard import`.
pub const DATASET: &str = "chitchat";

/// The expected transcript of one conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transcript {
    /// The number of messages.
    pub messages: usize,
    /// The digest of the messages.
    pub digest: TranscriptDigest,
}

#[derive(Debug, Deserialize)]
struct Source {
    messages: Vec<Vec<SourceMessage>>,
}

#[derive(Debug, Deserialize)]
struct SourceMessage {
    text: String,
    timestamp: String,
    sender: String,
}

/// Every conversation of the data set, by its id there. Downloads the data set unless it is in the cache.
///
/// # Panics
/// When it cannot be downloaded or read.
pub async fn transcripts() -> BTreeMap<String, Transcript> {
    let path = devstack::dataset::chitchat(&devstack::quiet).await.expect("the data set");
    let file = BufReader::new(File::open(path).expect("the data set's file"));
    let sources: BTreeMap<String, Source> = serde_json::from_reader(file).expect("the data set's form");
    sources.into_iter().map(|(id, source)| (id, transcript(source))).collect()
}

fn transcript(source: Source) -> Transcript {
    let messages: Vec<SourceMessage> = source.messages.into_iter().flatten().collect();
    let mut hash = Sha256::new();
    for message in &messages {
        let at: Timestamp = message.timestamp.parse().expect("a time of the data set");
        add(&mut hash, &message.sender, at, &message.text);
    }
    Transcript { messages: messages.len(), digest: hash.finalize().into() }
}

/// The transcript of recorded events; events other than messages are skipped.
///
/// # Panics
/// When a message has no time of its own.
#[must_use]
pub fn transcript_of(events: &[RecordedEvent]) -> Transcript {
    let mut hash = Sha256::new();
    let mut messages = 0;
    for recorded in events {
        let Fact::MessageAppended(message) = fact(recorded) else {
            continue;
        };
        let at = recorded.event.as_ref().and_then(|event| event.occurred_at).expect("a message with its own time");
        add(&mut hash, &message.author, at, &text_of_parts(&message.parts));
        messages += 1;
    }
    Transcript { messages, digest: hash.finalize().into() }
}

/// The length precedes each text, so that different transcripts have different digests.
fn add(hash: &mut Sha256, speaker: &str, at: Timestamp, text: &str) {
    for field in [speaker.as_bytes(), text.as_bytes()] {
        hash.update(u64::try_from(field.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(field);
    }
    hash.update(at.seconds.to_be_bytes());
    hash.update(at.nanos.to_be_bytes());
}
