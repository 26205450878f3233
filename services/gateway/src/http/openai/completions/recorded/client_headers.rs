//! The headers that decide whether and where a completion is recorded: Hansard's own, or those that Open WebUI forwards.

use axum::http::HeaderMap;
use domain::event::{MessageAppended, Role};
use domain::{Fact, Part, ViolationReason};
use runtime::http::HttpProblem;
use utoipa::IntoParams;

use http_listener::callers::end_user::USER_HEADER;
use http_listener::callers::headers::header_text;

/// The header that names the conversation, in requests and answers.
pub const CONVERSATION_HEADER: &str = "x-hansard-conversation";
/// The header with the context that the model reads.
const CONTEXT_HEADER: &str = "x-hansard-context";
/// The header with the client's own id of the user's message.
const MESSAGE_HEADER: &str = "x-hansard-message";
/// The header with the name of a task of the client.
const TASK_HEADER: &str = "x-hansard-task";
/// The header in which Open WebUI forwards the id of a chat.
const OPEN_WEBUI_CHAT_HEADER: &str = "x-openwebui-chat-id";
/// The value of [`CONTEXT_HEADER`] for the record's context.
const MANAGED: &str = "managed";
/// The beginnings of ids of chats that Open WebUI does not save.
const UNSAVED_PREFIXES: [&str; 3] = ["temporary:", "local:", "channel:"];
/// The beginning of the prompts of Open WebUI's tasks.
const OPEN_WEBUI_TASK: &str = "### Task:";
/// Maximum bytes of the id of a conversation or message in a header.
pub const CLIENT_VALUE_BYTES_MAX: usize = 256;

/// The headers of a completion that is recorded. Empty ones are absent.
#[derive(Debug, Default, IntoParams)]
#[into_params(parameter_in = Header)]
pub struct ClientHeaders {
    /// The conversation in which the exchange is recorded: its id, or an id of the client's chat; 1 to 256 bytes. Chats with ids
    /// that start with `temporary:`, `local:` or `channel:` are not recorded. Alternative: `X-OpenWebUI-Chat-Id`.
    #[param(rename = "x-hansard-conversation")]
    pub conversation: Option<String>,
    /// `managed`: the model reads the recorded conversation, and not the sent messages. For completions that are recorded.
    #[param(rename = "x-hansard-context")]
    pub context: Option<String>,
    /// The client's own id of the last message of the user; at most 256 bytes. It is kept with the message.
    #[param(rename = "x-hansard-message")]
    pub message: Option<String>,
    /// The client's own task, such as writing a title. With one, nothing is recorded.
    #[param(rename = "x-hansard-task")]
    pub task: Option<String>,
    /// Whether only Open WebUI's forwarded header names the conversation.
    #[param(ignore)]
    is_forwarded: bool,
}

/// Where a completion is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recording {
    /// Nowhere.
    None,
    /// In a new conversation.
    New,
    /// In the conversation with this id, or of the client's chat with this id.
    In(String),
}

impl ClientHeaders {
    /// The headers of a request.
    ///
    /// # Errors
    /// 400 with the header: it is not text, exceeds its bound, has an unknown value, or is a template that the client has not
    /// replaced.
    pub fn read(headers: &HeaderMap) -> Result<Self, HttpProblem> {
        // The caller has read the user; a template would be one user for all.
        value(headers, USER_HEADER)?;
        let own = value(headers, CONVERSATION_HEADER)?;
        let forwarded = value(headers, OPEN_WEBUI_CHAT_HEADER)?;
        let context = value(headers, CONTEXT_HEADER)?;
        if context.as_ref().is_some_and(|context| context != MANAGED) {
            return Err(malformed(CONTEXT_HEADER, "must be `managed`, or absent"));
        }
        Ok(Self {
            is_forwarded: own.is_none(),
            conversation: own.or(forwarded),
            context,
            message: value(headers, MESSAGE_HEADER)?,
            task: value(headers, TASK_HEADER)?,
        })
    }

    /// Whether the model reads the recorded conversation.
    #[must_use]
    pub fn is_managed(&self) -> bool {
        self.context.is_some()
    }

    /// Where a request with these messages is recorded; `is_stored`: it has `store: true`.
    #[must_use]
    pub fn recording(&self, facts: &[Fact], store: Option<bool>) -> Recording {
        let is_unsaved = |id: &str| UNSAVED_PREFIXES.iter().any(|prefix| id.starts_with(prefix));
        if self.task.is_some() {
            return Recording::None;
        }
        match &self.conversation {
            Some(id) if is_unsaved(id) || (self.is_forwarded && is_task(facts)) => Recording::None,
            Some(id) => Recording::In(id.clone()),
            None if store == Some(true) => Recording::New,
            None => Recording::None,
        }
    }
}

/// The text of a header; an empty one is absent.
fn value(headers: &HeaderMap, name: &'static str) -> Result<Option<String>, HttpProblem> {
    let text = header_text(headers, name)?.filter(|text| !text.is_empty());
    let Some(text) = text else {
        return Ok(None);
    };
    if text.len() > CLIENT_VALUE_BYTES_MAX {
        let rule = format!("has {} bytes, at most {CLIENT_VALUE_BYTES_MAX} are allowed", text.len());
        let detail = format!("{name} {rule}");
        return Err(HttpProblem::of_field(ViolationReason::TooLong, name, detail));
    }
    // All chats of the client would be one conversation.
    if text.contains("{{") {
        let rule = "has a template that the client has not replaced: correct its settings";
        return Err(malformed(name, rule));
    }
    Ok(Some(text))
}

fn malformed(name: &'static str, rule: &str) -> HttpProblem {
    HttpProblem::of_field(ViolationReason::Malformed, name, format!("{name} {rule}"))
}

/// Whether the messages are a task of Open WebUI, which forwards the chat's id with tasks too: a single prompt, as its default
/// templates begin.
fn is_task(facts: &[Fact]) -> bool {
    let mut turns = facts.iter().filter(|fact| !is_instruction(fact));
    let (Some(Fact::MessageAppended(only)), None) = (turns.next(), turns.next()) else {
        return false;
    };
    matches!(only.parts.first(), Some(Part::Text(text)) if text.starts_with(OPEN_WEBUI_TASK))
}

/// Whether a fact is an instruction: the caller's own at each request, and never recorded.
pub(super) fn is_instruction(fact: &Fact) -> bool {
    matches!(fact, Fact::MessageAppended(MessageAppended { role: Role::System | Role::Developer, .. }))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn read(given: &[(&'static str, &str)]) -> Result<ClientHeaders, HttpProblem> {
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            headers.insert(*name, HeaderValue::from_str(value).unwrap());
        }
        ClientHeaders::read(&headers)
    }

    fn facts(role: Role, text: &str) -> Vec<Fact> {
        let message = |role, text: &str| {
            let parts = vec![Part::Text(text.to_owned())];
            Fact::MessageAppended(MessageAppended::new(role, parts))
        };
        vec![message(Role::System, "Be kind."), message(role, text)]
    }

    #[test]
    fn headers_decide_where_a_request_is_recorded() {
        let check = |given: &[(&'static str, &str)], store: Option<bool>, expected: Recording| {
            let headers = read(given).unwrap();
            let recording = headers.recording(&facts(Role::User, "hello"), store);
            assert_eq!(recording, expected, "{given:?} {store:?}");
        };
        let one = || Recording::In("a".to_owned());
        check(&[], None, Recording::None);
        check(&[], Some(false), Recording::None);
        check(&[], Some(true), Recording::New);
        check(&[(CONVERSATION_HEADER, "")], Some(true), Recording::New);
        check(&[(CONVERSATION_HEADER, "a")], None, one());
        check(&[(CONVERSATION_HEADER, "a")], Some(true), one());
        check(&[(OPEN_WEBUI_CHAT_HEADER, "a")], None, one());
        let both = [(CONVERSATION_HEADER, "a"), (OPEN_WEBUI_CHAT_HEADER, "b")];
        check(&both, None, one());
        for task in ["title_generation", "x"] {
            let given = [(CONVERSATION_HEADER, "a"), (TASK_HEADER, task)];
            check(&given, Some(true), Recording::None);
        }
        check(&[(CONVERSATION_HEADER, "a"), (TASK_HEADER, "")], None, one());
        for unsaved in ["temporary:1", "local:1", "channel:1"] {
            for header in [CONVERSATION_HEADER, OPEN_WEBUI_CHAT_HEADER] {
                check(&[(header, unsaved)], Some(true), Recording::None);
            }
        }
    }

    #[test]
    fn tasks_without_their_header_are_known_by_their_prompt() {
        let check = |header: &'static str, facts: &[Fact], is_recorded: bool| {
            let recording = read(&[(header, "a")]).unwrap().recording(facts, None);
            assert_eq!(recording != Recording::None, is_recorded);
        };
        let task = facts(Role::User, "### Task:\nGenerate a title");
        check(OPEN_WEBUI_CHAT_HEADER, &task, false);
        check(CONVERSATION_HEADER, &task, true);
        let twice = [task.clone(), task].concat();
        check(OPEN_WEBUI_CHAT_HEADER, &twice, true);
        check(OPEN_WEBUI_CHAT_HEADER, &facts(Role::User, "Task"), true);
    }

    #[test]
    fn values_at_their_bounds() {
        for header in [CONVERSATION_HEADER, MESSAGE_HEADER, OPEN_WEBUI_CHAT_HEADER] {
            let check = |value: &str, is_accepted: bool| {
                let outcome = read(&[(header, value)]);
                assert_eq!(outcome.is_ok(), is_accepted, "{header} {value}");
                if let Err(problem) = outcome {
                    assert_eq!(problem.field.as_deref(), Some(header));
                }
            };
            check(&"x".repeat(CLIENT_VALUE_BYTES_MAX), true);
            check(&"x".repeat(CLIENT_VALUE_BYTES_MAX + 1), false);
            check("{{CHAT_ID}}", false);
        }
        assert!(read(&[(CONTEXT_HEADER, "managed")]).unwrap().is_managed());
        assert!(!read(&[(CONTEXT_HEADER, "")]).unwrap().is_managed());
        assert!(read(&[(CONTEXT_HEADER, "sent")]).is_err());
    }
}
