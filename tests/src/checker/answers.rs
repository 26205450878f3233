//! Compares answers with the record: every acknowledged commit is there exactly once, with the requested events.

use std::collections::{BTreeMap, BTreeSet};

use domain::event::{HistorySummarised, ToolReturned};
use domain::{Annotation, CommitId, ConversationKey, EventId, Fact, Version};

use super::calls::{Answer, Call, Expectation, Outcome};
use super::erasure::tombstone;
use super::finding::{Finding, Kind, Place};
use super::order::by_conversation;
use super::record::{RecordContents, RecordedCommit};

/// Checks every call against the record, and that every commit of the record was requested.
#[must_use]
pub fn check(calls: &[Call], recorded: &RecordContents) -> Vec<Finding> {
    let by_conversation = by_conversation(calls);
    let keys: BTreeSet<&ConversationKey> =
        by_conversation.keys().copied().chain(recorded.conversations.keys()).collect();
    let mut findings = Vec::new();
    for key in keys {
        let calls = by_conversation.get(key).map_or(&[][..], Vec::as_slice);
        let commits = recorded.conversations.get(key).map_or(&[][..], Vec::as_slice);
        let mut judged = ConversationCheck { key, calls, commits, findings: Vec::new() };
        judged.check_calls();
        judged.check_unrequested_commits();
        judged.check_overlaps();
        findings.append(&mut judged.findings);
    }
    findings
}

/// The calls and commits of one conversation.
struct ConversationCheck<'a> {
    key: &'a ConversationKey,
    calls: &'a [&'a Call],
    commits: &'a [RecordedCommit],
    findings: Vec<Finding>,
}

impl ConversationCheck<'_> {
    fn find(&mut self, kind: Kind, detail: impl Into<String>) {
        self.findings.push(Finding::new(kind, self.key, detail));
    }

    fn check_calls(&mut self) {
        let by_id: BTreeMap<CommitId, &RecordedCommit> =
            self.commits.iter().map(|commit| (commit.opened.commit.id, commit)).collect();
        for call in self.calls {
            match (&call.outcome, by_id.get(&call.key)) {
                (Outcome::Committed(answer), Some(commit)) => {
                    self.check_answer(call, answer, commit);
                }
                (Outcome::Committed(answer), None) => self.check_missing(call, answer),
                (Outcome::Unchanged | Outcome::Refused(_), Some(_)) => {
                    self.find(
                        Kind::Unasked,
                        format!("commit {} is in the record, but its answer was a rejection", call.key),
                    );
                }
                (Outcome::Unknown, Some(commit)) => self.check_requested(&call.asked, commit),
                (Outcome::Unchanged | Outcome::Refused(_) | Outcome::Unknown, None) => {}
            }
        }
    }

    fn check_answer(&mut self, call: &Call, answer: &Answer, stored: &RecordedCommit) {
        let commit = &stored.opened.commit;
        let found = Answer {
            first_version: commit.first_version,
            version: commit.head.version,
            position: stored.position,
            recorded_at: commit.recorded_at,
        };
        if *answer != found {
            let detail = format!("of commit {}: {answer:?}, the record has {found:?}", call.key);
            self.find(Kind::WrongAnswer, detail);
        }
        self.check_requested(&call.asked, stored);
    }

    fn check_requested(&mut self, asked: &Expectation, stored: &RecordedCommit) {
        let commit = &stored.opened.commit;
        if let Some(expected) = asked.expected
            && expected.next() != commit.first_version
        {
            let detail =
                format!("commit {} expected version {expected}, but begins at {}", commit.id, commit.first_version);
            self.find(Kind::WrongAnswer, detail);
        }
        let is_same = asked.events.len() == commit.events.len()
            && (0..).zip(&asked.events).zip(&commit.events).all(|((index, asked), event)| {
                event.id == asked.id.unwrap_or_else(|| EventId::derived(commit.id, index))
                    && event.occurred_at == asked.occurred_at
                    && event.metadata == asked.metadata
                    && matches_request(&asked.fact, &event.fact)
            });
        if !is_same {
            self.find(Kind::Unasked, format!("commit {} has other events than requested", commit.id));
        }
    }

    /// An erasure leaves only the tombstone of a conversation. Earlier commits are not lost then.
    fn check_missing(&mut self, call: &Call, answer: &Answer) {
        let erased_from = tombstone(self.commits).map(|stone| stone.opened.commit.first_version);
        if erased_from.is_some_and(|erased_from| answer.version < erased_from) {
            return;
        }
        let versions: BTreeSet<Version> =
            self.calls.iter().filter_map(|call| call.answer()).map(|answer| answer.version).collect();
        let place = match () {
            () if versions.first() == Some(&answer.version) => Place::First,
            () if versions.last() == Some(&answer.version) => Place::Last,
            () => Place::Middle,
        };
        let (first, last) = (answer.first_version, answer.version);
        self.find(Kind::Lost(place), format!("commit {} with versions {first} to {last}", call.key));
    }

    fn check_unrequested_commits(&mut self) {
        let asked: BTreeSet<CommitId> = self.calls.iter().map(|call| call.key).collect();
        for commit in self.commits {
            let id = commit.opened.commit.id;
            if !asked.contains(&id) {
                self.find(Kind::Unasked, format!("nobody requested commit {id}"));
            }
        }
    }

    /// Acknowledged commits never overlap. They have no gaps if every outcome is known. Nothing else can be checked of
    /// a conversation whose commits were erased.
    fn check_overlaps(&mut self) {
        let mut answers: Vec<(Version, Version)> = self
            .calls
            .iter()
            .filter_map(|call| call.answer())
            .map(|answer| (answer.first_version, answer.version))
            .collect();
        answers.sort_unstable();
        let is_known = self.calls.iter().all(|call| self.is_settled(call));
        let mut before = Version::ZERO;
        for (first, last) in answers {
            if first <= before {
                self.find(Kind::Fork, format!("two acknowledged commits hold version {first}"));
            } else if first > before.next() && is_known {
                self.find(Kind::Gap, format!("no acknowledged commit holds version {}", before.next()));
            }
            before = before.max(last);
        }
    }

    /// Whether it is known if the command made a commit. After an erasure, a retry cannot find a lost answer.
    fn is_settled(&self, call: &Call) -> bool {
        match call.outcome {
            Outcome::Committed(_) | Outcome::Unchanged => true,
            Outcome::Refused(_) => call.tries == 1 || tombstone(self.commits).is_none(),
            Outcome::Unknown => false,
        }
    }
}

/// The record may add the tool's name to a result and the previous summary to a summary; everything else is equal.
fn matches_request(asked: &Fact, recorded: &Fact) -> bool {
    match (asked, recorded) {
        (Fact::ToolReturned(asked @ ToolReturned { tool_name: None, .. }), Fact::ToolReturned(recorded)) => {
            ToolReturned { tool_name: None, ..recorded.clone() } == *asked
        }
        (
            Fact::Annotation(Annotation::HistorySummarised(asked)),
            Fact::Annotation(Annotation::HistorySummarised(recorded)),
        ) => without_previous(asked) == without_previous(recorded),
        _ => asked == recorded,
    }
}

fn without_previous(summary: &HistorySummarised) -> HistorySummarised {
    HistorySummarised { previous: None, ..summary.clone() }
}
