//! Folds events into the rows of documents: the last value of each name. Pure.

use std::collections::BTreeMap;

use domain::event::DocumentPut;
use domain::{Annotation, Commit, Fact, Timestamp};

use crate::owner_text::owner_text;
use crate::pg_timestamp::PgTimestamp;

/// The namespace and the key of a document, in the order of its index.
type NameKey = (String, String);

/// The row of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProjectedDocument {
    pub(super) tenant: String,
    pub(super) conversation: String,
    pub(super) agent: String,
    /// Empty: the conversation has other events.
    pub(super) owner: String,
    pub(super) namespace: String,
    pub(super) key: String,
    pub(super) version: u64,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
    pub(super) expires_at: Option<Timestamp>,
    /// The value as the fold keeps it.
    pub(super) value: String,
}

/// A deletion, or an expiry before the next value: the row before it has no effect on the rows after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RemovedDocument {
    pub(super) tenant: String,
    pub(super) conversation: String,
    pub(super) namespace: String,
    pub(super) key: String,
    /// Only earlier versions are removed.
    pub(super) version: u64,
}

/// The documents of one conversation after some of its commits.
#[derive(Debug, Clone)]
pub(super) struct DocumentFold {
    /// Converts a value to what the fold keeps of it.
    keep: fn(&str) -> String,
    rows: BTreeMap<NameKey, ProjectedDocument>,
    removed: BTreeMap<NameKey, RemovedDocument>,
}

impl DocumentFold {
    pub(super) fn new(keep: fn(&str) -> String) -> Self {
        Self { keep, rows: BTreeMap::new(), removed: BTreeMap::new() }
    }

    /// Adds the next commit of the conversation.
    pub(super) fn absorb(&mut self, commit: &Commit) {
        for (index, event) in commit.events.iter().enumerate() {
            let version = commit.first_version.plus(index).0;
            match &event.fact {
                Fact::Annotation(Annotation::DocumentPut(put)) => self.put(commit, put, version),
                Fact::Annotation(Annotation::DocumentDeleted(deleted)) => {
                    let name = (deleted.name.namespace.encoded(), deleted.name.key.clone());
                    self.remove(commit, name, version);
                }
                Fact::MessageAppended(_)
                | Fact::ToolCalled(_)
                | Fact::ToolReturned(_)
                | Fact::Annotation(_)
                | Fact::Lifecycle(_) => {}
            }
        }
    }

    /// The rows to write, and the earlier ones to remove before.
    pub(super) fn into_rows(self) -> (impl Iterator<Item = ProjectedDocument>, impl Iterator<Item = RemovedDocument>) {
        (self.rows.into_values(), self.removed.into_values())
    }

    /// The rows of a conversation whose complete history was added, in the order of their names.
    pub(super) fn rows(&self) -> impl Iterator<Item = &ProjectedDocument> {
        self.rows.values()
    }

    fn put(&mut self, commit: &Commit, put: &DocumentPut, version: u64) {
        let name = (put.name.namespace.encoded(), put.name.key.clone());
        let earlier = self.rows.get(&name);
        let has_expired = earlier.is_some_and(|row| row.has_expired(commit.recorded_at));
        let created_at = earlier.map(|row| row.created_at);
        if has_expired {
            self.remove(commit, name.clone(), version);
        }
        let row = ProjectedDocument {
            tenant: commit.tenant.as_str().to_owned(),
            conversation: commit.conversation.as_str().to_owned(),
            agent: commit.head.agent.as_str().to_owned(),
            owner: owner_of(commit),
            namespace: name.0.clone(),
            key: name.1.clone(),
            version,
            created_at: created_at.filter(|_| !has_expired).unwrap_or(commit.recorded_at),
            updated_at: commit.recorded_at,
            expires_at: put.expires_at(commit.recorded_at),
            value: (self.keep)(put.value.as_str()),
        };
        self.rows.insert(name, row);
    }

    fn remove(&mut self, commit: &Commit, name: NameKey, version: u64) {
        self.rows.remove(&name);
        let removed = RemovedDocument {
            tenant: commit.tenant.as_str().to_owned(),
            conversation: commit.conversation.as_str().to_owned(),
            namespace: name.0.clone(),
            key: name.1.clone(),
            version,
        };
        self.removed.insert(name, removed);
    }
}

impl ProjectedDocument {
    /// Whether the document is not read any more, compared as Postgres compares its columns.
    fn has_expired(&self, now: Timestamp) -> bool {
        let (end, now) = (self.expires_at, PgTimestamp::from_time(now));
        end.is_some_and(|end| PgTimestamp::from_time(end) <= now)
    }
}

fn owner_of(commit: &Commit) -> String {
    let owner = commit.head.owner.as_ref().filter(|_| commit.conversation.is_document());
    owner.map(owner_text).unwrap_or_default()
}
