//! A context as a table: what it includes, what its stages omitted or changed, and why. Prints what the gateway returns.

use std::io::{self, Write};

use conversations::assembly::outcome::text;
use wire::proto::event::v1::event::Fact;
use wire::proto::event::v1::{Event, Role};
use wire::proto::read::v1::{ContextFormat, Receipt, RecordedEvent, StageEffect, StageOutcome};

use super::context::role_name;
use crate::table;

/// Writes a receipt and the outcomes of the stages; `events` are the newest events of its version, oldest first.
pub(crate) fn write(
    out: &mut impl Write,
    receipt: &Receipt,
    outcomes: &[StageOutcome],
    events: &[RecordedEvent],
) -> io::Result<()> {
    let tokens = receipt.tokens.unwrap_or_default();
    let is_range = |outcome: &&StageOutcome| is_before_turns(outcome, receipt);
    let (ranges, of_events): (Vec<_>, Vec<_>) = outcomes.iter().partition(is_range);
    let range_row = |outcome: &&StageOutcome| range_row(outcome, receipt);
    let event_row = |event: &RecordedEvent| event_row(event, &ranges, &of_events);
    let instructions = section("instructions", tokens.instructions, "first");
    let mut rows = Vec::from_iter(instructions);
    rows.extend(ranges.iter().map(range_row));
    rows.extend(section("opening", tokens.opening, "before the turns"));
    rows.extend(not_listed(receipt, events));
    rows.extend(events.iter().filter_map(event_row));
    rows.extend(section("closing", tokens.closing, "last"));
    table::write(out, ["VERSION", "WHAT", "TOKENS", "OUTCOME"], &rows)?;
    writeln!(out)?;
    for (name, value) in summary(receipt) {
        writeln!(out, "{name:12}{value}")?;
    }
    Ok(())
}

fn section(name: &str, tokens: u64, place: &str) -> Option<[String; 4]> {
    let tokens = (tokens > 0).then(|| tokens.to_string())?;
    let outcome = format!("included, {place}");
    Some([String::new(), name.to_owned(), tokens, outcome])
}

/// The effects that have a row for a range of versions.
const RANGES: [StageEffect; 4] =
    [StageEffect::MovedToInstructions, StageEffect::Summarised, StageEffect::OverBudget, StageEffect::OverBound];

/// The effects of a row whose tokens the receipt counts.
const LEFT_OUT: [StageEffect; 2] = [StageEffect::OverBudget, StageEffect::OverBound];

/// Whether an outcome has a row of its own: it covers versions before the turns, not single events.
fn is_before_turns(outcome: &StageOutcome, receipt: &Receipt) -> bool {
    let effect = outcome.effect();
    let first = receipt.epoch.unwrap_or_default().first_version;
    RANGES.contains(&effect) && (!LEFT_OUT.contains(&effect) || outcome.last_version < first)
}

/// The row of versions before the turns.
fn range_row(outcome: &StageOutcome, receipt: &Receipt) -> [String; 4] {
    let effect = outcome.effect();
    let (what, text) = if effect == StageEffect::MovedToInstructions {
        ("system", text(effect))
    } else if effect == StageEffect::Summarised {
        ("turns", "omitted: the summary covers them")
    } else {
        ("turns", text(effect))
    };
    let versions = format!("{}..{}", outcome.first_version, outcome.last_version);
    let left_out = receipt.left_out.filter(|_| LEFT_OUT.contains(&effect));
    // With a summary, a receipt counts the tokens from version 1 on.
    let (tokens, text) = match left_out {
        Some(left_out) if receipt.summarised_through > 0 => {
            let text = format!("{text}; {} tokens since version 1", left_out.tokens);
            (String::new(), text)
        }
        Some(left_out) => (left_out.tokens.to_string(), text.to_owned()),
        None => (String::new(), text.to_owned()),
    };
    [versions, what.to_owned(), tokens, text]
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
fn event_row(recorded: &RecordedEvent, ranges: &[&StageOutcome], of_events: &[&StageOutcome]) -> Option<[String; 4]> {
    let event = recorded.event.as_ref()?;
    let what = what(event)?;
    let version = recorded.version;
    let covers = |outcome: &StageOutcome| (outcome.first_version..=outcome.last_version).contains(&version);
    let own: Vec<_> = of_events.iter().filter(|one| covers(one)).collect();
    if own.is_empty() && ranges.iter().any(|range| covers(range)) {
        return None;
    }
    let texts: Vec<&str> = own.iter().map(|outcome| text(outcome.effect())).collect();
    let text = match &texts[..] {
        [] => "included".to_owned(),
        texts => texts.join("; "),
    };
    Some([version.to_string(), what, event.tokens.to_string(), text])
}

/// What an event is to a model; none for an event that models do not read.
fn what(event: &Event) -> Option<String> {
    match &event.fact {
        Some(Fact::MessageAppended(message)) => {
            let role = Some(message.role()).filter(|role| *role != Role::Unspecified);
            role.map(|role| role_name(role).to_owned())
        }
        Some(Fact::ToolCalled(call)) => Some(format!("call of {}", call.tool_name)),
        Some(Fact::ToolReturned(result)) => Some(format!("result of {}", result.tool_name)),
        _ => None,
    }
}

fn summary(receipt: &Receipt) -> Vec<(&'static str, String)> {
    let tokens = receipt.tokens.unwrap_or_default();
    let epoch = receipt.epoch.unwrap_or_default();
    let used = tokens.instructions + tokens.opening + tokens.turns + tokens.closing;
    let name = receipt.format().as_str_name();
    let form = name.strip_prefix("CONTEXT_FORMAT_").unwrap_or(name);
    let form = format!("{}, {} bytes", form.to_lowercase(), receipt.body_bytes);
    let epoch = format!(
        "first version {}, results cleared before {} tokens, summary {}, revised {}",
        epoch.first_version, epoch.line_tokens, epoch.summary_version, epoch.revised_version
    );
    let used = format!("{used}: turns {} of {}", tokens.turns, tokens.room);
    let redacted = receipt.redactions.iter().map(|redaction| format!("{} {}", redaction.count, redaction.rule));
    let mut lines = vec![
        ("version", receipt.version.to_string()),
        ("form", form),
        ("tokens", used),
        ("epoch", epoch),
        ("policy", hex::encode(&receipt.policy_digest)),
        ("sha256", hex::encode(&receipt.body_sha256)),
        ("redacted", list(redacted)),
    ];
    if !receipt.dropped_parts.is_empty() {
        let dropped = receipt.dropped_parts.iter().map(|part| format!("{} at {}", part.what, part.version));
        lines.push(("dropped", format!("{}: they had secrets", list(dropped))));
    }
    if receipt.format() != ContextFormat::Canonical {
        let losses =
            receipt.losses.iter().map(|loss| format!("{} at {} became {}", loss.lost, loss.version, loss.became));
        lines.push(("lost", list(losses)));
    }
    lines
}

fn list(items: impl Iterator<Item = String>) -> String {
    match &items.collect::<Vec<_>>()[..] {
        [] => "nothing".to_owned(),
        items => items.join(", "),
    }
}

#[cfg(test)]
mod tests;
