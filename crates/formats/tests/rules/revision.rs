//! Snapshots of whole bodies: bytes that receipts prove change only with the assembly revision.
//!
//! If this fails, a context has other bytes than in the previous release: raise `context::ASSEMBLY_REVISION` and accept the
//! new snapshots.

use context::{ASSEMBLY_REVISION, Policy};
use domain::event::{MessageAppended, Role, ToolCalled, ToolOutcome, ToolOutput, ToolReturned};
use domain::{CallId, Fact, JsonText, Label, Part, ToolName, Version};
use formats::{CallOutputs, Format, InstructionsRole, RenderOptions, Thoughts, render};

use crate::whole::{Ask, assembled, recorded};

const POLICIES: [(&str, &str); 3] = [
    ("trimmed", r#"{"instructions":"You help.","budget":{"context_tokens_max":1500,"reserved_tokens":0}}"#),
    ("cleared", r#"{"budget":{"context_tokens_max":1500,"reserved_tokens":0},"clear":{"fresh_percent":60}}"#),
    ("digested", r#"{"budget":{"context_tokens_max":1500,"reserved_tokens":0},"tool_digest":{"bytes_max":900}}"#),
];

#[test]
fn bodies_change_only_with_the_assembly_revision() {
    for (name, policy) in POLICIES {
        let policy = Policy::parse(policy).unwrap();
        let ask = Ask { through: Version(4), summary: Version(9) };
        let assembled = assembled(&recorded(history()), &policy, ask).unwrap();
        for format in Format::ALL.iter().copied() {
            let options = RenderOptions {
                instructions_role: InstructionsRole::System,
                thoughts: Thoughts::Replay,
                call_outputs: CallOutputs::Together,
                cache_key: Some("key".to_owned()),
                context_tokens_max: Some(1_500),
            };
            let body = String::from_utf8(render(format, &assembled.transcript, &options).body).unwrap();
            let snapshot = format!("revision_{ASSEMBLY_REVISION}_{name}_{format}");
            let advice = "If this changed, raise context::ASSEMBLY_REVISION.";
            insta::assert_snapshot!(snapshot, format!("{advice}\n{body}"));
        }
    }
}

/// Thoughts, secrets, a late result, a pending call, a summary that ends within a turn.
fn history() -> Vec<Fact> {
    let mut facts = Vec::new();
    for index in 0..10 {
        let words = " word".repeat(20 + index * 13 % 40);
        facts.push(said(Role::User, vec![Part::Text(format!("{index}?{words}"))]));
        facts.push(said(
            Role::Assistant,
            vec![Part::Thinking { text: "What next?".to_owned(), signature: Some("c2ln".to_owned()) }],
        ));
        facts.push(called(index));
        if index % 4 != 3 {
            facts.push(returned(index, &words));
        }
        if index < 9 {
            facts.push(said(Role::Assistant, vec![Part::Text(format!("{index}.{words}"))]));
        }
    }
    facts.push(returned(3, "late"));
    facts.push(called(10));
    facts
}

fn said(role: Role, parts: Vec<Part>) -> Fact {
    Fact::MessageAppended(MessageAppended {
        provider: Label::parse("anthropic").ok(),
        ..MessageAppended::new(role, parts)
    })
}

fn called(index: usize) -> Fact {
    Fact::ToolCalled(ToolCalled {
        call_id: CallId::parse(format!("c{index}")).unwrap(),
        tool_name: ToolName::parse("search").unwrap(),
        input: JsonText::parse(format!(r#"{{"pin":{index},"q":"word"}}"#)).unwrap(),
        model: None,
        provider: Label::parse("anthropic").ok(),
        provider_response_id: None,
        signature: None,
    })
}

fn returned(index: usize, words: &str) -> Fact {
    let output = format!(r#"{{"of":{index},"password":"p{index}","more":"{words}{words}"}}"#);
    Fact::ToolReturned(ToolReturned {
        call_id: CallId::parse(format!("c{index}")).unwrap(),
        tool_name: Some(ToolName::parse("search").unwrap()),
        output: ToolOutput::Json(JsonText::parse(output).unwrap()),
        outcome: ToolOutcome::Succeeded,
    })
}
