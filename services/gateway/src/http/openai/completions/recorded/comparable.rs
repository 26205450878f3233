//! What chat completions can express of an event, so that a sent event can be compared with a recorded one. Pure.
//!
//! Clients send back less than was recorded: no thoughts, no ids of responses, and often texts without the white space around
//! them. Instructions are the caller's own at each request, and are not compared.

use domain::event::{MessageAppended, Role, ToolOutput, ToolReturned};
use domain::{CallId, Fact, Label, Part, ToolName};
use serde_json::Value;

/// The comparable content of an event.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Comparable {
    /// A message of the user.
    User {
        author: Option<Label>,
        text: String,
        /// Images, files and other parts.
        others: Vec<Part>,
    },
    /// An answer of the model, with its text or refusal.
    Answer(String),
    /// A call of a tool, with its input as compact JSON.
    Call(CallId, ToolName, String),
    /// The result of a call, with its output as compact JSON or as parts.
    Result(CallId, Result<String, Vec<Part>>),
}

impl Comparable {
    /// The comparable content of an event; `None`: the API cannot express it, or it is an answer without content.
    pub(super) fn of(fact: &Fact) -> Option<Self> {
        match fact {
            Fact::MessageAppended(message) => of_message(message),
            Fact::ToolCalled(call) => {
                let input = compact(call.input.as_str());
                Some(Self::Call(call.call_id.clone(), call.tool_name.clone(), input))
            }
            Fact::ToolReturned(returned) => Some(of_result(returned)),
            Fact::Annotation(_) | Fact::Lifecycle(_) => None,
        }
    }
}

fn of_message(message: &MessageAppended) -> Option<Comparable> {
    let text = text(&message.parts);
    match message.role {
        Role::System | Role::Developer => None,
        Role::Assistant => (!text.is_empty()).then_some(Comparable::Answer(text)),
        Role::User => {
            let others = message.parts.iter().filter(|part| text_of(part).is_none());
            Some(Comparable::User { author: message.author.clone(), text, others: others.cloned().collect() })
        }
    }
}

fn of_result(returned: &ToolReturned) -> Comparable {
    let output = match &returned.output {
        ToolOutput::Json(json) => Ok(compact(json.as_str())),
        ToolOutput::Parts(parts) => Err(parts.clone()),
    };
    Comparable::Result(returned.call_id.clone(), output)
}

/// The texts of a message, without the white space around them.
fn text(parts: &[Part]) -> String {
    let text: String = parts.iter().filter_map(text_of).collect();
    text.trim().to_owned()
}

fn text_of(part: &Part) -> Option<&str> {
    match part {
        Part::Text(text) | Part::Refusal(text) => Some(text),
        Part::Thinking { .. }
        | Part::RedactedThinking(_)
        | Part::Image { .. }
        | Part::File { .. }
        | Part::ProviderItem { .. } => None,
    }
}

/// JSON without white space and with sorted members; other texts unchanged.
fn compact(json: &str) -> String {
    let value: Result<Value, _> = serde_json::from_str(json);
    value.map_or_else(|_| json.to_owned(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use domain::JsonText;
    use domain::event::ToolCalled;

    use super::*;

    fn message(role: Role, parts: &[Part]) -> Option<Comparable> {
        let message = MessageAppended::new(role, parts.to_vec());
        Comparable::of(&Fact::MessageAppended(message))
    }

    #[test]
    fn what_a_client_does_not_send_back_is_not_compared() {
        let text = |text: &str| Part::Text(text.to_owned());
        let thought = Part::Thinking { text: "hm".to_owned(), signature: None };
        let sent = message(Role::Assistant, &[text("Hello there.")]);
        let recorded = [thought.clone(), text("Hello "), text("there.\n")];
        assert!(sent.is_some());
        assert_eq!(message(Role::Assistant, &recorded), sent);
        assert_ne!(message(Role::User, &[text("Hello there.")]), sent);
        assert_ne!(message(Role::Assistant, &[text("Hello.")]), sent);
        assert_eq!(message(Role::Assistant, &[thought]), None);
        assert_eq!(message(Role::System, &[text("Be kind.")]), None);
        let image = |url: &str| Part::Image {
            source: domain::MediaSource::Url(url.to_owned()),
            media_type: None,
            detail: None,
        };
        let seen = |url: &str| message(Role::User, &[text("See"), image(url)]);
        assert_eq!(seen("https://a"), seen("https://a"));
        assert_ne!(seen("https://a"), seen("https://b"));
    }

    #[test]
    fn inputs_are_compared_as_json() {
        let call = |id: &str, input: &str| {
            let id = CallId::parse(id).unwrap();
            let name = ToolName::parse("look").unwrap();
            let input = JsonText::parse(input).unwrap();
            Comparable::of(&Fact::ToolCalled(ToolCalled::new(id, name, input)))
        };
        assert_eq!(call("1", r#"{"a":1,"b":2}"#), call("1", r#"{ "b": 2, "a": 1 }"#));
        assert_ne!(call("1", "{}"), call("2", "{}"));
        assert_ne!(call("1", "{}"), call("1", r#"{"a":1}"#));
    }
}
