//! Answers against the record: every acknowledged commit is there exactly once, as it was acknowledged and asked for.

use std::collections::{BTreeMap, BTreeSet};

use domain::event::{HistorySummarised, ToolReturned};
use domain::{Annotation, CommitId, ConversationKey, EventId, Fact, Version};

use super::erased::tombstone;
use super::finding::{Finding, Kind, Place};
use super::order::by_conversation;
use super::recorded::{Recorded, RecordedCommit};
use super::tried::{Answer, Asked, Call, Outcome};

/// Checks every call against the record, and that every commit of the record was asked for.
#[must_use]
pub fn check(calls: &[Call], recorded: &Recorded) -> Vec<Finding> {
    let by_conversation = by_conversation(calls);
    let keys: BTreeSet<&ConversationKey> = by_conversation
        .keys()
        .copied()
        .chain(recorded.conversations.keys())
        .collect();
    let mut findings = Vec::new();
    for key in keys {
        let calls = by_conversation.get(key).map_or(&[][..], Vec::as_slice);
        let commits = recorded
            .conversations
            .get(key)
            .map_or(&[][..], Vec::as_slice);
        let mut judged = Judged {
            key,
            calls,
            commits,
            findings: Vec::new(),
        };
        judged.check_calls();
        judged.check_all_asked();
        judged.check_tiles();
        findings.append(&mut judged.findings);
    }
    findings
}

/// One conversation: what was tried in it, and what it came to.
struct Judged<'a> {
    key: &'a ConversationKey,
    calls: &'a [&'a Call],
    commits: &'a [RecordedCommit],
    findings: Vec<Finding>,
}

impl Judged<'_> {
    fn find(&mut self, kind: Kind, detail: impl Into<String>) {
        self.findings.push(Finding::new(kind, self.key, detail));
    }

    fn check_calls(&mut self) {
        let by_id: BTreeMap<CommitId, &RecordedCommit> = self
            .commits
            .iter()
            .map(|commit| (commit.opened.commit.id, commit))
            .collect();
        for call in self.calls {
            match (&call.outcome, by_id.get(&call.key)) {
                (Outcome::Committed(answer), Some(commit)) => {
                    self.check_answer(call, answer, commit);
                }
                (Outcome::Committed(answer), None) => self.check_missing(call, answer),
                (Outcome::Unchanged | Outcome::Refused(_), Some(_)) => {
                    self.find(
                        Kind::Unasked,
                        format!("commit {} is there, but its answer was no", call.key),
                    );
                }
                (Outcome::Unknown, Some(commit)) => self.check_asked(&call.asked, commit),
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
            let detail = format!(
                "of commit {}: {answer:?}, the record says {found:?}",
                call.key
            );
            self.find(Kind::WrongAnswer, detail);
        }
        self.check_asked(&call.asked, stored);
    }

    fn check_asked(&mut self, asked: &Asked, stored: &RecordedCommit) {
        let commit = &stored.opened.commit;
        if let Some(expected) = asked.expected
            && expected.next() != commit.first_version
        {
            let detail = format!(
                "commit {} asked for {expected}, stands at {}",
                commit.id, commit.first_version
            );
            self.find(Kind::WrongAnswer, detail);
        }
        let is_same = asked.events.len() == commit.events.len()
            && (0..)
                .zip(&asked.events)
                .zip(&commit.events)
                .all(|((index, asked), event)| {
                    event.id
                        == asked
                            .id
                            .unwrap_or_else(|| EventId::derived(commit.id, index))
                        && event.occurred_at == asked.occurred_at
                        && event.metadata == asked.metadata
                        && is_as_asked(&asked.fact, &event.fact)
                });
        if !is_same {
            self.find(
                Kind::Unasked,
                format!(
                    "commit {} holds other events than were asked for",
                    commit.id
                ),
            );
        }
    }

    /// Of an erased conversation the tombstone alone is left; what came after it was never there.
    fn check_missing(&mut self, call: &Call, answer: &Answer) {
        let erased_from = tombstone(self.commits).map(|stone| stone.opened.commit.first_version);
        if erased_from.is_some_and(|erased_from| answer.version < erased_from) {
            return;
        }
        let versions: BTreeSet<Version> = self
            .calls
            .iter()
            .filter_map(|call| call.answer())
            .map(|answer| answer.version)
            .collect();
        let place = match () {
            () if versions.first() == Some(&answer.version) => Place::First,
            () if versions.last() == Some(&answer.version) => Place::Last,
            () => Place::Middle,
        };
        let (first, last) = (answer.first_version, answer.version);
        self.find(
            Kind::Lost(place),
            format!("commit {} with versions {first} to {last}", call.key),
        );
    }

    fn check_all_asked(&mut self) {
        let asked: BTreeSet<CommitId> = self.calls.iter().map(|call| call.key).collect();
        for commit in self.commits {
            let id = commit.opened.commit.id;
            if !asked.contains(&id) {
                self.find(
                    Kind::Unasked,
                    format!("commit {id} was asked for by nobody"),
                );
            }
        }
    }

    /// Acknowledged commits never overlap; and where every outcome is known they leave nothing out, which is all that
    /// can be said of a conversation whose commits were erased.
    fn check_tiles(&mut self) {
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
                self.find(
                    Kind::Fork,
                    format!("two acknowledged commits hold version {first}"),
                );
            } else if first > before.next() && is_known {
                self.find(
                    Kind::Gap,
                    format!("no acknowledged commit holds version {}", before.next()),
                );
            }
            before = before.max(last);
        }
    }

    /// Whether it is known if the command made a commit: an erasure takes the answer of a lost one with it.
    fn is_settled(&self, call: &Call) -> bool {
        match call.outcome {
            Outcome::Committed(_) | Outcome::Unchanged => true,
            Outcome::Refused(_) => call.tries == 1 || tombstone(self.commits).is_none(),
            Outcome::Unknown => false,
        }
    }
}

/// The record adds the tool's name to a result that does not give it, and to a summary the one before it; nothing else.
fn is_as_asked(asked: &Fact, recorded: &Fact) -> bool {
    match (asked, recorded) {
        (
            Fact::ToolReturned(
                asked @ ToolReturned {
                    tool_name: None, ..
                },
            ),
            Fact::ToolReturned(recorded),
        ) => {
            ToolReturned {
                tool_name: None,
                ..recorded.clone()
            } == *asked
        }
        (
            Fact::Annotation(Annotation::HistorySummarised(asked)),
            Fact::Annotation(Annotation::HistorySummarised(recorded)),
        ) => first_of_all(asked) == first_of_all(recorded),
        _ => asked == recorded,
    }
}

fn first_of_all(summary: &HistorySummarised) -> HistorySummarised {
    HistorySummarised {
        previous: None,
        ..summary.clone()
    }
}
