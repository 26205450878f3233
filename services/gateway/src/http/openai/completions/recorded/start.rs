//! Records what is new in a sent history, and starts the run that answers it.

use std::collections::BTreeSet;

use axum::http::HeaderMap;
use domain::event::{HistoryRewound, MessageAppended, Role};
use domain::{ConversationKey, Fact, Head, NewEvent, RunId, Timestamp};
use formats::RequestSettings;
use history::{Freshness, Target};
use registry::AgentAccess;
use runtime::http::HttpProblem;
use wire::status::Reason;

use super::conversation::created_by_another;
use super::plan::{self, Plan};
use super::stored_history::{HistoryEnd, read};
use crate::http::openai::caller::OpenAiCaller;
use crate::http::openai::rejected::{locked, rejected};
use crate::http::openai::retry_count::is_retry;
use conversations::open::{head_from_leader, settled_head};
use conversations::positions;
use conversations::quotas::account::Account;
use conversations::request_hash::RequestHash;
use conversations::turns::turn::client_metadata;
use conversations::turns::{NewConversation, RetryKey, Start, StartAt, problems};
use http_listener::state::HttpState;

/// Maximum number of attempts while the conversation changes without new messages: a title, a summary.
const ATTEMPTS_MAX: u32 = 4;

/// A completion to record.
#[derive(Debug)]
pub(super) struct RecordedTurn {
    pub(super) access: AgentAccess,
    pub(super) account: Account,
    pub(super) key: ConversationKey,
    /// The state of the conversation.
    pub(super) place: TurnPlace,
    /// The sent history.
    pub(super) sent: Vec<Fact>,
    /// What the model reads instead of the conversation; `None`: the conversation.
    pub(super) history: Option<Vec<Fact>>,
    pub(super) settings: RequestSettings,
    /// The client's own id of the last message of the user.
    pub(super) client_message_id: Option<String>,
    /// Identifies the request in all of its attempts.
    pub(super) request: RequestHash,
}

/// The state of a turn's conversation.
#[derive(Debug)]
pub(super) enum TurnPlace {
    /// It had this head.
    In(Box<Head>),
    /// The commit that starts the run creates it.
    New(NewConversation),
}

/// Records the new events and starts a run at the version that was read: of two concurrent requests, one succeeds. An attempt of an
/// earlier request finds its run.
///
/// # Errors
/// 400 `conversation_locked` if a run is active or another request was faster; as the writer otherwise.
pub(super) async fn start(
    state: &HttpState,
    caller: &OpenAiCaller,
    headers: &HeaderMap,
    turn: &RecordedTurn,
) -> Result<RunId, HttpProblem> {
    let mut known = match &turn.place {
        TurnPlace::In(head) => Some(head.as_ref().clone()),
        TurnPlace::New(new) => match start_in_new(state, turn, new).await {
            // A concurrent request of the same chat was faster.
            Err(problem) if problem.reason() == Some(Reason::ConversationExists) => {
                let head = created_by_another(state, caller, &turn.access.agent, &turn.key).await?;
                if let Some(commit) = turn.request.creation(&head) {
                    return Ok(commit.id.started_run());
                }
                Some(head)
            }
            outcome => return outcome.map_err(rejected),
        },
    };
    let mut earlier_plan: Option<Plan> = None;
    for _ in 0..ATTEMPTS_MAX {
        let deadline = caller.service.call.deadline;
        let head = match known.take() {
            Some(head) => head,
            None => head_from_leader(state, &turn.key, deadline).await?.0,
        };
        let head = settled_head(state, &turn.key, head, deadline).await?;
        let earlier = is_retry(headers).then(|| turn.request.earlier(&head, state.now())).flatten();
        let earlier = earlier.map(|commit| commit.id.started_run());
        match (&head.active_run, earlier) {
            (Some(active), Some(run)) if active.id == run => return Ok(run),
            (Some(_), _) => return Err(locked()),
            (None, _) => {}
        }
        let Some(plan) = planned(state, caller, turn, &head).await? else {
            continue;
        };
        // Without an answer the earlier attempt has failed, and is repeated.
        if let Some(run) = earlier.filter(|_| plan.rewind.is_some()) {
            return Ok(run);
        }
        if earlier_plan.is_some_and(|earlier| earlier != plan) {
            return Err(locked());
        }
        match start_at(state, turn, &head, &plan).await {
            Err(problem) if problem.reason() == Some(Reason::VersionConflict) => {}
            outcome => return outcome.map_err(rejected),
        }
        earlier_plan = Some(plan);
    }
    Err(locked())
}

/// What to record after this head; `None`: the conversation has changed since.
async fn planned(
    state: &HttpState,
    caller: &OpenAiCaller,
    turn: &RecordedTurn,
    head: &Head,
) -> Result<Option<Plan>, HttpProblem> {
    let target = Target {
        access: turn.access.clone(),
        key: turn.key.clone(),
        freshness: Freshness::Fresh,
        fence: positions::fence(&state.gateway, &turn.key).await?,
        deadline: caller.service.call.deadline,
    };
    let sent_count = turn.sent.len();
    let oldest = read(state, &target, head, HistoryEnd::Oldest, sent_count + 1).await?;
    let Some(oldest) = oldest else {
        return Ok(None);
    };
    let open: BTreeSet<_> = head.open_calls.iter().map(|call| call.call_id.clone()).collect();
    let plan = plan::plan(&turn.sent, &oldest, &open);
    if !plan.hides_all() {
        return Ok(Some(plan));
    }
    let newest = read(state, &target, head, HistoryEnd::Newest, sent_count).await?;
    let of_end = newest.map(|newest| plan::plan_of_end(&turn.sent, &newest));
    Ok(of_end.map(|of_end| of_end.unwrap_or(plan)))
}

async fn start_in_new(state: &HttpState, turn: &RecordedTurn, new: &NewConversation) -> Result<RunId, HttpProblem> {
    let plan = plan::plan(&turn.sent, &[], &BTreeSet::new());
    start_by(state, turn, &plan, StartAt::New(new.clone()), state.now()).await
}

async fn start_at(state: &HttpState, turn: &RecordedTurn, head: &Head, plan: &Plan) -> Result<RunId, HttpProblem> {
    start_by(state, turn, plan, StartAt::Version(head.version), head.recorded_at).await
}

async fn start_by(
    state: &HttpState,
    turn: &RecordedTurn,
    plan: &Plan,
    at: StartAt,
    after: Timestamp,
) -> Result<RunId, HttpProblem> {
    let events = events(turn, plan);
    let fields = vec!["messages".to_owned(); events.len()];
    let start = Start {
        history: turn.history.clone(),
        settings: Some(turn.settings.clone()),
        retry: RetryKey::Request { hash: turn.request, after },
        ..Start::new(turn.account.clone(), turn.key.clone(), events, at)
    };
    let started = state.start(start).await.map_err(|problem| problems::not_started(problem, &fields))?;
    Ok(started.run)
}

/// The events of a plan.
fn events(turn: &RecordedTurn, plan: &Plan) -> Vec<NewEvent> {
    let rewind = plan.rewind.map(|to| Fact::from(HistoryRewound { to }));
    let new = plan.new.iter().filter_map(|index| turn.sent.get(*index));
    let facts = rewind.into_iter().chain(new.cloned());
    let mut events: Vec<NewEvent> = facts.map(NewEvent::from).collect();
    let mut of_user = events.iter_mut().rev();
    if let Some(message) = of_user.find(|event| is_of_user(&event.fact)) {
        message.metadata = turn.client_message_id.clone().and_then(client_metadata);
    }
    events
}

fn is_of_user(fact: &Fact) -> bool {
    let role = Role::User;
    matches!(fact, Fact::MessageAppended(MessageAppended { role: given, .. }) if *given == role)
}
