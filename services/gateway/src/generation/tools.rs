//! Tools that answer by a webhook: a call is posted, what comes back is its result. A failure is a result too.

use std::time::Duration;

use domain::event::{ToolOutcome, ToolOutput, ToolReturned};
use domain::{ConversationKey, EventId, JsonText, Part, Timestamp, UserId};
use egress::{Policy, Refusal};
use event_log::registry::WebhookKey;
use futures::StreamExt as _;
use futures::stream;
use models::{EgressClient, ModelsError};
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde::Serialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::calls::Called;
use super::metrics;
use super::run_key::RunKey;
use super::settings::Webhook;
use super::signature::{WEBHOOK_ID, WEBHOOK_SIGNATURE, WEBHOOK_TIMESTAMP, seconds, signatures};

/// Most bytes of a webhook's answer.
pub const ANSWER_BYTES_MAX: usize = 256 * 1_024;
/// Most calls of a step that are on their way at once.
pub const CALLS_AT_ONCE: usize = 8;
/// Longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// The header by which a webhook knows a call again.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// What is posted.
#[derive(Serialize)]
struct Posted<'a> {
    tenant_id: &'a str,
    agent_id: &'a str,
    conversation_id: &'a str,
    run_id: String,
    user_id: Option<&'a str>,
    call_id: &'a str,
    tool_name: &'a str,
    input: &'a RawValue,
}

/// For whom calls are posted.
#[derive(Debug, Clone)]
pub(super) struct Poster<'a> {
    pub(super) run: &'a RunKey,
    /// The conversation's owner, where a token has named them.
    pub(super) user: Option<&'a UserId>,
    /// By which calls are signed.
    pub(super) keys: Vec<WebhookKey>,
    /// When.
    pub(super) now: Timestamp,
}

/// Why a call has no answer; said to the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum NoAnswer {
    #[error("the tool cannot be reached")]
    Unreachable,
    /// Which rule of the deployment forbids it is for the log, not for the model.
    #[error("the tool is at an address that may not be called")]
    Forbidden(Refusal),
    #[error("the tool did not answer in time")]
    TooLate,
    #[error("the tool answered with status {0}")]
    Refused(u16),
    #[error("the tool's answer is longer than {ANSWER_BYTES_MAX} bytes")]
    TooLong,
    #[error("the tool's answer is no text")]
    NoText,
}

impl NoAnswer {
    fn of(error: &reqwest::Error) -> Self {
        models::refusal_of(error).map_or(Self::Unreachable, Self::Forbidden)
    }
}

/// Posts calls. Clones share connections.
#[derive(Debug, Clone)]
pub(super) struct Webhooks(EgressClient);

impl Webhooks {
    /// A client for the URLs that `policy` allows. It follows no redirects.
    ///
    /// # Errors
    /// [`ModelsError::Tls`].
    pub(super) fn new(policy: Policy) -> Result<Self, ModelsError> {
        EgressClient::new(policy, CONNECT_TIMEOUT).map(Self)
    }

    /// The results of calls, in their order; at most [`CALLS_AT_ONCE`] are on their way at once.
    pub(super) async fn answers(
        &self,
        poster: &Poster<'_>,
        calls: &[(Called, Webhook)],
    ) -> Vec<ToolReturned> {
        let answers = calls
            .iter()
            .map(|(called, webhook)| self.answer(poster, called, webhook));
        // Collected first: the compiler cannot tell that the lazy map is `Send`.
        stream::iter(answers.collect::<Vec<_>>())
            .buffered(CALLS_AT_ONCE)
            .collect()
            .await
    }

    async fn answer(
        &self,
        poster: &Poster<'_>,
        called: &Called,
        webhook: &Webhook,
    ) -> ToolReturned {
        let call = &called.call;
        let posting = self.post(poster, called, webhook);
        let answered = tokio::time::timeout(webhook.timeout, posting).await;
        let answered = answered.unwrap_or(Err(NoAnswer::TooLate));
        metrics::webhook_called(match &answered {
            Ok(_) => "ok",
            Err(NoAnswer::Unreachable | NoAnswer::TooLate) => "unreachable",
            Err(NoAnswer::Forbidden(_)) => "forbidden",
            Err(NoAnswer::Refused(_) | NoAnswer::TooLong | NoAnswer::NoText) => "refused",
        });
        if let Err(NoAnswer::Forbidden(refusal)) = &answered {
            let tool = call.tool_name.as_str();
            tracing::warn!(tool.name = tool, agent.id = %poster.run.agent, reason = %refusal, "a webhook is not allowed");
        }
        let (output, outcome) = match answered {
            Ok(output) => (output, ToolOutcome::Succeeded),
            Err(error) => (text(error.to_string()), ToolOutcome::Failed),
        };
        ToolReturned {
            call_id: call.call_id.clone(),
            tool_name: Some(call.tool_name.clone()),
            output,
            outcome,
        }
    }

    async fn post(
        &self,
        poster: &Poster<'_>,
        called: &Called,
        webhook: &Webhook,
    ) -> Result<ToolOutput, NoAnswer> {
        let request = self.request(poster, called, webhook)?;
        let again = request.try_clone();
        let response = match (request.send().await, again) {
            // Nothing was sent: the tool did not see the call.
            (Err(error), Some(again)) if error.is_connect() => again.send().await,
            (sent, _) => sent,
        };
        let response = response.map_err(|error| NoAnswer::of(&error))?;
        if !response.status().is_success() {
            return Err(NoAnswer::Refused(response.status().as_u16()));
        }
        let is_json = is_json(response.headers().get(CONTENT_TYPE));
        let is_empty = response.status() == StatusCode::NO_CONTENT;
        let body = body(response).await?;
        let body = String::from_utf8(body).map_err(|_| NoAnswer::NoText)?;
        Ok(match JsonText::parse(body.as_str()) {
            Ok(json) if is_json && !is_empty => ToolOutput::Json(json),
            Ok(_) | Err(_) => text(body),
        })
    }

    fn request(
        &self,
        poster: &Poster<'_>,
        Called { event, call }: &Called,
        webhook: &Webhook,
    ) -> Result<RequestBuilder, NoAnswer> {
        let input: &RawValue = serde_json::from_str(call.input.as_str()).unwrap_or(RawValue::NULL);
        let run = poster.run;
        let payload = Posted {
            tenant_id: run.key.tenant.as_str(),
            agent_id: run.agent.as_str(),
            conversation_id: run.key.conversation.as_str(),
            run_id: run.run.to_string(),
            user_id: poster.user.map(UserId::as_str),
            call_id: call.call_id.as_str(),
            tool_name: call.tool_name.as_str(),
            input,
        };
        let body = serde_json::to_vec(&payload).unwrap_or_default();
        let id = webhook_key(&run.key, *event).to_string();
        let seconds = seconds(poster.now);
        let signed = signatures(&poster.keys, &id, seconds, &body);
        let request = self.0.request(Method::POST, &webhook.url);
        let request = request.map_err(NoAnswer::Forbidden)?;
        let request = match signed {
            Some(signed) => request.header(WEBHOOK_SIGNATURE, signed),
            None => request,
        };
        Ok(request
            .header(CONTENT_TYPE, "application/json")
            .header(WEBHOOK_ID, &id)
            .header(WEBHOOK_TIMESTAMP, seconds)
            .header(IDEMPOTENCY_KEY, id)
            .body(body))
    }
}

/// By which a webhook knows a call again: the same whenever and by whichever run the call is posted, and of no other call.
/// The ids of calls alone are made by models, who repeat them.
#[must_use]
pub fn webhook_key(key: &ConversationKey, event: EventId) -> Uuid {
    let name = format!("{}\n{}", key.tenant, key.conversation);
    Uuid::new_v5(&event.0, name.as_bytes())
}

/// A result of a text: of no parts where it is empty.
fn text(text: String) -> ToolOutput {
    let part = (!text.is_empty()).then_some(Part::Text(text));
    ToolOutput::Parts(part.into_iter().collect())
}

fn is_json(content_type: Option<&HeaderValue>) -> bool {
    let essence = content_type
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .map(|essence| essence.trim().to_ascii_lowercase());
    essence.is_some_and(|essence| essence == "application/json" || essence.ends_with("+json"))
}

async fn body(mut response: Response) -> Result<Vec<u8>, NoAnswer> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|_| NoAnswer::Unreachable)? {
        if body.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Err(NoAnswer::TooLong);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_known_by_its_type() {
        let check = |value: Option<&'static str>, expected: bool| {
            let value = value.map(HeaderValue::from_static);
            assert_eq!(is_json(value.as_ref()), expected, "{value:?}");
        };
        check(Some("application/json"), true);
        check(Some("Application/JSON; charset=utf-8"), true);
        check(Some("application/problem+json"), true);
        check(Some("text/plain"), false);
        check(None, false);
    }
}
