//! OpenAI's chat format: one conversation per line, `{"messages": [...]}`, as in fine-tuning files and logs.
//!
//! - `id` is the key of the conversation in its data set; without it, the line number.
//! - The owner is the `user` (a user id), else the `session`, else a session named after the conversation.
//! - `title` and `metadata` are stored unchanged; all other members are added to the metadata.
//! - A message's time is its own `created_at` or `timestamp`, else the conversation's `created_at`.
//!
//! Source: <https://platform.openai.com/docs/api-reference/chat/create>.

mod content;
mod message;
mod tools;

use domain::Violation;
use serde_json::value::RawValue;
use wire::proto::event::v1 as proto;

use super::fields::{Fields, joined, malformed, read};
use super::{Dialogue, check, instant};

/// Parses one line; `number` counts from 1. Nothing of a line with an invalid value is imported.
pub(super) fn parse(line: &str, number: u64) -> Result<Dialogue, Violation> {
    let mut fields = Fields::parse(line)?;
    let messages = fields.require("messages")?;
    let id = Some(fields.take_text("id")?).filter(|id| !id.is_empty());
    let key = id.unwrap_or_else(|| format!("line:{number}"));
    let created_at = fields
        .take("created_at")
        .inspect(|time| fields.insert("created_at", time))
        .map(instant::from_json)
        .transpose()
        .map_err(|violation| violation.within("created_at"))?;
    let mut dialogue = Dialogue {
        owner: owner(&mut fields, &key)?,
        title: fields.take_text("title")?,
        metadata_json: metadata(fields)?,
        key,
        events: Vec::new(),
        remarks: Vec::new(),
    };
    read_messages(messages, created_at, &mut dialogue).map_err(|violation| violation.within("messages"))?;
    check::check(&dialogue)?;
    Ok(dialogue)
}

fn owner(fields: &mut Fields<'_>, key: &str) -> Result<proto::owner::Kind, Violation> {
    let user = fields.take_text("user")?;
    if !user.is_empty() {
        return Ok(proto::owner::Kind::UserId(user));
    }
    let session = Some(fields.take_text("session")?)
        .filter(|session| !session.is_empty())
        .unwrap_or_else(|| format!("import:{key}"));
    Ok(proto::owner::Kind::SessionId(session))
}

/// The given metadata unchanged, then the unknown members.
fn metadata(mut fields: Fields<'_>) -> Result<String, Violation> {
    let Some(given) = fields.take("metadata") else {
        return Ok(fields.rest());
    };
    let members = Fields::parse(given.get()).map_err(|violation| violation.within("metadata"))?;
    Ok(joined(given.get(), &fields.without(&members).rest()))
}

fn read_messages(
    messages: &RawValue,
    created_at: Option<prost_types::Timestamp>,
    dialogue: &mut Dialogue,
) -> Result<(), Violation> {
    let messages: Vec<&RawValue> = read(messages.get())?;
    if messages.is_empty() {
        let empty = "is empty: a conversation needs at least one message";
        return Err(malformed(empty));
    }
    for (index, message) in messages.into_iter().enumerate() {
        message::read_message(message.get(), index, created_at, dialogue).map_err(|violation| violation.at(index))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
