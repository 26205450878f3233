//! A receipt as a table: what went in, what did not, and why.

use std::collections::BTreeMap;
use std::io::{self, Write};

use wire::proto::event::v1::event::Fact;
use wire::proto::event::v1::{Event, Role};
use wire::proto::read::v1::{ContextFormat, LeftOut, LeftOutReason, Receipt, RecordedEvent};

use crate::table;

/// Writes a receipt; `events` are the newest events of its version, oldest first.
///
/// # Errors
/// The output cannot be written.
pub fn write(out: &mut impl Write, receipt: &Receipt, events: &[RecordedEvent]) -> io::Result<()> {
    let mut rows = Vec::new();
    rows.extend(sections_before(receipt));
    rows.extend(not_shown(receipt, events));
    let fates = fates(receipt, events);
    let kept = events
        .iter()
        .filter_map(|event| row(event, receipt, &fates));
    rows.extend(kept);
    let tokens = receipt.tokens.unwrap_or_default();
    if tokens.closing > 0 {
        rows.push(section("closing", tokens.closing, "went in, last"));
    }
    table::write(
        out,
        ["VERSION", "WHAT", "TOKENS", "WHAT BECAME OF IT"],
        &rows,
    )?;
    writeln!(out)?;
    for (name, value) in summary(receipt) {
        writeln!(out, "{name:12}{value}")?;
    }
    Ok(())
}

fn section(name: &str, tokens: u64, fate: &str) -> [String; 4] {
    [
        String::new(),
        name.to_owned(),
        tokens.to_string(),
        fate.to_owned(),
    ]
}

fn sections_before(receipt: &Receipt) -> Vec<[String; 4]> {
    let tokens = receipt.tokens.unwrap_or_default();
    let mut rows = Vec::new();
    if tokens.instructions > 0 {
        rows.push(section(
            "instructions",
            tokens.instructions,
            "went in, first",
        ));
    }
    if receipt.own_instructions_through > 0 {
        rows.push([
            format!("1..{}", receipt.own_instructions_through),
            "system".to_owned(),
            String::new(),
            "went in with the instructions".to_owned(),
        ]);
    }
    if receipt.summarised_through > 0 {
        let through = receipt.summarised_through;
        rows.push([
            format!("1..{through}"),
            "turns".to_owned(),
            String::new(),
            "a summary stands for them".to_owned(),
        ]);
    }
    rows.extend(
        receipt
            .left_out
            .map(|gap| left_out(gap, receipt.summarised_through)),
    );
    if tokens.opening > 0 {
        rows.push(section(
            "opening",
            tokens.opening,
            "went in for what is left out",
        ));
    }
    rows
}

fn left_out(left_out: LeftOut, summarised_through: u64) -> [String; 4] {
    let why = match left_out.reason() {
        LeftOutReason::Budget => "left out: no room",
        LeftOutReason::Bound | LeftOutReason::Unspecified => "left out: a bound on messages",
    };
    let (from, through) = (
        summarised_through + 1,
        left_out.before_version.saturating_sub(1),
    );
    // A turn from before the summary's end went in: all that is left out is older.
    let from = if through < from { 1 } else { from };
    let versions = format!("{from}..{through}");
    let tokens = left_out.tokens.to_string();
    if summarised_through == 0 {
        return [versions, "turns".to_owned(), tokens, why.to_owned()];
    }
    // A receipt counts them with those that the summary stands for.
    let fate = format!("{why}; {tokens} tokens from version 1 on");
    [versions, "turns".to_owned(), String::new(), fate]
}

/// What went in before the events that are shown one by one.
fn not_shown(receipt: &Receipt, events: &[RecordedEvent]) -> Option<[String; 4]> {
    let first = receipt.epoch.unwrap_or_default().first_version;
    let shown = events.first().map(|event| event.version)?;
    (first < shown).then(|| {
        let versions = format!("{first}..{}", shown - 1);
        let fate = "went in; not shown one by one".to_owned();
        [versions, "turns".to_owned(), String::new(), fate]
    })
}

/// What became of single events, where it is not that they went in.
fn fates(receipt: &Receipt, events: &[RecordedEvent]) -> BTreeMap<u64, &'static str> {
    let cleared = receipt.cleared.iter().map(|cleared| cleared.version);
    let repeated = receipt.repeated_versions.iter().copied();
    let orphans = receipt.orphaned_versions.iter().copied();
    let mut fates = BTreeMap::new();
    fates.extend(cleared.map(|version| (version, "cleared: a stub stands for it")));
    fates.extend(repeated.map(|version| (version, "left out: stands already")));
    fates.extend(orphans.map(|version| (version, "left out: its call is not there")));
    if let Some(digest) = &receipt.tool_digest {
        let (told, untold) = (digest.told_versions.iter(), digest.untold_versions.iter());
        fates.extend(told.map(|version| (*version, "told in the digest, last")));
        fates.extend(untold.map(|version| (*version, "left out: the digest has no room for it")));
    }
    let passed = passed_over(events).into_iter();
    fates.extend(passed.map(|version| (version, "passed over: the history was rewound")));
    fates
}

/// The versions that the rewinds among the events pass over.
fn passed_over(events: &[RecordedEvent]) -> Vec<u64> {
    let (mut passed, mut to) = (Vec::new(), u64::MAX);
    for recorded in events.iter().rev() {
        let fact = recorded
            .event
            .as_ref()
            .and_then(|event| event.fact.as_ref());
        match fact {
            _ if recorded.version > to => passed.push(recorded.version),
            Some(Fact::HistoryRewound(rewound)) => to = rewound.to_version,
            _ => {}
        }
    }
    passed
}

fn row(
    recorded: &RecordedEvent,
    receipt: &Receipt,
    fates: &BTreeMap<u64, &'static str>,
) -> Option<[String; 4]> {
    let event = recorded.event.as_ref()?;
    let what = what(event)?;
    let version = recorded.version;
    let first = receipt.epoch.unwrap_or_default().first_version;
    let is_carried = receipt.carried_versions.contains(&version);
    let is_summarised = version <= receipt.summarised_through && !is_carried;
    if is_summarised || version < first && !fates.contains_key(&version) {
        return None;
    }
    let waits = |call: &str| receipt.pending_call_ids.iter().any(|id| id == call);
    let left = |call: &str| receipt.interrupted_call_ids.iter().any(|id| id == call);
    let fate = match (&event.fact, fates.get(&version)) {
        (_, Some(fate)) => fate,
        (Some(Fact::ToolCalled(call)), None) if waits(&call.call_id) => {
            "went in; still waits: a note says so"
        }
        (Some(Fact::ToolCalled(call)), None) if left(&call.call_id) => {
            "went in; interrupted: a note says so"
        }
        _ if is_carried => "went in: its turn reaches past the summary",
        _ => "went in",
    };
    Some([
        version.to_string(),
        what,
        event.tokens.to_string(),
        fate.to_owned(),
    ])
}

/// What models read of an event; none for those that they do not see.
fn what(event: &Event) -> Option<String> {
    Some(match event.fact.as_ref()? {
        Fact::MessageAppended(message) => match message.role() {
            Role::User => "user".to_owned(),
            Role::Assistant => "assistant".to_owned(),
            Role::System => "system".to_owned(),
            Role::Developer => "developer".to_owned(),
            Role::Unspecified => return None,
        },
        Fact::ToolCalled(call) => format!("call of {}", printable(&call.tool_name)),
        Fact::ToolReturned(result) => format!("result of {}", printable(&result.tool_name)),
        Fact::SystemNoted(_)
        | Fact::ErrorOccurred(_)
        | Fact::HistorySummarised(_)
        | Fact::HistoryRewound(_)
        | Fact::ConversationCreated(_)
        | Fact::ConversationUpdated(_)
        | Fact::ConversationArchived(_)
        | Fact::ConversationRestored(_)
        | Fact::ConversationErased(_)
        | Fact::OwnerChanged(_)
        | Fact::RunStarted(_)
        | Fact::RunStopRequested(_)
        | Fact::RunFinished(_) => return None,
    })
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
                "begins at version {}, line at {} tokens, summary {}, revised {}",
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
