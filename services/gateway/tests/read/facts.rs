//! Builds facts for tests.

use domain::event::{
    ConversationUpdated, MessageAppended, Role, SystemNoted, ToolCalled, ToolOutcome, ToolOutput, ToolReturned,
};
use domain::{CallId, Fact, FieldChange, JsonText, Part, ToolName};

pub(crate) fn user(text: &str) -> Fact {
    message(Role::User, text)
}

pub(crate) fn assistant(text: &str) -> Fact {
    message(Role::Assistant, text)
}

pub(crate) fn message(role: Role, text: &str) -> Fact {
    Fact::MessageAppended(MessageAppended::new(role, vec![Part::Text(text.to_owned())]))
}

pub(crate) fn call(id: &str) -> Fact {
    Fact::ToolCalled(ToolCalled {
        call_id: CallId::parse(id).unwrap(),
        tool_name: ToolName::parse("search").unwrap(),
        input: JsonText::parse(r#"{"query": 1.0}"#).unwrap(),
        model: None,
        provider: None,
        provider_response_id: None,
        signature: None,
    })
}

pub(crate) fn result(id: &str) -> Fact {
    Fact::ToolReturned(ToolReturned {
        call_id: CallId::parse(id).unwrap(),
        tool_name: Some(ToolName::parse("search").unwrap()),
        output: ToolOutput::Json(JsonText::parse("[1e2]").unwrap()),
        outcome: ToolOutcome::Succeeded,
    })
}

pub(crate) fn note() -> Fact {
    Fact::from(SystemNoted { topic: None, text: "noted".to_owned() })
}

pub(crate) fn titled(title: &str) -> Fact {
    Fact::from(ConversationUpdated {
        title: Some(FieldChange::Set(title.to_owned())),
        ..ConversationUpdated::default()
    })
}
