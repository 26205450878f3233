//! Writes chunks as server-sent events.

use std::fmt;

use domain::RunId;

use crate::ui_chunk::UiChunk;

/// The last event of every stream.
pub const DONE: &str = "data: [DONE]\n\n";
/// The comment that is sent for a part without chunks, to keep the connection open.
pub const KEEP_ALIVE: &str = ": kept alive\n\n";
/// The header of the protocol.
pub const PROTOCOL_HEADER: (&str, &str) = ("x-vercel-ai-ui-message-stream", "v1");

/// The id of an event: `<run>:<part>`. It contains the run, because another run may be active when the client reconnects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartId {
    /// The run.
    pub run: RunId,
    /// The part that is complete with this event.
    pub part: u64,
}

impl PartId {
    /// Parses an id; `None` if it is invalid.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (run, part) = text.split_once(':')?;
        Some(Self { run: RunId::parse(run).ok()?, part: part.parse().ok()? })
    }
}

impl fmt::Display for PartId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.run, self.part)
    }
}

/// The events of the chunks of one part.
///
/// Only the last event has the id of the part. A client that reconnects with it as `Last-Event-ID` has received the whole
/// part, and gets the next one. `None` for chunks without a part, and for parts from which a client cannot resume.
///
/// # Errors
/// A recorded document that is not JSON.
pub fn frames(part: Option<PartId>, chunks: &[UiChunk]) -> Result<String, serde_json::Error> {
    let Some((last, before)) = chunks.split_last() else {
        return Ok(KEEP_ALIVE.to_owned());
    };
    let mut out = String::new();
    for chunk in before {
        push_data(&mut out, chunk)?;
    }
    if let Some(part) = part {
        out.push_str("id: ");
        out.push_str(&part.to_string());
        out.push('\n');
    }
    push_data(&mut out, last)?;
    Ok(out)
}

/// Writes one event in one line. Line breaks of a recorded document are only white space, never in its strings.
fn push_data(out: &mut String, chunk: &UiChunk) -> Result<(), serde_json::Error> {
    let json = serde_json::to_string(chunk)?;
    out.push_str("data: ");
    out.push_str(&json.replace(['\n', '\r'], " "));
    out.push_str("\n\n");
    Ok(())
}

#[cfg(test)]
mod tests {
    use domain::{CallId, JsonText, ToolName};

    use super::*;
    use crate::ui_message::Json;

    const RUN: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

    fn check(part: Option<u64>, chunks: &[UiChunk], expected: &str) {
        let run = RunId::parse(RUN).unwrap();
        let part = part.map(|part| PartId { run, part });
        assert_eq!(frames(part, chunks).unwrap(), expected);
    }

    #[test]
    fn the_last_event_of_a_part_has_its_id() {
        check(Some(3), &[], KEEP_ALIVE);
        check(None, &[UiChunk::Abort], "data: {\"type\":\"abort\"}\n\n");
        check(
            Some(7),
            &[UiChunk::StartStep, UiChunk::Abort],
            &format!("data: {{\"type\":\"start-step\"}}\n\nid: {RUN}:7\ndata: {{\"type\":\"abort\"}}\n\n"),
        );
    }

    #[test]
    fn ids_round_trip() {
        let check = |text: &str, part: Option<u64>| {
            let read = PartId::parse(text);
            assert_eq!(read.map(|id| id.part), part, "{text}");
            assert!(read.is_none_or(|id| id.to_string() == text), "{text}");
        };
        check(&format!("{RUN}:7"), Some(7));
        check(&format!("{RUN}:{}", u64::MAX), Some(u64::MAX));
        check(&format!("{RUN}:{}0", u64::MAX), None);
        check(&format!("{RUN}:"), None);
        check(&format!("{RUN}:-1"), None);
        check(&format!("{RUN}:7:8"), None);
        check(RUN, None);
        check("7", None);
        check("x:7", None);
        check("", None);
    }

    #[test]
    fn documents_with_line_breaks_are_written_in_one_line() {
        let chunk = UiChunk::ToolInputAvailable {
            tool_call_id: CallId::parse("c").unwrap(),
            tool_name: ToolName::parse("t").unwrap(),
            input: Json(JsonText::parse("{\r\n \"a\": \"x\\ny\"\n}").unwrap()),
        };
        check(
            None,
            &[chunk],
            "data: {\"type\":\"tool-input-available\",\"toolCallId\":\"c\",\"toolName\":\"t\",\"input\":{   \"a\": \"x\\ny\" }}\n\n",
        );
    }
}
