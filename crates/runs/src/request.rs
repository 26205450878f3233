//! Parses the chat request of the AI SDK, which contains the whole history.
//!
//! Only the last user message and the last assistant message are read, because the history is in the record. Of the other
//! messages only the roles are read.

mod object;
mod parts;

use domain::event::{ToolOutput, ToolReturned};
use domain::violation::check_length;
use domain::{CallId, Part, Violation, ViolationReason};

use object::Object;
use serde_json::value::RawValue;

/// Maximum number of messages of a request.
pub const MESSAGES_MAX: usize = 10_000;
/// Maximum bytes of the client's id of a chat or a message.
pub const ID_BYTES_MAX: usize = 256;

/// A chat request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatRequest {
    /// The client's id of the chat.
    pub chat_id: Option<String>,
    /// The requested action.
    pub trigger: Trigger,
    /// The last message, if it is the user's. With [`Trigger::Regenerate`] it is already recorded.
    pub user_message: Option<UserMessage>,
    /// Results and approvals in the last assistant message, in order. Some may already be recorded: callers use only those of
    /// open calls.
    pub answers: Vec<ToolAnswer>,
    /// The indexes of the messages with other roles, in order. Their contents are not read.
    pub instructions: Vec<(usize, InstructionRole)>,
}

/// A role other than user and assistant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstructionRole {
    /// Instructions.
    System,
    /// Instructions, under the name that newer models use.
    Developer,
    /// A tool.
    Tool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageRole {
    User,
    Assistant,
    Instruction(InstructionRole),
}

/// The requested action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trigger {
    /// Answer the last message.
    Submit {
        /// The user message that the last message replaces (an edit), or the assistant message to continue.
        message_id: Option<String>,
    },
    /// Generate another answer.
    Regenerate {
        /// The assistant message to replace; default: the last one.
        message_id: Option<String>,
    },
}

/// A message of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserMessage {
    /// The client's id of the message.
    pub message_id: Option<String>,
    /// The parts; at least one.
    pub parts: Vec<Part>,
}

/// The answer of a client to a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolAnswer {
    /// Its result, or a denial (see [`crate::denial_result`]).
    Returned(ToolReturned),
    /// An approval: the tool may run.
    Approved(CallId),
}

impl ChatRequest {
    /// Parses the body of a request.
    ///
    /// # Errors
    /// The path of the first invalid field, such as `messages[3].parts[0].url`.
    pub fn parse(body: &[u8]) -> Result<Self, Violation> {
        let text = std::str::from_utf8(body)
            .map_err(|_| Violation::new(ViolationReason::InvalidJson, "is not UTF-8").within("body"))?;
        let body = Object::parse(text)?;
        let messages = body.list("messages")?.ok_or_else(|| missing("messages"))?;
        check_length(messages.len(), MESSAGES_MAX).map_err(|wrong| wrong.within("messages"))?;
        let messages = with_roles(&messages)?;
        let (user_message, answers) = read_messages(&messages)?;
        Ok(Self {
            chat_id: body.text("id", ID_BYTES_MAX)?,
            trigger: trigger(&body)?,
            user_message,
            answers,
            instructions: instructions(&messages),
        })
    }
}

/// Parses a list of parts of a user message: texts and files.
///
/// # Errors
/// The path of the first invalid field, such as `parts[0].url`.
pub fn user_parts(parts_json: &str) -> Result<Vec<Part>, Violation> {
    let message = format!(r#"{{"parts":{parts_json}}}"#);
    parts::content(&Object::parse(&message)?)
}

/// Parses the output of a tool: a JSON string is text, other JSON is a document.
///
/// # Errors
/// The output is not JSON, or exceeds the bound of an event.
pub fn tool_output(json: &str) -> Result<ToolOutput, Violation> {
    parts::tool_output(json)
}

fn trigger(body: &Object<'_>) -> Result<Trigger, Violation> {
    let message_id = body.text("messageId", ID_BYTES_MAX)?;
    match body.text("trigger", ID_BYTES_MAX)?.as_deref() {
        None | Some("submit-message") => Ok(Trigger::Submit { message_id }),
        Some("regenerate-message") => Ok(Trigger::Regenerate { message_id }),
        Some(_) => {
            let rule = "is neither submit-message nor regenerate-message";
            Err(Violation::new(ViolationReason::Malformed, rule).within("trigger"))
        }
    }
}

fn with_roles<'a>(messages: &[&'a RawValue]) -> Result<Vec<(PageRole, Object<'a>)>, Violation> {
    let read = |(index, message): (usize, &&'a RawValue)| {
        let at = |wrong: Violation| wrong.at(index).within("messages");
        let message = Object::parse(message.get()).map_err(at)?;
        let role = page_role(&message).map_err(at)?;
        Ok((role, message))
    };
    messages.iter().enumerate().map(read).collect()
}

fn page_role(message: &Object<'_>) -> Result<PageRole, Violation> {
    let role = message.text("role", ID_BYTES_MAX)?;
    match role.as_deref() {
        Some("user") => Ok(PageRole::User),
        Some("assistant") => Ok(PageRole::Assistant),
        Some("system") => Ok(PageRole::Instruction(InstructionRole::System)),
        Some("developer") => Ok(PageRole::Instruction(InstructionRole::Developer)),
        Some("tool") => Ok(PageRole::Instruction(InstructionRole::Tool)),
        Some(_) | None => {
            let allowed = "is none of user, assistant, system, developer, tool";
            Err(Violation::new(ViolationReason::Malformed, allowed).within("role"))
        }
    }
}

fn instructions(messages: &[(PageRole, Object<'_>)]) -> Vec<(usize, InstructionRole)> {
    let messages = messages.iter().enumerate();
    let instructions = messages.filter_map(|(index, (role, _))| match role {
        PageRole::Instruction(role) => Some((index, *role)),
        PageRole::User | PageRole::Assistant => None,
    });
    instructions.collect()
}

/// The last message if it is the user's, and the answers in the last assistant message.
fn read_messages(messages: &[(PageRole, Object<'_>)]) -> Result<(Option<UserMessage>, Vec<ToolAnswer>), Violation> {
    let mut user_message = None;
    for (index, (role, message)) in messages.iter().enumerate().rev() {
        let at = |wrong: Violation| wrong.at(index).within("messages");
        match role {
            PageRole::User if index + 1 == messages.len() => {
                user_message = Some(read_user(message).map_err(at)?);
            }
            PageRole::Assistant => {
                let answers = parts::answers(message).map_err(at)?;
                return Ok((user_message, answers));
            }
            PageRole::User | PageRole::Instruction(_) => {}
        }
    }
    Ok((user_message, Vec::new()))
}

fn read_user(message: &Object<'_>) -> Result<UserMessage, Violation> {
    Ok(UserMessage { message_id: message.text("id", ID_BYTES_MAX)?, parts: parts::content(message)? })
}

fn missing(field: &str) -> Violation {
    Violation::new(ViolationReason::Missing, "is required").within(field)
}

#[cfg(test)]
mod tests;
