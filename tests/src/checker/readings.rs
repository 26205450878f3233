//! What readers are told, against the record and against each other.

use domain::ConversationKey;
use prost::Message as _;
use wire::proto::read::v1::{AssembleContextResponse, RecordedEvent};

use super::erased::tombstone;
use super::finding::{Finding, Kind};
use super::recorded::{Recorded, RecordedCommit};

/// What one reader was told of a conversation.
#[derive(Debug, Clone)]
pub struct Reading {
    /// The conversation.
    pub conversation: ConversationKey,
    /// All of its events.
    pub events: Vec<RecordedEvent>,
    /// A context of it.
    pub context: AssembleContextResponse,
}

/// Checks that readers were told every event of the record, verbatim and in order, and the version of their contexts.
/// The record must not have grown since, and the conversations must not be erased.
#[must_use]
pub fn check(recorded: &Recorded, readings: &[Reading]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for reading in readings {
        let commits = recorded.conversations.get(&reading.conversation);
        for detail in differences(commits.map_or(&[][..], Vec::as_slice), reading) {
            findings.push(Finding::new(
                Kind::ReadingDiffers,
                &reading.conversation,
                detail,
            ));
        }
    }
    findings
}

/// An event as it is told: its version, its commit, its bytes.
type Told = (u64, String, Vec<u8>);

fn differences(commits: &[RecordedCommit], reading: &Reading) -> Vec<String> {
    if tombstone(commits).is_some() {
        return vec!["an erased conversation was read".to_owned()];
    }
    let mut differences = Vec::new();
    let (expected, told) = (recorded_events(commits), told_events(&reading.events));
    if told != expected {
        let alike = { told.iter().zip(&expected) }
            .take_while(|(told, expected)| told == expected)
            .count();
        let (told, recorded) = (told.len(), expected.len());
        differences.push(format!(
            "{told} events told, {recorded} recorded, the first {alike} alike"
        ));
    }
    let (told, last) = (
        reading.context.version,
        expected.last().map_or(0, |event| event.0),
    );
    if told != last {
        differences.push(format!(
            "the context is of version {told}, the record at {last}"
        ));
    }
    differences
}

fn recorded_events(commits: &[RecordedCommit]) -> Vec<Told> {
    let placed = commits.iter().flat_map(|stored| {
        let id = stored.opened.commit.id;
        let bytes = stored.opened.event_bytes.iter();
        bytes.map(move |bytes| (id.to_string(), bytes.to_vec()))
    });
    (1..)
        .zip(placed)
        .map(|(version, (id, bytes))| (version, id, bytes))
        .collect()
}

fn told_events(events: &[RecordedEvent]) -> Vec<Told> {
    let told = events.iter().map(|told| {
        let bytes = told.event.as_ref().map(prost::Message::encode_to_vec);
        (
            told.version,
            told.commit_id.clone(),
            bytes.unwrap_or_default(),
        )
    });
    told.collect()
}

/// Checks that two readers of the same conversations were told the same, wherever it came from.
#[must_use]
pub fn check_alike(one: &[Reading], other: &[Reading]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (one, other) in one.iter().zip(other) {
        let mut find = |detail| {
            findings.push(Finding::new(
                Kind::ReadingDiffers,
                &one.conversation,
                detail,
            ));
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
        findings.push(Finding::new(
            Kind::ReadingDiffers,
            &reading.conversation,
            "not the same conversations",
        ));
    }
    findings
}

/// A context's bytes, without what it says of where its events came from.
fn without_source(context: &AssembleContextResponse) -> Vec<u8> {
    let mut context = context.clone();
    if let Some(report) = &mut context.report {
        report.events_from_rows = 0;
        report.events_from_tail = 0;
    }
    context.encode_to_vec()
}
