//! The chitchat data set: one JSON document that maps a conversation's id to `{"messages": [[{"text", "timestamp",
//! "sender"}, …], …], "start", "prompt", "ratings"}`, where an inner list is one speaker's turn.
//!
//! The first speaker is the user and the owner of the conversation; all others are the assistant. `author` is the speaker's id.
//! A message with an empty text has no part. The prompt is the title; `start`, `prompt` and `ratings` are the metadata.
//! Source: <https://github.com/BYU-PCCL/chitchat-dataset>.

use domain::Violation;
use serde::Deserialize;
use wire::proto::event::v1 as proto;
use wire::proto::event::v1::event::Fact;

use super::fields::{Fields, malformed, read};
use super::{Dialogue, SourceEvent, check, instant, text_parts};

#[derive(Debug, Deserialize)]
struct Message {
    text: String,
    timestamp: String,
    sender: String,
}

/// Parses the conversation `id` from the text of its JSON object. The index of a message in a violation counts through all
/// turns, from 0.
pub(super) fn parse(id: &str, text: &str) -> Result<Dialogue, Violation> {
    let mut fields = Fields::parse(text)?;
    let turns: Vec<Vec<Message>> = fields.require_as("messages")?;
    let messages: Vec<Message> = turns.into_iter().flatten().collect();
    let first = messages
        .first()
        .ok_or_else(|| malformed("is empty: a conversation needs at least one message").within("messages"))?;
    let owner = first.sender.clone();
    let title = fields
        .take("prompt")
        .inspect(|prompt| fields.insert("prompt", prompt))
        .map_or(Ok(String::new()), |prompt| read(prompt.get()))
        .map_err(|violation| violation.within("prompt"))?;
    let mut dialogue = Dialogue {
        key: id.to_owned(),
        owner: proto::owner::Kind::UserId(owner.clone()),
        title,
        metadata_json: fields.rest(),
        events: Vec::with_capacity(messages.len()),
        remarks: Vec::new(),
    };
    for (message, spoken) in messages.into_iter().enumerate() {
        let event = event(spoken, &owner).map_err(|violation| violation.at(message).within("messages"))?;
        dialogue.events.push(SourceEvent { message, event });
    }
    check::check(&dialogue)?;
    Ok(dialogue)
}

fn event(message: Message, owner: &str) -> Result<proto::Event, Violation> {
    let role = if message.sender == owner { proto::Role::User } else { proto::Role::Assistant };
    let occurred_at = instant::from_rfc3339(&message.timestamp).map_err(|violation| violation.within("timestamp"))?;
    Ok(proto::Event {
        occurred_at: Some(occurred_at),
        fact: Some(Fact::MessageAppended(proto::MessageAppended {
            role: role.into(),
            parts: text_parts(message.text),
            author: message.sender,
            ..proto::MessageAppended::default()
        })),
        ..proto::Event::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONVERSATION: &str = r#"{"messages":[
        [{"text":"Hello","timestamp":"2018-05-02T19:38:15Z","sender":"a"},
         {"text":"","timestamp":"2018-05-02T19:38:16Z","sender":"a"}],
        [{"text":"hi \u0000","timestamp":"2018-05-02T19:38:20Z","sender":"b"}]],
        "start":"2018-05-03T01:38:01Z","prompt":"Why?","ratings":{"witty": "1"}}"#;

    fn texts(message: &proto::MessageAppended) -> Vec<&str> {
        let mut texts = Vec::new();
        for part in &message.parts {
            let Some(proto::part::Kind::Text(text)) = &part.kind else {
                panic!("{part:?}");
            };
            texts.push(text.as_str());
        }
        texts
    }

    #[test]
    fn the_first_speaker_is_the_user_and_texts_are_verbatim() {
        let dialogue = parse("c1", CONVERSATION).unwrap();
        assert_eq!(dialogue.key, "c1");
        assert_eq!(dialogue.owner, proto::owner::Kind::UserId("a".to_owned()));
        assert_eq!(dialogue.title, "Why?");
        assert_eq!(
            dialogue.metadata_json,
            r#"{"prompt":"Why?","ratings":{"witty": "1"},"start":"2018-05-03T01:38:01Z"}"#
        );
        let seen: Vec<(i32, Vec<&str>, i64)> = dialogue
            .events
            .iter()
            .map(|placed| {
                let Some(Fact::MessageAppended(message)) = &placed.event.fact else { panic!() };
                (message.role, texts(message), placed.event.occurred_at.unwrap().seconds)
            })
            .collect();
        assert_eq!(
            seen,
            [(1, vec!["Hello"], 1_525_289_895), (1, vec![], 1_525_289_896), (2, vec!["hi \0"], 1_525_289_900)]
        );
    }

    fn check(text: &str, expected: &str) {
        assert_eq!(parse("c1", text).unwrap_err().to_string(), expected);
    }

    #[test]
    fn an_error_names_the_invalid_value() {
        check("{}", "messages: is required");
        check(r#"{"messages":[[]]}"#, "messages: is empty: a conversation needs at least one message");
        check(
            r#"{"messages":[[{"text":"x","timestamp":"soon","sender":"a"}]]}"#,
            "messages[0].timestamp: must be a time from 1677 to 2262, as RFC 3339 text or seconds since 1970",
        );
        check(
            r#"{"messages":[[{"text":"x","timestamp":"2018-05-02T19:38:15Z","sender":""}]]}"#,
            "owner.user_id: is required and was empty",
        );
    }
}
