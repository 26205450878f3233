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
mod tests {
    use domain::event::{Role, ToolCalled};
    use domain::{CallId, JsonText, ToolName};

    use super::*;
    use crate::outcome::versions;
    use crate::transcript::{Answer, Written};

    #[test]
    fn calls_leave_and_turns_with_nothing_left_go() {
        let turns = vec![
            turn(1, vec![Part::Text("hi".to_owned())], Vec::new()),
            turn(2, vec![Part::Text("so".to_owned())], vec![call("a")]),
            turn(4, Vec::new(), vec![call("b")]),
        ];
        let kept = tool_digest(turns, &ToolDigest::default()).turns;
        let versions: Vec<u64> = kept.iter().map(|turn| turn.version.0).collect();
        assert_eq!(versions, [1, 2]);
        assert!(kept.iter().all(|turn| turn.calls.is_empty()));
        assert_eq!(tool_digest(kept, &ToolDigest::default()).text, None);
    }

    #[test]
    fn the_last_calls_are_told_oldest_first() {
        check(
            vec![call("one"), call("two")],
            (10, 64, 1_000),
            "Tool calls, oldest first:\n- t {} succeeded: one\n- t {} succeeded: two",
        );
        check(
            vec![call("one"), call("two")],
            (1, 64, 1_000),
            "The last 1 of 2 tool calls, oldest first:\n- t {} succeeded: two",
        );
        let newest = "The last 1 of 2 tool calls, oldest first:\n- t {} succeeded: two";
        check(vec![call("one"), call("two")], (10, 64, 98), newest);
    }

    #[test]
    fn the_first_line_fits_its_bounds() {
        let header = text(10_000_000, vec![String::new(); 100]).unwrap();
        assert!(header.len() <= HEADER_BYTES_MAX, "{header}");
        assert!(count_text(&header) <= HEADER_TOKENS_MAX, "{header}");
    }

    #[test]
    fn what_has_many_tokens_is_cut_by_them() {
        // Each of these has two tokens and two bytes.
        let dense = told(vec![call(&"\u{7f}q".repeat(400))], (1, 1_000, 600)).unwrap();
        assert!(count_text(&dense) <= 200, "{dense}");
        assert!(count_text(&dense) > 100, "{dense}");
        assert!(dense.contains("… [cut, "), "{dense}");
    }

    #[test]
    fn which_calls_are_told_is_told() {
        let at = |version: u64, result: Option<u64>| {
            let mut call = call("x");
            call.version = Version(version);
            call.answer.origin = result.map_or(AnswerOrigin::Pending, |result| {
                AnswerOrigin::Recorded(Version(result))
            });
            call
        };
        let calls = vec![at(2, Some(9)), at(3, Some(5)), at(4, None), at(7, Some(8))];
        let settings = ToolDigest {
            results_max: 2,
            ..ToolDigest::default()
        };
        let outcomes = tool_digest(vec![turn(1, Vec::new(), calls)], &settings).outcomes;
        let with = |effect| versions(&outcomes, &effect).collect::<Vec<_>>();
        assert_eq!(with(Effect::Digested), [4, 7, 8].map(Version));
        assert_eq!(with(Effect::NotDigested), [2, 3, 5, 9].map(Version));
    }

    #[test]
    fn outcomes_are_told() {
        let of = |outcome, origin| {
            let mut call = call("x");
            call.answer.outcome = outcome;
            call.answer.origin = origin;
            call
        };
        let calls = vec![
            of(ToolOutcome::Failed, AnswerOrigin::Recorded(Version(3))),
            of(ToolOutcome::Failed, AnswerOrigin::Pending),
            of(ToolOutcome::Failed, AnswerOrigin::Interrupted),
            of(ToolOutcome::Succeeded, AnswerOrigin::Cleared(Version(3))),
        ];
        let expected = "Tool calls, oldest first:\n- t {} failed: x\n- t {} still waits: x\n- t {} was interrupted: x\n- t {} succeeded: x";
        check(calls, (10, 64, 1_000), expected);
    }

    #[test]
    fn long_results_and_inputs_are_cut_between_characters() {
        let at = |text: &str| format!("Tool calls, oldest first:\n- t {{}} succeeded: {text}");
        check(
            vec![call(&"é".repeat(8))],
            (1, 16, 1_000),
            &at(&"é".repeat(8)),
        );
        check(
            vec![call(&"é".repeat(9))],
            (1, 17, 1_000),
            &at(&format!("{}… [cut, 18 bytes in all]", "é".repeat(8))),
        );
        let mut long = call("x");
        long.called.input =
            JsonText::parse(format!("\"{}\"", "i".repeat(INPUT_BYTES_MAX - 1))).unwrap();
        let input = format!(
            "\"{}… [cut, 161 bytes in all]",
            "i".repeat(INPUT_BYTES_MAX - 1)
        );
        check(
            vec![long],
            (1, 16, 1_000),
            &format!("Tool calls, oldest first:\n- t {input} succeeded: x"),
        );
    }

    #[test]
    fn the_whole_stays_within_its_bound_and_tells_something() {
        for bytes_max in [64, 65, 100, 200, 262_144] {
            for bytes in [0, 1, 50, 100_000] {
                for calls in [1, 3, 120] {
                    let calls = vec![call(&"é".repeat(bytes)); calls];
                    let told = told(calls, (100, 65_536, bytes_max)).unwrap();
                    assert!(
                        told.len() <= size(bytes_max),
                        "{bytes_max} {bytes}: {}",
                        told.len()
                    );
                    let most = bytes_max / BYTES_PER_TOKEN;
                    assert!(count_text(&told) <= most, "{bytes_max} {bytes}: {told}");
                    assert!(told.contains("oldest first:"), "{told}");
                }
            }
        }
    }

    #[test]
    fn parts_are_named_and_their_content_is_not_told() {
        let url = |url: &str| Part::Image {
            source: MediaSource::Url(url.to_owned()),
            media_type: None,
            detail: None,
        };
        let mut call = call("");
        call.answer.output = ToolOutput::Parts(vec![
            Part::Text("a".to_owned()),
            url("https://h/i.png"),
            url("data:image/png;base64,AAAA"),
            Part::RedactedThinking("x".to_owned()),
        ]);
        check(
            vec![call],
            (1, 64, 1_000),
            "Tool calls, oldest first:\n- t {} succeeded: a\n[picture: https://h/i.png]\n[picture]",
        );
    }

    fn check(calls: Vec<AnsweredCall>, bounds: (u16, u32, u32), expected: &str) {
        assert_eq!(told(calls, bounds).as_deref(), Some(expected));
    }

    fn told(calls: Vec<AnsweredCall>, bounds: (u16, u32, u32)) -> Option<String> {
        let (results_max, result_bytes_max, bytes_max) = bounds;
        let settings = ToolDigest {
            results_max,
            result_bytes_max,
            bytes_max,
        };
        tool_digest(vec![turn(1, Vec::new(), calls)], &settings).text
    }

    fn turn(version: u64, parts: Vec<Part>, calls: Vec<AnsweredCall>) -> Turn {
        Turn {
            version: Version(version),
            role: Role::Assistant,
            parts,
            author: None,
            provider: None,
            written: Written::default(),
            calls,
        }
    }

    fn call(output: &str) -> AnsweredCall {
        AnsweredCall {
            version: Version(2),
            called: ToolCalled {
                call_id: CallId::parse("c").unwrap(),
                tool_name: ToolName::parse("t").unwrap(),
                input: JsonText::parse("{}").unwrap(),
                model: None,
                provider: None,
                provider_response_id: None,
                signature: None,
            },
            answer: Answer {
                output: ToolOutput::Parts(vec![Part::Text(output.to_owned())]),
                outcome: ToolOutcome::Succeeded,
                origin: AnswerOrigin::Recorded(Version(3)),
            },
        }
    }
}
