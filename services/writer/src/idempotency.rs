//! Idempotency: a retry gets the result of the first attempt, after a minute or a month.
//!
//! The head names the latest commits. The duplicate window of the stream contains the keys of the last minutes. Older keys
//! are searched in the read model, and in commits of the record without rows. The key by which a run is finished has no
//! time; it is searched only when the run is finished.

use domain::{
    Action, CommitId, ConversationKey, Fact, Lifecycle, RecentCommit, RequestDigest, Sequence, Status, Version,
};
use event_log::{ServerTime, StoredCommit, Tail, TailBounds, Unavailable};
use tokio::time::Instant;
use wire::proto::write::v1 as proto;
use wire::status::Problem;

use crate::key_age::{DECISION_AGE_MAX, KeyAge, age};
use crate::{Intent, LoadedHead, Writer, problem};

/// The retry delay while rows are rebuilt from archived commits, in milliseconds.
const ARCHIVE_RETRY_AFTER_MS: u64 = 5_000;

/// The search for an earlier attempt of a command.
#[derive(Debug)]
pub(crate) struct Search {
    /// When the age of the key was judged.
    judged_at: Instant,
    is_done: bool,
    stage: SearchStage,
    /// The age of the key; for the key that finishes a run, the age of the run id.
    age: KeyAge,
    /// The field of a key or run id that is too far in the future.
    ahead: Option<&'static str>,
}

/// When a key that the head does not name is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SearchStage {
    /// Before the append: nothing else prevents the second use of an old key.
    BeforeDecision,
    /// Only if the command would be rejected.
    BeforeRejection,
}

impl Search {
    /// The search for the key of a command. Without a key, there is no search.
    /// Errors: the servers do not answer with their time.
    pub(crate) async fn new(writer: &Writer, intent: &Intent) -> Result<Self, Problem> {
        let judged_at = Instant::now();
        let now = writer.record.server_time(&intent.key).await.map_err(problem::from_record)?;
        let (commit, action) = (intent.command.commit, &intent.command.action);
        let finished = finished_run(commit, action);
        let age = age(finished.unwrap_or(commit), now);
        let key = intent.has_key.then_some((commit, intent.key_field));
        let (is_done, stage, ahead) = (!intent.has_key, stage(finished, age), ahead(key, action, now));
        Ok(Self { judged_at, is_done, stage, age, ahead })
    }

    /// Whether the age was judged too long ago for an append: the process was stopped, or the servers are slow.
    pub(crate) fn has_expired(&self) -> bool {
        has_expired(self.judged_at, Instant::now())
    }

    /// The first result from the head; for an old key also from the read model and the tail.
    /// Errors: the key was used for another request, or it is unknown and too far in the future; or record or read model do not
    /// answer.
    pub(crate) async fn before_decision(
        &mut self,
        writer: &Writer,
        intent: &Intent,
        loaded: &LoadedHead,
    ) -> Result<Option<proto::CommitResult>, Problem> {
        if let Some(result) = from_head(writer, intent, loaded).await? {
            return Ok(Some(result));
        }
        if let Some(result) = from_attempt(writer, intent, loaded).await? {
            return Ok(Some(result));
        }
        if self.stage == SearchStage::BeforeDecision && self.has_more_to_search(loaded) {
            self.is_done = true;
            if let Some(result) = from_read_model(writer, intent, loaded).await? {
                return Ok(Some(result));
            }
        }
        // A key that was accepted before has its result above.
        match self.ahead {
            Some(field) => Err(problem::key_in_future(field)),
            None => Ok(None),
        }
    }

    /// The first result, for a command that would be rejected or change nothing: its first attempt may be the reason.
    /// Errors: as [`Search::before_decision`].
    pub(crate) async fn before_rejection(
        &mut self,
        writer: &Writer,
        intent: &Intent,
        loaded: &LoadedHead,
    ) -> Result<Option<proto::CommitResult>, Problem> {
        if !self.has_more_to_search(loaded) {
            return Ok(None);
        }
        self.is_done = true;
        let KeyAge::Young { since } = self.age else {
            return from_read_model(writer, intent, loaded).await;
        };
        let (key, commit) = (&intent.key, intent.command.commit);
        let through = oldest_listed(loaded);
        let found = writer.record.find_commit(key, commit, since, through);
        match found.await.map_err(problem::from_record)? {
            Some(message) => {
                let stored = message.open().map_err(problem::from_corrupt)?;
                replayed_stored(writer, intent, &stored).await
            }
            None => Ok(None),
        }
    }

    fn has_more_to_search(&self, loaded: &LoadedHead) -> bool {
        !self.is_done && loaded.head().is_some_and(|head| !head.lists_every_commit())
    }
}

fn has_expired(judged_at: Instant, now: Instant) -> bool {
    now.saturating_duration_since(judged_at) >= DECISION_AGE_MAX
}

/// The stage of the search for a key of this age; `finished`: the run that the key finishes.
fn stage(finished: Option<CommitId>, age: KeyAge) -> SearchStage {
    match (finished, age) {
        (None, KeyAge::Old | KeyAge::Ahead) => SearchStage::BeforeDecision,
        (Some(_), _) | (None, KeyAge::Young { .. }) => SearchStage::BeforeRejection,
    }
}

/// The field of a key, or of the id of a new run, that is too far in the future. `key`: the key of the caller and its field.
fn ahead(key: Option<(CommitId, &'static str)>, action: &Action, now: ServerTime) -> Option<&'static str> {
    let is_ahead = |id: CommitId| age(id, now) == KeyAge::Ahead;
    if let Some((key, field)) = key
        && is_ahead(key)
    {
        return Some(field);
    }
    let (run, field) = if let Action::StartRun(start) = action {
        (&start.started, "run_id")
    } else if let Action::Create(create) = action {
        (create.run.as_ref()?, "run.run_id")
    } else {
        return None;
    };
    is_ahead(CommitId(run.run.0)).then_some(field)
}

/// The id of the run, if the command finishes a run with the key of the run. The id has a time before the finish.
fn finished_run(commit: CommitId, action: &Action) -> Option<CommitId> {
    let Action::FinishRun(finish) = action else {
        return None;
    };
    let run = finish.finished.run;
    (run.finish_commit() == commit).then_some(CommitId(run.0))
}

async fn from_head(
    writer: &Writer,
    intent: &Intent,
    loaded: &LoadedHead,
) -> Result<Option<proto::CommitResult>, Problem> {
    let Some(stored) = loaded.stored.as_deref().filter(|_| intent.has_key) else {
        return Ok(None);
    };
    let Some(commit) = stored.head.recent_commit(intent.command.commit) else {
        return Ok(None);
    };
    let sequence = commit.sequence.unwrap_or(stored.sequence);
    replayed(writer, intent, commit, sequence).await
}

/// The result of another attempt of a request without a key.
async fn from_attempt(
    writer: &Writer,
    intent: &Intent,
    loaded: &LoadedHead,
) -> Result<Option<proto::CommitResult>, Problem> {
    let (Some(attempt), Some(stored)) = (intent.attempt, loaded.stored.as_deref()) else {
        return Ok(None);
    };
    let now = writer.record_time(&intent.key).await?;
    let earlier = attempt.earlier(&intent.command, stored, now);
    let Some(commit) = earlier.map_err(problem::from_rejection)? else {
        return Ok(None);
    };
    let sequence = commit.sequence.unwrap_or(stored.sequence);
    replayed(writer, intent, &commit, sequence).await
}

/// The result of a commit that the duplicate window of the stream contains; `None` if it was erased since.
/// Errors: the key was used for another request, or the record does not answer.
pub(crate) async fn result_at(
    writer: &Writer,
    intent: &Intent,
    sequence: Sequence,
) -> Result<Option<proto::CommitResult>, Problem> {
    let partition = writer.archive.partition_of(&intent.key).await;
    let position = domain::Position { partition: partition.map_err(problem::from_record)?, sequence };
    let message = writer.record.message_at(position).await;
    let Some(message) = message.map_err(problem::from_record)? else {
        return Ok(None);
    };
    let stored = message.open().map_err(problem::from_corrupt)?;
    let commit = &stored.opened.commit;
    if commit.tenant != intent.key.tenant || commit.conversation != intent.key.conversation {
        return Err(problem::key_reused(intent.key_field));
    }
    replayed_stored(writer, intent, &stored).await
}

/// The row is read first, then the commit, then the tail, so that a commit that is projected meanwhile is found.
async fn from_read_model(
    writer: &Writer,
    intent: &Intent,
    loaded: &LoadedHead,
) -> Result<Option<proto::CommitResult>, Problem> {
    let (access, id) = (&intent.access.tenant, &intent.key.conversation);
    let commit = intent.command.commit;
    let row = read_model::conversation(&writer.read_model, access, id).await.map_err(problem::from_read_model)?;
    let committed = read_model::find_commit(&writer.read_model, access, id, commit).await;
    if let Some(row) = committed.map_err(problem::from_read_model)? {
        let earlier = RecentCommit {
            id: commit,
            request_digest: row.request_digest,
            first_version: row.first_version,
            last_version: row.last_version,
            sequence: Some(row.position.sequence),
            recorded_at: row.recorded_at,
        };
        return replayed(writer, intent, &earlier, row.position.sequence).await;
    }
    let mut after = row.as_ref().map_or(Sequence(0), |row| row.position.sequence);
    let mut version = row.map_or(Version::ZERO, |row| row.head.version);
    let mut source = Source::Replica;
    loop {
        let tail = read_tail(writer, &intent.key, after, source).await?;
        for message in tail.commits {
            let stored = message.open().map_err(problem::from_corrupt)?;
            after = stored.position.sequence;
            if stored.opened.commit.id == commit {
                return replayed_stored(writer, intent, &stored).await;
            }
            check_gap(&stored, version)?;
            version = stored.opened.commit.head.version;
        }
        match tail.resume_after {
            Some(resume_after) => after = resume_after,
            // The head lists the later commits.
            None if source == Source::Replica && after < oldest_listed(loaded) => {
                source = Source::Leader;
            }
            None if is_hibernated_after(loaded, version) => return Err(without_rows()),
            None => return Ok(None),
        }
    }
}

/// Who answers a read of the tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Replica,
    Leader,
}

async fn read_tail(writer: &Writer, key: &ConversationKey, after: Sequence, source: Source) -> Result<Tail, Problem> {
    let (record, bounds) = (&writer.record, TailBounds::default());
    let tail = match source {
        Source::Replica => record.tail(key, after, bounds).await,
        Source::Leader => record.tail_from_leader(key, after, bounds).await,
    };
    tail.map_err(problem::from_record)
}

/// The sequence of the oldest commit that a head lists: a replica that has it lacks none of the commits before those of the head.
/// 0 for a hibernated conversation, of which the record has none.
fn oldest_listed(loaded: &LoadedHead) -> Sequence {
    let stored = loaded.stored.as_deref().filter(|stored| stored.hibernated_in.is_none());
    stored.map_or(Sequence(0), |stored| {
        let oldest = stored.head.recent.first();
        oldest.and_then(|commit| commit.sequence).unwrap_or(stored.sequence)
    })
}

/// Checks that no commit is missing between a version and the next commit in the record: a missing commit may be the
/// searched one. Rows contain archived commits, except while rows are rebuilt. A tombstone and the first commit of a
/// conversation or fork may follow any version. Errors: commits are missing, the search needs their rows.
fn check_gap(next: &StoredCommit, version: Version) -> Result<(), Problem> {
    let commit = &next.opened.commit;
    let first = commit.events.first().map(|event| &event.fact);
    let is_first = matches!(first, Some(Fact::Lifecycle(Lifecycle::ConversationCreated(_))));
    let may_follow_any = is_first || commit.head.status == Status::Erased;
    if may_follow_any || commit.first_version <= version.next() {
        return Ok(());
    }
    Err(without_rows())
}

/// Whether a conversation is hibernated, so that the record has none of its commits, and its rows end at an earlier version.
fn is_hibernated_after(loaded: &LoadedHead, version: Version) -> bool {
    let stored = loaded.stored.as_deref();
    stored.is_some_and(|stored| stored.hibernated_in.is_some() && stored.head.version > version)
}

fn without_rows() -> Problem {
    problem::from_record(Unavailable {
        what: "commits without rows are in the archive",
        retry_after_ms: ARCHIVE_RETRY_AFTER_MS,
    })
}

async fn replayed_stored(
    writer: &Writer,
    intent: &Intent,
    stored: &StoredCommit,
) -> Result<Option<proto::CommitResult>, Problem> {
    let (commit, sequence) = (&stored.opened.commit, stored.position.sequence);
    let earlier = RecentCommit {
        id: commit.id,
        request_digest: commit.request_digest,
        first_version: commit.first_version,
        last_version: commit.head.version,
        sequence: Some(sequence),
        recorded_at: commit.recorded_at,
    };
    replayed(writer, intent, &earlier, sequence).await
}

/// Checks that a commit is of the same request.
/// Errors: the key was used for another request.
fn check_same_request(commit: &RecentCommit, request: RequestDigest, key_field: &str) -> Result<(), Problem> {
    if commit.request_digest == request { Ok(()) } else { Err(problem::key_reused(key_field)) }
}

/// The result of a commit of an earlier attempt at this sequence.
async fn replayed(
    writer: &Writer,
    intent: &Intent,
    commit: &RecentCommit,
    sequence: Sequence,
) -> Result<Option<proto::CommitResult>, Problem> {
    check_same_request(commit, intent.request_digest, intent.key_field)?;
    Ok(Some(proto::CommitResult { replayed: true, ..writer.commit_result(&intent.key, commit, sequence).await? }))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use domain::event::{RunFinished, RunStarted};
    use domain::{FinishRun, RunId, RunOutcome, StartRun, Timestamp};
    use uuid::{NoContext, Timestamp as UuidTime, Uuid};

    use super::*;

    const NOW_S: u64 = 1_800_000_000;
    const TIME: Timestamp = Timestamp(1_800_000_000_000_000_000);
    const NOW: ServerTime = ServerTime { earliest: TIME, latest: TIME };

    /// The id of a time after now.
    fn id(after_s: u64) -> Uuid {
        Uuid::new_v7(UuidTime::from_unix(NoContext, NOW_S + after_s, 0))
    }

    fn start(run: Uuid) -> Action {
        let started = RunStarted { run: RunId(run), model: None, provider: None };
        Action::StartRun(Box::new(StartRun { started, events: Vec::new() }))
    }

    fn finish(run: Uuid) -> Action {
        let finished = RunFinished { run: RunId(run), outcome: RunOutcome::Completed };
        Action::FinishRun(Box::new(FinishRun { finished, events: Vec::new() }))
    }

    fn commit() -> RecentCommit {
        RecentCommit {
            id: CommitId(Uuid::nil()),
            request_digest: RequestDigest([1; 16]),
            first_version: Version(1),
            last_version: Version(1),
            sequence: None,
            recorded_at: TIME,
        }
    }

    #[test]
    fn old_keys_are_searched_before_the_decision() {
        let young = KeyAge::Young { since: TIME };
        assert_eq!(stage(None, KeyAge::Old), SearchStage::BeforeDecision);
        assert_eq!(stage(None, KeyAge::Ahead), SearchStage::BeforeDecision);
        assert_eq!(stage(None, young), SearchStage::BeforeRejection);
        for age in [KeyAge::Old, KeyAge::Ahead, young] {
            assert_eq!(stage(Some(CommitId(Uuid::nil())), age), SearchStage::BeforeRejection);
        }
    }

    #[test]
    fn a_decision_expires_after_its_time() {
        let judged_at = Instant::now();
        let nearly = DECISION_AGE_MAX.saturating_sub(Duration::from_nanos(1));
        for (age, expected) in [(Duration::ZERO, false), (nearly, false), (DECISION_AGE_MAX, true)] {
            assert_eq!(has_expired(judged_at, judged_at + age), expected, "{age:?}");
        }
    }

    #[test]
    fn ids_from_the_future_are_named() {
        let check = |key: Option<u64>, action: &Action, expected: Option<&str>| {
            let key = key.map(|after_s| (CommitId(id(after_s)), "key"));
            assert_eq!(ahead(key, action, NOW), expected, "{key:?} {action:?}");
        };
        check(None, &Action::Archive, None);
        check(Some(60), &Action::Archive, None);
        check(Some(61), &Action::Archive, Some("key"));
        check(Some(0), &start(id(60)), None);
        check(Some(0), &start(id(61)), Some("run_id"));
        check(Some(61), &start(id(61)), Some("key"));
        check(None, &start(id(61)), Some("run_id"));
        // The run has started before.
        check(None, &finish(id(61)), None);
    }

    #[test]
    fn the_key_of_a_run_finishes_only_it() {
        let (run, other) = (RunId(id(0)), RunId(id(1)));
        let key = run.finish_commit();
        assert_eq!(finished_run(key, &finish(run.0)), Some(CommitId(run.0)));
        assert_eq!(finished_run(key, &finish(other.0)), None);
        assert_eq!(finished_run(CommitId(id(0)), &finish(run.0)), None);
        assert_eq!(finished_run(key, &start(run.0)), None);
    }

    #[test]
    fn a_key_belongs_to_one_request() {
        let commit = commit();
        assert!(check_same_request(&commit, RequestDigest([1; 16]), "key").is_ok());
        let reused = check_same_request(&commit, RequestDigest([2; 16]), "key").unwrap_err();
        assert_eq!(*reused.field().unwrap(), *"key");
    }
}
