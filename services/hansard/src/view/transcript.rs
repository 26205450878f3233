//! Writes commits as a readable chat with times.

use std::io::{self, Write};

use wire::proto::event::v1::event::Fact;
use wire::proto::event::v1::owner::Kind as OwnerKind;
use wire::proto::event::v1::{Event, Owner, RunOutcome};

use super::commit::DecodedCommit;
use super::context::{ROLE_WIDTH, call_line, part_lines, result_lines, role_name};
use super::when;

/// A transcript, with the last printed conversation.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    conversation: Option<(String, String)>,
}

impl Transcript {
    /// Writes a commit: the lines of each event, with time and role before the first one. Prints the conversation when it
    /// changes.
    pub(crate) fn write(&mut self, out: &mut impl Write, commit: &DecodedCommit) -> io::Result<()> {
        let envelope = &commit.envelope;
        let of = (envelope.tenant_id.clone(), envelope.conversation_id.clone());
        if self.conversation.as_ref() != Some(&of) {
            if self.conversation.is_some() {
                writeln!(out)?;
            }
            writeln!(out, "{} / {}", of.0, of.1)?;
            self.conversation = Some(of);
        }
        for event in &commit.events {
            let occurred_at = event.occurred_at.or(envelope.recorded_at);
            let mut time = when::seconds(occurred_at.as_ref());
            let (mut role, lines) = event_lines(event);
            for line in lines {
                writeln!(out, "{time:19}  {role:>ROLE_WIDTH$}  {line}")?;
                // Only the first line has time and role.
                time.clear();
                role = "";
            }
        }
        Ok(())
    }
}

/// The role and the lines of an event; `*` for lifecycle events.
fn event_lines(event: &Event) -> (&'static str, Vec<String>) {
    let lifecycle = |text: String| ("*", vec![text]);
    match &event.fact {
        Some(Fact::MessageAppended(message)) => {
            let mut lines: Vec<String> = message.parts.iter().flat_map(part_lines).collect();
            if lines.is_empty() {
                lines.push(String::new());
            }
            (role_name(message.role()), lines)
        }
        Some(Fact::ToolCalled(call)) => ("assistant", vec![call_line(call)]),
        Some(Fact::ToolReturned(result)) => ("tool", result_lines(result)),
        Some(Fact::SystemNoted(note)) => ("note", headed(&note.topic, &note.text)),
        Some(Fact::ErrorOccurred(error)) => ("error", headed(&error.error_type, &error.message)),
        Some(Fact::HistorySummarised(summary)) => {
            let head = format!("up to version {}", summary.through_version);
            ("summary", headed(&head, &summary.text))
        }
        Some(Fact::ConversationCreated(created)) => {
            let owner = owner(created.owner.as_ref());
            lifecycle(format!("created for {owner}, agent {}", created.agent_id))
        }
        Some(Fact::ConversationUpdated(_)) => lifecycle("updated".to_owned()),
        Some(Fact::ConversationArchived(_)) => lifecycle("archived".to_owned()),
        Some(Fact::ConversationRestored(_)) => lifecycle("restored".to_owned()),
        Some(Fact::ConversationErased(_)) => lifecycle("erased".to_owned()),
        Some(Fact::HistoryRewound(rewind)) => lifecycle(format!("rewound to version {}", rewind.to_version)),
        Some(Fact::DocumentPut(put)) => {
            let head = format!("put {}", document_name(&put.namespace, &put.key));
            ("document", headed(&head, &put.value_json))
        }
        Some(Fact::DocumentDeleted(deleted)) => {
            let name = document_name(&deleted.namespace, &deleted.key);
            ("document", vec![format!("deleted {name}")])
        }
        Some(Fact::OwnerChanged(change)) => lifecycle(format!("owner changed to {}", owner(change.owner.as_ref()))),
        Some(Fact::RunStarted(run)) => lifecycle(format!("run started {}", run.model)),
        Some(Fact::RunStopRequested(_)) => lifecycle("run stop requested".to_owned()),
        Some(Fact::RunFinished(run)) => lifecycle(format!("run {}", outcome(run.outcome()))),
        None => lifecycle("unknown event".to_owned()),
    }
}

fn headed(head: &str, text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    match lines.first_mut() {
        _ if head.is_empty() => {}
        Some(first) => *first = format!("{head}: {first}"),
        None => lines.push(head.to_owned()),
    }
    lines
}

fn document_name(namespace: &[String], key: &str) -> String {
    format!("{} {key}", namespace.join("/"))
}

fn owner(owner: Option<&Owner>) -> String {
    match owner.and_then(|owner| owner.kind.as_ref()) {
        Some(OwnerKind::UserId(user)) => format!("user {user}"),
        Some(OwnerKind::SessionId(session)) => format!("session {session}"),
        Some(OwnerKind::ChannelId(channel)) => format!("channel {channel}"),
        None => "unknown".to_owned(),
    }
}

fn outcome(outcome: RunOutcome) -> &'static str {
    match outcome {
        RunOutcome::Unspecified => "ended",
        RunOutcome::Completed => "completed",
        RunOutcome::Stopped => "stopped",
        RunOutcome::Failed => "failed",
        RunOutcome::Abandoned => "abandoned",
    }
}

#[cfg(test)]
mod tests;
