//! The documents of the search: the texts of events and titles, with their tags.

use domain::content::Part;
use domain::event::{MessageAppended, Role, ToolCalled, ToolOutcome, ToolOutput, ToolReturned};
use domain::{Event, Fact, JsonText};
use serde_json::Value;

/// Maximum size of the searchable text of a document, in bytes. The rest of a longer text is not searched.
pub const INDEXED_TEXT_BYTES_MAX: usize = 64 * 1024;

/// The kind of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The title of a conversation.
    Title,
    /// A message.
    Message,
    /// A tool call.
    ToolCall,
    /// A tool result.
    ToolResult,
}

impl Kind {
    /// Its name in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Message => "message",
            Self::ToolCall => "tool_call",
            Self::ToolResult => "tool_result",
        }
    }
}

/// A searchable text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its kind.
    pub kind: Kind,
    /// The role of a message's author.
    pub role: Option<Role>,
    /// The tool of a call or result.
    pub tool_name: Option<String>,
    /// The text, at most [`INDEXED_TEXT_BYTES_MAX`].
    pub text: String,
    /// The values of `has:` that apply.
    has: Vec<&'static str>,
}

impl Document {
    /// The document of an event; `None`: it is not searched. Thoughts of models, annotations and lifecycle events are not.
    #[must_use]
    pub fn of_event(event: &Event) -> Option<Self> {
        match &event.fact {
            Fact::MessageAppended(message) => Some(message_document(message)),
            Fact::ToolCalled(call) => Some(call_document(call)),
            Fact::ToolReturned(result) => Some(result_document(result)),
            Fact::Annotation(_) | Fact::Lifecycle(_) => None,
        }
    }

    /// The document of a title.
    #[must_use]
    pub fn of_title(title: &str) -> Self {
        Self::new(Kind::Title, title.to_owned(), vec!["title"])
    }

    /// The document of a message with one text.
    #[must_use]
    pub fn of_message(role: Role, text: &str) -> Self {
        let parts = vec![Part::Text(text.to_owned())];
        message_document(&MessageAppended::new(role, parts))
    }

    /// The tags: names and values.
    pub fn tags(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let role = self.role.map(|role| ("role", role.as_str()));
        let tool = self.tool_name.as_deref().map(|tool| ("tool", tool));
        let has = self.has.iter().map(|has| ("has", *has));
        let kind = ("kind", self.kind.as_str());
        [Some(kind), role, tool].into_iter().flatten().chain(has)
    }

    fn new(kind: Kind, mut text: String, has: Vec<&'static str>) -> Self {
        text.truncate(text.floor_char_boundary(INDEXED_TEXT_BYTES_MAX));
        Self { kind, role: None, tool_name: None, text, has }
    }
}

fn message_document(message: &MessageAppended) -> Document {
    let has_media = message.parts.iter().any(is_attachment);
    let has = if has_media { vec!["attachment"] } else { Vec::new() };
    Document { role: Some(message.role), ..Document::new(Kind::Message, text_of(&message.parts), has) }
}

fn call_document(call: &ToolCalled) -> Document {
    let name = call.tool_name.as_str();
    let text = format!("{name}\n{}", json_text(&call.input));
    Document { tool_name: Some(name.to_owned()), ..Document::new(Kind::ToolCall, text, vec!["tool"]) }
}

fn result_document(result: &ToolReturned) -> Document {
    let name = result.tool_name.as_ref().map(|name| name.as_str().to_owned());
    let output = match &result.output {
        ToolOutput::Json(json) => json_text(json),
        ToolOutput::Parts(parts) => text_of(parts),
    };
    let text = format!("{}\n{output}", name.as_deref().unwrap_or_default());
    let has = match result.outcome {
        ToolOutcome::Succeeded => vec!["tool"],
        ToolOutcome::Failed => vec!["tool", "error"],
    };
    Document { tool_name: name, ..Document::new(Kind::ToolResult, text, has) }
}

fn is_attachment(part: &Part) -> bool {
    matches!(part, Part::Image { .. } | Part::File { .. })
}

/// The texts of parts, each on lines of its own.
fn text_of(parts: &[Part]) -> String {
    let texts: Vec<&str> = parts.iter().filter_map(part_text).collect();
    texts.join("\n")
}

fn part_text(part: &Part) -> Option<&str> {
    match part {
        Part::Text(text) | Part::Refusal(text) => Some(text),
        Part::File { filename, .. } => filename.as_ref().map(domain::Label::as_str),
        Part::Image { .. } | Part::Thinking { .. } | Part::RedactedThinking(_) | Part::ProviderItem { .. } => None,
    }
}

/// The keys and values of a JSON document, without its escapes.
fn json_text(json: &JsonText) -> String {
    let mut text = String::new();
    match serde_json::from_str(json.as_str()) {
        Ok(value) => write_value(&value, &mut text),
        // Recorded documents were valid under an older parser.
        Err(_) => text.push_str(json.as_str()),
    }
    text.truncate(text.trim_end().len());
    text
}

/// Writes a value. The depth of documents is bounded when they are recorded.
fn write_value(value: &Value, text: &mut String) {
    if text.len() > INDEXED_TEXT_BYTES_MAX {
        return;
    }
    match value {
        Value::Null => text.push_str("null "),
        Value::Bool(value) => text.push_str(if *value { "true " } else { "false " }),
        Value::Number(number) => {
            text.push_str(&number.to_string());
            text.push(' ');
        }
        Value::String(string) => {
            text.push_str(string);
            text.push(' ');
        }
        Value::Array(values) => values.iter().for_each(|value| write_value(value, text)),
        Value::Object(members) => {
            for (name, value) in members {
                text.push_str(name);
                text.push_str(": ");
                write_value(value, text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::{CallId, ToolName};

    use super::*;

    #[test]
    fn texts_of_calls_have_no_escapes() {
        let check = |json: &str, expected: &str| {
            let call = ToolCalled::new(
                CallId::parse("c").unwrap(),
                ToolName::parse("find_order").unwrap(),
                JsonText::parse(json).unwrap(),
            );
            let document = call_document(&call);
            assert_eq!(document.text, expected);
            assert_eq!(document.kind, Kind::ToolCall);
        };
        check("{}", "find_order\n");
        check(r#"{"city": "K\u00f6ln", "ids": [1, null], "ok": true}"#, "find_order\ncity: Köln ids: 1 null ok: true");
    }

    #[test]
    fn thoughts_are_not_searched() {
        let thought = Part::Thinking { text: "secret plan".to_owned(), signature: None };
        let parts = vec![thought, Part::Text("hello".to_owned())];
        let document = message_document(&MessageAppended::new(Role::Assistant, parts));
        assert_eq!(document.text, "hello");
        let tags: Vec<_> = document.tags().collect();
        assert_eq!(tags, [("kind", "message"), ("role", "assistant")]);
    }

    #[test]
    fn texts_are_cut_between_characters() {
        let text = "é".repeat(INDEXED_TEXT_BYTES_MAX);
        let document = Document::of_message(Role::User, &format!("a{text}"));
        assert_eq!(document.text.len(), INDEXED_TEXT_BYTES_MAX - 1);
    }
}
