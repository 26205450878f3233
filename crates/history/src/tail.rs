//! The commits of a conversation that the rows do not hold yet, straight from the record, page by page.
//!
//! Memory is bounded by a page, however far the projector is behind: the caller folds a page and drops it.

use std::sync::Arc;

use domain::{ConversationKey, Status, Version};
use event_log::{StoredCommit, StoredMessage, TailBounds, Unavailable};
use metrics::histogram;
use wire::status::Problem;

use crate::deadline::Deadline;
use crate::position::CommitPosition;
use crate::problem;
use crate::reader::Reader;

/// Most commits of a page of the tail.
pub const TAIL_PAGE_COMMITS_MAX: usize = 256;
/// Most bytes of a page of the tail, as the record keeps them; at least one commit comes whatever its size.
pub const TAIL_PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What is missing may be in the archive, which only the projector reads.
const ARCHIVED: Unavailable = Unavailable {
    what: "the rows do not hold all that is archived yet",
    retry_after_ms: 5_000,
};

/// The commits after a position up to a last one, which is known. A gap in their versions is an error.
#[derive(Debug)]
pub struct Tail {
    key: ConversationKey,
    after: CommitPosition,
    last: Option<Arc<StoredCommit>>,
    page_commits_max: usize,
    commits: usize,
}

impl Tail {
    /// The commits after a position up to `last`.
    pub(crate) fn new(
        key: ConversationKey,
        after: CommitPosition,
        last: Arc<StoredCommit>,
    ) -> Self {
        Self {
            key,
            after,
            last: Some(last),
            page_commits_max: TAIL_PAGE_COMMITS_MAX,
            commits: 0,
        }
    }

    /// The same in pages of at most so many commits, for a caller that may need no more than that.
    pub(crate) fn in_pages_of(mut self, commits_max: usize) -> Self {
        self.page_commits_max = commits_max.clamp(1, TAIL_PAGE_COMMITS_MAX);
        self
    }

    /// The position of the last commit that was returned, or of the beginning of the tail.
    #[must_use]
    pub fn position(&self) -> CommitPosition {
        self.after
    }

    /// The next commits, in order; `None` after the last.
    ///
    /// # Errors
    /// The record is away, a commit cannot be read, or the conversation was erased meanwhile.
    pub async fn next_page(
        &mut self,
        reader: &Reader,
        deadline: Deadline,
    ) -> Result<Option<Vec<Arc<StoredCommit>>>, Problem> {
        let Some(last) = &self.last else {
            return Ok(None);
        };
        let mut page = Vec::new();
        if !follows(last, self.after.version) {
            page = self.fetch(reader, deadline).await?;
        }
        if let Some(last) = self.last.take_if(|last| follows(last, self.after.version)) {
            self.after = CommitPosition::of(&last);
            page.push(last);
        }
        self.commits += page.len();
        if self.last.is_none() {
            let commits = u32::try_from(self.commits).unwrap_or(u32::MAX);
            histogram!("hansard_gateway_tail_commits").record(f64::from(commits));
        }
        Ok(Some(page))
    }

    /// The next commits before the last one; at least one. What a replica does not know yet is asked of the leader.
    async fn fetch(
        &mut self,
        reader: &Reader,
        deadline: Deadline,
    ) -> Result<Vec<Arc<StoredCommit>>, Problem> {
        let bounds = TailBounds {
            commits_max: self.page_commits_max,
            bytes_max: TAIL_PAGE_BYTES_MAX,
        };
        let (record, after) = (&reader.record, self.after.sequence);
        let tail = record.tail(&self.key, after, bounds);
        let mut commits = self.open(&deadline.record(tail).await?.commits)?;
        if commits.is_empty() {
            let tail = record.tail_from_leader(&self.key, after, bounds);
            commits = self.open(&deadline.record(tail).await?.commits)?;
        }
        let count = self.follow(&commits);
        if count == commits.len() && count > 0 {
            return Ok(commits);
        }
        Err(self.gap(reader, deadline).await)
    }

    /// Opens the messages that stand before the last commit.
    fn open(&self, messages: &[StoredMessage]) -> Result<Vec<Arc<StoredCommit>>, Problem> {
        let end = self.last.as_ref().map(|last| last.position.sequence);
        let before = messages
            .iter()
            .take_while(|message| end.is_some_and(|end| message.position.sequence < end));
        before
            .map(|message| {
                let commit = message.open().map(Arc::new);
                commit.map_err(|corrupt| problem::of_corrupt(&corrupt))
            })
            .collect()
    }

    /// Moves on over the commits that follow each other without a gap; how many these are.
    fn follow(&mut self, commits: &[Arc<StoredCommit>]) -> usize {
        let mut count = 0;
        for commit in commits {
            if !follows(commit, self.after.version) {
                break;
            }
            self.after = CommitPosition::of(commit);
            count += 1;
        }
        count
    }

    /// Why commits are missing: the conversation was erased after its last commit was read, or the rows are being made anew and
    /// the archive has what they do not hold yet, or the record lost them.
    async fn gap(&self, reader: &Reader, deadline: Deadline) -> Problem {
        let last = reader.record.last_from_leader(&self.key);
        let last = match deadline.record(last).await {
            Ok(last) => last,
            Err(problem) => return problem,
        };
        match last.map(|last| last.open_head()) {
            Some(Ok(head)) if head.status == Status::Erased => problem::not_found(),
            Some(Err(corrupt)) => problem::of_corrupt(&corrupt),
            Some(Ok(_)) | None => match deadline.record(reader.record.has_archive()).await {
                Ok(true) => problem::of_record(&ARCHIVED),
                Ok(false) => self.contradiction(),
                Err(problem) => problem,
            },
        }
    }

    fn contradiction(&self) -> Problem {
        let (conversation, after) = (&self.key.conversation, self.after);
        problem::of_contradiction(format!(
            "the record lacks the commit of conversation {conversation} after version {}, sequence {}",
            after.version, after.sequence
        ))
    }
}

fn follows(commit: &StoredCommit, version: Version) -> bool {
    commit.opened.commit.first_version == version.next()
}
