//! The size of facts, for the bounds of a run.

use domain::Part;
use domain::content::MediaSource;
use domain::event::{Fact, ToolOutput};

/// Bytes of the texts and documents of a fact of a run.
pub(super) fn fact_bytes(fact: &Fact) -> usize {
    match fact {
        Fact::MessageAppended(message) => message.parts.iter().map(part_bytes).sum(),
        Fact::ToolCalled(call) => {
            let signature = call.signature.as_ref().map_or(0, String::len);
            call.input.as_str().len().saturating_add(signature)
        }
        Fact::ToolReturned(result) => output_bytes(&result.output),
        Fact::Annotation(_) | Fact::Lifecycle(_) => 0,
    }
}

pub(super) fn output_bytes(output: &ToolOutput) -> usize {
    match output {
        ToolOutput::Json(text) => text.as_str().len(),
        ToolOutput::Parts(parts) => parts.iter().map(part_bytes).sum(),
    }
}

fn part_bytes(part: &Part) -> usize {
    match part {
        Part::Text(text) | Part::Refusal(text) | Part::RedactedThinking(text) => text.len(),
        Part::Thinking { text, signature } => text.len() + signature.as_ref().map_or(0, String::len),
        Part::Image { source, .. } | Part::File { source, .. } => match source {
            MediaSource::Url(url) => url.len(),
            MediaSource::FileId(id) => id.len(),
        },
        Part::ProviderItem { item, .. } => item.as_str().len(),
    }
}
