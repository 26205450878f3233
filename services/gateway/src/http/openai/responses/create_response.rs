//! `POST /openai/v1/responses`: an agent's model answers the input of the request.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use domain::event::Role;
use domain::{ConversationKey, EventKind, Fact, Head};
use history::{Bounds, Direction, Page, Range, decode};
use openai_api::responses::object::ResponseObject;
use openai_api::responses::request::RESPONSE_ITEMS_MAX;
use openai_api::responses::request::{Delivery, ResponseRequest};
use registry::Scope;
use runtime::http::{HttpProblem, Json, StreamSlot};
use serde_json::json;

use super::input::{raw_items, repeats_messages, without_repeated};
use super::placement::Placement;
use super::recorded::{RecordedResponse, previous_not_found};
use super::started::{CheckedRequest, StartedResponse, start};
use super::stateless;
use super::stream::ResponseEvents;
use crate::http::openai::caller::{OpenAiCaller, OpenAiHeaders};
use crate::http::openai::errors::OpenAiError;
use crate::http::openai::requested_model::RequestedModel;
use crate::http::openai::retry_count::is_retry;
use crate::http::turns::delivery::{self, FailureDetail, WholeForm};
use api_json::content::texts as texts_of;
use conversations::answer::{Answer, WholeAnswer};
use http_listener::state::HttpState;

/// Create a response.
///
/// The model of the agent answers, in a context that the agent's policy assembles. Input and output are recorded in the
/// conversation that the request names, or else in one of their own, so that `previous_response_id` can continue it; with
/// `store: false` nothing is recorded. The input is recorded before the model is called. A recorded response continues without
/// its client. The same request at the same version of a conversation, or with the header `x-stainless-retry-count` above 0
/// within a minute, gets the first response.
#[utoipa::path(
    post,
    path = "/openai/v1/responses",
    tag = "openai",
    params(OpenAiHeaders),
    request_body = ResponseRequest,
    responses((status = 200, description = "The response, whole or as events.", content(
        (ResponseObject = "application/json"),
        (String = "text/event-stream"),
    ))),
    security(("service_token" = []))
)]
pub(in crate::http) async fn create_response(
    State(state): State<HttpState>,
    open: StreamSlot,
    caller: OpenAiCaller,
    headers: HeaderMap,
    Json(body): Json<ResponseRequest>,
) -> Result<Response, HttpProblem> {
    body.check()?;
    let caller = caller.with_body(body.user.as_deref(), body.safety_identifier.as_deref())?;
    let request = checked(&state, &caller, &body).await?;
    let previous = previous(&state, &caller, &body).await?;
    if !body.is_recorded() {
        let (answer, events) = stateless::answer(&state, &caller, request, previous.as_ref()).await?;
        return deliver(&state, open, answer, events, &body).await;
    }
    // Boxed, to keep the future of the handler small.
    let exchange = Exchange { body: &body, request, previous };
    let starting = exchange.start(&state, &caller, &headers);
    let started = Box::pin(starting).await?;
    if body.delivery() == Delivery::Background {
        return Ok(Json(ResponseObject::in_progress(started.head)).into_response());
    }
    let answer = state.answer(&started.key, started.run).await?;
    let events = ResponseEvents::new(ResponseObject::in_progress(started.head), started.place);
    deliver(&state, open, answer, events, &body).await
}

async fn checked(
    state: &HttpState,
    caller: &OpenAiCaller,
    body: &ResponseRequest,
) -> Result<CheckedRequest, HttpProblem> {
    let model = body.model.as_deref();
    let RequestedModel { access, other } = RequestedModel::find(state, caller, Scope::Append, model).await?;
    let model = body.model.as_deref().unwrap_or(access.agent.as_str());
    Ok(CheckedRequest {
        parameters: body.parameters(model)?,
        settings: body.settings(other)?,
        items: raw_items(body.input.as_deref())?,
        access,
    })
}

/// The response that the request continues.
async fn previous(
    state: &HttpState,
    caller: &OpenAiCaller,
    body: &ResponseRequest,
) -> Result<Option<RecordedResponse>, HttpProblem> {
    let Some(id) = &body.previous_response_id else {
        return Ok(None);
    };
    let found = RecordedResponse::find(state, caller, id).await.map_err(|problem| match problem.status {
        StatusCode::NOT_FOUND => previous_not_found(),
        _ => problem,
    });
    found.map(Some)
}

/// A request to record.
struct Exchange<'b> {
    body: &'b ResponseRequest,
    request: CheckedRequest,
    /// The response that it continues.
    previous: Option<RecordedResponse>,
}

impl Exchange<'_> {
    /// Starts the run in the conversation of the request.
    async fn start(
        mut self,
        state: &HttpState,
        caller: &OpenAiCaller,
        headers: &HeaderMap,
    ) -> Result<StartedResponse, HttpProblem> {
        let placement = self.placement(state, caller, headers).await?;
        let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
        if let (Some(conversation), true) = (&self.body.conversation, repeats_messages(agent)) {
            let items = std::mem::take(&mut self.request.items);
            let recorded = user_texts(state, caller, conversation.id(), items.len()).await?;
            self.request.items = without_repeated(items, &recorded);
        }
        // Boxed, because the future is large.
        Box::pin(start(state, caller, headers, self.request, placement)).await
    }

    async fn placement(
        &self,
        state: &HttpState,
        caller: &OpenAiCaller,
        headers: &HeaderMap,
    ) -> Result<Placement, HttpProblem> {
        let creator = self.request.creator(state, caller);
        match (&self.body.conversation, &self.previous) {
            (Some(conversation), _) => Placement::named(creator, conversation.id()).await,
            (None, Some(previous)) => {
                let earlier = |head: &Head, key: &ConversationKey| {
                    let hash = self.request.hash(key);
                    is_retry(headers).then(|| hash.earlier(head, state.now())).flatten()
                };
                Placement::after(creator, previous, earlier).await
            }
            (None, None) => Placement::in_new(creator, caller.end_user.user(), None),
        }
    }
}

/// The texts of the user's first messages in a conversation, at most `count`.
async fn user_texts(
    state: &HttpState,
    caller: &OpenAiCaller,
    conversation: &str,
    count: usize,
) -> Result<Vec<String>, HttpProblem> {
    let target = caller.target(state, conversation).await?;
    let snapshot = caller.open(state, &target).await?;
    let range = Range { kinds: &[EventKind::MessageAppended], ..Range::all(Direction::Forward) };
    let bounds = Bounds { events_max: RESPONSE_ITEMS_MAX, bytes_max: 16 * 1024 * 1024 };
    let page = Page::effective(&snapshot, range, bounds).await?;
    let mut texts = Vec::new();
    for row in &page.events {
        let event = decode(&target.key, row)?;
        if let Fact::MessageAppended(message) = event.event.fact
            && message.role == Role::User
            && texts.len() < count
        {
            texts.push(texts_of(&message.parts).collect());
        }
    }
    Ok(texts)
}

async fn deliver(
    state: &HttpState,
    open: StreamSlot,
    answer: Answer,
    events: ResponseEvents,
    body: &ResponseRequest,
) -> Result<Response, HttpProblem> {
    if body.delivery() == Delivery::Streamed {
        return Ok(delivery::stream(answer, events, open));
    }
    let form = WholeForm {
        body: move |answer: WholeAnswer| events.response(&answer.outcome, &answer.facts),
        detail: FailureDetail::Message,
        late: |problem| json!(OpenAiError::from(problem)),
    };
    delivery::whole(state, open, answer, form).await
}
