//! A context as a table: what it includes, what its stages omitted or changed, and why. Prints what the gateway returns.

use std::io::{self, Write};

use wire::proto::event::v1::event::Fact;
use wire::proto::event::v1::{Event, Role};
use wire::proto::read::v1::{ContextFormat, Receipt, RecordedEvent, StageEffect, StageOutcome};

use crate::table;

/// Writes a receipt and the outcomes of the stages; `events` are the newest events of its version, oldest first.
///
/// # Errors
/// The output cannot be written.
pub fn write(
    out: &mut impl Write,
    receipt: &Receipt,
    outcomes: &[StageOutcome],
    events: &[RecordedEvent],
) -> io::Result<()> {
    let tokens = receipt.tokens.unwrap_or_default();
    let (ranges, of_events): (Vec<&StageOutcome>, Vec<&StageOutcome>) = outcomes
        .iter()
        .partition(|outcome| is_before_turns(outcome, receipt));
    let mut rows = Vec::new();
    rows.extend(section(
        "instructions",
        tokens.instructions,
        "included, first",
    ));
    rows.extend(
        ranges
            .iter()
            .filter_map(|outcome| range_row(outcome, receipt)),
    );
    rows.extend(section(
        "opening",
        tokens.opening,
        "included, before the turns",
    ));
    rows.extend(not_listed(receipt, events));
    rows.extend(
        events
            .iter()
            .filter_map(|event| event_row(event, &ranges, &of_events)),
    );
    rows.extend(section("closing", tokens.closing, "included, last"));
    table::write(out, ["VERSION", "WHAT", "TOKENS", "OUTCOME"], &rows)?;
    writeln!(out)?;
    for (name, value) in summary(receipt) {
        writeln!(out, "{name:12}{value}")?;
    }
    Ok(())
}

fn section(name: &str, tokens: u64, outcome: &str) -> Option<[String; 4]> {
    let tokens = (tokens > 0).then(|| tokens.to_string())?;
    Some([String::new(), name.to_owned(), tokens, outcome.to_owned()])
}

/// The effects that have a row for a range of versions: what is in the range, and the text of the row.
const RANGES: [(StageEffect, &str, &str); 4] = [
    (
        StageEffect::MovedToInstructions,
        "system",
        "included with the instructions",
    ),
    (
        StageEffect::Summarised,
        "turns",
        "omitted: the summary covers them",
    ),
    (
        StageEffect::OverBudget,
        "turns",
        "omitted: the budget has no room",
    ),
    (
        StageEffect::OverBound,
        "turns",
        "omitted: a bound on messages",
    ),
];

/// The effects of a row whose tokens the receipt counts.
const LEFT_OUT: [StageEffect; 2] = [StageEffect::OverBudget, StageEffect::OverBound];

/// Whether an outcome has a row of its own: it covers versions before the turns, not single events.
fn is_before_turns(outcome: &StageOutcome, receipt: &Receipt) -> bool {
    let effect = outcome.effect();
    let first = receipt.epoch.unwrap_or_default().first_version;
    RANGES.iter().any(|(known, _, _)| *known == effect)
        && (!LEFT_OUT.contains(&effect) || outcome.last_version < first)
}

/// The row of versions before the turns.
fn range_row(outcome: &StageOutcome, receipt: &Receipt) -> Option<[String; 4]> {
    let effect = outcome.effect();
    let (_, what, text) = RANGES.iter().find(|(known, _, _)| *known == effect)?;
    let versions = format!("{}..{}", outcome.first_version, outcome.last_version);
    let left_out = receipt.left_out.filter(|_| LEFT_OUT.contains(&effect));
    // With a summary, a receipt counts the tokens from version 1 on.
    let (tokens, text) = match left_out {
        Some(left_out) if receipt.summarised_through > 0 => {
            let text = format!("{text}; {} tokens since version 1", left_out.tokens);
            (String::new(), text)
        }
        Some(left_out) => (left_out.tokens.to_string(), (*text).to_owned()),
        None => (String::new(), (*text).to_owned()),
    };
    Some([versions, (*what).to_owned(), tokens, text])
}

/// The included versions before the events that are listed one by one.
fn not_listed(receipt: &Receipt, events: &[RecordedEvent]) -> Option<[String; 4]> {
    let first = receipt.epoch.unwrap_or_default().first_version;
    let listed = events.first().map(|event| event.version)?;
    (first < listed).then(|| {
        let versions = format!("{first}..{}", listed - 1);
        let text = "included; not listed one by one".to_owned();
        [versions, "turns".to_owned(), String::new(), text]
    })
}

/// The row of an event; none where the row of a range covers it.
fn event_row(
    recorded: &RecordedEvent,
    ranges: &[&StageOutcome],
    of_events: &[&StageOutcome],
) -> Option<[String; 4]> {
    let event = recorded.event.as_ref()?;
    let what = what(event)?;
    let version = recorded.version;
    let covers =
        |outcome: &StageOutcome| (outcome.first_version..=outcome.last_version).contains(&version);
    let own: Vec<_> = of_events.iter().filter(|one| covers(one)).collect();
    if own.is_empty() && ranges.iter().any(|range| covers(range)) {
        return None;
    }
    let texts: Vec<&str> = own.iter().map(|outcome| text(outcome.effect())).collect();
    let text = if texts.is_empty() {
        "included".to_owned()
    } else {
        texts.join("; ")
    };
    Some([version.to_string(), what, event.tokens.to_string(), text])
}

fn text(effect: StageEffect) -> &'static str {
    match effect {
        StageEffect::Unspecified => "changed by a stage that this version does not know",
        StageEffect::Rewound => "omitted: the history was rewound",
        StageEffect::Summarised => "omitted: the summary covers it",
        StageEffect::Carried => "included: its turn continues after the summary",
        StageEffect::MovedToInstructions => "included with the instructions",
        StageEffect::OverBudget => "omitted: the budget has no room",
        StageEffect::OverBound => "omitted: a bound on messages",
        StageEffect::Orphaned => "omitted: its call is missing",
        StageEffect::Cleared => "cleared: a stub replaces it",
        StageEffect::Repeated => "omitted: it repeats an earlier event",
        StageEffect::Pending => "included; no result yet, a note says so",
        StageEffect::Interrupted => "included; interrupted, a note says so",
        StageEffect::Redacted => "included; secrets were replaced",
        StageEffect::PartDropped => "included; a part with secrets was dropped",
        StageEffect::Digested => "included in the digest, last",
        StageEffect::NotDigested => "omitted: the digest has no room",
    }
}

/// What an event is to a model; none for an event that models do not read.
fn what(event: &Event) -> Option<String> {
    if let Some(Fact::MessageAppended(message)) = &event.fact {
        let role = match message.role() {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::System => "system",
            Role::Developer => "developer",
            Role::Unspecified => return None,
        };
        return Some(role.to_owned());
    }
    if let Some(Fact::ToolCalled(call)) = &event.fact {
        return Some(format!("call of {}", printable(&call.tool_name)));
    }
    if let Some(Fact::ToolReturned(result)) = &event.fact {
        return Some(format!("result of {}", printable(&result.tool_name)));
    }
    None
}

fn printable(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).collect()
}

fn summary(receipt: &Receipt) -> Vec<(&'static str, String)> {
    let tokens = receipt.tokens.unwrap_or_default();
    let epoch = receipt.epoch.unwrap_or_default();
    let used = tokens.instructions + tokens.opening + tokens.turns + tokens.closing;
    let form = receipt.format().as_str_name();
    let form = form.strip_prefix("CONTEXT_FORMAT_").unwrap_or(form);
    let is_provider = receipt.format() != ContextFormat::Canonical;
    let mut lines = vec![
        ("version", receipt.version.to_string()),
        (
            "form",
            format!("{}, {} bytes", form.to_lowercase(), receipt.body_bytes),
        ),
        (
            "tokens",
            format!("{used}: turns {} of {}", tokens.turns, tokens.room),
        ),
        (
            "epoch",
            format!(
                "first version {}, results cleared before {} tokens, summary {}, revised {}",
                epoch.first_version,
                epoch.line_tokens,
                epoch.summary_version,
                epoch.revised_version
            ),
        ),
        ("policy", hex::encode(&receipt.policy_digest)),
        ("sha256", hex::encode(&receipt.body_sha256)),
    ];
    let redacted = receipt.redactions.iter();
    let redacted: Vec<String> = redacted
        .map(|redaction| format!("{} {}", redaction.count, redaction.rule))
        .collect();
    lines.push(("redacted", list(&redacted)));
    if !receipt.dropped_parts.is_empty() {
        let dropped = receipt.dropped_parts.iter();
        let dropped: Vec<String> = dropped
            .map(|part| format!("{} at {}", part.what, part.version))
            .collect();
        lines.push(("dropped", format!("{}: they had secrets", list(&dropped))));
    }
    if is_provider {
        let losses = receipt.losses.iter();
        let losses: Vec<String> = losses
            .map(|loss| format!("{} at {} became {}", loss.lost, loss.version, loss.became))
            .collect();
        lines.push(("lost", list(&losses)));
    }
    lines
}

fn list(items: &[String]) -> String {
    if items.is_empty() {
        "nothing".to_owned()
    } else {
        items.join(", ")
    }
}

#[cfg(test)]
mod tests;
