//! Failures of tools: a result with `isError`, whose text a model can act on.

use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use runtime::http::HttpProblem;
use serde_json::Value;
use wire::status::Reason;

use http_listener::visitor_quotas::for_visitor;

/// The member of `_meta` with the stable code of a failure.
const CODE: &str = "hansard/code";
/// Most bytes of a caller's conversation id in a text.
const ID_BYTES_MAX: usize = 128;

/// A failed call: the problem of HTTP, and the conversation that the call names.
#[derive(Debug)]
pub(super) struct Failure {
    problem: HttpProblem,
    conversation: Option<String>,
}

impl<E> From<E> for Failure
where
    HttpProblem: From<E>,
{
    fn from(error: E) -> Self {
        Self { problem: error.into(), conversation: None }
    }
}

impl Failure {
    /// The failure of a call about a conversation.
    pub(super) fn of(error: impl Into<HttpProblem>, conversation: &str) -> Self {
        Self { problem: error.into(), conversation: Some(conversation.to_owned()) }
    }

    /// The failure, as visitors get it.
    pub(super) fn for_visitor(self) -> Self {
        Self { problem: for_visitor(self.problem), ..self }
    }

    /// The result of the call.
    pub(super) fn into_result(self) -> CallToolResult {
        let code = Value::from(self.problem.code.clone().into_owned());
        let text = ContentBlock::text(format!("Error: {}", self.text()));
        let mut result = CallToolResult::error(vec![text]);
        let mut meta = MetaObject::default();
        meta.insert(CODE.to_owned(), code);
        result.meta = Some(meta);
        result
    }

    /// Whether the failure has this reason.
    pub(super) fn is(&self, reason: Reason) -> bool {
        self.problem.code == reason.as_str()
    }

    /// Whether the caller can correct it.
    pub(super) fn is_of_caller(&self) -> bool {
        self.problem.status.is_client_error()
    }

    /// What is wrong and how to correct it.
    pub(super) fn text(&self) -> String {
        let problem = &self.problem;
        let missing = Reason::ConversationNotFound.as_str();
        if let (Some(id), true) = (&self.conversation, problem.code == missing) {
            let end = id.floor_char_boundary(ID_BYTES_MAX);
            let id = id.get(..end).unwrap_or_default();
            return format!("Conversation {id} not found. Check the id: list_conversations returns the ids of a user.");
        }
        let detail = &problem.detail;
        let text = match &problem.field {
            Some(field) if !detail.starts_with(field.as_str()) => format!("{field} {detail}"),
            Some(_) | None => detail.clone(),
        };
        match problem.retry_after {
            Some(delay) => format!("{text}. Retry after {} ms", delay.as_millis()),
            None => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use http_listener::not_found::not_found;

    fn check(failure: &Failure, expected: &str) {
        assert_eq!(failure.text(), expected);
    }

    #[test]
    fn a_text_names_the_field_and_the_remedy() {
        let field = HttpProblem::of_field("FIELD_MISSING", "user_id", "is missing: add it");
        check(&field.into(), "user_id is missing: add it");
        let named = HttpProblem::of_field("FIELD_TOO_LONG", "title", "title is too long");
        check(&named.into(), "title is too long");
        let late = HttpProblem::new(axum::http::StatusCode::SERVICE_UNAVAILABLE, "X", "is busy")
            .retry_after(Duration::from_millis(250));
        check(&late.into(), "is busy. Retry after 250 ms");
    }

    #[test]
    fn a_missing_conversation_is_named_up_to_a_bound() {
        let text = Failure::of(not_found(), "xyz").text();
        assert!(text.starts_with("Conversation xyz not found"), "{text}");
        let text = Failure::of(not_found(), &"é".repeat(1_000)).text();
        assert!(text.len() < 300, "{text}");
    }
}
