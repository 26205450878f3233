//! The output of a rebuild: one line of text or JSON per step.

use std::io::Write as _;
use std::time::Duration;

use divergence::Divergence;
use domain::ConversationKey;
use read_model::SchemaName;
use serde_json::{Value, json};

use super::losses::{Loss, Losses};
use crate::console;
use crate::progress::grouped;

/// The maximum number of conversations in a line of text.
const SHOWN_MAX: usize = 20;

/// The output format of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A line of text per step.
    Text,
    /// A JSON object per step.
    Json,
}

/// A step of a rebuild.
#[derive(Debug)]
pub(super) enum Step<'a> {
    Started { schema: SchemaName, live: SchemaName, phase: &'static str },
    Copied { messages: u64, took: Duration },
    Indexed { took: Duration },
    Compared { conversations: u64, took: Duration },
    Differ { conversations: &'a [ConversationKey] },
    Switched { live: SchemaName, kept: SchemaName },
    Dropped { schema: SchemaName },
    WouldSwitch { from: SchemaName, to: SchemaName },
    WouldDrop { schema: SchemaName },
    Diverged { divergences: &'a [Divergence] },
    Lost { losses: &'a Losses },
    Restart,
}

impl Form {
    /// The format for `--json`.
    pub(super) fn of(json: bool) -> Self {
        if json { Self::Json } else { Self::Text }
    }

    /// Prints a step to standard output.
    pub(super) fn print(self, step: &Step<'_>) -> anyhow::Result<()> {
        let mut out = console::out();
        match self {
            Self::Text => writeln!(out, "{}", text(step))?,
            Self::Json => writeln!(out, "{}", object(step))?,
        }
        Ok(())
    }
}

fn text(step: &Step<'_>) -> String {
    match step {
        Step::Started { schema, live, phase } => {
            format!("building the schema {schema} next to the live one, {live}; phase: {phase}")
        }
        Step::Copied { messages, took } => {
            let count = grouped(*messages);
            format!("copied {count} commits in {}", seconds(*took))
        }
        Step::Indexed { took } => format!("created rows and indexes in {}", seconds(*took)),
        Step::Compared { conversations, took } => {
            let count = grouped(*conversations);
            format!("compared {count} conversations in {}", seconds(*took))
        }
        Step::Differ { conversations } => differing(conversations),
        Step::Switched { live, kept } => {
            format!(
                "{live} is live; {kept} is kept: `hansard rebuild rollback` switches back to it, `hansard rebuild drop` drops it"
            )
        }
        Step::Dropped { schema } => format!("dropped {schema}"),
        Step::WouldSwitch { from, to } => {
            format!("would bring {to} up to date and switch to it from {from}")
        }
        Step::WouldDrop { schema } => format!("would drop {schema}"),
        Step::Diverged { divergences } => diverged(divergences),
        Step::Lost { losses } => lost(losses),
        Step::Restart => "restart writers, projectors and gateways; projectors index the search again".to_owned(),
    }
}

fn diverged(divergences: &[Divergence]) -> String {
    if divergences.is_empty() {
        return "rows and record belong together: nothing is given up".to_owned();
    }
    divergences.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn lost(losses: &Losses) -> String {
    let (lost, erased) = (grouped(losses.conversations), grouped(losses.erasures_count()));
    let mut lines = vec![format!("commits of {lost} conversations are given up; {erased} erasures are repeated")];
    let line = |loss: &Loss| {
        let record = loss.record.map_or_else(|| "nothing".to_owned(), |version| format!("version {version}"));
        format!(
            "  {}/{}: rows have version {}, the record has {record}",
            loss.key.tenant, loss.key.conversation, loss.rows
        )
    };
    lines.extend(losses.named.iter().take(SHOWN_MAX).map(line));
    if losses.conversations > u64::try_from(SHOWN_MAX).unwrap_or(0) {
        lines.push("  … (more with --json)".to_owned());
    }
    lines.join("\n")
}

fn differing(conversations: &[ConversationKey]) -> String {
    let count = conversations.len();
    let mut lines = vec![format!("{count} conversations differ between the schemas:")];
    let name = |key: &ConversationKey| format!("  {}/{}", key.tenant, key.conversation);
    lines.extend(conversations.iter().take(SHOWN_MAX).map(name));
    if conversations.len() > SHOWN_MAX {
        lines.push("  … (all with --json)".to_owned());
    }
    lines.join("\n")
}

fn object(step: &Step<'_>) -> Value {
    match step {
        Step::Started { schema, live, phase } => {
            json!({"step": "begun", "schema": schema.to_string(), "live": live.to_string(), "phase": phase})
        }
        Step::Copied { messages, took } => {
            json!({"step": "copied", "commits": messages, "seconds": took.as_secs_f64()})
        }
        Step::Indexed { took } => json!({"step": "indexed", "seconds": took.as_secs_f64()}),
        Step::Compared { conversations, took } => {
            json!({"step": "compared", "conversations": conversations, "seconds": took.as_secs_f64()})
        }
        Step::Differ { conversations } => {
            let key = |key: &ConversationKey| json!({"tenantId": key.tenant.as_str(), "conversationId": key.conversation.as_str()});
            json!({"step": "differ", "conversations": conversations.iter().map(key).collect::<Vec<_>>()})
        }
        Step::Switched { live, kept } => {
            json!({"step": "switched", "live": live.to_string(), "kept": kept.to_string()})
        }
        Step::Dropped { schema } => json!({"step": "dropped", "schema": schema.to_string()}),
        Step::WouldSwitch { from, to } => {
            json!({"step": "wouldSwitch", "from": from.to_string(), "to": to.to_string()})
        }
        Step::WouldDrop { schema } => {
            json!({"step": "wouldDrop", "schema": schema.to_string()})
        }
        Step::Diverged { divergences } => {
            json!({"step": "diverged", "divergences": divergences.iter().map(ToString::to_string).collect::<Vec<_>>()})
        }
        Step::Lost { losses } => {
            let loss = |loss: &Loss| {
                json!({
                    "tenantId": loss.key.tenant.as_str(),
                    "conversationId": loss.key.conversation.as_str(),
                    "rowsVersion": loss.rows.0,
                    "recordVersion": loss.record.map(|version| version.0),
                })
            };
            json!({
                "step": "lost",
                "conversations": losses.conversations,
                "erasuresRepeated": losses.erasures_count(),
                "named": losses.named.iter().map(loss).collect::<Vec<_>>(),
            })
        }
        Step::Restart => json!({"step": "restart"}),
    }
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use domain::{ConversationId, TenantId};

    use super::*;

    #[test]
    fn text_is_truncated_and_json_is_complete() {
        let key = |n: usize| ConversationKey {
            tenant: TenantId::parse("acme").unwrap(),
            conversation: ConversationId::parse(format!("c{n}")).unwrap(),
        };
        let check = |count: usize, lines: usize| {
            let keys: Vec<_> = (0..count).map(key).collect();
            let step = Step::Differ { conversations: &keys };
            assert_eq!(text(&step).lines().count(), lines);
            assert_eq!(object(&step).get("conversations").unwrap().as_array().unwrap().len(), count);
        };
        check(1, 2);
        check(SHOWN_MAX, SHOWN_MAX + 1);
        check(SHOWN_MAX + 1, SHOWN_MAX + 2);
    }
}
