//! Chunks as server-sent events.

use crate::ui_chunk::UiChunk;

/// The last event of every stream.
pub const DONE: &str = "data: [DONE]\n\n";
/// What is sent where a part says nothing, so that nobody takes the connection for dead.
pub const KEEP_ALIVE: &str = ": kept alive\n\n";
/// The header that names the protocol.
pub const PROTOCOL_HEADER: (&str, &str) = ("x-vercel-ai-ui-message-stream", "v1");

/// The events of the chunks that one part said, ready to be sent.
///
/// The part's number is the id of the last of them: a client that comes back with it as `Last-Event-ID` has seen the
/// whole part, and gets the next. `None` for chunks that belong to no part.
///
/// # Errors
/// A recorded document that is not JSON.
pub fn frames(part: Option<u64>, chunks: &[UiChunk]) -> Result<String, serde_json::Error> {
    let Some((last, before)) = chunks.split_last() else {
        return Ok(KEEP_ALIVE.to_owned());
    };
    let mut out = String::new();
    for chunk in before {
        push_data(&mut out, chunk)?;
    }
    if let Some(number) = part {
        out.push_str("id: ");
        out.push_str(&number.to_string());
        out.push('\n');
    }
    push_data(&mut out, last)?;
    Ok(out)
}

/// One event in one line: a document that was recorded over several lines is white space there, never in its strings.
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

    fn check(part: Option<u64>, chunks: &[UiChunk], expected: &str) {
        assert_eq!(frames(part, chunks).unwrap(), expected);
    }

    #[test]
    fn the_last_event_of_a_part_has_its_number() {
        check(Some(3), &[], KEEP_ALIVE);
        check(None, &[UiChunk::Abort], "data: {\"type\":\"abort\"}\n\n");
        check(
            Some(7),
            &[UiChunk::StartStep, UiChunk::Abort],
            "data: {\"type\":\"start-step\"}\n\nid: 7\ndata: {\"type\":\"abort\"}\n\n",
        );
    }

    #[test]
    fn documents_over_several_lines_stay_in_one() {
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
