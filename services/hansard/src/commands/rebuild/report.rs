//! What a rebuild tells: a line for people, or JSON Lines, step by step.

use std::io::Write as _;
use std::time::Duration;

use domain::ConversationKey;
use read_model::SchemaName;
use serde_json::{Value, json};

use crate::console;
use crate::progress::grouped;

/// Conversations that people are shown by name.
const SHOWN_MAX: usize = 20;

/// How steps are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A line each.
    People,
    /// A JSON object each.
    Json,
}

/// What has happened.
#[derive(Debug)]
pub(super) enum Step<'a> {
    Begun {
        schema: SchemaName,
        live: SchemaName,
        phase: &'static str,
    },
    Copied {
        messages: u64,
        took: Duration,
    },
    Indexed {
        took: Duration,
    },
    Compared {
        conversations: u64,
        took: Duration,
    },
    Differ {
        conversations: &'a [ConversationKey],
    },
    Switched {
        live: SchemaName,
        kept: SchemaName,
    },
    Dropped {
        schema: SchemaName,
    },
    WouldSwitch {
        from: SchemaName,
        to: SchemaName,
    },
    WouldDrop {
        schema: SchemaName,
    },
}

impl Form {
    /// The form that `--json` asks for.
    pub(super) fn of(json: bool) -> Self {
        if json { Self::Json } else { Self::People }
    }

    /// Tells a step on standard output.
    pub(super) fn tell(self, step: &Step<'_>) -> anyhow::Result<()> {
        let mut out = console::out();
        match self {
            Self::People => writeln!(out, "{}", words(step))?,
            Self::Json => writeln!(out, "{}", object(step))?,
        }
        Ok(())
    }
}

fn words(step: &Step<'_>) -> String {
    match step {
        Step::Begun {
            schema,
            live,
            phase,
        } => format!("{schema} is made beside {live}, which is live: {phase}"),
        Step::Copied { messages, took } => {
            format!(
                "copied {} commits in {}",
                grouped(*messages),
                seconds(*took)
            )
        }
        Step::Indexed { took } => format!("rows and indexes made in {}", seconds(*took)),
        Step::Compared {
            conversations,
            took,
        } => {
            let count = grouped(*conversations);
            format!("compared {count} conversations in {}", seconds(*took))
        }
        Step::Differ { conversations } => differing(conversations),
        Step::Switched { live, kept } => {
            format!(
                "{live} is live; {kept} is kept: `hansard rebuild rollback` goes back to it, `hansard rebuild drop` drops it"
            )
        }
        Step::Dropped { schema } => format!("{schema} is dropped"),
        Step::WouldSwitch { from, to } => {
            format!("would bring {to} up to date, and switch from {from} to it")
        }
        Step::WouldDrop { schema } => format!("would drop {schema}"),
    }
}

fn differing(conversations: &[ConversationKey]) -> String {
    let mut lines = vec![format!(
        "{} conversations are not the same in both:",
        conversations.len()
    )];
    let name = |key: &ConversationKey| format!("  {}/{}", key.tenant, key.conversation);
    lines.extend(conversations.iter().take(SHOWN_MAX).map(name));
    if conversations.len() > SHOWN_MAX {
        lines.push("  … (all with --json)".to_owned());
    }
    lines.join("\n")
}

fn object(step: &Step<'_>) -> Value {
    match step {
        Step::Begun {
            schema,
            live,
            phase,
        } => {
            json!({"step": "begun", "schema": schema.to_string(), "live": live.to_string(), "phase": phase})
        }
        Step::Copied { messages, took } => {
            json!({"step": "copied", "commits": messages, "seconds": took.as_secs_f64()})
        }
        Step::Indexed { took } => json!({"step": "indexed", "seconds": took.as_secs_f64()}),
        Step::Compared {
            conversations,
            took,
        } => {
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
    fn people_see_some_and_machines_all() {
        let key = |n: usize| ConversationKey {
            tenant: TenantId::parse("acme").unwrap(),
            conversation: ConversationId::parse(format!("c{n}")).unwrap(),
        };
        let check = |count: usize, lines: usize| {
            let keys: Vec<_> = (0..count).map(key).collect();
            let step = Step::Differ {
                conversations: &keys,
            };
            assert_eq!(words(&step).lines().count(), lines);
            assert_eq!(
                object(&step)
                    .get("conversations")
                    .unwrap()
                    .as_array()
                    .unwrap()
                    .len(),
                count
            );
        };
        check(1, 2);
        check(SHOWN_MAX, SHOWN_MAX + 1);
        check(SHOWN_MAX + 1, SHOWN_MAX + 2);
    }
}
