//! An export as CSV; no cell is a formula.

use domain::event::{Annotation, Fact, ToolOutput};
use domain::{Head, RecordedEvent};

use crate::csv_row::row;
use api_json::content::texts;
use api_json::fact::FactBody;
use api_json::instant::rfc3339;

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

/// The values of an event that have their own columns.
#[derive(Default)]
struct Columns<'a> {
    role: &'a str,
    model: &'a str,
    tool_name: &'a str,
    call_id: &'a str,
    text: String,
}

pub(super) fn start(chunk: &mut Vec<u8>) {
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
            fact.kind().name().to_owned(),
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
        Fact::MessageAppended(message) => Columns {
            role: message.role.as_str(),
            model: message.model.as_ref().map_or("", |model| model.as_str()),
            text: texts(&message.parts).collect(),
            ..Columns::default()
        },
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
                ToolOutput::Parts(parts) => texts(parts).collect(),
            },
            ..Columns::default()
        },
        Fact::Annotation(Annotation::SystemNoted(note)) => text(&note.text),
        Fact::Annotation(Annotation::ErrorOccurred(error)) => text(&error.message),
        Fact::Annotation(Annotation::HistorySummarised(summary)) => text(&summary.text),
        Fact::Annotation(_) | Fact::Lifecycle(_) => Columns::default(),
    }
}

fn text(text: &str) -> Columns<'static> {
    Columns { text: text.to_owned(), ..Columns::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_row_has_the_columns() {
        let mut chunk = Vec::new();
        start(&mut chunk);
        let expected = "version,recorded_at,commit_id,event_id,type,role,model,tool_name,call_id,text,data\r\n";
        assert_eq!(String::from_utf8(chunk).unwrap(), expected);
    }
}
