//! Tool digest: for models without tools, a text about the last calls replaces all calls and results.
//!
//! The text changes with each result, so it is the last section of a context. Secrets were redacted before, also for the
//! templates of results.

mod result;

use std::collections::BTreeSet;

use domain::Version;
use domain::event::ToolOutcome;
use tokens::count_text;

use crate::outcome::{Effect, Outcome};
use crate::policy::ToolDigest;
use crate::template::Renderer;
use crate::transcript::{AnswerOrigin, AnsweredCall, Turn};
use result::{is_left_out, shown_result};

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
    let listing = listing(&calls, settings);
    let listed: BTreeSet<Version> = listing.listed.iter().map(|call| call.version).collect();
    let is_listed = |call: &&AnsweredCall| listed.contains(&call.version);
    let (shown, omitted): (Vec<&AnsweredCall>, Vec<_>) = calls.into_iter().partition(is_listed);
    let mut outcomes = with_effect(&shown, &Effect::Digested);
    outcomes.extend(with_effect(&omitted, &Effect::NotDigested));
    let text = text(listing.all, listing.entries);
    let turns = turns.into_iter().filter_map(|mut turn| {
        turn.calls.clear();
        (!turn.parts.is_empty()).then_some(turn)
    });
    Digest { turns: turns.collect(), text, outcomes }
}

/// An effect on calls and their results, by version.
fn with_effect(calls: &[&AnsweredCall], effect: &Effect) -> Vec<Outcome> {
    let mut versions: Vec<Version> =
        calls.iter().flat_map(|call| std::iter::once(call.version).chain(call.answer.origin.result())).collect();
    versions.sort_unstable();
    let versions = versions.into_iter();
    versions.map(|version| Outcome::of(version, version, effect.clone())).collect()
}

/// The last calls.
#[derive(Debug, Default)]
struct Listing<'turns> {
    /// Newest first.
    listed: Vec<&'turns AnsweredCall>,
    /// Their entries.
    entries: Vec<String>,
    /// The number of calls, without those that a template leaves out.
    all: usize,
}

impl<'turns> Listing<'turns> {
    fn push(&mut self, call: &'turns AnsweredCall, entry: String) {
        self.listed.push(call);
        self.entries.push(entry);
    }
}

/// Lists the last calls. At most `results_max` templates are rendered.
fn listing<'turns>(calls: &[&'turns AnsweredCall], settings: &ToolDigest) -> Listing<'turns> {
    let mut bytes = size(settings.bytes_max).saturating_sub(HEADER_BYTES_MAX);
    let mut tokens = tokens_max(settings).saturating_sub(HEADER_TOKENS_MAX);
    let shown = calls.iter().filter(|call| !is_left_out(call, settings));
    let mut renderer = Renderer::new();
    let mut listing = Listing { all: shown.clone().count(), ..Listing::default() };
    for call in shown.rev().take(settings.results_max.into()) {
        let Some(result) = shown_result(call, settings, &mut renderer) else {
            listing.all -= 1;
            continue;
        };
        let entry = entry(call, &result, size(settings.result_bytes_max));
        let weight = count_text(&entry);
        if entry.len() > bytes || weight > tokens {
            if listing.entries.is_empty() {
                listing.push(call, squeezed_to(&entry, bytes, tokens));
            }
            break;
        }
        bytes -= entry.len();
        tokens -= weight;
        listing.push(call, entry);
    }
    listing
}

fn text(calls: usize, mut entries: Vec<String>) -> Option<String> {
    let header = match (calls, entries.len()) {
        (_, 0) => return None,
        (all, listed) if listed < all => format!("The last {listed} of {all} tool calls, oldest first:"),
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

fn entry(call: &AnsweredCall, result: &str, result_bytes_max: usize) -> String {
    let name = &call.called.tool_name;
    let input = cut(call.called.input.as_str().trim(), INPUT_BYTES_MAX);
    let outcome = match (call.answer.origin, call.answer.outcome) {
        (AnswerOrigin::Pending, _) => "still waits",
        (AnswerOrigin::Interrupted, _) => "was interrupted",
        (AnswerOrigin::Recorded(_) | AnswerOrigin::Cleared(_), ToolOutcome::Succeeded) => "succeeded",
        (AnswerOrigin::Recorded(_) | AnswerOrigin::Cleared(_), ToolOutcome::Failed) => "failed",
    };
    let result = cut(result, result_bytes_max);
    format!("\n- {name} {input} {outcome}: {result}")
}

/// The first bytes of a text, in whole characters, and a note with its full size.
fn cut(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let mark = mark(text);
    let shown = text.get(..text.floor_char_boundary(bytes_max)).unwrap_or_default();
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
