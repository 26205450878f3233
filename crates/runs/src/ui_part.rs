//! Converts recorded content, calls and results into UI parts.

use domain::content::MediaSource;
use domain::event::{ToolCalled, ToolOutcome, ToolOutput, ToolReturned};
use domain::{Label, Part};

use crate::approvals::Approvals;
use crate::data_part;
use crate::denial::denial_of;
use crate::ui_message::{Json, TextState, ToolState, ToolValue, UiApproval, UiPart};

/// The prefix of the URL of a file that a provider stores, before its id.
pub(crate) const FILE_ID_PREFIX: &str = "urn:hansard:file:";
/// The media type of images without one.
const IMAGE: &str = "image/*";
/// The media type of files without one.
const ANY_FILE: &str = "application/octet-stream";

/// The UI part of a part; `None` for empty parts, encrypted parts and items of providers.
pub(crate) fn part(part: &Part, state: Option<TextState>) -> Option<UiPart> {
    match part {
        Part::Text(text) | Part::Refusal(text) => {
            (!text.is_empty()).then(|| UiPart::Text { text: text.clone(), state })
        }
        Part::Thinking { text, .. } => (!text.is_empty())
            .then(|| UiPart::Reasoning { text: text.clone(), state: state.unwrap_or(TextState::Done) }),
        Part::Image { source, media_type, .. } => Some(file(source, media_type.as_ref(), None, IMAGE)),
        Part::File { source, media_type, filename } => {
            let filename = filename.as_ref();
            Some(file(source, media_type.as_ref(), filename, ANY_FILE))
        }
        Part::ProviderItem { provider, item } => {
            let item = data_part::from_recorded(provider, item)?;
            Some(UiPart::Data(Json(item)))
        }
        Part::RedactedThinking(_) => None,
    }
}

fn file(source: &MediaSource, media_type: Option<&Label>, filename: Option<&Label>, unknown: &str) -> UiPart {
    UiPart::File {
        media_type: media_type.map_or(unknown, Label::as_str).to_owned(),
        filename: filename.map(|name| name.as_str().to_owned()),
        url: match source {
            MediaSource::Url(url) => url.clone(),
            MediaSource::FileId(id) => format!("{FILE_ID_PREFIX}{id}"),
        },
    }
}

/// The state of a call with complete input.
pub(crate) fn call(call: &ToolCalled, approvals: &Approvals) -> ToolState {
    let input = Json(call.input.clone());
    if !approvals.is_required_for(&call.tool_name) {
        return ToolState::InputAvailable { input };
    }
    ToolState::ApprovalRequested {
        input,
        approval: UiApproval { id: call.call_id.as_str().to_owned(), approved: None, reason: None },
    }
}

/// The state of a call with a result.
pub(crate) fn result_state(input: Json, result: &ToolReturned) -> ToolState {
    if let Some(denial) = denial_of(result) {
        let approval =
            UiApproval { id: result.call_id.as_str().to_owned(), approved: Some(false), reason: denial.reason };
        return ToolState::OutputDenied { input, approval };
    }
    match result.outcome {
        ToolOutcome::Succeeded => ToolState::OutputAvailable { input, output: value(&result.output) },
        ToolOutcome::Failed => ToolState::OutputError { input, error_text: failure_text(&result.output) },
    }
}

fn value(output: &ToolOutput) -> ToolValue {
    match output {
        ToolOutput::Json(text) => ToolValue::Json(Json(text.clone())),
        ToolOutput::Parts(parts) => plain_text(parts)
            .map_or_else(|| ToolValue::Parts(parts.iter().filter_map(|p| part(p, None)).collect()), ToolValue::Text),
    }
}

/// The concatenated texts; `None` if there are other parts.
fn plain_text(parts: &[Part]) -> Option<String> {
    let text = |part: &Part| {
        let Part::Text(text) = part else { return None };
        Some(text.clone())
    };
    parts.iter().map(text).collect()
}

/// The error text of a failed tool: the value of a JSON string, or the JSON of other documents.
fn failure_text(output: &ToolOutput) -> String {
    match output {
        ToolOutput::Json(text) => serde_json::from_str(text.as_str()).unwrap_or_else(|_| text.as_str().to_owned()),
        ToolOutput::Parts(parts) => parts.iter().filter_map(|part| plain_text(std::slice::from_ref(part))).collect(),
    }
}
