//! Records the input of a response and starts its run.

use axum::http::HeaderMap;
use domain::bounds::RUN_EVENTS_MAX;
use domain::{ConversationKey, NewEvent, RunId, Timestamp, Version, ViolationReason};
use formats::RequestSettings;
use http_listener::state::HttpState;
use openai_api::conversation_ids::api_id;
use openai_api::items::open_calls::OpenBefore;
use openai_api::responses::object::ResponseHead;
use openai_api::responses::output::OutputPlace;
use openai_api::responses::parameters::{Noted, Parameters};
use openai_api::responses::response_id::ResponseId;
use registry::AgentAccess;
use runtime::http::HttpProblem;
use serde_json::value::RawValue;
use wire::proto::event::v1 as event;

use super::input::{ContinuedHistory, resolved};
use super::placement::{Creator, Placement};
use crate::http::openai::caller::OpenAiCaller;
use crate::http::openai::rejected::rejected;
use crate::http::openai::retry_count::is_retry;
use conversations::commands::recorded_at;
use conversations::quotas::account::Account;
use conversations::request_hash::RequestHash;
use conversations::turns::{RetryKey, Start, StartAt, fits_an_event};

/// A request whose fields are valid.
#[derive(Debug)]
pub(super) struct CheckedRequest {
    /// The permission.
    pub(super) access: AgentAccess,
    /// What the response repeats.
    pub(super) parameters: Parameters,
    /// What the run takes from the request.
    pub(super) settings: RequestSettings,
    /// The items.
    pub(super) items: Vec<Box<RawValue>>,
}

/// A response whose run has started.
#[derive(Debug)]
pub(super) struct StartedResponse {
    /// The conversation.
    pub(super) key: ConversationKey,
    /// The run.
    pub(super) run: RunId,
    /// What identifies the response.
    pub(super) head: ResponseHead,
    /// Where its output is recorded.
    pub(super) place: OutputPlace,
}

/// The commit that started the run.
struct StartCommit {
    run: RunId,
    started: Version,
    recorded_at: Timestamp,
}

impl CheckedRequest {
    /// Who creates conversations for this request.
    pub(super) fn creator<'a>(&'a self, state: &'a HttpState, caller: &'a OpenAiCaller) -> Creator<'a> {
        Creator { state, caller, access: &self.access }
    }

    /// What identifies the request in a conversation.
    pub(super) fn hash(&self, key: &ConversationKey) -> RequestHash {
        let parameters = serde_json::to_string(&self.parameters).unwrap_or_default();
        let items = self.items.iter().map(|item| item.get());
        let texts = ["create response", parameters.as_str()];
        RequestHash::of(key, texts.into_iter().chain(items))
    }
}

/// Records the input and starts the run; a retry finds the run of the first attempt.
///
/// # Errors
/// 400: an item is invalid, or another request changes the conversation; as runs otherwise.
pub(super) async fn start(
    state: &HttpState,
    caller: &OpenAiCaller,
    headers: &HeaderMap,
    request: CheckedRequest,
    placement: Placement,
) -> Result<StartedResponse, HttpProblem> {
    let hash = request.hash(&placement.key);
    let head = placement.head.as_ref();
    let earlier = head.filter(|_| is_retry(headers)).and_then(|head| hash.earlier(head, state.now()));
    let key = placement.key.clone();
    let (is_named, parameters) = (placement.is_named, request.parameters.clone());
    let commit = match earlier {
        Some(commit) => {
            StartCommit { run: commit.id.started_run(), started: commit.last_version, recorded_at: commit.recorded_at }
        }
        None => Box::pin(record(state, caller, hash, request, placement)).await?,
    };
    let run = commit.run;
    let conversation = api_id(&key.conversation).to_owned();
    let id = ResponseId { run, started: commit.started, conversation: conversation.clone() };
    Ok(StartedResponse {
        place: OutputPlace::of(run, commit.started, &key.conversation),
        head: ResponseHead {
            id: id.text(),
            created_at: commit.recorded_at.seconds(),
            conversation: is_named.then_some(conversation),
            parameters,
        },
        key,
        run,
    })
}

async fn record(
    state: &HttpState,
    caller: &OpenAiCaller,
    hash: RequestHash,
    request: CheckedRequest,
    mut placement: Placement,
) -> Result<StartCommit, HttpProblem> {
    let continued = ContinuedHistory { key: &placement.key, through: placement.version };
    let items = resolved(state, caller, &request.items, Some(continued)).await?;
    let noted = Noted {
        parameters: request.parameters,
        names_conversation: placement.is_named,
        input_from: placement.version.plus(placement.repeated.len()).next().0,
    };
    let note = noted.to_fact();
    if !fits_an_event(&note) {
        return Err(Noted::too_large().into());
    }
    let mut events = new_events(items.into_events(OpenBefore::Known(&placement.open_calls))?)?;
    events.splice(0..0, std::mem::take(&mut placement.repeated));
    if placement.new.is_none() {
        check_count(&events)?;
    }
    events.push(NewEvent::from(note));
    let retry =
        placement.head.as_ref().map_or(RetryKey::None, |head| RetryKey::Request { hash, after: head.recorded_at });
    let account = Account::of(&request.access, caller.end_user.owner().as_ref(), &caller.source());
    let at = placement.new.map_or(StartAt::Version(placement.version), StartAt::New);
    let start = Start { settings: Some(request.settings), retry, ..Start::new(account, placement.key, events, at) };
    let started = state.start(start).await.map_err(rejected)?;
    Ok(StartCommit {
        run: started.run,
        started: Version(started.commit.version),
        recorded_at: recorded_at(&started.commit).unwrap_or_else(|| state.now()),
    })
}

fn new_events(events: Vec<event::Event>) -> Result<Vec<NewEvent>, HttpProblem> {
    let events = events.into_iter().map(wire::event::new_event_from_proto);
    events.collect::<Result<_, _>>().map_err(HttpProblem::from)
}

/// Only a new conversation takes an input of several commits: an attempt that was interrupted could repeat it in no other one.
fn check_count(events: &[NewEvent]) -> Result<(), HttpProblem> {
    // The note needs one place.
    let room = RUN_EVENTS_MAX - 1;
    if events.len() <= room {
        return Ok(());
    }
    let detail =
        format!("input has {} items, at most {room} fit into one commit: append the first ones before", events.len());
    Err(HttpProblem::of_field(ViolationReason::OutOfRange, super::input::INPUT, detail))
}
