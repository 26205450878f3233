//! Reads the commits of one conversation in order and audits them.

use std::collections::HashSet;

use archive::{Archive, ArchiveError, Commits};
use domain::audit::{Fault, faults};
use domain::{Change, CommitId, ConversationKey, Sequence, Version};
use event_log::{StoredCommit, StoredMessage, TailBounds};

use read_model::projections::conversations::verification::DocumentsDigest;

use super::problem::Problem;

/// The size of a page of commits.
const PAGE: TailBounds = TailBounds { commits_max: 100, bytes_max: 1_024 * 1_024 };

/// The commits of a conversation up to a sequence, in pages.
pub(super) struct History<'g> {
    key: &'g ConversationKey,
    through: Sequence,
    commits: Commits,
    /// Whether all pages were read.
    is_over: bool,
    ids: HashSet<CommitId>,
    /// The last sequence that was read, possibly after `through`.
    last_read: Sequence,
    /// The fold of the commits so far.
    pub(super) change: Option<Change>,
    /// The documents of the commits so far.
    pub(super) documents: DocumentsDigest,
    /// The version of the first event.
    pub(super) first_version: Option<Version>,
    /// The problems of the commits.
    pub(super) problems: Vec<Problem>,
    /// The number of events.
    pub(super) events: u64,
}

impl<'g> History<'g> {
    pub(super) async fn of(
        archive: &Archive,
        key: &'g ConversationKey,
        through: Sequence,
    ) -> Result<Self, ArchiveError> {
        Ok(Self {
            key,
            through,
            commits: archive.commits(key, Sequence(0)).await?,
            is_over: false,
            ids: HashSet::new(),
            last_read: Sequence(0),
            change: None,
            documents: DocumentsDigest::default(),
            first_version: None,
            problems: Vec::new(),
            events: 0,
        })
    }

    /// The next page of commits; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<StoredCommit>>, ArchiveError> {
        if self.is_over {
            return Ok(None);
        }
        let Some(page) = self.commits.next(PAGE).await? else {
            self.is_over = true;
            return Ok(None);
        };
        let last = page.last().map(|last| last.position.sequence);
        self.last_read = last.unwrap_or(self.last_read);
        self.is_over = self.last_read >= self.through;
        let within = |message: &&StoredMessage| message.position.sequence <= self.through;
        let messages: Vec<&StoredMessage> = page.iter().take_while(within).collect();
        let commits = messages.into_iter().filter_map(|message| self.audit(message));
        Ok(Some(commits.collect()))
    }

    /// Whether the replica that was read contains everything up to `through`; `last` is the last message at the leader.
    pub(super) fn is_complete(&self, last: Option<Sequence>) -> bool {
        self.last_read > self.through || last.is_none_or(|last| self.last_read >= last)
    }

    fn audit(&mut self, message: &StoredMessage) -> Option<StoredCommit> {
        let sequence = message.position.sequence;
        let stored = match open(self.key, message) {
            Ok(stored) => stored,
            Err(reason) => {
                self.problems.push(Problem::Unreadable(sequence, reason));
                return None;
            }
        };
        let commit = &stored.opened.commit;
        self.first_version.get_or_insert(commit.first_version);
        self.events += u64::try_from(commit.events.len()).unwrap_or(u64::MAX);
        let previous = self.change.as_ref().map(|change| (&change.head, change.position.sequence));
        let mut found = faults(previous, commit, &stored.opened.body);
        if !self.ids.insert(commit.id) && !found.contains(&Fault::IdRepeated) {
            found.push(Fault::IdRepeated);
        }
        let found = found.into_iter();
        self.problems.extend(found.map(|fault| Problem::Record(sequence, fault)));
        self.documents.absorb(&stored);
        match &mut self.change {
            Some(change) => change.absorb(commit, stored.position),
            None => self.change = Some(Change::new(commit, stored.position)),
        }
        Some(stored)
    }
}

/// Decodes the commit of a message of a conversation, or returns the cause.
pub(super) fn open(key: &ConversationKey, message: &StoredMessage) -> Result<StoredCommit, String> {
    let stored = message.open().map_err(|corrupt| corrupt.source.to_string())?;
    let commit = &stored.opened.commit;
    if commit.tenant != key.tenant || commit.conversation != key.conversation {
        return Err("the commit names another conversation than its subject".to_owned());
    }
    Ok(stored)
}
