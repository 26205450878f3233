//! Writes a context as readable text, oldest message first.

use std::io::{self, Write};

use wire::proto::event::v1::part::Kind;
use wire::proto::event::v1::tool_returned::Output;
use wire::proto::event::v1::{self as proto, Part, Role, ToolCalled, ToolOutcome, ToolReturned};
use wire::proto::read::v1::context_message::Kind as MessageKind;
use wire::proto::read::v1::{AssembleContextResponse, ContextReport, Turn};

use crate::progress::grouped;

/// The width of the column of roles: that of `assistant`.
pub(super) const ROLE_WIDTH: usize = 9;

/// Writes a context: the lines of each message, with the role before the first one.
pub(crate) fn write(out: &mut impl Write, context: &AssembleContextResponse) -> io::Result<()> {
    let mut previous = String::new();
    for message in &context.messages {
        let (name, lines) = match &message.kind {
            Some(MessageKind::Turn(turn)) => (role_name(turn.role()), turn_lines(turn)),
            Some(MessageKind::ToolResult(result)) => ("tool", result_lines(result)),
            None => continue,
        };
        for line in lines {
            // Consecutive messages of one role name it once.
            let shown = if name == previous { "" } else { name };
            writeln!(out, "  {shown:>ROLE_WIDTH$}  {line}")?;
            name.clone_into(&mut previous);
        }
    }
    match &context.report {
        Some(report) => writeln!(out, "  {}", summary(context, report)),
        None => Ok(()),
    }
}

fn summary(context: &AssembleContextResponse, report: &ContextReport) -> String {
    let mut text = format!(
        "({} messages of version {}: {} events from rows, {} from the record's tail",
        context.messages.len(),
        grouped(context.version),
        report.events_from_rows,
        report.events_from_tail,
    );
    if report.truncated {
        text.push_str("; older ones omitted");
    }
    if !report.pending_call_ids.is_empty() {
        text.push_str("; waiting for ");
        text.push_str(&report.pending_call_ids.join(", "));
    }
    text.push(')');
    text
}

pub(super) fn role_name(role: Role) -> &'static str {
    match role {
        Role::Unspecified => "?",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::System => "system",
        Role::Developer => "developer",
    }
}

fn turn_lines(turn: &Turn) -> Vec<String> {
    let calls = turn.tool_calls.iter().map(call_line);
    let parts = turn.parts.iter().flat_map(part_lines);
    parts.chain(calls).collect()
}

pub(super) fn call_line(call: &ToolCalled) -> String {
    let (tool, input, id) = (&call.tool_name, &call.input_json, &call.call_id);
    format!("-> {tool}({input}) [{id}]")
}

pub(super) fn result_lines(result: &ToolReturned) -> Vec<String> {
    let (tool, id) = (&result.tool_name, &result.call_id);
    let mut lines = vec![match result.outcome() {
        ToolOutcome::Failed => format!("<- {tool} failed [{id}]"),
        ToolOutcome::Unspecified | ToolOutcome::Succeeded => format!("<- {tool} [{id}]"),
    }];
    match &result.output {
        Some(Output::OutputJson(json)) => lines.push(json.clone()),
        Some(Output::OutputParts(parts)) => lines.extend(parts.parts.iter().flat_map(part_lines)),
        None => {}
    }
    lines
}

pub(super) fn part_lines(part: &Part) -> Vec<String> {
    let text = match &part.kind {
        Some(Kind::Text(text)) => return text.lines().map(str::to_owned).collect(),
        Some(Kind::Image(image)) => format!("[image {}]", source(image.source.as_ref())),
        Some(Kind::File(file)) => {
            format!("[file {} {}]", file.filename, source(file.source.as_ref()))
        }
        Some(Kind::Thinking(thinking)) => format!("[thinking] {}", thinking.text),
        Some(Kind::RedactedThinking(_)) => "[thinking, encrypted]".to_owned(),
        Some(Kind::Refusal(refusal)) => format!("[refusal] {refusal}"),
        Some(Kind::ProviderItem(item)) => format!("[{}] {}", item.provider, item.item_json),
        None => return Vec::new(),
    };
    vec![text]
}

fn source(source: Option<&proto::MediaSource>) -> &str {
    use proto::media_source::Kind;
    match source.and_then(|source| source.kind.as_ref()) {
        Some(Kind::Url(url)) if url.starts_with("data:") => "inline",
        Some(Kind::Url(url)) => url,
        Some(Kind::FileId(id)) => id,
        None => "",
    }
}

#[cfg(test)]
mod tests;
