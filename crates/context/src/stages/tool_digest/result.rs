//! The result of a call in a digest: as the policy's template for its tool prints it, or as it is.

use domain::event::{ToolOutcome, ToolOutput};
use domain::{MediaSource, Part};
use minijinja::{Value, context};

use crate::policy::ToolDigest;
use crate::template::values::{clean, json};
use crate::template::{Renderer, Values};
use crate::transcript::{AnswerOrigin, AnsweredCall};

/// Whether calls of the tool are left out: its template is blank.
pub(super) fn is_left_out(call: &AnsweredCall, settings: &ToolDigest) -> bool {
    template(call, settings).is_some_and(|template| template.trim().is_empty())
}

/// The text of the result; `None`: its template prints nothing. A result that the template cannot render is shown as it is, and
/// so are calls whose result is missing or was cleared.
pub(super) fn shown_result<'policy>(
    call: &AnsweredCall,
    settings: &'policy ToolDigest,
    renderer: &mut Renderer<'policy>,
) -> Option<String> {
    let is_recorded = matches!(call.answer.origin, AnswerOrigin::Recorded(_));
    let template = template(call, settings).filter(|_| is_recorded);
    let shown = template.and_then(|template| renderer.render(template, &values(call)).ok());
    match shown {
        Some(text) if text.trim().is_empty() => None,
        Some(text) => Some(text.trim().to_owned()),
        None => Some(output_text(&call.answer.output)),
    }
}

fn template<'policy>(call: &AnsweredCall, settings: &'policy ToolDigest) -> Option<&'policy str> {
    let template = settings.templates.get(call.called.tool_name.as_str());
    template.map(String::as_str)
}

/// The values of [`crate::template::RESULT_NAMES`]. Every text in them stays in its line.
fn values(call: &AnsweredCall) -> Values {
    let (output, output_bytes) = match &call.answer.output {
        ToolOutput::Json(document) => (json(document), document.as_str().len()),
        ToolOutput::Parts(_) => {
            let text = clean(&output_text(&call.answer.output));
            let bytes = text.len();
            (Value::from(text), bytes)
        }
    };
    let bytes = call.called.input.as_str().len() + output_bytes;
    let outcome = match call.answer.outcome {
        ToolOutcome::Succeeded => "succeeded",
        ToolOutcome::Failed => "failed",
    };
    Values { values: context! { input => json(&call.called.input), output, outcome }, bytes }
}

/// The output as text, without a template.
fn output_text(output: &ToolOutput) -> String {
    match output {
        ToolOutput::Json(document) => document.as_str().trim().to_owned(),
        ToolOutput::Parts(parts) => {
            let texts: Vec<String> = parts.iter().filter_map(part).collect();
            texts.join("\n")
        }
    }
}

fn part(part: &Part) -> Option<String> {
    match part {
        Part::Text(text) | Part::Refusal(text) => Some(text.clone()),
        Part::Image { source, .. } => Some(media("picture", None, source)),
        Part::File { source, filename, .. } => {
            let name = filename.as_ref().map(ToString::to_string);
            Some(media("file", name, source))
        }
        Part::ProviderItem { provider, .. } => Some(format!("[item of {provider}]")),
        Part::Thinking { .. } | Part::RedactedThinking(_) => None,
    }
}

/// A file is named; its content, which an address may contain, is not included.
fn media(kind: &str, name: Option<String>, source: &MediaSource) -> String {
    let name = name.or_else(|| match source {
        MediaSource::Url(url) if !url.starts_with("data:") => Some(url.clone()),
        MediaSource::Url(_) | MediaSource::FileId(_) => None,
    });
    name.map_or_else(|| format!("[{kind}]"), |name| format!("[{kind}: {name}]"))
}
