//! Parses the parts of messages: the content of a user message, and the answers of a client to calls.

use domain::bounds::{EVENT_BYTES_MAX, LABEL_BYTES_MAX, PARTS_MAX};
use domain::content::MediaSource;
use domain::event::{ToolOutcome, ToolOutput, ToolReturned};
use domain::violation::check_length;
use domain::{CallId, JsonText, Label, Part, ToolName, Violation, ViolationReason};

use super::ID_BYTES_MAX;
use super::object::Object;
use super::{ToolAnswer, missing};
use crate::data_part::{DATA_PREFIX, check_type, to_recorded};
use crate::denial::{Denial, denial_result};
use crate::ui_part::FILE_ID_PREFIX;

/// Maximum bytes of the `type` and the `state` of a part.
const TYPE_BYTES_MAX: usize = LABEL_BYTES_MAX + 16;

/// The texts, files and `data-…` parts of a user message: at least one text or file, because models read no others.
pub(super) fn content(message: &Object<'_>) -> Result<Vec<Part>, Violation> {
    let content = read_parts(message, content_part)?;
    let is_data = |part: &Part| matches!(part, Part::ProviderItem { .. });
    if content.iter().all(is_data) {
        let rule = "contains neither text nor a file";
        return Err(Violation::new(ViolationReason::Missing, rule).within("parts"));
    }
    Ok(content)
}

/// The answers to the calls of an assistant message.
pub(super) fn answers(message: &Object<'_>) -> Result<Vec<ToolAnswer>, Violation> {
    read_parts(message, answer)
}

/// Checks that all parts are objects, and then reads them; `read` returns `None` for a part to skip.
fn read_parts<T>(
    message: &Object<'_>,
    read: fn(&Object<'_>) -> Result<Option<T>, Violation>,
) -> Result<Vec<T>, Violation> {
    let parts = message.list("parts")?.ok_or_else(|| missing("parts"))?;
    check_length(parts.len(), PARTS_MAX).map_err(|wrong| wrong.within("parts"))?;
    let at = |index| move |wrong: Violation| wrong.at(index).within("parts");
    let mut objects = Vec::with_capacity(parts.len());
    for (index, part) in parts.iter().enumerate() {
        objects.push(Object::parse(part.get()).map_err(at(index))?);
    }
    let mut found = Vec::new();
    for (index, part) in objects.iter().enumerate() {
        found.extend(read(part).map_err(at(index))?);
    }
    Ok(found)
}

fn content_part(part: &Object<'_>) -> Result<Option<Part>, Violation> {
    match required(part, "type", TYPE_BYTES_MAX)?.as_str() {
        "text" => {
            let text = required(part, "text", EVENT_BYTES_MAX)?;
            Ok((!text.is_empty()).then_some(Part::Text(text)))
        }
        "file" => file(part).map(Some),
        kind if kind.starts_with(DATA_PREFIX) => {
            check_type(kind)?;
            part.text("id", ID_BYTES_MAX)?;
            to_recorded(part.json()).map(Some)
        }
        _ => {
            let rule = "is not one of text, file, data-…, which a user message may contain";
            Err(Violation::new(ViolationReason::Malformed, rule).within("type"))
        }
    }
}

fn file(part: &Object<'_>) -> Result<Part, Violation> {
    let url = required(part, "url", EVENT_BYTES_MAX)?;
    if url.is_empty() {
        return Err(missing("url"));
    }
    let source = match url.strip_prefix(FILE_ID_PREFIX) {
        Some(id) => MediaSource::FileId(id.to_owned()),
        None => MediaSource::Url(url),
    };
    let media_type = label(part, "mediaType")?;
    let name = media_type.as_ref().map_or("", Label::as_str);
    if name.starts_with("image/") {
        return Ok(Part::Image { source, media_type, detail: None });
    }
    Ok(Part::File { source, media_type, filename: label(part, "filename")? })
}

fn answer(part: &Object<'_>) -> Result<Option<ToolAnswer>, Violation> {
    let kind = required(part, "type", TYPE_BYTES_MAX)?;
    let tool_name = match kind.strip_prefix("tool-") {
        Some(name) => ToolName::parse(name).map_err(|wrong| wrong.within("type"))?,
        None if kind == "dynamic-tool" => {
            ToolName::parse(required(part, "toolName", LABEL_BYTES_MAX)?).map_err(|wrong| wrong.within("toolName"))?
        }
        None => return Ok(None),
    };
    let call_id =
        CallId::parse(required(part, "toolCallId", LABEL_BYTES_MAX)?).map_err(|wrong| wrong.within("toolCallId"))?;
    let returned = |output, outcome| ToolReturned {
        call_id: call_id.clone(),
        tool_name: Some(tool_name.clone()),
        output,
        outcome,
    };
    let state = required(part, "state", TYPE_BYTES_MAX)?;
    Ok(match state.as_str() {
        "output-available" if part.flag("preliminary")? => None,
        "output-available" => Some(ToolAnswer::Returned(returned(output(part)?, ToolOutcome::Succeeded))),
        "output-error" => {
            let text = required(part, "errorText", EVENT_BYTES_MAX)?;
            let output = ToolOutput::Parts(vec![Part::Text(text)]);
            Some(ToolAnswer::Returned(returned(output, ToolOutcome::Failed)))
        }
        "approval-responded" | "output-denied" => Some(approval(part, call_id, tool_name)?),
        _ => None,
    })
}

fn approval(part: &Object<'_>, call_id: CallId, tool_name: ToolName) -> Result<ToolAnswer, Violation> {
    let approval = part.object("approval")?.ok_or_else(|| missing("approval"))?;
    let within = |wrong: Violation| wrong.within("approval");
    if approval.flag("approved").map_err(within)? {
        return Ok(ToolAnswer::Approved(call_id));
    }
    let reason = approval.text("reason", EVENT_BYTES_MAX).map_err(within)?;
    Ok(ToolAnswer::Returned(ToolReturned { tool_name: Some(tool_name), ..denial_result(call_id, Denial { reason }) }))
}

/// The output of a part; null if it is missing.
fn output(part: &Object<'_>) -> Result<ToolOutput, Violation> {
    let text = part.raw("output").map_or("null", serde_json::value::RawValue::get);
    tool_output(text).map_err(|wrong| wrong.within("output"))
}

/// Parses an output: a JSON string is text, other JSON is a document.
pub(super) fn tool_output(json: &str) -> Result<ToolOutput, Violation> {
    check_length(json.len(), EVENT_BYTES_MAX)?;
    if let Ok(text) = serde_json::from_str(json) {
        return Ok(ToolOutput::Parts(vec![Part::Text(text)]));
    }
    JsonText::parse(json).map(ToolOutput::Json)
}

fn required(part: &Object<'_>, name: &str, bytes_max: usize) -> Result<String, Violation> {
    part.text(name, bytes_max)?.ok_or_else(|| missing(name))
}

fn label(part: &Object<'_>, name: &str) -> Result<Option<Label>, Violation> {
    part.text(name, LABEL_BYTES_MAX)?
        .filter(|text| !text.is_empty())
        .map(Label::parse)
        .transpose()
        .map_err(|wrong| wrong.within(name))
}
