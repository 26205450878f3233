//! The commits of a conversation that have no rows yet, read from the record page by page.
//!
//! A page bounds the memory, regardless of the lag of the projector: the caller folds a page and drops it.

use std::sync::Arc;

use domain::{ConversationKey, Status, Version};
use event_log::{StoredCommit, StoredMessage, TailBounds, Unavailable};
use futures::future::BoxFuture;
use metrics::histogram;
use wire::status::Problem;

use crate::deadline::Deadline;
use crate::position::CommitPosition;
use crate::problem;
use crate::target::Reader;

/// Maximum number of commits of a page.
pub const TAIL_PAGE_COMMITS_MAX: usize = 256;
/// Maximum bytes of a page, as stored in the record; a page contains at least one commit.
pub const TAIL_PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The missing commits may be in the archive, which only the projector reads.
const ARCHIVED: Unavailable =
    Unavailable { what: "the rows do not contain all archived commits yet", retry_after_ms: 5_000 };

/// The commits after a position up to a known last one. A gap in their versions is an error.
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
    pub(crate) fn new(key: ConversationKey, after: CommitPosition, last: Arc<StoredCommit>) -> Self {
        Self { key, after, last: Some(last), page_commits_max: TAIL_PAGE_COMMITS_MAX, commits: 0 }
    }

    /// Limits pages to this number of commits, for a caller that may not need more.
    pub(crate) fn in_pages_of(mut self, commits_max: usize) -> Self {
        self.page_commits_max = commits_max.clamp(1, TAIL_PAGE_COMMITS_MAX);
        self
    }

    /// The position of the last returned commit, or of the start of the tail.
    #[must_use]
    pub fn position(&self) -> CommitPosition {
        self.after
    }

    /// The next commits, in order; `None` after the last.
    ///
    /// # Errors
    /// The record is unavailable, a commit cannot be decoded, or the conversation was erased concurrently.
    pub fn next_page<'a>(
        &'a mut self,
        reader: &'a Reader,
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Option<Vec<Arc<StoredCommit>>>, Problem>> {
        Box::pin(self.next(reader, deadline))
    }

    async fn next(&mut self, reader: &Reader, deadline: Deadline) -> Result<Option<Vec<Arc<StoredCommit>>>, Problem> {
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

    /// The next commits before the last one; at least one. Reads from the leader if a replica has none.
    async fn fetch(&mut self, reader: &Reader, deadline: Deadline) -> Result<Vec<Arc<StoredCommit>>, Problem> {
        let bounds = TailBounds { commits_max: self.page_commits_max, bytes_max: TAIL_PAGE_BYTES_MAX };
        let (record, after) = (&reader.record, self.after.sequence);
        let tail = record.tail(&self.key, after, bounds);
        let mut commits = self.decode(&deadline.record(tail).await?.commits)?;
        if commits.is_empty() {
            let tail = record.tail_from_leader(&self.key, after, bounds);
            commits = self.decode(&deadline.record(tail).await?.commits)?;
        }
        let count = self.follow(&commits);
        if count == commits.len() && count > 0 {
            return Ok(commits);
        }
        Err(self.gap(reader, deadline).await)
    }

    /// Decodes the messages before the last commit.
    fn decode(&self, messages: &[StoredMessage]) -> Result<Vec<Arc<StoredCommit>>, Problem> {
        let end = self.last.as_ref().map(|last| last.position.sequence);
        let is_before = |message: &&StoredMessage| end > Some(message.position.sequence);
        let commit =
            |message: &StoredMessage| message.open().map(Arc::new).map_err(|corrupt| problem::of_corrupt(&corrupt));
        messages.iter().take_while(is_before).map(commit).collect()
    }

    /// Advances over the commits without a gap. Returns their number.
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

    /// Why commits are missing: the conversation was erased after its last commit was read, or a rebuild has not read the archive
    /// yet, or the record lost them.
    async fn gap(&self, reader: &Reader, deadline: Deadline) -> Problem {
        let read = reader.archive.last_commit(&self.key);
        let last = match deadline.record(read).await {
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
