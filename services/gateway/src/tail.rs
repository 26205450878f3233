//! The commits of a conversation that the rows do not hold yet, straight from the record, page by page.
//!
//! However far the projector is behind, memory is bounded by a page: whoever reads folds a page and lets go of it.

use domain::{ConversationKey, Status, Version};
use event_log::{StoredCommit, StoredMessage, TailBounds, Unavailable};
use wire::status::Problem;

use crate::fresh::Place;
use crate::patience::Patience;
use crate::{Gateway, metrics, problem};

/// Most commits of a page of the tail.
pub const TAIL_PAGE_COMMITS_MAX: usize = 256;
/// Most bytes of a page of the tail, as the record keeps them; at least one commit comes whatever its size.
pub const TAIL_PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What is missing may be in the archive, which only the projector reads.
const ARCHIVED: Unavailable = Unavailable {
    what: "the rows do not hold all that is archived yet",
    retry_after_ms: 5_000,
};

/// The commits after a place up to a last one, which is in hand. Versions are dense, or it is an error.
#[derive(Debug)]
pub struct Tail {
    key: ConversationKey,
    after: Place,
    last: Option<StoredCommit>,
    page_commits_max: usize,
    commits: usize,
}

impl Tail {
    /// The tail after a place, up to `last`, which is after that place.
    #[must_use]
    pub fn new(key: ConversationKey, after: Place, last: StoredCommit) -> Self {
        Self {
            key,
            after,
            last: Some(last),
            page_commits_max: TAIL_PAGE_COMMITS_MAX,
            commits: 0,
        }
    }

    /// The same in pages of at most so many commits, for a reader who may need no more than that.
    #[must_use]
    pub fn in_pages_of(mut self, commits_max: usize) -> Self {
        self.page_commits_max = commits_max.clamp(1, TAIL_PAGE_COMMITS_MAX);
        self
    }

    /// The place of the last commit that was handed out, or where the tail begins.
    #[must_use]
    pub fn place(&self) -> Place {
        self.after
    }

    /// The next commits, in order; `None` after the last.
    ///
    /// # Errors
    /// The record is away, a commit cannot be read, or the conversation was erased meanwhile.
    pub async fn next_page(
        &mut self,
        gateway: &Gateway,
        patience: Patience,
    ) -> Result<Option<Vec<StoredCommit>>, Problem> {
        let Some(last) = &self.last else {
            return Ok(None);
        };
        let mut page = Vec::new();
        if !follows(last, self.after.version) {
            page = self.fetch(gateway, patience).await?;
        }
        if let Some(last) = self.last.take_if(|last| follows(last, self.after.version)) {
            self.after = Place::of(&last);
            page.push(last);
        }
        self.commits += page.len();
        if self.last.is_none() {
            metrics::tail_read(self.commits);
        }
        Ok(Some(page))
    }

    /// The next commits before the last one; at least one. What a replica does not know yet is asked of the leader.
    async fn fetch(
        &mut self,
        gateway: &Gateway,
        patience: Patience,
    ) -> Result<Vec<StoredCommit>, Problem> {
        let bounds = TailBounds {
            commits_max: self.page_commits_max,
            bytes_max: TAIL_PAGE_BYTES_MAX,
        };
        let (record, after) = (&gateway.record, self.after.sequence);
        let tail = record.tail(&self.key, after, bounds);
        let mut commits = self.open(&patience.record(tail).await?.commits)?;
        if commits.is_empty() {
            let tail = record.tail_from_leader(&self.key, after, bounds);
            commits = self.open(&patience.record(tail).await?.commits)?;
        }
        let count = self.follow(&commits);
        if count == commits.len() && count > 0 {
            return Ok(commits);
        }
        Err(self.gap(gateway, patience).await)
    }

    /// Opens the messages that stand before the last commit.
    fn open(&self, messages: &[StoredMessage]) -> Result<Vec<StoredCommit>, Problem> {
        let end = self.last.as_ref().map(|last| last.position.sequence);
        let before = messages
            .iter()
            .take_while(|message| end.is_some_and(|end| message.position.sequence < end));
        before
            .map(|message| {
                message
                    .open()
                    .map_err(|corrupt| problem::of_corrupt(&corrupt))
            })
            .collect()
    }

    /// Moves on over the commits that follow each other without a gap; how many these are.
    fn follow(&mut self, commits: &[StoredCommit]) -> usize {
        let mut count = 0;
        for commit in commits {
            if !follows(commit, self.after.version) {
                break;
            }
            self.after = Place::of(commit);
            count += 1;
        }
        count
    }

    /// Why commits are missing: the conversation was erased after its last commit was read, or the rows are being made anew and
    /// the archive has what they do not hold yet, or the record lost them.
    async fn gap(&self, gateway: &Gateway, patience: Patience) -> Problem {
        let last = gateway.record.last_from_leader(&self.key);
        let last = match patience.record(last).await {
            Ok(last) => last,
            Err(problem) => return problem,
        };
        match last.map(|last| last.open_head()) {
            Some(Ok(head)) if head.status == Status::Erased => problem::not_found(),
            Some(Err(corrupt)) => problem::of_corrupt(&corrupt),
            Some(Ok(_)) | None => match patience.record(gateway.record.has_archive()).await {
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
