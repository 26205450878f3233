//! One conversation's commits, read from the record in order and checked as they come.

use std::collections::HashSet;

use archive::{Archive, ArchiveError, Commits};
use domain::audit::{Fault, faults};
use domain::{Change, CommitId, ConversationKey, Head, Sequence, Status, Version};
use event_log::{StoredCommit, StoredMessage, TailBounds};

use super::problem::Problem;

/// Most of a conversation that is in memory at a time.
const PAGE: TailBounds = TailBounds {
    commits_max: 100,
    bytes_max: 1_024 * 1_024,
};

/// A conversation's commits up to a place, in pages.
pub(super) struct History<'g> {
    archive: &'g Archive,
    key: &'g ConversationKey,
    through: Sequence,
    /// What is read; `None`: nothing yet.
    commits: Option<Commits>,
    /// Whether it was read to its end.
    is_over: bool,
    ids: HashSet<CommitId>,
    /// The last message that was read, be it after the place.
    seen: Sequence,
    /// What the commits come to so far.
    pub(super) change: Option<Change>,
    /// The version of the first event.
    pub(super) first_version: Option<Version>,
    /// What is wrong with them.
    pub(super) problems: Vec<Problem>,
    /// How many events they have.
    pub(super) events: u64,
}

impl<'g> History<'g> {
    pub(super) fn of(archive: &'g Archive, key: &'g ConversationKey, through: Sequence) -> Self {
        Self {
            archive,
            key,
            through,
            commits: None,
            is_over: false,
            ids: HashSet::new(),
            seen: Sequence(0),
            change: None,
            first_version: None,
            problems: Vec::new(),
            events: 0,
        }
    }

    /// The next commits; `None`: that was all.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<StoredCommit>>, ArchiveError> {
        if self.is_over {
            return Ok(None);
        }
        let commits = match &mut self.commits {
            Some(commits) => commits,
            none => none.insert(self.archive.commits(self.key, Sequence(0)).await?),
        };
        let Some(page) = commits.next(PAGE).await? else {
            self.is_over = true;
            return Ok(None);
        };
        let last = page.last().map(|last| last.position.sequence);
        self.seen = last.unwrap_or(self.seen);
        self.is_over = self.seen >= self.through;
        let within = |message: &&StoredMessage| message.position.sequence <= self.through;
        let messages: Vec<&StoredMessage> = page.iter().take_while(within).collect();
        Ok(Some(
            messages
                .into_iter()
                .filter_map(|message| self.take(message))
                .collect(),
        ))
    }

    /// Whether a replica was read that has all up to the place; `last` is the conversation's last message, by the leader.
    pub(super) fn is_complete(&self, last: Option<Sequence>) -> bool {
        self.seen > self.through || last.is_none_or(|last| self.seen >= last)
    }

    fn take(&mut self, message: &StoredMessage) -> Option<StoredCommit> {
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
        let previous = self.previous();
        let mut found = faults(previous, commit, &stored.opened.body);
        if !self.ids.insert(commit.id) && !found.contains(&Fault::IdRepeated) {
            found.push(Fault::IdRepeated);
        }
        let found = found
            .into_iter()
            .map(|fault| Problem::Record(sequence, fault));
        self.problems.extend(found);
        match &mut self.change {
            Some(change) => change.absorb(commit, stored.position),
            None => self.change = Some(Change::of(commit, stored.position)),
        }
        Some(stored)
    }

    fn previous(&self) -> Option<(&Head, Sequence)> {
        let change = self.change.as_ref()?;
        Some((&change.head, change.position.sequence))
    }
}

/// The commit that a message of a conversation is; else what is wrong with it.
pub(super) fn open(key: &ConversationKey, message: &StoredMessage) -> Result<StoredCommit, String> {
    let stored = message
        .open()
        .map_err(|corrupt| corrupt.source.to_string())?;
    let commit = &stored.opened.commit;
    if commit.tenant != key.tenant || commit.conversation != key.conversation {
        return Err("the commit names another conversation than its subject".to_owned());
    }
    Ok(stored)
}

/// Whether a head is a tombstone's.
pub(super) fn is_erased(head: &Head) -> bool {
    head.status == Status::Erased
}
