//! Commits for people: a chat as it went, with times.

use std::io::{self, Write};

use wire::proto::event::v1::event::Fact;
use wire::proto::event::v1::owner::Kind as OwnerKind;
use wire::proto::event::v1::{Event, Owner, RunOutcome};

use super::commit::Written;
use super::context::{SPEAKER_WIDTH, call_line, part_lines, printable, result_lines, role_name};
use super::when;

/// Where a transcript is: whose words came last.
#[derive(Debug, Default)]
pub struct Transcript {
    conversation: Option<(String, String)>,
}

impl Transcript {
    /// Writes a commit: a line for each line that is said, time and speaker before the first one. The conversation is named
    /// wherever it is another than before.
    ///
    /// # Errors
    /// The output is closed.
    pub fn write(&mut self, out: &mut impl Write, commit: &Written) -> io::Result<()> {
        let envelope = &commit.envelope;
        let of = (envelope.tenant_id.clone(), envelope.conversation_id.clone());
        if self.conversation.as_ref() != Some(&of) {
            let gap = if self.conversation.is_some() {
                "\n"
            } else {
                ""
            };
            writeln!(out, "{gap}{} / {}", of.0, of.1)?;
            self.conversation = Some(of);
        }
        for event in &commit.events {
            let happened = event.occurred_at.or(envelope.recorded_at);
            let mut time = when::seconds(happened.as_ref());
            let (mut speaker, lines) = said(event);
            for line in lines {
                writeln!(
                    out,
                    "{time:19}  {speaker:>SPEAKER_WIDTH$}  {}",
                    printable(&line)
                )?;
                // Only the first line says who and when.
                time.clear();
                speaker = "";
            }
        }
        Ok(())
    }
}

/// Who speaks, and the lines; facts that nobody says are told in words, after a star.
fn said(event: &Event) -> (&'static str, Vec<String>) {
    let told = |text: String| ("*", vec![text]);
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
            let head = format!("of all up to version {}", summary.through_version);
            ("summary", headed(&head, &summary.text))
        }
        Some(Fact::ConversationCreated(created)) => {
            let owner = owner(created.owner.as_ref());
            told(format!("created for {owner}, agent {}", created.agent_id))
        }
        Some(Fact::ConversationUpdated(_)) => told("updated".to_owned()),
        Some(Fact::ConversationArchived(_)) => told("archived".to_owned()),
        Some(Fact::ConversationRestored(_)) => told("restored".to_owned()),
        Some(Fact::ConversationErased(_)) => told("erased".to_owned()),
        Some(Fact::HistoryRewound(rewind)) => {
            told(format!("goes on from version {}", rewind.to_version))
        }
        Some(Fact::OwnerChanged(change)) => {
            told(format!("belongs to {} now", owner(change.owner.as_ref())))
        }
        Some(Fact::RunStarted(run)) => told(format!("a run began {}", run.model)),
        Some(Fact::RunStopRequested(_)) => told("the run was asked to stop".to_owned()),
        Some(Fact::RunFinished(run)) => told(format!("the run {}", outcome(run.outcome()))),
        None => told("a fact that this program does not know".to_owned()),
    }
}

fn headed(head: &str, text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if head.is_empty() {
        return lines;
    }
    match lines.first_mut() {
        Some(first) => *first = format!("{head}: {first}"),
        None => lines.push(head.to_owned()),
    }
    lines
}

fn owner(owner: Option<&Owner>) -> String {
    match owner.and_then(|owner| owner.kind.as_ref()) {
        Some(OwnerKind::UserId(user)) => format!("user {user}"),
        Some(OwnerKind::SessionId(session)) => format!("session {session}"),
        Some(OwnerKind::ChannelId(channel)) => format!("channel {channel}"),
        None => "nobody".to_owned(),
    }
}

fn outcome(outcome: RunOutcome) -> &'static str {
    match outcome {
        RunOutcome::Unspecified => "ended",
        RunOutcome::Completed => "completed",
        RunOutcome::Stopped => "was stopped",
        RunOutcome::Failed => "failed",
        RunOutcome::Abandoned => "was abandoned",
    }
}

#[cfg(test)]
mod tests;
