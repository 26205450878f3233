//! Tokens of a fact: its texts, and an allowance for what providers write around them.
//!
//! An allowance is what the widest of the providers' forms needs, so that none takes more than was counted.

use domain::event::{
    Annotation, Fact, HistorySummarised, MessageAppended, ToolCalled, ToolOutput, ToolReturned,
};
use domain::{Label, MediaSource, Part, ToolName};

use crate::carried::{self, Carried};
use crate::text::count_text;

/// What marks a message: its role, its beginning and its end.
pub const MESSAGE_TOKENS: u32 = 8;
/// What marks one part of a message or a result.
pub const PART_TOKENS: u32 = 4;
/// What marks a call beside its tool's name and its input: an id as the formats write it (at most 40 characters of ASCII,
/// so at most 40 tokens), and 8 for the structure.
pub const CALL_TOKENS: u32 = 48;
/// What the formats end a tool's name with that not every provider takes: 21 characters of ASCII.
pub const RENAMED_TOKENS: u32 = 21;
/// Most characters of a tool's name that every provider takes.
const NAME_CHARS_MAX: usize = 64;
/// What marks a result beside its tool's name and its output, as with a call.
pub const RESULT_TOKENS: u32 = 48;
/// What the name of a result's tool is taken for where the author leaves it out: the record takes it from the call.
pub const UNNAMED_TOKENS: u32 = 16;
/// What marks a summary: a message, and the words that say that it is a summary.
pub const SUMMARY_TOKENS: u32 = 32;
/// What a picture is taken for: the most that one costs at the usual providers, scaled as they scale it. Its bytes are not
/// counted.
pub const IMAGE_TOKENS: u32 = 1_600;
/// What a file is taken for that is no text, or does not come along: a page or two. Its bytes are not counted.
pub const FILE_TOKENS: u32 = 2_000;
/// What frames a file that comes along as a text: its title, or the words that stand in its place.
pub const TEXT_FILE_TOKENS: u32 = 32;
/// Bytes of a signature or of an encrypted thought that are taken for one token: no model reads them as text.
pub const SEALED_BYTES_PER_TOKEN: usize = 4;

/// What a model reads of a fact, in tokens; 0 for the kinds that no model reads.
#[must_use]
pub fn of_fact(fact: &Fact) -> u32 {
    weigh(fact, Files::Read)
}

fn weigh(fact: &Fact, files: Files) -> u32 {
    match fact {
        Fact::MessageAppended(message) => of_message(message, files),
        Fact::ToolCalled(call) => of_call(call),
        Fact::ToolReturned(result) => of_result(result, files),
        Fact::Annotation(Annotation::HistorySummarised(summary)) => of_summary(summary),
        Fact::Annotation(_) | Fact::Lifecycle(_) => 0,
    }
}

/// What a fact weighs that was counted as `own` when it was appended: once, a text in a file that comes along counted as
/// [`FILE_TOKENS`], however long it was. What was counted so is counted again; everything else stays as it was.
#[must_use]
pub fn recounted(fact: &Fact, own: u32) -> u32 {
    if !has_files_along(fact) || own > weigh(fact, Files::Unread) {
        return own;
    }
    own.max(of_fact(fact))
}

/// Whether the texts that files carry along are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Files {
    Read,
    /// Each is taken for [`FILE_TOKENS`], as any file once was.
    Unread,
}

fn has_files_along(fact: &Fact) -> bool {
    let parts = if let Fact::MessageAppended(message) = fact {
        &message.parts
    } else if let Fact::ToolReturned(ToolReturned {
        output: ToolOutput::Parts(parts),
        ..
    }) = fact
    {
        parts
    } else {
        return false;
    };
    parts
        .iter()
        .any(|part| matches!(part, Part::File { source, .. } if carried::comes_along(source)))
}

fn of_message(message: &MessageAppended, files: Files) -> u32 {
    sum([
        MESSAGE_TOKENS,
        of_label(message.author.as_ref()),
        of_parts(&message.parts, files),
    ])
}

fn of_call(call: &ToolCalled) -> u32 {
    sum([
        CALL_TOKENS,
        of_name(&call.tool_name),
        count_text(call.input.as_str()),
        of_sealed(call.signature.as_deref()),
    ])
}

fn of_result(result: &ToolReturned, files: Files) -> u32 {
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
    let stays = name.len() <= NAME_CHARS_MAX && name.chars().all(is_plain);
    sum([count_text(name), if stays { 0 } else { RENAMED_TOKENS }])
}

fn of_summary(summary: &HistorySummarised) -> u32 {
    sum([SUMMARY_TOKENS, count_text(&summary.text)])
}

fn of_parts(parts: &[Part], files: Files) -> u32 {
    sum(parts
        .iter()
        .map(|part| PART_TOKENS.saturating_add(of_part(part, files))))
}

fn of_part(part: &Part, files: Files) -> u32 {
    match part {
        Part::Text(text) | Part::Refusal(text) => count_text(text),
        Part::Image { source, .. } => of_media(source, IMAGE_TOKENS),
        Part::File {
            source,
            media_type,
            filename,
        } => sum([
            of_file(source, media_type.as_ref(), files),
            of_label(filename.as_ref()),
        ]),
        Part::Thinking { text, signature } => {
            sum([count_text(text), of_sealed(signature.as_deref())])
        }
        Part::RedactedThinking(sealed) => of_sealed(Some(sealed)),
        Part::ProviderItem { item, .. } => count_text(item.as_str()),
    }
}

fn of_file(source: &MediaSource, media_type: Option<&Label>, files: Files) -> u32 {
    let carried = match files {
        Files::Read => Carried::of(source, media_type),
        Files::Unread => None,
    };
    match carried {
        Some(carried) => sum([TEXT_FILE_TOKENS, count_text(&carried.text)]),
        None => of_media(source, FILE_TOKENS),
    }
}

/// Providers without pictures or files are told the address instead, which may be the longer of the two.
fn of_media(source: &MediaSource, estimate: u32) -> u32 {
    match source {
        MediaSource::Url(url) if !carried::comes_along(source) => estimate.max(count_text(url)),
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
