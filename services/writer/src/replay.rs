//! Durable idempotency: a retry gets the first answer, after a minute or a month.
//!
//! The head names the latest commits; the stream's duplicate window knows keys of the last minutes; older keys are looked
//! up in the read model and in the part of the record that it does not hold yet. The key that every run has for its own
//! finish says no time, but is used once the run is over and not before: it is looked up only when the run is.

use domain::{Action, CommitId, RecentCommit, RequestDigest, Sequence, Timestamp, Version};
use event_log::{StoredCommit, TailBounds};
use wire::proto::write::v1 as proto;
use wire::status::Problem;

use crate::base::Loaded;
use crate::intent::Intent;
use crate::key_age::{KeyAge, age};
use crate::{Writer, archived, problem};

/// What is left to search for an earlier try of a command.
#[derive(Debug)]
pub struct Search {
    is_done: bool,
    when: When,
    /// What the key says of its age, or, of a run's own key, the run's id.
    age: KeyAge,
    /// The field of a key or a run's id that is dated too far ahead to be accepted.
    ahead: Option<&'static str>,
}

/// When what the head does not name is searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    /// Before anything is appended: nothing else would keep an old key from being used twice.
    BeforeDecision,
    /// Only when the command cannot be carried out (any more).
    BeforeRejection,
}

impl Search {
    /// The search for the command's key: none where the caller gave no key.
    #[must_use]
    pub fn of(writer: &Writer, intent: &Intent) -> Self {
        let finished = finished_run(intent);
        let key = finished.unwrap_or(intent.command.commit);
        let age = age(key, writer.now());
        Self {
            is_done: !intent.has_key,
            when: match (finished, age) {
                (None, KeyAge::Old | KeyAge::Ahead) => When::BeforeDecision,
                (Some(_), _) | (None, KeyAge::Young { .. }) => When::BeforeRejection,
            },
            age,
            ahead: ahead(writer, intent),
        }
    }

    /// The first answer, if the head tells it, or, for a key that the stream has forgotten, the read model and the tail.
    ///
    /// # Errors
    /// The key was used for another request, or nobody knows it and it is dated too far ahead; or what must be asked does not
    /// answer.
    pub async fn before_decision(
        &mut self,
        writer: &Writer,
        intent: &Intent,
        loaded: &Loaded,
    ) -> Result<Option<proto::CommitResult>, Problem> {
        if let Some(result) = from_head(writer, intent, loaded)? {
            return Ok(Some(result));
        }
        if self.when == When::BeforeDecision && self.has_more_to_search(loaded) {
            self.is_done = true;
            if let Some(result) = from_read_model(writer, intent).await? {
                return Ok(Some(result));
            }
        }
        // What was accepted before is answered above, also by a writer whose clock is behind the first one's.
        match self.ahead {
            Some(field) => Err(problem::key_in_future(field)),
            None => Ok(None),
        }
    }

    /// The first answer, for a command that is about to be rejected, or to change nothing: its first try may be why.
    ///
    /// # Errors
    /// As [`Search::before_decision`].
    pub async fn before_rejection(
        &mut self,
        writer: &Writer,
        intent: &Intent,
        loaded: &Loaded,
    ) -> Result<Option<proto::CommitResult>, Problem> {
        if !self.has_more_to_search(loaded) {
            return Ok(None);
        }
        self.is_done = true;
        let KeyAge::Young { since } = self.age else {
            return from_read_model(writer, intent).await;
        };
        let commit = intent.command.commit;
        let found = writer.record.find_commit(&intent.key, commit, since).await;
        match found.map_err(problem::of_record)? {
            Some(message) => {
                let stored = message
                    .open()
                    .map_err(|corrupt| problem::of_corrupt(&corrupt))?;
                Earlier::of(&stored).answer(writer, intent).map(Some)
            }
            None => Ok(None),
        }
    }

    fn has_more_to_search(&self, loaded: &Loaded) -> bool {
        !self.is_done && loaded.head().is_some_and(|head| !head.names_every_commit())
    }
}

/// The field of a caller's key, or of the id of a run that is to start, which is dated too far ahead.
fn ahead(writer: &Writer, intent: &Intent) -> Option<&'static str> {
    let now = writer.now();
    let is_ahead = |id: CommitId| age(id, now) == KeyAge::Ahead;
    if intent.has_key && is_ahead(intent.command.commit) {
        return Some(intent.key_field);
    }
    let Action::StartRun(start) = &intent.command.action else {
        return None;
    };
    is_ahead(CommitId(start.started.run.0)).then_some("run_id")
}

/// The run whose own key a command has, as an id that tells its age: it was made before the run was finished.
fn finished_run(intent: &Intent) -> Option<CommitId> {
    let Action::FinishRun(finish) = &intent.command.action else {
        return None;
    };
    let run = finish.finished.run;
    (run.finish_commit() == intent.command.commit).then_some(CommitId(run.0))
}

fn from_head(
    writer: &Writer,
    intent: &Intent,
    loaded: &Loaded,
) -> Result<Option<proto::CommitResult>, Problem> {
    let Some(base) = loaded.base.as_deref().filter(|_| intent.has_key) else {
        return Ok(None);
    };
    let Some(commit) = base.head.recent_commit(intent.command.commit) else {
        return Ok(None);
    };
    Earlier::of_recent(commit, base.sequence)
        .answer(writer, intent)
        .map(Some)
}

/// The first answer of a commit that the stream's duplicate window knew; `None` when it has been erased since.
///
/// # Errors
/// The key was used for another request, or the record does not answer.
pub async fn from_record(
    writer: &Writer,
    intent: &Intent,
    sequence: Sequence,
) -> Result<Option<proto::CommitResult>, Problem> {
    let partition = writer.record.partition_of(&intent.key);
    let position = domain::Position {
        partition,
        sequence,
    };
    let message = writer
        .record
        .message_at(position)
        .await
        .map_err(problem::of_record)?;
    let Some(message) = message else {
        return Ok(None);
    };
    let stored = message
        .open()
        .map_err(|corrupt| problem::of_corrupt(&corrupt))?;
    let commit = &stored.opened.commit;
    if commit.tenant != intent.key.tenant || commit.conversation != intent.key.conversation {
        return Err(problem::key_reused(intent.key_field));
    }
    Earlier::of(&stored).answer(writer, intent).map(Some)
}

/// The row is read before the commit is looked up and the tail after: whatever is projected meanwhile is found in one.
async fn from_read_model(
    writer: &Writer,
    intent: &Intent,
) -> Result<Option<proto::CommitResult>, Problem> {
    let (access, id) = (&intent.access.tenant, &intent.key.conversation);
    let commit = intent.command.commit;
    let row = read_model::conversation(&writer.read_model, access, id).await;
    let row = row.map_err(problem::of_read_model)?;
    let committed = read_model::committed(&writer.read_model, access, id, commit).await;
    if let Some(row) = committed.map_err(problem::of_read_model)? {
        let earlier = Earlier {
            commit,
            request_digest: row.request_digest,
            first_version: row.first_version,
            last_version: row.last_version,
            sequence: row.position.sequence,
            recorded_at: row.recorded_at,
        };
        return earlier.answer(writer, intent).map(Some);
    }
    let mut after = row
        .as_ref()
        .map_or(Sequence(0), |row| row.position.sequence);
    let mut version = row.map_or(Version::ZERO, |row| row.head.version);
    loop {
        let tail = writer
            .record
            .tail(&intent.key, after, TailBounds::default())
            .await;
        let tail = tail.map_err(problem::of_record)?;
        for message in tail.commits {
            let stored = message
                .open()
                .map_err(|corrupt| problem::of_corrupt(&corrupt))?;
            if stored.opened.commit.id == commit {
                return Earlier::of(&stored).answer(writer, intent).map(Some);
            }
            archived::check(&stored, version)?;
            version = stored.opened.commit.head.version;
        }
        let Some(resume_after) = tail.resume_after else {
            return Ok(None);
        };
        after = resume_after;
    }
}

/// A commit of an earlier try.
struct Earlier {
    commit: CommitId,
    request_digest: RequestDigest,
    first_version: Version,
    last_version: Version,
    sequence: Sequence,
    recorded_at: Timestamp,
}

impl Earlier {
    fn of(stored: &StoredCommit) -> Self {
        let commit = &stored.opened.commit;
        Self {
            commit: commit.id,
            request_digest: commit.request_digest,
            first_version: commit.first_version,
            last_version: commit.head.version,
            sequence: stored.position.sequence,
            recorded_at: commit.recorded_at,
        }
    }

    fn of_recent(commit: &RecentCommit, last_sequence: Sequence) -> Self {
        Self {
            commit: commit.id,
            request_digest: commit.request_digest,
            first_version: commit.first_version,
            last_version: commit.last_version,
            sequence: commit.sequence.unwrap_or(last_sequence),
            recorded_at: commit.recorded_at,
        }
    }

    fn answer(&self, writer: &Writer, intent: &Intent) -> Result<proto::CommitResult, Problem> {
        if self.request_digest != intent.request_digest {
            return Err(problem::key_reused(intent.key_field));
        }
        Ok(proto::CommitResult {
            conversation_id: intent.key.conversation.as_str().to_owned(),
            commit_id: self.commit.to_string(),
            first_version: self.first_version.0,
            version: self.last_version.0,
            recorded_at: Some(wire::time::to_proto(self.recorded_at)),
            position_token: writer.position_token(&intent.key, self.sequence, self.last_version),
            replayed: true,
        })
    }
}
