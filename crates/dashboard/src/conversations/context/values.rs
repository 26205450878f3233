//! Converts an assembled context into what its page shows. Pure.

use context::Outcome;
use context::outcome::Effect;
use domain::event::ToolOutput;
use domain::{Fact, RecordedEvent, Version};
use formats::{Piece, Section, pieces};
use pages::components::JSON_HEAD_BYTES;
use pages::dashboard::context::{ContextColumn, EventOfContext, PieceOfContext, ReusedPrefix, TokensOfSection};

use api_json::content::texts;
use conversations::assembly::AssembledContext;
use conversations::assembly::outcome::{effect, is_omitted, stage_name, text};

/// Most pieces of a context that are shown: the last ones.
pub(super) const PIECES_SHOWN_MAX: usize = 300;
/// Most outcomes that a column lists.
const OUTCOMES_SHOWN_MAX: usize = 50;
/// Most bytes of an event's text in the list.
const EXCERPT_BYTES: usize = 160;

/// The inputs of a column.
pub(crate) struct NewColumn<'a> {
    pub(crate) id: &'static str,
    pub(crate) heading: String,
    pub(crate) body_url: Option<String>,
    pub(crate) assembled: &'a AssembledContext,
    /// The earlier context whose prefix a cache holds, and its version.
    pub(crate) previous: Option<(Version, &'a AssembledContext)>,
}

/// A context as its column shows it.
pub(crate) fn column(new: NewColumn<'_>) -> ContextColumn {
    let (body, receipt) = (&new.assembled.body, &new.assembled.receipt);
    let tokens = receipt.tokens.unwrap_or_default();
    let pieces = pieces(body, &new.assembled.outline);
    let prefix = new.previous.map(|(before, previous)| {
        let bytes = common_prefix(&previous.body, body);
        ReusedPrefix { before, bytes, ends_in: ends_in(&pieces, bytes) }
    });
    let not_shown = pieces.len().saturating_sub(PIECES_SHOWN_MAX);
    ContextColumn {
        id: new.id,
        heading: new.heading,
        policy: hex::encode(&receipt.policy_digest),
        sha256: hex::encode(&receipt.body_sha256),
        size_bytes: body.len(),
        body_url: new.body_url,
        sections: [
            ("Instructions", tokens.instructions),
            ("Opening", tokens.opening),
            ("Turns", tokens.turns),
            ("Closing", tokens.closing),
        ]
        .map(|(name, tokens)| TokensOfSection { name, tokens })
        .to_vec(),
        room: tokens.room,
        outcomes: outcomes(&new.assembled.outcomes),
        prefix,
        pieces: pieces.iter().skip(not_shown).map(|one| piece(body, one)).collect(),
        pieces_not_shown: not_shown,
    }
}

fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(a, b)| a == b).count()
}

/// The index of the piece in which a prefix ends; the number of pieces if it ends after all of them.
fn ends_in(pieces: &[Piece], prefix_bytes: usize) -> usize {
    let first = pieces.iter().position(|piece| piece.range.end > prefix_bytes);
    first.unwrap_or(pieces.len())
}

fn piece(body: &[u8], piece: &Piece) -> PieceOfContext {
    let json = String::from_utf8_lossy(body.get(piece.range.clone()).unwrap_or_default());
    let head = json.get(..json.floor_char_boundary(JSON_HEAD_BYTES));
    let (section, version) = match piece.section {
        Section::Fields => ("Fields", None),
        Section::Instructions => ("Instructions", None),
        Section::Opening => ("Opening", None),
        Section::Turn(version) => ("Turn", Some(version)),
        Section::Closing => ("Closing", None),
        Section::Added => ("Added", None),
    };
    PieceOfContext { section, version, json: head.unwrap_or_default().to_owned(), size_bytes: json.len() }
}

/// What the stages did, by event or range of events.
fn outcomes(outcomes: &[Outcome]) -> Vec<String> {
    let line = |one: &Outcome| {
        let versions =
            if one.first == one.last { one.first.to_string() } else { format!("{} to {}", one.first, one.last) };
        let stage = stage_name(one.effect.stage());
        format!("{versions}: {} (stage: {stage})", text(effect(&one.effect)))
    };
    outcomes.iter().map(line).take(OUTCOMES_SHOWN_MAX).collect()
}

/// Each event with what became of it.
pub(super) fn events(events: &[RecordedEvent], outcomes: &[Outcome]) -> Vec<EventOfContext> {
    events.iter().map(|event| of_event(event, outcomes)).collect()
}

fn of_event(recorded: &RecordedEvent, outcomes: &[Outcome]) -> EventOfContext {
    let version = recorded.version;
    let own = outcomes.iter().filter(|one| (one.first..=one.last).contains(&version));
    let effects: Vec<&Effect> = own.map(|one| &one.effect).collect();
    let mut stages: Vec<&str> = effects.iter().map(|one| stage_name(one.stage())).collect();
    stages.dedup();
    let texts: Vec<&str> = effects.iter().map(|one| text(effect(one))).collect();
    let (what, excerpt) = what(&recorded.event.fact);
    EventOfContext {
        version,
        what,
        excerpt,
        tokens: recorded.event.tokens.own.into(),
        outcome: if texts.is_empty() { "included".to_owned() } else { texts.join("; ") },
        stages: stages.join(", "),
        is_omitted: effects.iter().any(|one| is_omitted(one)),
    }
}

/// What an event is to a model, and the start of its text.
fn what(fact: &Fact) -> (String, String) {
    match fact {
        Fact::MessageAppended(message) => {
            let text: String = texts(&message.parts).collect();
            (message.role.as_str().to_owned(), excerpt(&text))
        }
        Fact::ToolCalled(call) => {
            let what = format!("call of {}", call.tool_name);
            (what, excerpt(call.input.as_str()))
        }
        Fact::ToolReturned(result) => {
            let tool = result.tool_name.as_ref().map_or("", |tool| tool.as_str());
            let text = match &result.output {
                ToolOutput::Json(json) => excerpt(json.as_str()),
                ToolOutput::Parts(parts) => excerpt(&texts(parts).collect::<String>()),
            };
            (format!("result of {tool}"), text)
        }
        Fact::Annotation(_) | Fact::Lifecycle(_) => (fact.kind().name().to_owned(), String::new()),
    }
}

fn excerpt(text: &str) -> String {
    let end = text.floor_char_boundary(EXCERPT_BYTES);
    let cut = if end < text.len() { "…" } else { "" };
    format!("{}{cut}", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use domain::event::{MessageAppended, Role};
    use domain::{CommitId, Event, EventId, EventTokens, Part, Timestamp};
    use uuid::Uuid;

    use super::*;

    fn message(version: u64) -> RecordedEvent {
        let commit = CommitId(Uuid::nil());
        let text = Part::Text("ä".repeat(EXCERPT_BYTES));
        RecordedEvent {
            version: Version(version),
            commit,
            recorded_at: Timestamp(0),
            event: Event {
                id: EventId::derived(commit, 0),
                occurred_at: None,
                metadata: None,
                tokens: EventTokens { own: 7, through: 7 },
                fact: Fact::MessageAppended(MessageAppended::new(Role::User, vec![text])),
            },
        }
    }

    #[test]
    fn each_event_has_its_outcome() {
        let range = |first, last, effect| Outcome::of_range(Version(first), Version(last), effect).unwrap();
        let outcomes = [range(1, 3, Effect::OverBudget), range(5, 5, Effect::Redacted), range(5, 5, Effect::Carried)];
        let check = |version: u64, outcome: &str, stages: &str, is_omitted: bool| {
            let event = of_event(&message(version), &outcomes);
            assert_eq!(event.outcome, outcome);
            assert_eq!((event.stages.as_str(), event.is_omitted), (stages, is_omitted));
            assert!(event.excerpt.len() <= EXCERPT_BYTES + '…'.len_utf8());
        };
        check(2, "omitted: the budget has no room", "select", true);
        check(4, "included", "", false);
        let both = "included; secrets were replaced; included: its turn continues after the summary";
        check(5, both, "redact, summarise", false);
        assert_eq!(
            super::outcomes(&outcomes)[..2],
            [
                "1 to 3: omitted: the budget has no room (stage: select)",
                "5: included; secrets were replaced (stage: redact)"
            ]
        );
    }

    #[test]
    fn a_prefix_ends_in_a_piece() {
        let piece = |range| Piece { section: Section::Added, range };
        let pieces = [piece(1..10), piece(11..20)];
        for (bytes, expected) in [(0, 0), (9, 0), (10, 1), (19, 1), (20, 2), (21, 2)] {
            assert_eq!(ends_in(&pieces, bytes), expected, "{bytes}");
        }
        assert_eq!(common_prefix(b"abc", b"abd"), 2);
        assert_eq!(common_prefix(b"ab", b"abd"), 2);
        assert_eq!(common_prefix(b"", b"a"), 0);
    }
}
