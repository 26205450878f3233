use wire::proto::read::v1::ContextMessage;

use super::*;
use crate::console::Printable;

fn text(text: &str) -> Part {
    Part { kind: Some(Kind::Text(text.to_owned())) }
}

fn turn(version: u64, role: Role, parts: Vec<Part>, tool_calls: Vec<ToolCalled>) -> ContextMessage {
    let turn = Turn { role: role.into(), parts, tool_calls, author: String::new() };
    ContextMessage { version, kind: Some(MessageKind::Turn(turn)) }
}

fn result(version: u64, output: Output, outcome: ToolOutcome) -> ContextMessage {
    let result = ToolReturned {
        call_id: "c1".to_owned(),
        tool_name: "weather".to_owned(),
        output: Some(output),
        outcome: outcome.into(),
    };
    ContextMessage { version, kind: Some(MessageKind::ToolResult(result)) }
}

#[test]
fn a_context_as_text() {
    let call = ToolCalled {
        call_id: "c1".to_owned(),
        tool_name: "weather".to_owned(),
        input_json: r#"{"city": "Oslo"}"#.to_owned(),
        ..ToolCalled::default()
    };
    let image = proto::Image {
        source: Some(proto::MediaSource {
            kind: Some(proto::media_source::Kind::Url("data:image/png;base64,AAAA".to_owned())),
        }),
        ..proto::Image::default()
    };
    let context = AssembleContextResponse {
        messages: vec![
            turn(2, Role::System, vec![text("You help.\nBriefly.")], vec![]),
            turn(3, Role::User, vec![text("Hi \u{1b}[31m"), Part { kind: Some(Kind::Image(image)) }], vec![]),
            turn(4, Role::User, vec![text("Still there?")], vec![]),
            turn(5, Role::Assistant, vec![text("Let me see.")], vec![call]),
            result(7, Output::OutputJson(r#"{"t":-3.0}"#.to_owned()), ToolOutcome::Succeeded),
            result(8, Output::OutputParts(proto::Parts { parts: vec![text("no")] }), ToolOutcome::Failed),
            turn(9, Role::Assistant, vec![], vec![]),
        ],
        version: 12_345,
        position_token: String::new(),
        report: Some(ContextReport {
            first_version: 2,
            truncated: true,
            events_from_rows: 6,
            events_from_tail: 2,
            pending_call_ids: vec!["c2".to_owned()],
        }),
        ..AssembleContextResponse::default()
    };
    let mut out = Printable(Vec::new());
    write(&mut out, &context).unwrap();
    insta::assert_snapshot!(String::from_utf8(out.0).unwrap());
}
