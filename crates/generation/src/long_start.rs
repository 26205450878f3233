//! The commits before the one that starts a run: for more events than that one has room for.
//!
//! A start takes several commits if it creates its conversation, or is recognised by its request: another attempt reads what was recorded
//! and continues after it. A start under a key of its caller is one commit, all or nothing.

use domain::bounds::{CREATE_EVENTS_MAX, CREATE_RUN_EVENTS_MAX, RUN_EVENTS_MAX};
use domain::{CommitId, NewEvent, Version};
use wire::proto::write::v1::{AppendEventsRequest, CommitResult};
use wire::status::Problem;

use super::Generations;
use super::start::{RetryKey, Start, StartAt, new_event, to_proto};
use crate::quotas::size_of_message;
use record_access::commands::{Commands, Issuer, recorded_at};
use record_access::commit_room::{CommitRoom, split};

impl Generations {
    /// Records the events that the starting commit has no room for, by commits before it, and creates the conversation first if it is
    /// new. Returns the id of the starting commit. If this is interrupted, the first events are recorded.
    ///
    /// # Errors
    /// As [`Commands::send`].
    pub(super) async fn record_first(&self, start: &mut Start) -> Result<CommitId, Problem> {
        let key = start.repeated_key().unwrap_or_else(|| self.gateway.new_key());
        let is_new = matches!(start.at, StartAt::New(_));
        if !is_new && !matches!(start.retry, RetryKey::Request { .. }) {
            return Ok(key);
        }
        let commits = commits_before(&mut start.events, is_new, CommitRoom::of_record(&self.gateway));
        let commands = Commands::new(self.writer.clone());
        let mut last = None;
        for (index, events) in commits.iter().enumerate() {
            let part = key.part(format!("first/{index}").as_bytes());
            let result = record(&commands, start, events, part).await?;
            start.at = StartAt::Version(Version(result.version));
            last = Some(result);
        }
        Ok(match (start.retry, last) {
            (RetryKey::Request { hash, .. }, Some(last)) => {
                hash.key(Version(last.version), recorded_at(&last).unwrap_or_else(|| self.gateway.now()))
            }
            (RetryKey::None | RetryKey::Given(_) | RetryKey::Request { .. }, _) => key,
        })
    }
}

async fn record(
    commands: &Commands,
    start: &Start,
    events: &[NewEvent],
    key: CommitId,
) -> Result<CommitResult, Problem> {
    match &start.at {
        StartAt::New(new) => commands.send(Issuer::Gateway, start.creation(new, events, key)).await,
        StartAt::AnyVersion | StartAt::Version(_) => {
            let (target, events) = (Some(start.target(key)), to_proto(events));
            commands
                .send(Issuer::Gateway, AppendEventsRequest { target, events, ..AppendEventsRequest::default() })
                .await
        }
    }
}

/// Takes the events of the commits before the starting one, if it would have too many. The first of them also creates the conversation,
/// if that is new.
fn commits_before(events: &mut Vec<NewEvent>, is_new: bool, room: CommitRoom) -> Vec<Vec<NewEvent>> {
    let (first, in_start_max) =
        if is_new { (room.with_events(CREATE_EVENTS_MAX), CREATE_RUN_EVENTS_MAX) } else { (room, RUN_EVENTS_MAX) };
    if events.len() <= in_start_max {
        return Vec::new();
    }
    let in_last = room.with_events(RUN_EVENTS_MAX).count(events.iter().rev().map(size));
    let last = events.split_off(events.len() - in_last);
    let before = std::mem::replace(events, last);
    if before.is_empty() {
        return vec![before];
    }
    split(before, first, room, size)
}

fn size(event: &NewEvent) -> usize {
    usize::try_from(size_of_message(&new_event(event))).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use domain::event::{MessageAppended, Role};
    use domain::{Fact, Part};

    use super::*;

    #[test]
    fn commits_have_bounded_numbers_of_events_and_bytes() {
        let event =
            NewEvent::from(Fact::MessageAppended(MessageAppended::new(Role::User, vec![Part::Text("x".repeat(100))])));
        let check = |count: usize, is_new: bool, room: CommitRoom, expected: &[usize]| {
            let mut events = vec![event.clone(); count];
            let before = commits_before(&mut events, is_new, room);
            let lengths: Vec<usize> = before.iter().map(Vec::len).chain([events.len()]).collect();
            assert_eq!(lengths, expected, "{count}");
        };
        let room = CommitRoom::default();
        check(498, true, room, &[498]);
        check(499, true, room, &[0, 499]);
        check(998, true, room, &[499, 499]);
        check(999, true, room, &[499, 1, 499]);
        check(499, false, room, &[499]);
        check(500, false, room, &[1, 499]);
        check(1_500, false, room, &[500, 500, 1, 499]);
        let of_300 = room.with_bytes(300 * size(&event));
        check(499, false, of_300, &[499]);
        check(500, false, of_300, &[200, 300]);
        check(1_000, false, of_300, &[300, 300, 100, 300]);
        check(499, true, of_300, &[199, 300]);
    }
}
