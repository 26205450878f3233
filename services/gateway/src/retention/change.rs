//! One change of a conversation by retention. The command depends only on the row, so every gateway sends the same command.

use domain::{AgentId, CommitId, TenantId, Version};
use read_model::{ExpiredConversation, ExpiryRule};
use tonic::Code;
use wire::proto::event::v1 as event;
use wire::proto::event::v1::event::Fact;
use wire::proto::write::v1 as proto;
use wire::proto::write::v1::CommitResult;
use wire::status::{Problem, Reason};

use super::Dependencies;
use conversations::commands::{Issuer, command_target};

/// The topic of the note before an archiving.
const TOPIC: &str = "retention";

/// The change that a rule requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Erase,
    Archive {
        /// Maximum number of messages that it may hold.
        messages_max: u64,
    },
}

impl Change {
    pub(super) fn by(rule: &ExpiryRule) -> Self {
        match rule {
            ExpiryRule::Idle { .. }
            | ExpiryRule::Empty { .. }
            | ExpiryRule::PerSession { .. }
            | ExpiryRule::PerUser { .. }
            | ExpiryRule::PerChannel { .. } => Self::Erase,
            ExpiryRule::Long { messages_max, .. } => Self::Archive { messages_max: *messages_max },
        }
    }
}

/// A conversation to change.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) tenant: TenantId,
    pub(super) agent: AgentId,
    pub(super) found: ExpiredConversation,
}

/// The outcome of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Changed,
    /// Another process made it, or the conversation has changed since: there is nothing to do.
    Settled,
    /// The gateway's own token does not allow it.
    Refused,
    /// It failed, or the outcome is unknown: the next round tries again.
    Failed,
}

/// Sends the change to the writer.
pub(super) async fn apply(deps: Dependencies, target: Target, change: Change) -> Outcome {
    let answer = match change {
        Change::Erase => erase(&deps, &target).await,
        Change::Archive { messages_max } => archive(&deps, &target, messages_max).await,
    };
    let outcome = outcome_of(&answer);
    if let (Outcome::Failed, Err(problem)) = (outcome, &answer) {
        let conversation = &target.found.id;
        tracing::warn!(tenant.id = %target.tenant, conversation.id = %conversation, code = problem.reason_name(), "a retention change failed");
    }
    outcome
}

/// Erases the conversation, unless forks read through it. The writer checks that, so that new forks count too.
async fn erase(deps: &Dependencies, target: &Target) -> Result<CommitResult, Problem> {
    let request = proto::EraseConversationRequest {
        target: Some(command_at_version(target, "erase")),
        expected_owner: None,
        forks: proto::ForkRule::Refuse.into(),
    };
    deps.commands.send(Issuer::Gateway, request).await
}

/// Appends a note with the reason, then archives the conversation. Events in between cannot make the conversation shorter.
async fn archive(deps: &Dependencies, target: &Target, messages_max: u64) -> Result<CommitResult, Problem> {
    if !is_noted(target) {
        let held = target.found.head.totals.messages;
        let noted = event::SystemNoted {
            topic: TOPIC.to_owned(),
            text: format!("archived: it holds {held} messages, at most {messages_max} may be"),
        };
        let request = proto::AppendEventsRequest {
            target: Some(command_at_version(target, "note")),
            events: vec![event::Event { fact: Some(Fact::SystemNoted(noted)), ..event::Event::default() }],
            ..proto::AppendEventsRequest::default()
        };
        deps.commands.send(Issuer::Gateway, request).await?;
    }
    let request = proto::ArchiveConversationRequest { target: Some(command(target, "archive")) };
    deps.commands.send(Issuer::Gateway, request).await
}

/// Whether the last commit is the note of an earlier attempt.
fn is_noted(target: &Target) -> bool {
    let head = &target.found.head;
    let before = Version(head.version.0.saturating_sub(1));
    let note = key(target, "note", before);
    head.recent.last().is_some_and(|last| last.id == note)
}

fn command(target: &Target, step: &str) -> proto::CommandTarget {
    let key = key(target, step, target.found.head.version);
    command_target(&target.agent, &target.found.id, Some(key))
}

/// As [`command`], at the version of the row.
fn command_at_version(target: &Target, step: &str) -> proto::CommandTarget {
    proto::CommandTarget { expected_version: Some(target.found.head.version.0), ..command(target, step) }
}

/// The idempotency key of a step for a row of this version.
fn key(target: &Target, step: &str, version: Version) -> CommitId {
    let Target { tenant, found, .. } = target;
    let name = format!("retention/{step}/{tenant}/{}/{}", found.id, version.0);
    CommitId::named(&name)
}

/// The outcome of an answer of the writer.
pub(super) fn outcome_of(answer: &Result<CommitResult, Problem>) -> Outcome {
    let reason = match answer {
        Ok(result) if result.replayed || result.commit_id.is_empty() => return Outcome::Settled,
        Ok(_) => return Outcome::Changed,
        Err(problem) => problem.reason(),
    };
    if matches!(reason.code(), Code::Aborted | Code::NotFound | Code::FailedPrecondition) {
        return Outcome::Settled;
    }
    if reason == Reason::WriterUnavailable { Outcome::Refused } else { Outcome::Failed }
}

#[cfg(test)]
mod tests {
    use domain::Timestamp;

    use super::*;

    #[test]
    fn long_conversations_are_archived_and_others_erased() {
        let check = |rule: ExpiryRule, expected: Change| assert_eq!(Change::by(&rule), expected, "{rule:?}");
        check(ExpiryRule::Idle { since: Timestamp(0), after: None }, Change::Erase);
        check(ExpiryRule::Empty { since: Timestamp(0), after: None }, Change::Erase);
        check(ExpiryRule::PerSession { keep: 1, after: None }, Change::Erase);
        check(ExpiryRule::PerUser { keep: 1, after: None }, Change::Erase);
        check(ExpiryRule::PerChannel { keep: 1, after: None }, Change::Erase);
        check(ExpiryRule::Long { messages_max: 7, after: None }, Change::Archive { messages_max: 7 });
    }

    #[test]
    fn answers_have_outcomes() {
        let check = |answer: Result<(&str, bool), Reason>, expected: Outcome| {
            let answer = answer
                .map(|(commit_id, replayed)| CommitResult {
                    commit_id: commit_id.to_owned(),
                    replayed,
                    ..CommitResult::default()
                })
                .map_err(|reason| Problem::new(reason, ""));
            assert_eq!(outcome_of(&answer), expected, "{answer:?}");
        };
        check(Ok(("c", false)), Outcome::Changed);
        check(Ok(("c", true)), Outcome::Settled);
        check(Ok(("", false)), Outcome::Settled);
        for (reason, expected) in [
            (Reason::VersionConflict, Outcome::Settled),
            (Reason::ConversationNotFound, Outcome::Settled),
            (Reason::HasForks, Outcome::Settled),
            (Reason::WriterUnavailable, Outcome::Refused),
            (Reason::RecordUnavailable, Outcome::Failed),
            (Reason::Other(Code::DeadlineExceeded), Outcome::Failed),
            (Reason::Overloaded, Outcome::Failed),
        ] {
            check(Err(reason), expected);
        }
    }
}
