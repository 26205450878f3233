//! An export as CSV (RFC 4180), safe to open in a spreadsheet: a cell that would be a formula begins with an apostrophe.

use domain::event::{Fact, MessageAppended, ToolOutput};
use domain::{Head, Part, RecordedEvent};

use crate::http::body::{FactBody, kind_name, rfc3339};

const COLUMNS: [&str; 11] = [
    "version",
    "recorded_at",
    "commit_id",
    "event_id",
    "type",
    "role",
    "model",
    "tool_name",
    "call_id",
    "text",
    "data",
];

/// With these a spreadsheet begins a formula, some after blanks that it skips.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// What of an event goes into columns of its own.
#[derive(Default)]
struct Columns<'a> {
    role: &'a str,
    model: &'a str,
    tool_name: &'a str,
    call_id: &'a str,
    text: String,
}

pub(super) fn begin(chunk: &mut Vec<u8>) {
    row(&COLUMNS.map(str::to_owned), chunk);
}

pub(super) fn event(recorded: &RecordedEvent, chunk: &mut Vec<u8>) {
    let fact = &recorded.event.fact;
    let columns = columns(fact);
    let data = serde_json::to_string(&FactBody::from(fact)).unwrap_or_default();
    row(
        &[
            recorded.version.to_string(),
            rfc3339(recorded.recorded_at),
            recorded.commit.to_string(),
            recorded.event.id.to_string(),
            kind_name(fact).to_owned(),
            columns.role.to_owned(),
            columns.model.to_owned(),
            columns.tool_name.to_owned(),
            columns.call_id.to_owned(),
            columns.text,
            data,
        ],
        chunk,
    );
}

pub(super) fn end(head: &Head, chunk: &mut Vec<u8>) {
    let mut cells = COLUMNS.map(|_| String::new());
    for (column, cell) in COLUMNS.iter().zip(&mut cells) {
        *cell = match *column {
            "version" => head.version.to_string(),
            "recorded_at" => rfc3339(head.recorded_at),
            "type" => "Chain".to_owned(),
            "text" => head.chain.to_string(),
            _ => String::new(),
        };
    }
    row(&cells, chunk);
}

fn columns(fact: &Fact) -> Columns<'_> {
    match fact {
        Fact::MessageAppended(message) => said(message),
        Fact::ToolCalled(call) => Columns {
            model: call.model.as_ref().map_or("", |model| model.as_str()),
            tool_name: call.tool_name.as_str(),
            call_id: call.call_id.as_str(),
            text: call.input.as_str().to_owned(),
            ..Columns::default()
        },
        Fact::ToolReturned(result) => Columns {
            tool_name: result.tool_name.as_ref().map_or("", |tool| tool.as_str()),
            call_id: result.call_id.as_str(),
            text: match &result.output {
                ToolOutput::Json(document) => document.as_str().to_owned(),
                ToolOutput::Parts(parts) => texts(parts),
            },
            ..Columns::default()
        },
        Fact::SystemNoted(note) => text(&note.text),
        Fact::ErrorOccurred(error) => text(&error.message),
        Fact::HistorySummarised(summary) => text(&summary.text),
        Fact::ConversationCreated(_)
        | Fact::ConversationUpdated(_)
        | Fact::ConversationArchived
        | Fact::ConversationRestored
        | Fact::ConversationErased
        | Fact::HistoryRewound(_)
        | Fact::OwnerChanged(_)
        | Fact::RunStarted(_)
        | Fact::RunStopRequested(_)
        | Fact::RunFinished(_) => Columns::default(),
    }
}

fn said(message: &MessageAppended) -> Columns<'_> {
    Columns {
        role: message.role.as_str(),
        model: message.model.as_ref().map_or("", |model| model.as_str()),
        text: texts(&message.parts),
        ..Columns::default()
    }
}

fn text(text: &str) -> Columns<'static> {
    Columns {
        text: text.to_owned(),
        ..Columns::default()
    }
}

/// What is read aloud of parts, one after the other.
fn texts(parts: &[Part]) -> String {
    let spoken = parts.iter().filter_map(|part| match part {
        Part::Text(text) | Part::Refusal(text) => Some(text.as_str()),
        Part::Image { .. }
        | Part::File { .. }
        | Part::Thinking { .. }
        | Part::RedactedThinking(_)
        | Part::ProviderItem { .. } => None,
    });
    spoken.collect()
}

fn row(cells: &[String; 11], chunk: &mut Vec<u8>) {
    for (index, cell) in cells.iter().enumerate() {
        if index > 0 {
            chunk.push(b',');
        }
        chunk.extend_from_slice(escaped(cell).as_bytes());
    }
    chunk.extend_from_slice(b"\r\n");
}

fn escaped(cell: &str) -> String {
    let is_formula = cell.trim_start_matches(' ').starts_with(FORMULA);
    let cell = if is_formula {
        format!("'{cell}")
    } else {
        cell.to_owned()
    };
    if cell.contains(['"', ',', '\r', '\n']) {
        return format!("\"{}\"", cell.replace('"', "\"\""));
    }
    cell
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(cell: &str, expected: &str) {
        assert_eq!(escaped(cell), expected);
    }

    #[test]
    fn no_cell_is_a_formula_or_ends_its_row() {
        check("", "");
        check("plain", "plain");
        check("a,b", "\"a,b\"");
        check("say \"hi\"", "\"say \"\"hi\"\"\"");
        check("two\nlines", "\"two\nlines\"");
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", " =1"] {
            check(formula, &format!("'{formula}"));
        }
        check("\r=1", "\"'\r=1\"");
        check("=cmd|' /C calc'!A0,", "\"'=cmd|' /C calc'!A0,\"");
        check("a=1", "a=1");
    }
}
