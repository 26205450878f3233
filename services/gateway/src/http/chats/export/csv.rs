//! An export as CSV (RFC 4180), safe to open in a spreadsheet: a cell that would be a formula starts with an apostrophe.

use csv::{Terminator, WriterBuilder};
use domain::event::{Annotation, Fact, ToolOutput};
use domain::{Head, RecordedEvent};

use crate::http::body::{FactBody, rfc3339, texts};

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

/// Spreadsheets read a cell that starts with one of these as a formula, some also after blanks.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

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
    Columns {
        text: text.to_owned(),
        ..Columns::default()
    }
}

/// Appends a row. Cells are quoted only where RFC 4180 requires it.
fn row<const COUNT: usize>(cells: &[String; COUNT], chunk: &mut Vec<u8>) {
    let mut writer = WriterBuilder::new()
        .terminator(Terminator::CRLF)
        .from_writer(chunk);
    // Dropping the writer flushes it; a buffer in memory takes every row.
    if let Err(error) = writer.write_record(cells.iter().map(|cell| without_formula(cell))) {
        tracing::error!(%error, "an event cannot be written as CSV");
    }
}

fn without_formula(cell: &str) -> String {
    let is_formula = cell.trim_start_matches(' ').starts_with(FORMULA);
    if is_formula {
        format!("'{cell}")
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(cell: &str, expected: &str) {
        let mut chunk = Vec::new();
        row(&[cell.to_owned(), String::new()], &mut chunk);
        let written = String::from_utf8(chunk).unwrap();
        assert_eq!(written, format!("{expected},\r\n"));
    }

    #[test]
    fn the_first_row_has_the_columns() {
        let mut chunk = Vec::new();
        start(&mut chunk);
        let expected = "version,recorded_at,commit_id,event_id,type,role,model,tool_name,call_id,text,data\r\n";
        assert_eq!(String::from_utf8(chunk).unwrap(), expected);
    }

    #[test]
    fn no_cell_is_a_formula_or_ends_its_row() {
        check("", "");
        check("plain", "plain");
        check("a,b", "\"a,b\"");
        check("say \"hi\"", "\"say \"\"hi\"\"\"");
        check("two\nlines", "\"two\nlines\"");
        check(" a b ; # \\ 'c' é", " a b ; # \\ 'c' é");
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", " =1"] {
            check(formula, &format!("'{formula}"));
        }
        check("\r=1", "\"'\r=1\"");
        check("=cmd|' /C calc'!A0,", "\"'=cmd|' /C calc'!A0,\"");
        check("a=1", "a=1");
    }
}
