//! Checks the order that callers see: commits that were acknowledged before a call began come before the commit of the
//! call, and commands of a stream keep their order.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::{ConversationKey, Version};

use super::calls::{Call, FreshRead, Outcome, Refusal};
use super::erasure::tombstone;
use super::finding::{Finding, Kind};
use super::record::RecordContents;

/// The reason of a call that expected another version.
const VERSION_CONFLICT: &str = "VERSION_CONFLICT";

/// Checks the order of answers, and that conflicts return a version that the conversation had.
#[must_use]
pub fn check(calls: &[Call], recorded: &RecordContents) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (key, calls) in by_conversation(calls) {
        let settled = acknowledged_versions(&calls);
        for call in &calls {
            let floor = floor(&settled, call.invoked);
            findings.extend(check_call(call, floor));
            findings.extend(check_conflict(call, floor, recorded));
        }
        findings.extend(check_streams(key, &calls));
    }
    findings
}

/// Checks that fresh reads include everything that was acknowledged before they began.
#[must_use]
pub fn check_fresh_reads(calls: &[Call], seen: &[FreshRead]) -> Vec<Finding> {
    let by_conversation = by_conversation(calls);
    let settled: BTreeMap<&ConversationKey, Vec<(Duration, Version)>> =
        by_conversation.iter().map(|(key, calls)| (*key, acknowledged_versions(calls))).collect();
    let stale = seen.iter().filter_map(|seen| {
        let settled = settled.get(&seen.conversation).map_or(&[][..], Vec::as_slice);
        let floor = floor(settled, seen.invoked);
        let detail = format!("version {} was read, {floor} had been acknowledged", seen.version);
        (seen.version < floor).then(|| Finding::new(Kind::StaleRead, &seen.conversation, detail))
    });
    stale.collect()
}

/// The calls of each conversation, in the given order.
pub(super) fn by_conversation(calls: &[Call]) -> BTreeMap<&ConversationKey, Vec<&Call>> {
    let mut by_conversation: BTreeMap<&ConversationKey, Vec<&Call>> = BTreeMap::new();
    for call in calls {
        by_conversation.entry(&call.conversation).or_default().push(call);
    }
    by_conversation
}

/// The times of answers, each with the highest version that was acknowledged by then.
fn acknowledged_versions(calls: &[&Call]) -> Vec<(Duration, Version)> {
    let mut settled: Vec<(Duration, Version)> =
        calls.iter().filter_map(|call| call.answer().map(|answer| (call.settled, answer.version))).collect();
    settled.sort_unstable();
    let mut highest = Version::ZERO;
    for (_, version) in &mut settled {
        highest = highest.max(*version);
        *version = highest;
    }
    settled
}

/// The highest version that was acknowledged before `moment`.
fn floor(settled: &[(Duration, Version)], moment: Duration) -> Version {
    let before = settled.partition_point(|(at, _)| *at < moment);
    let last = before.checked_sub(1).and_then(|index| settled.get(index));
    last.map_or(Version::ZERO, |(_, version)| *version)
}

fn check_call(call: &Call, floor: Version) -> Option<Finding> {
    let answer = call.answer()?;
    (answer.first_version <= floor).then(|| {
        let detail = format!(
            "commit {} begins at {}, and {floor} had been acknowledged before it was sent",
            call.key, answer.first_version
        );
        Finding::new(Kind::OutOfOrder, &call.conversation, detail)
    })
}

fn check_conflict(call: &Call, floor: Version, recorded: &RecordContents) -> Option<Finding> {
    let Outcome::Refused(Refusal { reason, current }) = &call.outcome else {
        return None;
    };
    if reason != VERSION_CONFLICT {
        return None;
    }
    let wrong = |detail: &str| {
        Some(Finding::new(Kind::WrongAnswer, &call.conversation, format!("conflict of {}: {detail}", call.key)))
    };
    let Some(current) = *current else {
        return wrong("returns no current version");
    };
    if call.asked.expected == Some(current) {
        return wrong("the version is the expected one");
    }
    if current < floor {
        return wrong("returns a version that was outdated before the call");
    }
    let commits = recorded.conversations.get(&call.conversation).map_or(&[][..], Vec::as_slice);
    let is_version = commits.iter().any(|commit| commit.opened.commit.head.version == current);
    if is_version || current == Version::ZERO || tombstone(commits).is_some() {
        return None;
    }
    wrong("returns a version that the conversation never had")
}

/// Commands that succeeded at the first try are in the order of their stream.
fn check_streams(key: &ConversationKey, calls: &[&Call]) -> Vec<Finding> {
    let mut streams: BTreeMap<u64, BTreeMap<u64, Version>> = BTreeMap::new();
    for call in calls {
        if let (Some(stream_place), Some(answer), 1) = (call.stream_place, call.answer(), call.tries) {
            streams.entry(stream_place.stream).or_default().insert(stream_place.place, answer.version);
        }
    }
    let mut findings = Vec::new();
    for (stream, versions) in streams {
        let pairs = versions.values().zip(versions.values().skip(1));
        for (version, next) in pairs.filter(|(version, next)| next <= version) {
            let detail = format!("stream {stream}: {next} was sent after {version}");
            findings.push(Finding::new(Kind::OutOfOrder, key, detail));
        }
    }
    findings
}
