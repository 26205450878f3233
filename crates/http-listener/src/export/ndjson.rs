//! An export as lines of JSON, one event each. The last line has no event: a file without it is incomplete.

use domain::{RecordedEvent, Version};
use wire::status::Problem;

use api_json::fact::EventBody;
use api_json::json_line::json_line;
use conversations::problem;

pub(super) fn event(event: &RecordedEvent, chunk: &mut Vec<u8>) -> Result<(), Problem> {
    let line = json_line(&EventBody::from(event)).map_err(|_| {
        let what = format!("event {} has a document that is not JSON", event.version);
        problem::of_contradiction(what)
    })?;
    chunk.extend_from_slice(line.as_bytes());
    chunk.push(b'\n');
    Ok(())
}

/// `to`: the last version of the exported range.
pub(super) fn end(to: Version, chunk: &mut Vec<u8>) {
    let line = format!("{{\"end\":{{\"version\":{to}}}}}\n");
    chunk.extend_from_slice(line.as_bytes());
}
