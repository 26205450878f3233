//! One conversation with everything in each form: the expected body of each provider.

use std::collections::HashSet;

use serde_json::Value;
use tests::agent::Agent;
use tests::events::{assistant, call, event, message, result, text_part, user};
use tests::stack::Stack;
use wire::proto::event::v1::event::Fact;
use wire::proto::event::v1::{Event, Image, MediaSource, MessageAppended, Part, Role, Thinking, media_source, part};
use wire::proto::read::v1::{CallOutputs, ContextFormat, Epoch, InstructionsRole, RenderSettings, Thoughts};

use super::{AssembledContext, FORMS, assemble, form_request, policy_request};
use crate::write::with;

fn of_kind(kind: part::Kind) -> Part {
    Part { kind: Some(kind) }
}

fn picture() -> Part {
    picture_at("data:image/png;base64,iVBORw0KGgo=", "image/png")
}

fn picture_at(url: &str, media_type: &str) -> Part {
    of_kind(part::Kind::Image(Image {
        source: Some(MediaSource { kind: Some(media_source::Kind::Url(url.to_owned())) }),
        media_type: media_type.to_owned(),
        ..Image::default()
    }))
}

/// Pictures that some provider rejects: one of them would make every later request of the conversation fail.
#[tokio::test(flavor = "multi_thread")]
async fn a_body_has_only_pictures_that_its_provider_takes() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let pictures = [
        "data:image/gif;base64,R0lGODlhAQABAAAAACw=",
        "data:image/svg+xml;base64,PHN2Zy8+",
        "data:image/tiff;base64,SUkqAA==",
        "data:text/plain;base64,aGk=",
        "data:image/png;base64,",
        "data:image/png;base64,@@not base64@@",
        "data:image/png;base64,/9j/4AAQSkZJRgAB",
        "data:image/jpg;base64,/9j/4AAQSkZJRgAB",
        "data:image/png;charset=utf-8;base64,iVBORw0KGgo=",
        "file:///srv/a.png",
        "/uploads/a.png",
    ];
    let parts = pictures.iter().map(|url| picture_at(url, "")).collect();
    let shown = MessageAppended { role: Role::User.into(), parts, ..MessageAppended::default() };
    agent.append("c", vec![event(Fact::MessageAppended(shown)), user("what is it?")]).await;
    for form in FORMS {
        let context = assemble(&agent, form_request(&agent, form)).await;
        let text = String::from_utf8(context.bytes).expect("text");
        if form == ContextFormat::Canonical {
            assert!(pictures.iter().all(|url| text.contains(url)), "{text}");
            continue;
        }
        let placeholders = if form == ContextFormat::Gemini { 8 } else { 7 };
        assert_eq!(text.matches("[image").count(), placeholders, "{form:?}: {text}");
        assert_eq!(text.matches("/9j/4AAQSkZJRgAB").count(), 2, "{form:?}: {text}");
        let types = ["image/jpeg", "image/png"].map(|name| text.matches(name).count());
        if form != ContextFormat::Ollama {
            // Two placeholders name a PNG that is none.
            assert_eq!(types, [2, 3], "{form:?}: {text}");
        }
    }
}

/// A thought and a text of an Anthropic model.
fn message_with_thought() -> Event {
    event(Fact::MessageAppended(MessageAppended {
        role: Role::Assistant.into(),
        parts: vec![
            of_kind(part::Kind::Thinking(Thinking {
                text: "two calls".to_owned(),
                signature: Some("c2lnbmVk".to_owned()),
            })),
            text_part("Both at once."),
        ],
        provider: "anthropic".to_owned(),
        ..MessageAppended::default()
    }))
}

/// Pictures, thoughts, parallel calls, and results in another order.
pub(super) async fn everything(agent: &Agent) {
    agent.create("c").await;
    let seen = event(Fact::MessageAppended(MessageAppended {
        role: Role::User.into(),
        parts: vec![text_part("What is this?"), picture()],
        ..MessageAppended::default()
    }));
    agent.append("c", vec![message(Role::System, "Be brief."), seen]).await;
    let calls = vec![message_with_thought(), call("a", r#"{"q": 1.50}"#), call("b", r#"{"q":"é"}"#)];
    agent.append("c", calls).await;
    agent.append("c", vec![result("b", r#"{"hits":2}"#), result("a", "[]")]).await;
    agent.append("c", vec![assistant("A cat."), user("Sure?")]).await;
}

/// The list of a body with the conversation.
fn list(context: &AssembledContext) -> &[Value] {
    let names = ["turns", "input", "contents", "messages"];
    let mut lists = names.iter().map(|name| context.body[name].as_array());
    lists.find_map(|list| list).expect("a list")
}

/// A short form of an entry: role and kinds of content.
fn sketch(entry: &Value) -> String {
    let mut words = vec![
        ["role", "type"].map(|key| entry[key].as_str()).into_iter().flatten().next().unwrap_or_default().to_owned(),
    ];
    for key in ["content", "parts"] {
        match &entry[key] {
            Value::String(_) => words.push("text".to_owned()),
            Value::Array(parts) => words.extend(parts.iter().map(kind)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
        }
    }
    for key in ["images", "tool_calls", "calls"] {
        let entries = entry[key].as_array().into_iter().flatten();
        words.extend(entries.map(|_| key.trim_end_matches('s').to_owned()));
    }
    words.join(" ")
}

fn kind(part: &Value) -> String {
    let keys = || part.as_object().expect("a part").keys().next().expect("a key").clone();
    part["type"].as_str().map_or_else(keys, str::to_owned)
}

/// A form, its entries, and its losses: version, content, and replacement.
type Expected = (ContextFormat, &'static [&'static str], &'static [&'static str]);

const EXPECTED: [Expected; 6] = [
    (
        ContextFormat::Canonical,
        &["system text", "user text image", "assistant thinking text call call", "assistant text", "user text"],
        &[],
    ),
    (
        ContextFormat::OpenaiChat,
        &[
            "system text",
            "user text image_url",
            "assistant text tool_call tool_call",
            "tool text",
            "tool text",
            "assistant text",
            "user text",
        ],
        &["4 thinking nothing"],
    ),
    (
        ContextFormat::OpenaiResponses,
        &[
            "user input_text input_image",
            "assistant text",
            "function_call",
            "function_call",
            "function_call_output",
            "function_call_output",
            "assistant text",
            "user text",
        ],
        &["4 thinking nothing"],
    ),
    (
        ContextFormat::Anthropic,
        &[
            "user text image",
            "assistant thinking text tool_use tool_use",
            "user tool_result tool_result",
            "assistant text",
            "user text",
        ],
        &[],
    ),
    (
        ContextFormat::Gemini,
        &[
            "user text inlineData",
            "model text functionCall functionCall",
            "user functionResponse functionResponse",
            "model text",
            "user text",
        ],
        &["4 thinking nothing"],
    ),
    (
        ContextFormat::Ollama,
        &[
            "system text",
            "system text",
            "user text image",
            "assistant text tool_call tool_call",
            "tool text",
            "tool text",
            "assistant text",
            "user text",
        ],
        &["3 part_order other_form", "4 thinking nothing"],
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn each_form_contains_everything() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    everything(&agent).await;
    let mut bodies = HashSet::new();
    for (form, expected, lost) in EXPECTED {
        let context = assemble(&agent, form_request(&agent, form)).await;
        let sketches: Vec<String> = list(&context).iter().map(sketch).collect();
        assert_eq!(sketches, expected, "{form:?}: {:#}", context.body);
        let losses: Vec<String> = context
            .receipt
            .losses
            .iter()
            .map(|loss| format!("{} {} {}", loss.version, loss.lost, loss.became))
            .collect();
        assert_eq!(losses, lost, "{form:?}");
        assert_eq!((context.receipt.turns, context.receipt.left_out), (5, None), "{form:?}");
        let again = assemble(&agent, form_request(&agent, form)).await;
        assert_eq!(again, context, "{form:?}: the same again");
        bodies.insert(context.bytes);
    }
    assert_eq!(bodies.len(), FORMS.len());
}

/// A conversation without messages has a context, too.
#[tokio::test(flavor = "multi_thread")]
async fn each_form_can_be_empty() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    for form in FORMS {
        let context = assemble(&agent, form_request(&agent, form)).await;
        eprintln!("EMPTY {}", context.body);
        assert!(list(&context).len() < 2, "{form:?}");
        let receipt = context.receipt;
        assert_eq!((receipt.version, receipt.turns, receipt.left_out), (1, 0, None), "{form:?}");
        assert_eq!(receipt.epoch, Some(Epoch::default()), "{form:?}");
    }
}

/// Optional settings of a form are in the receipt, and change the bytes.
#[tokio::test(flavor = "multi_thread")]
async fn settings_of_a_form() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    everything(&agent).await;
    let policy = serde_json::json!({"instructions": "Serve."});
    let rendered = async |form: ContextFormat, render: RenderSettings| {
        let request = with(policy_request(&agent, &policy), |request| {
            (request.format, request.render) = (form.into(), Some(render));
        });
        let context = assemble(&agent, request).await;
        assert_eq!(context.receipt.render, Some(render));
        context
    };
    let usual = RenderSettings::default();
    let developer = RenderSettings { instructions_role: InstructionsRole::Developer.into(), ..usual };
    let form = ContextFormat::OpenaiChat;
    assert_eq!(rendered(form, usual).await.body["messages"][0]["role"], "system");
    assert_eq!(rendered(form, developer).await.body["messages"][0]["role"], "developer");
    let adjacent = RenderSettings { call_outputs: CallOutputs::Adjacent.into(), ..usual };
    let form = ContextFormat::OpenaiResponses;
    let answers = |context: &AssembledContext| -> Vec<String> {
        let items = list(context)
            .iter()
            .filter(|item| item["call_id"].is_string())
            .map(|item| format!("{} {}", item["type"], item["call_id"]));
        items.map(|item| item.replace('"', "")).collect()
    };
    let (called, output) = ("function_call", "function_call_output");
    let expected =
        [(called, "a"), (called, "b"), (output, "a"), (output, "b")].map(|(kind, id)| format!("{kind} {id}"));
    assert_eq!(answers(&rendered(form, usual).await), expected);
    let expected =
        [(called, "a"), (output, "a"), (called, "b"), (output, "b")].map(|(kind, id)| format!("{kind} {id}"));
    assert_eq!(answers(&rendered(form, adjacent).await), expected);
    let omit = RenderSettings { thoughts: Thoughts::Omit.into(), ..usual };
    let thoughts = |context: &AssembledContext| String::from_utf8_lossy(&context.bytes).contains("two calls");
    let form = ContextFormat::Anthropic;
    assert!(thoughts(&rendered(form, usual).await));
    let without = rendered(form, omit).await;
    assert!(!thoughts(&without));
    assert!(without.receipt.losses.iter().any(|loss| loss.version == 4), "{:?}", without.receipt);
}
