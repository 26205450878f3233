//! The commits before the one that starts a run: for more events than that one has room for.

use domain::bounds::{CREATE_EVENTS_MAX, CREATE_RUN_EVENTS_MAX, EVENTS_PER_COMMIT_MAX, RUN_EVENTS_MAX};
use domain::{CommitId, NewEvent, Version};
use wire::conversation::owner_to_proto;
use wire::proto::write::v1::{AppendEventsRequest, CommandTarget, CommitResult, CreateConversationRequest};
use wire::status::Problem;

use super::start::{NewConversation, Start, StartAt, new_event};
use crate::commands::{Command, Commands, Issuer, command_target};

impl Start {
    /// Records the events that the starting commit has no room for, by commits before it, and creates the conversation first if it is
    /// new. Returns the last of these commits. If this is interrupted, the first events are recorded.
    ///
    /// # Errors
    /// As [`Commands::send`].
    pub async fn record_first(&mut self, commands: &Commands) -> Result<Option<CommitResult>, Problem> {
        let room = match &self.at {
            StartAt::New(_) => CREATE_RUN_EVENTS_MAX,
            StartAt::AnyVersion | StartAt::Version(_) => RUN_EVENTS_MAX,
        };
        if self.events.len() <= room {
            return Ok(None);
        }
        let last = self.events.split_off(self.events.len().saturating_sub(RUN_EVENTS_MAX));
        let first = std::mem::replace(&mut self.events, last);
        let mut commit = None;
        for (index, events) in commits(&first, matches!(self.at, StartAt::New(_))).into_iter().enumerate() {
            let key = self.idempotency_key.map(|key| first_commit(key, index).to_string()).unwrap_or_default();
            let result = match &self.at {
                StartAt::New(new) => send(commands, self.create(new, events, key)).await?,
                StartAt::AnyVersion | StartAt::Version(_) => send(commands, self.append(events, key)).await?,
            };
            self.at = StartAt::Version(Version(result.version));
            commit = Some(result);
        }
        Ok(commit)
    }

    fn create(&self, new: &NewConversation, events: &[NewEvent], key: String) -> CreateConversationRequest {
        CreateConversationRequest {
            agent_id: self.account.access.agent.to_string(),
            conversation_id: self.key.conversation.to_string(),
            idempotency_key: key,
            owner: Some(owner_to_proto(&new.owner)),
            metadata_json: new.metadata_json.clone(),
            forked_from: new.forked_from.clone(),
            events: events.iter().map(new_event).collect(),
            ..CreateConversationRequest::default()
        }
    }

    fn append(&self, events: &[NewEvent], key: String) -> AppendEventsRequest {
        let expected_version = match self.at {
            StartAt::Version(version) => Some(version.0),
            StartAt::AnyVersion | StartAt::New(_) => None,
        };
        let target = command_target(&self.account.access.agent, &self.key.conversation, key);
        AppendEventsRequest {
            target: Some(CommandTarget { expected_version, ..target }),
            events: events.iter().map(new_event).collect(),
            ..AppendEventsRequest::default()
        }
    }
}

async fn send(commands: &Commands, command: impl Command) -> Result<CommitResult, Problem> {
    commands.send(Issuer::Gateway, command).await
}

/// The events of each commit. The first one also creates the conversation, if that is new.
fn commits(events: &[NewEvent], creates: bool) -> Vec<&[NewEvent]> {
    let in_first = if creates { CREATE_EVENTS_MAX } else { EVENTS_PER_COMMIT_MAX };
    let (first, further) = events.split_at(in_first.min(events.len()));
    std::iter::once(first).chain(further.chunks(EVENTS_PER_COMMIT_MAX)).collect()
}

/// The key of a commit: equal in all attempts, and that of no start.
fn first_commit(start: CommitId, index: usize) -> CommitId {
    start.part(format!("first/{index}").as_bytes())
}

#[cfg(test)]
mod tests {
    use domain::event::{MessageAppended, Role};
    use domain::{Fact, Part};

    use super::*;

    #[test]
    fn commits_have_a_bounded_number_of_events() {
        let event =
            NewEvent::from(Fact::MessageAppended(MessageAppended::new(Role::User, vec![Part::Text(String::new())])));
        let check = |count: usize, creates: bool, expected: &[usize]| {
            let events = vec![event.clone(); count];
            let lengths: Vec<usize> = commits(&events, creates).into_iter().map(<[NewEvent]>::len).collect();
            assert_eq!(lengths, expected, "{count}");
        };
        check(0, true, &[0]);
        check(499, true, &[499]);
        check(500, true, &[499, 1]);
        check(1, false, &[1]);
        check(500, false, &[500]);
        check(1_001, false, &[500, 500, 1]);
    }
}
