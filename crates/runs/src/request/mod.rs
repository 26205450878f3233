//! The request of the AI SDK's chat: what it asks, read from the whole history that it sends along.
//!
//! Of the messages only the last user's and the last assistant's are read: the history itself is in the record. Of the others
//! only the roles are.

mod object;
mod parts;

use domain::event::{ToolOutput, ToolReturned};
use domain::violation::check_length;
use domain::{CallId, Part, Violation, ViolationReason};

use object::Object;
use serde_json::value::RawValue;

/// Most messages of a request.
pub const MESSAGES_MAX: usize = 10_000;
/// Most bytes of a chat's or a message's id, as clients make them.
pub const ID_BYTES_MAX: usize = 256;

/// What a page asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatRequest {
    /// The chat, as the page names it.
    pub chat_id: Option<String>,
    /// What is wanted.
    pub trigger: Trigger,
    /// What the user said last, where the last message is the user's. With [`Trigger::Regenerate`] it is in the record
    /// already.
    pub said: Option<Said>,
    /// Results and consents in the last assistant's message, in order; also those that are in the record already: callers
    /// keep those of open calls.
    pub answers: Vec<ToolAnswer>,
    /// The messages that are neither the user's nor the assistant's, by their places, in order. Nothing else of them is read.
    pub instructions: Vec<(usize, InstructionRole)>,
}

/// A role of a page's message that is neither the user's nor the assistant's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstructionRole {
    /// Instructions.
    System,
    /// Instructions, as newer models name them.
    Developer,
    /// A tool.
    Tool,
}

/// Who speaks in a page's message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageRole {
    User,
    Assistant,
    Instruction(InstructionRole),
}

/// What is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trigger {
    /// An answer to the last message.
    Submit {
        /// The user's message that the last one takes the place of, where it was edited, or the assistant's message that
        /// is gone on with.
        message_id: Option<String>,
    },
    /// Another answer.
    Regenerate {
        /// The assistant's message that it takes the place of; the last where none is named.
        message_id: Option<String>,
    },
}

/// What a user said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The message, as the page names it.
    pub message_id: Option<String>,
    /// What it is made of; at least one part.
    pub parts: Vec<Part>,
}

/// What a page answers to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolAnswer {
    /// Its result; also a refusal, as [`crate::denied`] writes it.
    Returned(ToolReturned),
    /// A person's consent: the tool may run.
    Approved(CallId),
}

impl ChatRequest {
    /// Reads a request's body.
    ///
    /// # Errors
    /// The first field that breaks a rule, by its path: `messages[3].parts[0].url`.
    pub fn parse(body: &[u8]) -> Result<Self, Violation> {
        let body = std::str::from_utf8(body).map_err(|_| {
            Violation::new(ViolationReason::InvalidJson, "is not UTF-8").within("body")
        })?;
        let body = Object::parse(body)?;
        let messages = body.list("messages")?.ok_or_else(|| missing("messages"))?;
        check_length(messages.len(), MESSAGES_MAX).map_err(|wrong| wrong.within("messages"))?;
        let messages = in_order(&messages)?;
        let (said, answers) = read_messages(&messages)?;
        Ok(Self {
            chat_id: body.text("id", ID_BYTES_MAX)?,
            trigger: trigger(&body)?,
            said,
            answers,
            instructions: instructions(&messages),
        })
    }
}

/// What a user says, as a list of parts in the form of a page's messages: texts and files.
///
/// # Errors
/// The first field that breaks a rule, by its path: `parts[0].url`.
pub fn user_parts(parts_json: &str) -> Result<Vec<Part>, Violation> {
    let message = format!(r#"{{"parts":{parts_json}}}"#);
    parts::content(&Object::parse(&message)?)
}

/// What a tool answered: a string is taken as text, anything else as the document that it is.
///
/// # Errors
/// It is no JSON, or longer than an event.
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

/// The messages with who speaks in them.
fn in_order<'a>(messages: &[&'a RawValue]) -> Result<Vec<(PageRole, Object<'a>)>, Violation> {
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
    let places = messages.iter().enumerate();
    let instructions = places.filter_map(|(place, (role, _))| match role {
        PageRole::Instruction(role) => Some((place, *role)),
        PageRole::User | PageRole::Assistant => None,
    });
    instructions.collect()
}

/// What the last user's message says, if it is the last of all, and what the last assistant's message answers.
fn read_messages(
    messages: &[(PageRole, Object<'_>)],
) -> Result<(Option<Said>, Vec<ToolAnswer>), Violation> {
    let mut said = None;
    for (index, (role, message)) in messages.iter().enumerate().rev() {
        let at = |wrong: Violation| wrong.at(index).within("messages");
        match role {
            PageRole::User if index + 1 == messages.len() => {
                said = Some(read_user(message).map_err(at)?);
            }
            PageRole::Assistant => {
                let answers = parts::answers(message).map_err(at)?;
                return Ok((said, answers));
            }
            PageRole::User | PageRole::Instruction(_) => {}
        }
    }
    Ok((said, Vec::new()))
}

fn read_user(message: &Object<'_>) -> Result<Said, Violation> {
    Ok(Said {
        message_id: message.text("id", ID_BYTES_MAX)?,
        parts: parts::content(message)?,
    })
}

fn missing(field: &str) -> Violation {
    Violation::new(ViolationReason::Missing, "is required").within(field)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
