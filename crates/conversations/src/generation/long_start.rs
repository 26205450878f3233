//! The commits before the one that starts a run: for more events than that one has room for.

use domain::bounds::{CREATE_EVENTS_MAX, CREATE_RUN_EVENTS_MAX, EVENTS_PER_COMMIT_MAX, RUN_EVENTS_MAX};
use domain::{CommitId, NewEvent, Version};
use wire::proto::write::v1::{AppendEventsRequest, CommitResult};
use wire::status::Problem;

use super::start::{Start, StartAt, to_proto};
use crate::commands::{Commands, Issuer};

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
                StartAt::New(new) => commands.send(Issuer::Gateway, self.creation(new, events, key)).await,
                StartAt::AnyVersion | StartAt::Version(_) => {
                    let (target, events) = (Some(self.target(key)), to_proto(events));
                    let append = AppendEventsRequest { target, events, ..AppendEventsRequest::default() };
                    commands.send(Issuer::Gateway, append).await
                }
            };
            let result = result?;
            self.at = StartAt::Version(Version(result.version));
            commit = Some(result);
        }
        Ok(commit)
    }
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
