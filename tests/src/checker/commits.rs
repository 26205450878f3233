//! Checks the record alone: dense versions, no forks, complete hash chains, correct heads, increasing times.

use std::collections::{BTreeMap, BTreeSet};

use domain::{ChainHash, CommitFacts, CommitId, ConversationKey, Head, Layout, Partition, Version};

use super::erasure::{self, tombstone};
use super::finding::{Finding, Kind};
use super::model;
use super::record::{RecordContents, RecordedCommit};
use super::tools::RuleChecker;

/// The simple fold starts from nothing each time. So it checks this many heads from the first, then one in as many, and
/// the last. The domain's fold checks all heads.
const MODEL_CHECK_INTERVAL: usize = 32;

/// Checks every conversation of a record alone, and that no commit id is in two conversations.
#[must_use]
pub fn check(recorded: &RecordContents) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut seen: BTreeMap<CommitId, &ConversationKey> = BTreeMap::new();
    for (key, commits) in &recorded.conversations {
        let mut history = History { key, findings: Vec::new() };
        let partitions = candidates(&recorded.layout, key, commits);
        for commit in commits {
            history.check_place(commit, &partitions);
            let id = commit.opened.commit.id;
            if seen.insert(id, key).is_some_and(|earlier| earlier != key) {
                history.find(Kind::Doubled, format!("commit {id} is in another conversation too"));
            }
        }
        history.check_commits(commits);
        findings.append(&mut history.findings);
    }
    findings
}

/// The partitions in which the commits of a conversation may be: that of the first one, if the layout can choose it.
fn candidates(layout: &Layout, key: &ConversationKey, commits: &[RecordedCommit]) -> Vec<Partition> {
    let first = commits.first().map(|commit| commit.position.partition);
    let mut candidates = layout.candidates(key);
    candidates.retain(|partition| Some(*partition) == first);
    candidates
}

struct History<'a> {
    key: &'a ConversationKey,
    findings: Vec<Finding>,
}

impl History<'_> {
    fn find(&mut self, kind: Kind, detail: impl Into<String>) {
        self.findings.push(Finding::new(kind, self.key, detail));
    }

    fn check_place(&mut self, stored: &RecordedCommit, partitions: &[Partition]) {
        let commit = &stored.opened.commit;
        if commit.tenant != self.key.tenant || commit.conversation != self.key.conversation {
            self.find(Kind::Misplaced, format!("{} names another conversation than its subject", commit.id));
        }
        if !partitions.contains(&stored.position.partition) {
            self.find(Kind::Misplaced, format!("{} is in partition {}", commit.id, stored.position.partition));
        }
    }

    fn check_commits(&mut self, commits: &[RecordedCommit]) {
        match tombstone(commits) {
            Some(stone) => self.findings.extend(erasure::check(self.key, commits, stone)),
            None => self.check_history(commits),
        }
        self.check_ids(commits);
    }

    fn check_ids(&mut self, commits: &[RecordedCommit]) {
        let mut ids = BTreeSet::new();
        for commit in commits {
            let id = commit.opened.commit.id;
            if !ids.insert(id) {
                self.find(
                    Kind::Doubled,
                    format!("commit {id} is in the record again, at {}", commit.position.sequence),
                );
            }
        }
    }

    fn check_history(&mut self, commits: &[RecordedCommit]) {
        let mut previous: Option<&RecordedCommit> = None;
        let mut watcher = RuleChecker::default();
        for (index, commit) in commits.iter().enumerate() {
            self.check_succession(previous, commit);
            self.check_chain(previous, commit);
            self.check_head(previous, commit);
            for event in &commit.opened.commit.events {
                if let Some(broken) = watcher.take(event) {
                    self.find(Kind::RuleBroken, format!("{broken}, in commit {}", commit.opened.commit.id));
                }
            }
            let is_last = index + 1 == commits.len();
            if index < MODEL_CHECK_INTERVAL || index % MODEL_CHECK_INTERVAL == 0 || is_last {
                self.check_model(commits, index);
            }
            previous = Some(commit);
        }
    }

    fn check_succession(&mut self, previous: Option<&RecordedCommit>, stored: &RecordedCommit) {
        let commit = &stored.opened.commit;
        let due = previous.map_or_else(
            || Version(model::first_version(std::slice::from_ref(stored))),
            |previous| previous.opened.commit.head.version.next(),
        );
        let (id, first) = (commit.id, commit.first_version);
        if first > due {
            self.find(Kind::Gap, format!("commit {id} begins at {first}, {due} is due"));
        }
        if first < due {
            self.find(Kind::Fork, format!("commit {id} begins at {first}, which is taken: {due} is due"));
        }
        let Some(previous) = previous else { return };
        if stored.position.sequence <= previous.position.sequence {
            self.find(Kind::OutOfOrder, format!("commit {id} has a lower sequence than the one that it follows"));
        }
        if commit.recorded_at < previous.opened.commit.recorded_at {
            self.find(Kind::TimeWentBack, format!("commit {id} is older than the one that it follows"));
        }
    }

    fn check_chain(&mut self, previous: Option<&RecordedCommit>, stored: &RecordedCommit) {
        let before = previous.map_or(ChainHash::default(), |previous| previous.opened.commit.head.chain);
        if model::chain_after(before, &stored.opened.body) != stored.opened.commit.head.chain {
            self.find(Kind::BrokenChain, format!("at commit {}", stored.opened.commit.id));
        }
    }

    /// Checks a head with the domain's fold, from the previous head: one wrong head is one finding.
    fn check_head(&mut self, previous: Option<&RecordedCommit>, stored: &RecordedCommit) {
        let commit = &stored.opened.commit;
        let facts = CommitFacts {
            id: commit.id,
            request_digest: commit.request_digest,
            recorded_at: commit.recorded_at,
            events: &commit.events,
            body: &stored.opened.body,
            previous_sequence: previous.map(|previous| previous.position.sequence),
        };
        let before = previous.map(|previous| &previous.opened.commit.head);
        let Some(expected) = Head::after(before, &facts) else {
            return self.find(Kind::WrongHead, format!("commit {} does not begin a conversation", commit.id));
        };
        // A broken chain is a separate finding.
        let expected = Head { chain: commit.head.chain, ..expected };
        if expected != commit.head {
            self.find(Kind::WrongHead, format!("of commit {}: {}", commit.id, difference(&expected, &commit.head)));
        }
    }

    /// Checks a head with the simple fold, from the whole history.
    fn check_model(&mut self, commits: &[RecordedCommit], index: usize) {
        let Some(history) = commits.get(..=index) else {
            return;
        };
        let Some(commit) = history.last().map(|stored| &stored.opened.commit) else {
            return;
        };
        let Some(expected) = model::head_after(history) else {
            return;
        };
        if expected != commit.head {
            self.find(
                Kind::WrongHead,
                format!("of commit {}, by the simple fold: {}", commit.id, difference(&expected, &commit.head)),
            );
        }
    }
}

/// The first field that differs.
fn difference(expected: &Head, found: &Head) -> String {
    let fields = [
        ("version", expected.version == found.version),
        ("status", expected.status == found.status),
        ("owner", expected.owner == found.owner),
        ("agent", expected.agent == found.agent),
        ("open_calls", expected.open_calls == found.open_calls),
        ("active_run", expected.active_run == found.active_run),
        ("provider_conversation_id", expected.provider_conversation_id == found.provider_conversation_id),
        ("last_response_id", expected.last_response_id == found.last_response_id),
        ("totals", expected.totals == found.totals),
        ("chain", expected.chain == found.chain),
        ("recorded_at", expected.recorded_at == found.recorded_at),
        ("last_event_at", expected.last_event_at == found.last_event_at),
        ("recent", expected.recent == found.recent),
    ];
    let differing: Vec<&str> = fields.iter().filter(|(_, same)| !same).map(|(name, _)| *name).collect();
    differing.join(", ")
}
