//! Token counts of facts: their texts, and an allowance for the structure that providers write around them.
//!
//! An allowance covers the largest of the formats, so no format takes more tokens than were counted.

use domain::event::{Annotation, Fact, HistorySummarised, MessageAppended, ToolCalled, ToolOutput, ToolReturned};
use domain::{Label, MediaSource, Part, ToolName};

use crate::embedded_text::{EmbeddedText, is_data_url};
use crate::text::count_text;

/// The allowance for a message: its role, its start and its end.
pub const MESSAGE_TOKENS: u32 = 8;
/// The allowance for one part of a message or a result.
pub const PART_TOKENS: u32 = 4;
/// The allowance for a call, besides its tool's name and its input: 40 for an id as the formats write it (at most 40
/// characters of ASCII), and 8 for the structure.
pub const CALL_TOKENS: u32 = 48;
/// The allowance for the suffix of a tool name that not every provider accepts: 21 characters of ASCII.
pub const RENAMED_TOKENS: u32 = 21;
/// Most characters of a tool name that every provider accepts.
const NAME_CHARS_MAX: usize = 64;
/// The allowance for a result, besides its tool's name and its output, as for a call.
pub const RESULT_TOKENS: u32 = 48;
/// The count of a result's tool name if the caller omits it; the record then has the name of the call.
pub const UNNAMED_TOKENS: u32 = 16;
/// The allowance for a summary: a message, and the text that introduces it.
pub const SUMMARY_TOKENS: u32 = 32;
/// The count of a picture: the most that the usual providers count after scaling. Its bytes are not counted.
pub const IMAGE_TOKENS: u32 = 1_600;
/// The count of a file that is not an embedded text: a page or two. Its bytes are not counted.
pub const FILE_TOKENS: u32 = 2_000;
/// The allowance for a file with an embedded text: its title, or the text that replaces it.
pub const TEXT_FILE_TOKENS: u32 = 32;
/// Bytes of a signature or of an encrypted thought that count as one token; no model reads them as text.
pub const SEALED_BYTES_PER_TOKEN: usize = 4;

/// The tokens of a fact in a context; 0 for the kinds that no model reads.
#[must_use]
pub fn count_fact(fact: &Fact) -> u32 {
    count(fact, FileTexts::Counted)
}

fn count(fact: &Fact, files: FileTexts) -> u32 {
    match fact {
        Fact::MessageAppended(message) => of_message(message, files),
        Fact::ToolCalled(call) => of_call(call),
        Fact::ToolReturned(result) => of_result(result, files),
        Fact::Annotation(Annotation::HistorySummarised(summary)) => of_summary(summary),
        Fact::Annotation(_) | Fact::Lifecycle(_) => 0,
    }
}

/// The tokens of a fact that was counted as `own` when it was appended. Earlier versions counted a file with an embedded
/// text as [`FILE_TOKENS`], independent of its length. Such a count is corrected; every other one is returned unchanged.
#[must_use]
pub fn recount(fact: &Fact, own: u32) -> u32 {
    if !has_embedded_file(fact) || own > count(fact, FileTexts::Fixed) {
        return own;
    }
    own.max(count_fact(fact))
}

/// How embedded texts of files are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileTexts {
    Counted,
    /// Each counts as [`FILE_TOKENS`], as in earlier versions.
    Fixed,
}

fn has_embedded_file(fact: &Fact) -> bool {
    let parts = if let Fact::MessageAppended(message) = fact {
        &message.parts
    } else if let Fact::ToolReturned(ToolReturned { output: ToolOutput::Parts(parts), .. }) = fact {
        parts
    } else {
        return false;
    };
    parts.iter().any(|part| matches!(part, Part::File { source, .. } if is_data_url(source)))
}

fn of_message(message: &MessageAppended, files: FileTexts) -> u32 {
    sum([MESSAGE_TOKENS, of_label(message.author.as_ref()), of_parts(&message.parts, files)])
}

fn of_call(call: &ToolCalled) -> u32 {
    sum([CALL_TOKENS, of_name(&call.tool_name), count_text(call.input.as_str()), of_sealed(call.signature.as_deref())])
}

fn of_result(result: &ToolReturned, files: FileTexts) -> u32 {
    let name = result.tool_name.as_ref();
    let output = match &result.output {
        ToolOutput::Json(json) => count_text(json.as_str()),
        ToolOutput::Parts(parts) => of_parts(parts, files),
    };
    sum([RESULT_TOKENS, name.map_or(UNNAMED_TOKENS, of_name), output])
}

fn of_name(name: &ToolName) -> u32 {
    let name = name.as_str();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let is_unchanged = name.len() <= NAME_CHARS_MAX && name.chars().all(is_plain);
    sum([count_text(name), if is_unchanged { 0 } else { RENAMED_TOKENS }])
}

fn of_summary(summary: &HistorySummarised) -> u32 {
    sum([SUMMARY_TOKENS, count_text(&summary.text)])
}

fn of_parts(parts: &[Part], files: FileTexts) -> u32 {
    sum(parts.iter().map(|part| PART_TOKENS.saturating_add(of_part(part, files))))
}

fn of_part(part: &Part, files: FileTexts) -> u32 {
    match part {
        Part::Text(text) | Part::Refusal(text) => count_text(text),
        Part::Image { source, .. } => of_media(source, IMAGE_TOKENS),
        Part::File { source, media_type, filename } => {
            sum([of_file(source, media_type.as_ref(), files), of_label(filename.as_ref())])
        }
        Part::Thinking { text, signature } => sum([count_text(text), of_sealed(signature.as_deref())]),
        Part::RedactedThinking(sealed) => of_sealed(Some(sealed)),
        Part::ProviderItem { item, .. } => count_text(item.as_str()),
    }
}

fn of_file(source: &MediaSource, media_type: Option<&Label>, files: FileTexts) -> u32 {
    let embedded = match files {
        FileTexts::Counted => EmbeddedText::of(source, media_type),
        FileTexts::Fixed => None,
    };
    match embedded {
        Some(embedded) => sum([TEXT_FILE_TOKENS, count_text(&embedded.text)]),
        None => of_media(source, FILE_TOKENS),
    }
}

/// Providers without pictures or files get the URL instead, which may take more tokens.
fn of_media(source: &MediaSource, estimate: u32) -> u32 {
    match source {
        MediaSource::Url(url) if !is_data_url(source) => estimate.max(count_text(url)),
        MediaSource::Url(_) | MediaSource::FileId(_) => estimate,
    }
}

fn of_label(label: Option<&Label>) -> u32 {
    label.map_or(0, |label| count_text(label.as_str()))
}

fn of_sealed(sealed: Option<&str>) -> u32 {
    let tokens = sealed.map_or(0, |text| text.len().div_ceil(SEALED_BYTES_PER_TOKEN));
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

fn sum(tokens: impl IntoIterator<Item = u32>) -> u32 {
    tokens.into_iter().fold(0, u32::saturating_add)
}

#[cfg(test)]
mod tests;
