//! A second, simple fold: computes each field from the whole history, without the domain's code.

#![expect(clippy::wildcard_enum_match_arm, reason = "each field follows from a few facts, and from no other")]

use domain::event::{ConversationCreated, ConversationUpdated, Role};
use domain::head::{OpenCall, RecentCommit, SummaryPlace};
use domain::{
    ActiveRun, Annotation, ChainHash, ClientContext, Event, Fact, FieldChange, Head, JsonText, Label, Lifecycle, Owner,
    RunPhase, Status, Timestamp, Totals, Version,
};
use sha2::{Digest as _, Sha256};

use super::record::RecordedCommit;
use super::tools::is_read_in_place;

/// How many commits a head lists.
const RECENT_COMMITS: usize = 8;

/// The chain after a body.
#[must_use]
pub fn chain_after(previous: ChainHash, body: &[u8]) -> ChainHash {
    ChainHash(Sha256::new().chain_update(previous.0).chain_update(body).finalize().into())
}

/// The head after a whole history; `None` unless it starts with a creation.
#[must_use]
pub fn head_after(history: &[RecordedCommit]) -> Option<Head> {
    let created = creation(history)?;
    let last = &history.last()?.opened.commit;
    let status = status(history);
    let erased = status == Status::Erased;
    let unless_erased = |label: Option<Label>| label.filter(|_| !erased);
    Some(Head {
        version: Version(shared(created).0 + u64::try_from(facts(history).count()).ok()?),
        status,
        owner: Some(owner(history, created)).filter(|_| !erased),
        agent: created.agent.clone(),
        open_calls: if erased { Vec::new() } else { open_calls(history) },
        latest_summary: latest_summary(history).filter(|_| !erased),
        // The workload makes no rewinds, and the check of tool calls rejects them.
        latest_rewind: None,
        active_run: active_run(history).filter(|_| !erased),
        forked_from: created.forked_from.clone().filter(|_| !erased),
        provider_conversation_id: unless_erased(provider_conversation_id(history)),
        last_response_id: unless_erased(last_response_id(history)),
        totals: totals(history),
        chain: history.iter().fold(ChainHash::default(), |chain, commit| chain_after(chain, &commit.opened.body)),
        recorded_at: last.recorded_at,
        last_event_at: last_event_at(history)?,
        recent: recent(history),
    })
}

/// The title after a whole history.
#[must_use]
pub fn title(history: &[RecordedCommit]) -> Option<String> {
    let set = last_change(history, |created| created.title.clone(), |updated| updated.title.clone());
    set.filter(|_| status(history) != Status::Erased)
}

/// The metadata after a whole history.
#[must_use]
pub fn metadata(history: &[RecordedCommit]) -> Option<JsonText> {
    let set = last_change(history, |created| created.metadata.clone(), |updated| updated.metadata.clone());
    set.filter(|_| status(history) != Status::Erased)
}

/// The client context at the creation of the conversation.
#[must_use]
pub fn client_context(history: &[RecordedCommit]) -> ClientContext {
    creation(history).map(|created| created.client_context.clone()).unwrap_or_default()
}

fn events(history: &[RecordedCommit]) -> impl Iterator<Item = (&RecordedCommit, &Event)> {
    history.iter().flat_map(|commit| commit.opened.commit.events.iter().map(move |event| (commit, event)))
}

fn facts(history: &[RecordedCommit]) -> impl Iterator<Item = &Fact> {
    events(history).map(|(_, event)| &event.fact)
}

fn creation(history: &[RecordedCommit]) -> Option<&ConversationCreated> {
    match facts(history).next()? {
        Fact::Lifecycle(Lifecycle::ConversationCreated(created)) => Some(created),
        _ => None,
    }
}

fn status(history: &[RecordedCommit]) -> Status {
    let values = facts(history).filter_map(|fact| match fact {
        Fact::Lifecycle(Lifecycle::ConversationArchived) => Some(Status::Archived),
        Fact::Lifecycle(Lifecycle::ConversationRestored) => Some(Status::Active),
        Fact::Lifecycle(Lifecycle::ConversationErased) => Some(Status::Erased),
        _ => None,
    });
    values.last().unwrap_or(Status::Active)
}

/// The version that a fork shares with its parent.
fn shared(created: &ConversationCreated) -> Version {
    let fork = created.forked_from.as_ref();
    fork.map_or(Version::ZERO, |fork| fork.version)
}

fn owner(history: &[RecordedCommit], created: &ConversationCreated) -> Owner {
    let changes = facts(history).filter_map(|fact| match fact {
        Fact::Lifecycle(Lifecycle::OwnerChanged(changed)) => Some(changed.owner.clone()),
        _ => None,
    });
    changes.last().unwrap_or_else(|| created.owner.clone())
}

fn active_run(history: &[RecordedCommit]) -> Option<ActiveRun> {
    let runs = facts(history).filter_map(|fact| match fact {
        Fact::Lifecycle(Lifecycle::RunStarted(started)) => Some(Some((started.run, RunPhase::Running))),
        Fact::Lifecycle(Lifecycle::RunStopRequested(run)) => Some(Some((*run, RunPhase::Stopping))),
        Fact::Lifecycle(Lifecycle::RunFinished(_)) => Some(None),
        _ => None,
    });
    let (id, phase) = runs.last().flatten()?;
    Some(ActiveRun { id, phase })
}

/// The version of a history's first event: a fork continues the numbers of the shared events.
#[must_use]
pub fn first_version(history: &[RecordedCommit]) -> u64 {
    creation(history).map_or(1, |created| shared(created).next().0)
}

/// The facts of a history with their versions.
fn with_versions(history: &[RecordedCommit]) -> impl Iterator<Item = (u64, &Fact)> {
    (first_version(history)..).zip(facts(history))
}

fn open_calls(history: &[RecordedCommit]) -> Vec<OpenCall> {
    let numbered: Vec<(u64, &Fact)> = with_versions(history).collect();
    let is_answered = |version: u64, call: &domain::CallId| {
        numbered
            .iter()
            .any(|(at, fact)| *at > version && matches!(fact, Fact::ToolReturned(result) if result.call_id == *call))
    };
    let calls = numbered.iter().filter_map(|(version, fact)| match fact {
        Fact::ToolCalled(call) if !is_answered(*version, &call.call_id) => Some(OpenCall {
            call_id: call.call_id.clone(),
            tool_name: call.tool_name.clone(),
            version: Version(*version),
        }),
        _ => None,
    });
    calls.collect()
}

fn latest_summary(history: &[RecordedCommit]) -> Option<SummaryPlace> {
    let summaries = with_versions(history).filter_map(|(version, fact)| match fact {
        Fact::Annotation(Annotation::HistorySummarised(summary)) => {
            Some(SummaryPlace { version: Version(version), through: summary.through })
        }
        _ => None,
    });
    summaries.last()
}

fn provider_conversation_id(history: &[RecordedCommit]) -> Option<Label> {
    last_change(
        history,
        |created| created.provider_conversation_id.clone(),
        |updated| updated.provider_conversation_id.clone(),
    )
}

fn last_response_id(history: &[RecordedCommit]) -> Option<Label> {
    let values = facts(history).filter_map(|fact| match fact {
        Fact::MessageAppended(message) if message.role == Role::Assistant => {
            message.provider_response_id.clone().map(Some)
        }
        Fact::Lifecycle(Lifecycle::ConversationUpdated(updated)) => updated.last_response_id.clone().map(value),
        _ => None,
    });
    values.last().flatten()
}

fn totals(history: &[RecordedCommit]) -> Totals {
    let mut totals = Totals { commits: history.len().try_into().unwrap_or(u64::MAX), ..Totals::default() };
    for (_, event) in events(history) {
        if is_read_in_place(&event.fact) {
            totals.context_tokens += u64::from(event.tokens.own);
        }
        let Fact::MessageAppended(message) = &event.fact else {
            continue;
        };
        let usage = message.usage.unwrap_or_default();
        totals.messages += 1;
        totals.input_tokens += usage.input_tokens;
        totals.output_tokens += usage.output_tokens;
        totals.cached_tokens += usage.cached_tokens;
    }
    totals
}

fn last_event_at(history: &[RecordedCommit]) -> Option<Timestamp> {
    let times = events(history).map(|(commit, event)| {
        let recorded_at = commit.opened.commit.recorded_at;
        event.occurred_at.unwrap_or(recorded_at).min(recorded_at)
    });
    times.max()
}

fn recent(history: &[RecordedCommit]) -> Vec<RecentCommit> {
    let from = history.len().saturating_sub(RECENT_COMMITS);
    let mut recent: Vec<RecentCommit> = history.iter().skip(from).map(recent_commit).collect();
    if let Some(last) = recent.last_mut() {
        last.sequence = None;
    }
    recent
}

fn recent_commit(stored: &RecordedCommit) -> RecentCommit {
    let commit = &stored.opened.commit;
    let more = u64::try_from(commit.events.len()).unwrap_or(u64::MAX).saturating_sub(1);
    RecentCommit {
        id: commit.id,
        request_digest: commit.request_digest,
        first_version: commit.first_version,
        last_version: Version(commit.first_version.0 + more),
        sequence: Some(stored.position.sequence),
        recorded_at: commit.recorded_at,
    }
}

/// The latest value of a field that the creation sets or leaves empty, and an update may change.
fn last_change<T>(
    history: &[RecordedCommit],
    at_first: impl Fn(&ConversationCreated) -> Option<T>,
    later: impl Fn(&ConversationUpdated) -> Option<FieldChange<T>>,
) -> Option<T> {
    let values = facts(history).filter_map(|fact| match fact {
        Fact::Lifecycle(Lifecycle::ConversationCreated(created)) => Some(at_first(created)),
        Fact::Lifecycle(Lifecycle::ConversationUpdated(updated)) => later(updated).map(value),
        _ => None,
    });
    values.last().flatten()
}

fn value<T>(change: FieldChange<T>) -> Option<T> {
    match change {
        FieldChange::Set(value) => Some(value),
        FieldChange::Clear => None,
    }
}
