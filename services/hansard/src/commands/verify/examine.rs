//! Examines one conversation: compares a snapshot of its rows with the record up to the checkpoint of the snapshot.

use std::time::Duration;

use anyhow::Context as _;
use domain::{Change, ConversationKey, Sequence, Status, Version};
use event_log::{StoredMessage, TailBounds};
use read_model::projections::conversations::Item;
use read_model::projections::conversations::verification::{
    Difference, DocumentsDigest, RowState, compare_documents, compare_events, row_state, unfounded_events,
};

use super::VerifyJob;
use super::history::{History, open};
use super::problem::Problem;

/// The maximum number of attempts until two consecutive ones agree.
const ATTEMPTS_MAX: u32 = 6;
/// The wait for an erasure to reach the rows; each further wait is longer by this interval.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// The result of an examination.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Examination {
    /// The problems; empty: the rows are correct.
    pub(super) problems: Vec<Problem>,
    /// The number of compared events.
    pub(super) events: u64,
    /// No result: the conversation is being erased, or no two attempts agreed.
    pub(super) is_unsettled: bool,
}

impl Examination {
    /// No result, after this number of compared events.
    fn unsettled(events: u64) -> Self {
        Self { problems: Vec::new(), events, is_unsettled: true }
    }
}

/// Examines a conversation. Problems are reported only if two consecutive attempts agree, because an erasure or a repair may
/// run between the reads of an attempt.
pub(super) async fn examine(job: &VerifyJob, key: &ConversationKey) -> anyhow::Result<Examination> {
    let mut before: Option<Examination> = None;
    let mut wait = RETRY_INTERVAL;
    for _ in 0..ATTEMPTS_MAX {
        let found = compare(job, key).await?;
        let is_correct = found.problems.is_empty() && !found.is_unsettled;
        let is_confirmed =
            before.as_ref().is_some_and(|before| !found.is_unsettled && before.problems == found.problems);
        if is_correct || is_confirmed {
            return Ok(found);
        }
        if found.is_unsettled {
            tokio::time::sleep(wait).await;
            wait += RETRY_INTERVAL;
        }
        before = Some(found);
    }
    let events = before.map_or(0, |before| before.events);
    Ok(Examination::unsettled(events))
}

async fn compare(job: &VerifyJob, key: &ConversationKey) -> anyhow::Result<Examination> {
    let model = &job.model;
    let partition = job.archive.partition_of(key).await?;
    let Some(state) = row_state(model, key, partition).await? else {
        // A partition without a checkpoint has no rows yet.
        return Ok(Examination::default());
    };
    let last = job.archive.last_commit(key).await?;
    if let Some(message) = &last
        && message.open_head().is_ok_and(|head| head.status == Status::Erased)
    {
        return compare_erased(job, key, &state, message).await;
    }
    let mut history = History::of(&job.archive, key, state.through()).await?;
    let mut differences = Vec::new();
    while let Some(commits) = history.next().await? {
        differences.extend(compare_events(model, key, &commits).await?);
    }
    if !history.is_complete(last.map(|last| last.position.sequence)) {
        return Ok(Examination::unsettled(0));
    }
    let mut problems = Vec::from_iter(state.parked_at.map(Problem::Parked));
    problems.append(&mut history.problems);
    // The state after an unreadable message is unknown.
    let is_unreadable = |problem: &Problem| matches!(problem, Problem::Unreadable(..));
    if !problems.iter().any(is_unreadable) {
        differences.extend(state.compare(history.change.as_ref())?);
        let held =
            history.first_version.zip(history.change.as_ref()).map(|(first, change)| (first, change.head.version));
        differences.extend(unfounded(job, key, &state, held).await?);
        let Some(documents) = documents(job, key, &state, &history.documents).await? else {
            return Ok(Examination::unsettled(history.events));
        };
        differences.extend(documents);
    }
    problems.extend(differences.into_iter().map(Problem::Rows));
    Ok(Examination { problems, events: history.events, is_unsettled: false })
}

/// An erased conversation has a row and no events. The record must contain only its tombstone.
async fn compare_erased(
    job: &VerifyJob,
    key: &ConversationKey,
    state: &RowState,
    message: &StoredMessage,
) -> anyhow::Result<Examination> {
    if message.position.sequence > state.checkpoint {
        return Ok(Examination { is_unsettled: state.has_row(), ..Examination::default() });
    }
    let problems = match open(key, message) {
        Err(reason) => vec![Problem::Unreadable(message.position.sequence, reason)],
        Ok(placed) => {
            let change = Change::new(&placed.opened.commit, placed.position);
            let mut differences: Vec<Difference> = state.compare(Some(&change))?.into_iter().collect();
            differences.extend(unfounded(job, key, state, None).await?);
            let none = DocumentsDigest::default();
            differences.extend(documents(job, key, state, &none).await?.unwrap_or_default());
            differences.into_iter().map(Problem::Rows).collect()
        }
    };
    Ok(Examination { problems, events: 1, is_unsettled: false })
}

/// The differences of documents; `None`: the conversation has changed meanwhile. Without a row of the conversation, all of its rows
/// are written again.
async fn documents(
    job: &VerifyJob,
    key: &ConversationKey,
    state: &RowState,
    expected: &DocumentsDigest,
) -> anyhow::Result<Option<Vec<Difference>>> {
    let Some(version) = state.version()? else {
        return Ok(Some(Vec::new()));
    };
    Ok(compare_documents(&job.model, key, expected, version).await?)
}

/// Event rows whose versions are not in the record.
async fn unfounded(
    job: &VerifyJob,
    key: &ConversationKey,
    state: &RowState,
    held: Option<(Version, Version)>,
) -> anyhow::Result<Vec<Difference>> {
    let Some(last) = state.last_event else {
        return Ok(Vec::new());
    };
    let (first_held, last_held) = held.unwrap_or((Version(1), Version::ZERO));
    let held = first_held..=last_held;
    unfounded_events(&job.model, key, &held, last).await.context("cannot read event rows")
}

/// A page of the commits of a conversation after one sequence and up to another, from which rows are written.
pub(super) async fn commits_between(
    job: &VerifyJob,
    key: &ConversationKey,
    after: Sequence,
    through: Sequence,
) -> anyhow::Result<Vec<Item>> {
    let bounds = TailBounds::default();
    let mut commits = job.archive.commits(key, after).await?;
    let page = commits.next(bounds).await?.unwrap_or_default();
    let first = page.first().map(|first| first.position.sequence);
    anyhow::ensure!(
        after > Sequence(0) || first.is_none_or(|first| first <= through),
        "the conversation is being erased"
    );
    let within = |message: &&StoredMessage| message.position.sequence <= through;
    let messages = page.iter().take_while(within);
    let open = |message: &StoredMessage| {
        let placed = open(key, message).map_err(anyhow::Error::msg)?;
        Ok(Item::Commit(Box::new(placed)))
    };
    messages.map(open).collect()
}
