//! The messages of one turn: a single message, or the whole history.

use domain::bounds::EVENT_BYTES_MAX;
use domain::event::{MessageAppended, Role};
use domain::{Part, Violation, ViolationReason};
use runtime::http::HttpProblem;
use serde::Deserialize;
use utoipa::ToSchema;

use conversations::turns::permissions::AllowedRoles;
use conversations::turns::problems;

/// Maximum number of messages in a history.
pub const GIVEN_MESSAGES_MAX: usize = 200;
/// Maximum number of bytes of one message: with its envelope it fits into an event.
pub const GIVEN_MESSAGE_BYTES_MAX: usize = EVENT_BYTES_MAX - 1_024;

/// A message of a history.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GivenMessage {
    /// The role.
    role: GivenRole,
    /// The text.
    content: String,
}

/// The role. Roles other than `user` are rejected with 403 `ROLE_NOT_ALLOWED`, unless the agent's settings allow them.
/// Messages of the model in the session may be repeated.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum GivenRole {
    /// Instructions; never stored.
    System,
    /// Instructions, under the name of newer models; never stored.
    Developer,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// A tool: never allowed, because a text names no call.
    Tool,
}

/// The messages of a turn.
#[derive(Debug)]
pub(super) enum TurnMessages {
    Message(String),
    History(Vec<MessageAppended>),
}

impl TurnMessages {
    /// All messages that the model reads.
    pub(super) fn into_messages(self) -> Vec<MessageAppended> {
        match self {
            Self::Message(text) => vec![MessageAppended::new(Role::User, vec![Part::Text(text)])],
            Self::History(messages) => messages,
        }
    }
}

/// The messages of a request. The assistant's messages must be checked with [`conversations::turns::permissions::check_roles`].
///
/// # Errors
/// There is no message, a bound is exceeded, or 403 `ROLE_NOT_ALLOWED` for instructions.
pub(super) fn messages(
    message: Option<String>,
    history: Option<Vec<GivenMessage>>,
    allowed: &AllowedRoles,
) -> Result<TurnMessages, HttpProblem> {
    if let Some(text) = &message {
        check(text, || "message".to_owned())?;
    }
    let Some(history) = history else {
        return match message {
            Some(text) => Ok(TurnMessages::Message(text)),
            None => Err(missing("message", "message is required, or messages")),
        };
    };
    if history.len() > GIVEN_MESSAGES_MAX {
        let count = history.len();
        let detail = format!("messages has {count} entries, at most {GIVEN_MESSAGES_MAX} are accepted");
        return Err(HttpProblem::of_field(ViolationReason::OutOfRange, "messages", detail));
    }
    let mut messages = Vec::with_capacity(history.len() + 1);
    for (index, given) in history.into_iter().enumerate() {
        check(&given.content, || format!("messages[{index}].content"))?;
        let role = role(given.role, allowed).ok_or_else(|| problems::role_not_allowed(index))?;
        messages.push(MessageAppended::new(role, vec![Part::Text(given.content)]));
    }
    messages.extend(message.map(|text| MessageAppended::new(Role::User, vec![Part::Text(text)])));
    if messages.is_empty() {
        return Err(missing("messages", "messages are empty: give one, or message"));
    }
    Ok(TurnMessages::History(messages))
}

/// The role of a message; `None`: not allowed.
fn role(given: GivenRole, allowed: &AllowedRoles) -> Option<Role> {
    let role = match given {
        GivenRole::System => Role::System,
        GivenRole::Developer => Role::Developer,
        GivenRole::User => Role::User,
        GivenRole::Assistant => return Some(Role::Assistant),
        GivenRole::Tool => return None,
    };
    allowed.contains(role).then_some(role)
}

fn check(text: &str, field: impl Fn() -> String) -> Result<(), HttpProblem> {
    if text.is_empty() {
        let field = field();
        let detail = format!("{field} is empty");
        return Err(missing(&field, &detail));
    }
    let checked = domain::violation::check_length(text.len(), GIVEN_MESSAGE_BYTES_MAX);
    checked.map_err(|wrong: Violation| HttpProblem::from(wrong.within(field())))
}

fn missing(field: &str, detail: &str) -> HttpProblem {
    HttpProblem::of_field(ViolationReason::Missing, field, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(content: &str) -> GivenMessage {
        GivenMessage { role: GivenRole::User, content: content.to_owned() }
    }

    fn check(message: Option<&str>, history: Option<Vec<GivenMessage>>, expected: Result<usize, &str>) {
        let allowed = AllowedRoles::default();
        let actual = messages(message.map(str::to_owned), history, &allowed)
            .map(|messages| messages.into_messages().len())
            .map_err(|problem| problem.field.unwrap_or_default());
        assert_eq!(actual, expected.map_err(str::to_owned));
    }

    #[test]
    fn a_turn_has_messages_within_bounds() {
        check(None, None, Err("message"));
        check(Some(""), None, Err("message"));
        check(Some("a"), None, Ok(1));
        check(None, Some(vec![]), Err("messages"));
        check(Some("a"), Some(vec![]), Ok(1));
        check(Some("b"), Some(vec![given("a")]), Ok(2));
        check(None, Some(vec![given("a"), given("")]), Err("messages[1].content"));
        check(None, Some(vec![given("a"); GIVEN_MESSAGES_MAX]), Ok(GIVEN_MESSAGES_MAX));
        check(None, Some(vec![given("a"); GIVEN_MESSAGES_MAX + 1]), Err("messages"));
        check(Some(&"x".repeat(GIVEN_MESSAGE_BYTES_MAX)), None, Ok(1));
        check(Some(&"x".repeat(GIVEN_MESSAGE_BYTES_MAX + 1)), None, Err("message"));
    }
}
