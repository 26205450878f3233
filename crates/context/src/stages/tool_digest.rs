//! Tool digest: for models without tools, a text about the last calls replaces all calls and results.
//!
//! The text changes with each result, so it is the last section of a context. Secrets were redacted before.

use domain::event::{ToolOutcome, ToolOutput};
use domain::{MediaSource, Part, Version};
use tokens::count_text;

use crate::outcome::{Effect, Outcome};
use crate::policy::ToolDigest;
use crate::transcript::{AnswerOrigin, AnsweredCall, Turn};

/// Most bytes of a call's input in the text.
const INPUT_BYTES_MAX: usize = 160;
/// Most bytes of the first line; they are reserved.
const HEADER_BYTES_MAX: usize = 56;

/// Most tokens of the first line; they are reserved.
const HEADER_TOKENS_MAX: u32 = 16;
/// Fewest bytes per token of a digest, on average; a denser text is cut shorter.
const BYTES_PER_TOKEN: u32 = 3;

/// Turns without their calls, and the text that replaces the calls.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Digest {
    /// The turns; those with nothing but calls are gone.
    pub turns: Vec<Turn>,
    /// The digest of the last calls, oldest first; none without calls.
    pub text: Option<String>,
    /// [`Effect::Digested`] for the calls in the text and their results, ascending; then [`Effect::NotDigested`] for those
    /// that it has no room for, ascending.
    pub outcomes: Vec<Outcome>,
}

/// Most tokens of a digest.
#[must_use]
pub fn tokens_max(settings: &ToolDigest) -> u32 {
    settings.bytes_max / BYTES_PER_TOKEN
}

/// Moves the calls of turns to a digest. Its text has at most `bytes_max` bytes and [`tokens_max`] tokens; the oldest calls
/// are omitted when they do not fit, and a text that is cut ends in a note.
#[must_use]
pub fn tool_digest(turns: Vec<Turn>, settings: &ToolDigest) -> Digest {
    let calls: Vec<&AnsweredCall> = turns.iter().flat_map(|turn| &turn.calls).collect();
    let entries = entries(&calls, settings);
    let (omitted, shown) = calls.split_at(calls.len().saturating_sub(entries.len()));
    let mut outcomes = with_effect(shown, &Effect::Digested);
    outcomes.extend(with_effect(omitted, &Effect::NotDigested));
    let text = text(calls.len(), entries);
    let turns = turns.into_iter().filter_map(|mut turn| {
        turn.calls.clear();
        (!turn.parts.is_empty()).then_some(turn)
    });
    Digest {
        turns: turns.collect(),
        text,
        outcomes,
    }
}

/// An effect on calls and their results, by version.
fn with_effect(calls: &[&AnsweredCall], effect: &Effect) -> Vec<Outcome> {
    let versions = calls
        .iter()
        .flat_map(|call| std::iter::once(call.version).chain(call.answer.origin.result()));
    let mut versions: Vec<Version> = versions.collect();
    versions.sort_unstable();
    let versions = versions.into_iter();
    let outcomes = versions.map(|version| Outcome::of(version, version, effect.clone()));
    outcomes.collect()
}

/// The entries of the last calls, newest first.
fn entries(calls: &[&AnsweredCall], settings: &ToolDigest) -> Vec<String> {
    let mut bytes = size(settings.bytes_max).saturating_sub(HEADER_BYTES_MAX);
    let mut tokens = tokens_max(settings).saturating_sub(HEADER_TOKENS_MAX);
    let mut entries = Vec::new();
    for call in calls.iter().rev().take(settings.results_max.into()) {
        let entry = entry(call, size(settings.result_bytes_max));
        let weight = count_text(&entry);
        if entry.len() > bytes || weight > tokens {
            if entries.is_empty() {
                entries.push(squeezed_to(&entry, bytes, tokens));
            }
            break;
        }
        bytes -= entry.len();
        tokens -= weight;
        entries.push(entry);
    }
    entries
}

fn text(calls: usize, mut entries: Vec<String>) -> Option<String> {
    let header = match (calls, entries.len()) {
        (0, _) => return None,
        (all, told) if told < all => format!("The last {told} of {all} tool calls, oldest first:"),
        _ => "Tool calls, oldest first:".to_owned(),
    };
    entries.push(header);
    entries.reverse();
    Some(entries.concat())
}

/// As [`squeezed`], cut further until it has at most so many tokens.
fn squeezed_to(entry: &str, mut bytes_max: usize, tokens_max: u32) -> String {
    loop {
        let squeezed = squeezed(entry, bytes_max.min(entry.len()));
        if bytes_max == 0 || count_text(&squeezed) <= tokens_max {
            return squeezed;
        }
        bytes_max = bytes_max.min(entry.len()) * 3 / 4;
    }
}

fn entry(call: &AnsweredCall, result_bytes_max: usize) -> String {
    let name = &call.called.tool_name;
    let input = cut(call.called.input.as_str().trim(), INPUT_BYTES_MAX);
    let outcome = match (call.answer.origin, call.answer.outcome) {
        (AnswerOrigin::Pending, _) => "still waits",
        (AnswerOrigin::Interrupted, _) => "was interrupted",
        (AnswerOrigin::Recorded(_) | AnswerOrigin::Cleared(_), ToolOutcome::Succeeded) => {
            "succeeded"
        }
        (AnswerOrigin::Recorded(_) | AnswerOrigin::Cleared(_), ToolOutcome::Failed) => "failed",
    };
    let output = cut(&output(&call.answer.output), result_bytes_max);
    format!("\n- {name} {input} {outcome}: {output}")
}

fn output(output: &ToolOutput) -> String {
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
        Part::File {
            source, filename, ..
        } => {
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

/// The first bytes of a text, in whole characters, and a note with its full size.
fn cut(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let mark = mark(text);
    let shown = text
        .get(..text.floor_char_boundary(bytes_max))
        .unwrap_or_default();
    format!("{shown}{mark}")
}

/// As [`cut`], with the note within the bound. If the bound is too small, only as much as shows that text is missing.
fn squeezed(text: &str, bytes_max: usize) -> String {
    match bytes_max.checked_sub(mark(text).len()) {
        Some(shown) => cut(text, shown),
        None => "…".to_owned(),
    }
}

fn mark(text: &str) -> String {
    format!("… [cut, {} bytes in all]", text.len())
}

fn size(bytes: u32) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
