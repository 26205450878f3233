//! Checks what remains of an erased conversation: only the tombstone.

use domain::{ConversationKey, Fact, Lifecycle, Status};

use super::finding::{Finding, Kind};
use super::record::RecordedCommit;

/// The tombstone of an erased conversation.
pub(super) fn tombstone(commits: &[RecordedCommit]) -> Option<&RecordedCommit> {
    let last = commits.last()?;
    let mut events = last.opened.commit.events.iter();
    events.any(|event| event.fact == Fact::Lifecycle(Lifecycle::ConversationErased)).then_some(last)
}

/// Checks an erased conversation. Earlier commits are gone, so the chain cannot be checked; the content of the
/// tombstone can.
pub(super) fn check(key: &ConversationKey, commits: &[RecordedCommit], stone: &RecordedCommit) -> Vec<Finding> {
    let commit = &stone.opened.commit;
    let head = &commit.head;
    let pairs = head.recent.iter().zip(head.recent.iter().skip(1));
    let is_dense = |(commit, next): (&domain::RecentCommit, &domain::RecentCommit)| {
        commit.last_version.next() == next.first_version
    };
    let names_last = head.recent.last().is_some_and(|last| last.id == commit.id);
    let follows = head.version == commit.first_version && head.status == Status::Erased;
    let names_nobody = head.owner.is_none()
        && head.open_calls.is_empty()
        && head.latest_summary.is_none()
        && head.provider_conversation_id.is_none()
        && head.last_response_id.is_none();
    let places: Vec<_> = commits.iter().map(|commit| commit.position.sequence).map(|sequence| sequence.0).collect();
    let rules = [
        (commits.len() == 1, Kind::NotErased, "commits stand beside the tombstone"),
        (names_nobody, Kind::NotErased, "the tombstone's head names an owner, calls or ids"),
        (follows && names_last, Kind::WrongHead, "the tombstone's head does not follow from it"),
        ({ pairs }.all(is_dense), Kind::Gap, "the commits that the tombstone's head names are not dense"),
    ];
    let broken = rules.into_iter().filter(|(holds, ..)| !holds);
    broken.map(|(_, kind, detail)| Finding::new(kind, key, format!("{detail}: {places:?}"))).collect()
}
