//! Compares answers to readers with the record and with each other.

use domain::ConversationKey;
use prost::Message as _;
use wire::proto::read::v1::{AssembleContextResponse, RecordedEvent};

use super::erasure::tombstone;
use super::finding::{Finding, Kind};
use super::record::{RecordContents, RecordedCommit};

/// The answers to one reader of a conversation.
#[derive(Debug, Clone)]
pub struct Reading {
    /// The conversation.
    pub conversation: ConversationKey,
    /// All of its events.
    pub events: Vec<RecordedEvent>,
    /// One of its contexts.
    pub context: AssembleContextResponse,
}

/// Checks that readers got every event of the record, verbatim and in order, and the version of their contexts. The
/// record must not grow meanwhile, and the conversations must not be erased.
#[must_use]
pub fn check(recorded: &RecordContents, readings: &[Reading]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for reading in readings {
        let commits = recorded.conversations.get(&reading.conversation);
        for detail in differences(commits.map_or(&[][..], Vec::as_slice), reading) {
            findings.push(Finding::new(Kind::ReadingDiffers, &reading.conversation, detail));
        }
    }
    findings
}

/// An event in an answer: its version, its commit, its bytes.
type EventBytes = (u64, String, Vec<u8>);

fn differences(commits: &[RecordedCommit], reading: &Reading) -> Vec<String> {
    if tombstone(commits).is_some() {
        return vec!["an erased conversation was read".to_owned()];
    }
    let mut differences = Vec::new();
    let (expected, read) = (recorded_events(commits), events_of_reading(&reading.events));
    if read != expected {
        let equal = { read.iter().zip(&expected) }.take_while(|(read, expected)| read == expected).count();
        let (read, recorded) = (read.len(), expected.len());
        differences.push(format!("{read} events read, {recorded} recorded, the first {equal} are equal"));
    }
    let (read, last) = (reading.context.version, expected.last().map_or(0, |event| event.0));
    if read != last {
        differences.push(format!("the context is of version {read}, the record at {last}"));
    }
    differences
}

fn recorded_events(commits: &[RecordedCommit]) -> Vec<EventBytes> {
    let placed = commits.iter().flat_map(|stored| {
        let id = stored.opened.commit.id;
        let bytes = stored.opened.event_bytes.iter();
        bytes.map(move |bytes| (id.to_string(), bytes.to_vec()))
    });
    (1..).zip(placed).map(|(version, (id, bytes))| (version, id, bytes)).collect()
}

fn events_of_reading(events: &[RecordedEvent]) -> Vec<EventBytes> {
    let read = events.iter().map(|read| {
        let bytes = read.event.as_ref().map(prost::Message::encode_to_vec);
        (read.version, read.commit_id.clone(), bytes.unwrap_or_default())
    });
    read.collect()
}

/// Checks that two readers of the same conversations got the same answers, from whichever source.
#[must_use]
pub fn check_equal(one: &[Reading], other: &[Reading]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (one, other) in one.iter().zip(other) {
        let mut find = |detail| {
            findings.push(Finding::new(Kind::ReadingDiffers, &one.conversation, detail));
        };
        if one.conversation != other.conversation || one.events != other.events {
            find("events differ between two readings");
        }
        if without_source(&one.context) != without_source(&other.context) {
            find("contexts differ between two readings");
        }
    }
    if one.len() != other.len()
        && let Some(reading) = one.first().or(other.first())
    {
        findings.push(Finding::new(Kind::ReadingDiffers, &reading.conversation, "not the same conversations"));
    }
    findings
}

/// A context's bytes, without the sources of its events.
fn without_source(context: &AssembleContextResponse) -> Vec<u8> {
    let mut context = context.clone();
    if let Some(report) = &mut context.report {
        report.events_from_rows = 0;
        report.events_from_tail = 0;
    }
    context.encode_to_vec()
}
