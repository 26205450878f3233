//! Messages in short: `u hi` is a user's, `a yes` an assistant's, `a#r1 yes` one with the id of its response, `u@jo hi` one
//! with its author, `s …` and `d …` are instructions.

use domain::event::{MessageAppended, Role, UsageSource};
use domain::{Label, Part};

/// The messages of a list in short.
pub(crate) fn messages(short: &[&str]) -> Vec<MessageAppended> {
    short.iter().map(|short| message(short)).collect()
}

fn message(short: &str) -> MessageAppended {
    let (who, text) = short.split_once(' ').expect("a speaker and a text");
    let (who, response) = who.split_once('#').unwrap_or((who, ""));
    let (role, author) = who.split_once('@').unwrap_or((who, ""));
    let role = match role {
        "u" => Role::User,
        "a" => Role::Assistant,
        "s" => Role::System,
        "d" => Role::Developer,
        _ => panic!("{short}"),
    };
    MessageAppended {
        role,
        parts: vec![Part::Text(text.to_owned())],
        author: label(author),
        model: None,
        provider: None,
        provider_response_id: label(response),
        finish_reason: None,
        usage: None,
        usage_source: UsageSource::Reported,
    }
}

fn label(text: &str) -> Option<Label> {
    (!text.is_empty()).then(|| Label::parse(text).expect(text))
}
