//! Posts tool calls to webhooks. The response is the call's result; a failure is a failed result.

use std::time::Duration;

use domain::event::{ToolOutcome, ToolOutput, ToolReturned};
use domain::{ConversationKey, EventId, JsonText, Part, Timestamp, UserId, surrogates};
use egress::{Policy, Refusal};
use futures::StreamExt as _;
use futures::stream;
use models::{EgressClient, ModelsError};
use registry::WebhookKey;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde::Serialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::settings::Webhook;
use super::tool_calls::CallEvent;
use super::webhook_signature::{WEBHOOK_ID, WEBHOOK_SIGNATURE, WEBHOOK_TIMESTAMP, seconds, signatures};
use super::{RunKey, metrics};

/// Maximum size of a webhook's response body, in bytes.
pub const ANSWER_BYTES_MAX: usize = 256 * 1_024;
/// Maximum number of concurrent calls of a step.
pub const CALLS_AT_ONCE: usize = 8;
/// Maximum wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// The header with the call's idempotency key.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The body of a webhook request.
#[derive(Serialize)]
struct CallPayload<'a> {
    tenant_id: &'a str,
    agent_id: &'a str,
    conversation_id: &'a str,
    run_id: String,
    user_id: Option<&'a str>,
    call_id: &'a str,
    tool_name: &'a str,
    input: &'a RawValue,
}

/// The values that all calls of a step share.
#[derive(Debug, Clone)]
pub(super) struct PostContext<'a> {
    pub(super) run: &'a RunKey,
    /// The conversation's owner, if a token has named them.
    pub(super) user: Option<&'a UserId>,
    pub(super) keys: Vec<WebhookKey>,
    /// The time of the signatures.
    pub(super) now: Timestamp,
}

/// Why a call has no result. The model reads the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum WebhookError {
    #[error("the tool cannot be reached")]
    Unreachable,
    /// The egress rule is logged; the model does not read it.
    #[error("the tool is at an address that may not be called")]
    Forbidden(Refusal),
    #[error("the tool did not answer in time")]
    TooLate,
    #[error("{STATUS_TEXT}{0}")]
    Refused(u16),
    #[error("the tool's answer is longer than {ANSWER_BYTES_MAX} bytes")]
    TooLong,
    #[error("the tool's answer is no text")]
    NoText,
}

/// The text before the status of [`WebhookError::Refused`].
const STATUS_TEXT: &str = "the tool answered with status ";

impl WebhookError {
    /// The failures with a fixed text.
    fn fixed() -> [String; 5] {
        [
            Self::Unreachable.to_string(),
            Self::Forbidden(Refusal::Scheme).to_string(),
            Self::TooLate.to_string(),
            Self::TooLong.to_string(),
            Self::NoText.to_string(),
        ]
    }

    fn of(error: &reqwest::Error) -> Self {
        models::egress_refusal(error).map_or(Self::Unreachable, Self::Forbidden)
    }
}

/// Posts calls. Clones share connections.
#[derive(Debug, Clone)]
pub(super) struct Webhooks(EgressClient);

impl Webhooks {
    /// A client for the URLs that `policy` allows. It does not follow redirects.
    ///
    /// # Errors
    /// [`ModelsError::Tls`].
    pub(super) fn new(policy: Policy) -> Result<Self, ModelsError> {
        EgressClient::new(policy, CONNECT_TIMEOUT).map(Self)
    }

    /// Posts calls, at most [`CALLS_AT_ONCE`] concurrently. Returns their results in the same order.
    pub(super) async fn post_all(
        &self,
        context: &PostContext<'_>,
        calls: &[(CallEvent, Webhook)],
    ) -> Vec<ToolReturned> {
        let results = calls.iter().map(|(event, webhook)| self.result(context, event, webhook));
        // Collected first: the compiler cannot prove that the lazy map is `Send`.
        stream::iter(results.collect::<Vec<_>>()).buffered(CALLS_AT_ONCE).collect().await
    }

    async fn result(&self, context: &PostContext<'_>, event: &CallEvent, webhook: &Webhook) -> ToolReturned {
        let call = &event.call;
        let attempt = self.post(context, event, webhook);
        let response = tokio::time::timeout(webhook.timeout, attempt).await.unwrap_or(Err(WebhookError::TooLate));
        metrics::webhook_called(match &response {
            Ok(_) => "ok",
            Err(WebhookError::Unreachable | WebhookError::TooLate) => "unreachable",
            Err(WebhookError::Forbidden(_)) => "forbidden",
            Err(WebhookError::Refused(_) | WebhookError::TooLong | WebhookError::NoText) => "refused",
        });
        if let Err(WebhookError::Forbidden(refusal)) = &response {
            let tool = call.tool_name.as_str();
            tracing::warn!(tool.name = tool, agent.id = %context.run.agent, reason = %refusal, "the egress rules forbid a webhook");
        }
        let (output, outcome) = match response {
            Ok(output) => (output, ToolOutcome::Succeeded),
            Err(error) => (text(error.to_string()), ToolOutcome::Failed),
        };
        ToolReturned { call_id: call.call_id.clone(), tool_name: Some(call.tool_name.clone()), output, outcome }
    }

    async fn post(
        &self,
        context: &PostContext<'_>,
        event: &CallEvent,
        webhook: &Webhook,
    ) -> Result<ToolOutput, WebhookError> {
        let request = self.request(context, event, webhook)?;
        let retry = request.try_clone();
        let sent = match (request.send().await, retry) {
            // Nothing was sent, so a retry cannot run the call twice.
            (Err(error), Some(retry)) if error.is_connect() => retry.send().await,
            (response, _) => response,
        };
        let response = sent.map_err(|error| WebhookError::of(&error))?;
        if !response.status().is_success() {
            return Err(WebhookError::Refused(response.status().as_u16()));
        }
        let is_json = is_json(response.headers().get(CONTENT_TYPE));
        let is_empty = response.status() == StatusCode::NO_CONTENT;
        let body = String::from_utf8(body(response).await?).map_err(|_| WebhookError::NoText)?;
        Ok(match JsonText::parse(body.as_str()) {
            Ok(json) if is_json && !is_empty => ToolOutput::Json(json),
            Ok(_) | Err(_) => text(body),
        })
    }

    fn request(
        &self,
        context: &PostContext<'_>,
        CallEvent { event, call }: &CallEvent,
        webhook: &Webhook,
    ) -> Result<RequestBuilder, WebhookError> {
        let input: &RawValue = serde_json::from_str(call.input.as_str()).unwrap_or(RawValue::NULL);
        let run = context.run;
        let payload = CallPayload {
            tenant_id: run.key.tenant.as_str(),
            agent_id: run.agent.as_str(),
            conversation_id: run.key.conversation.as_str(),
            run_id: run.run.to_string(),
            user_id: context.user.map(UserId::as_str),
            call_id: call.call_id.as_str(),
            tool_name: call.tool_name.as_str(),
            input,
        };
        let mut body = serde_json::to_vec(&payload).unwrap_or_default();
        // The input is a model's text, and may have halves of surrogate pairs, which not every parser accepts.
        surrogates::replace_unpaired(&mut body);
        let id = webhook_key(&run.key, *event).to_string();
        let seconds = seconds(context.now);
        let signatures = signatures(&context.keys, &id, seconds, &body);
        let unsigned = self.0.request(Method::POST, &webhook.url).map_err(WebhookError::Forbidden)?;
        let request = match signatures {
            Some(signatures) => unsigned.header(WEBHOOK_SIGNATURE, signatures),
            None => unsigned,
        };
        Ok(request
            .header(CONTENT_TYPE, "application/json")
            .header(WEBHOOK_ID, &id)
            .header(WEBHOOK_TIMESTAMP, seconds)
            .header(IDEMPOTENCY_KEY, id)
            .body(body))
    }
}

/// The idempotency key of a tool call: equal for each attempt, different from the keys of all other calls. Models repeat the
/// ids of calls, so those are not enough.
#[must_use]
pub fn webhook_key(key: &ConversationKey, event: EventId) -> Uuid {
    let name = format!("{}\n{}", key.tenant, key.conversation);
    Uuid::new_v5(&event.0, name.as_bytes())
}

/// Why a webhook has failed, such as `the tool answered with status 500`. `None`: it has not, or the text of the result is that of
/// another program, which may contain anything.
#[must_use]
pub fn webhook_failure(result: &ToolReturned) -> Option<&str> {
    let (ToolOutcome::Failed, ToolOutput::Parts(parts)) = (result.outcome, &result.output) else {
        return None;
    };
    let [Part::Text(text)] = parts.as_slice() else {
        return None;
    };
    let status = text.strip_prefix(STATUS_TEXT);
    let is_status = status.is_some_and(|status| status.parse::<u16>().is_ok());
    let is_known = is_status || WebhookError::fixed().contains(text);
    is_known.then_some(text.as_str())
}

/// The output for a text; without parts for an empty text.
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

async fn body(mut response: Response) -> Result<Vec<u8>, WebhookError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|_| WebhookError::Unreachable)? {
        if body.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Err(WebhookError::TooLong);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use domain::CallId;

    use super::*;

    #[test]
    fn failures_of_webhooks_are_recognised() {
        let check = |outcome: ToolOutcome, output: ToolOutput, expected: Option<&str>| {
            let result = ToolReturned { call_id: CallId::parse("c").expect("an id"), tool_name: None, output, outcome };
            assert_eq!(webhook_failure(&result), expected);
        };
        for failure in [
            WebhookError::Unreachable,
            WebhookError::Forbidden(Refusal::Scheme),
            WebhookError::TooLate,
            WebhookError::Refused(500),
            WebhookError::TooLong,
            WebhookError::NoText,
        ] {
            let failure = failure.to_string();
            let output = text(failure.clone());
            check(ToolOutcome::Failed, output.clone(), Some(&failure));
            check(ToolOutcome::Succeeded, output, None);
        }
        for other in ["", "secret", "the tool answered with status ", "the tool answered with status x"] {
            check(ToolOutcome::Failed, text(other.to_owned()), None);
        }
        let json = JsonText::parse("1").expect("JSON");
        check(ToolOutcome::Failed, ToolOutput::Json(json), None);
    }

    #[test]
    fn json_is_recognised_by_its_content_type() {
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
