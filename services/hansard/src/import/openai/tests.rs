use std::fmt::Write as _;

use super::*;
use proto::event::Fact;
use proto::tool_returned::Output;

/// A dialogue as text for snapshots.
#[expect(clippy::wildcard_enum_match_arm, reason = "imports create no others")]
fn brief(dialogue: &Dialogue) -> String {
    let mut text = format!("{} {:?} {:?}\n", dialogue.key, dialogue.owner, dialogue.title);
    writeln!(text, "metadata {}", dialogue.metadata_json).unwrap();
    for placed in &dialogue.events {
        let event = &placed.event;
        let at = event.occurred_at.map(|at| at.seconds).unwrap_or_default();
        let fact = match event.fact.as_ref().unwrap() {
            Fact::MessageAppended(m) => {
                format!("{:?} {:?} {:?} {:?}", m.role(), m.author, m.model, kinds(&m.parts))
            }
            Fact::ToolCalled(c) => format!("call {} {} {}", c.call_id, c.tool_name, c.input_json),
            Fact::ToolReturned(r) => match r.output.as_ref().unwrap() {
                Output::OutputJson(json) => format!("result {} {} {json}", r.call_id, r.tool_name),
                Output::OutputParts(parts) => {
                    format!("result {} {:?}", r.call_id, kinds(&parts.parts))
                }
            },
            other => panic!("{other:?}"),
        };
        writeln!(text, "{} {at} {fact} {}", placed.message, event.metadata_json).unwrap();
    }
    for remark in &dialogue.remarks {
        writeln!(text, "remark {remark}").unwrap();
    }
    text
}

fn kinds(parts: &[proto::Part]) -> Vec<&proto::part::Kind> {
    parts.iter().filter_map(|part| part.kind.as_ref()).collect()
}

#[test]
fn conversations_are_parsed() {
    for (number, line) in include_str!("../fixtures/openai.jsonl").lines().enumerate() {
        let dialogue = parse(line, u64::try_from(number).unwrap() + 1).unwrap();
        insta::assert_snapshot!(format!("openai_line_{}", number + 1), brief(&dialogue));
    }
}

#[test]
fn errors_of_invalid_lines() {
    let mut report = String::new();
    for line in include_str!("../fixtures/openai_bad.jsonl").lines() {
        let violation = parse(line, 1).expect_err(line);
        writeln!(report, "{line}\n  {violation}").unwrap();
    }
    insta::assert_snapshot!(report);
}
