//! Names and ids that a provider does not accept are mapped deterministically, and the receipt lists the mapping.

use serde_json::{Value, json};
use tests::events::{event, result, user};
use tests::stack::Stack;
use wire::proto::event::v1::ToolCalled;
use wire::proto::event::v1::event::Fact;
use wire::proto::read::v1::{ContextFormat, WrittenName};

use super::{FORMS, assemble, form_request};

const TOOL: &str = "files: read ü";
const CALL: &str = "call/1 ü";

/// The only mapped name of a receipt.
fn mapped_name<'a>(names: &'a [WrittenName], recorded: &str) -> Option<&'a str> {
    assert!(names.len() < 2, "{names:?}");
    let name = names.first()?;
    assert_eq!(name.recorded, recorded);
    Some(name.written.as_str())
}

/// Every text of a document.
fn texts(document: &Value) -> Vec<&str> {
    match document {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(members) => members.values().flat_map(texts).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_names_are_mapped_and_listed() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let call = event(Fact::ToolCalled(ToolCalled {
        call_id: CALL.to_owned(),
        tool_name: TOOL.to_owned(),
        input_json: json!({}).to_string(),
        ..ToolCalled::default()
    }));
    agent.append("c", vec![user("read"), call, result(CALL, "1")]).await;
    for form in FORMS {
        let context = assemble(&agent, form_request(&agent, form)).await;
        let receipt = &context.receipt;
        let tool = mapped_name(&receipt.tool_names, TOOL);
        let call = mapped_name(&receipt.call_ids, CALL);
        assert_eq!(tool.is_none(), form == ContextFormat::Canonical, "{form:?}");
        let texts = texts(&context.body);
        assert!(texts.contains(&tool.unwrap_or(TOOL)), "{form:?}: {texts:?}");
        assert_eq!(texts.contains(&TOOL), tool.is_none(), "{form:?}: {texts:?}");
        if let Some(call) = call {
            // The call and its result.
            let named = texts.iter().filter(|text| **text == call);
            assert_eq!(named.count(), 2, "{form:?}: {texts:?}");
            assert!(!texts.contains(&CALL), "{form:?}: {texts:?}");
        }
    }
}
