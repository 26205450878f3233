//! The steps before the tombstone of an erasure: the entry in the list of pending erasures, and the check for forks.
//!
//! The order makes the check sufficient. The entry is written first. Then the rows must contain everything that was recorded,
//! and are queried for forks. A fork is acknowledged only while the list has no entry for its ancestors ([`crate::fork`]). So
//! each acknowledged fork was appended before the entry, and the check finds it; other forks are undone. There is also a check
//! before the entry: most rejected erasures then write no entry.

use std::time::Duration;

use domain::{Action, ConversationKey, ForkRule, ForkStep, Owner, Sequence, Status, Timestamp, fork_step};
use event_log::PendingErasure;
use read_model::projections::conversations::wait_until_reached;
use read_model::{FORKS_PER_READ_MAX, ForkRow, forks};
use tokio::time::{Instant, sleep, timeout};
use wire::status::Problem;

use crate::fork::{DECISION_WAIT_MAX, POLL_INTERVAL};
use crate::{Intent, StoredHead, Writer, problem};

/// Maximum wait until the rows contain everything that was recorded before the erasure.
pub(crate) const ROWS_WAIT_MAX: Duration = Duration::from_secs(2);
/// Maximum duration of a check for forks, with the wait for the rows; [`domain::FORKS_HELD_MAX`] depends on it. It is shorter
/// than [`DECISION_WAIT_MAX`], so that a slow erasure is not treated as a crashed one.
pub(crate) const FORK_CHECK_MAX: Duration = Duration::from_millis(2_500);

/// Prepares an erasure before its tombstone is appended; other commands pass. It writes the entry of the pending erasure, so
/// that the removal is found after a crash, and checks for forks if the erasure rejects them. `previous` is the commit before
/// the tombstone.
/// Errors: `HAS_FORKS`; or record or rows do not answer, or the rows are behind. Then no tombstone may be appended.
pub(crate) async fn prepare(writer: &Writer, intent: &Intent, previous: Option<&StoredHead>) -> Result<(), Problem> {
    let (Action::Erase { expected, forks }, Some(previous)) = (&intent.command.action, previous) else {
        return Ok(());
    };
    let (key, last) = (&intent.key, previous.sequence);
    if *forks != ForkRule::Refuse {
        let (holder, now) = (writer.removals.holder(), writer.now());
        let begun = writer.record.begin_erasure(key, last, holder, now);
        return begun.await.map_err(problem::from_record);
    }
    // Most rejections happen here, before an entry delays forks.
    check_forks(writer, intent, expected.as_ref()).await?;
    let Some(written) = write_entry(writer, key, last).await? else {
        return Ok(());
    };
    let checked = check_forks(writer, intent, expected.as_ref()).await;
    if checked.is_err() && written.may_be_withdrawn {
        withdraw(writer, &written.entry).await;
    }
    checked
}

struct WrittenEntry {
    entry: PendingErasure,
    /// Whether no earlier erasure can append a tombstone after this one is given up.
    may_be_withdrawn: bool,
}

/// Writes the entry when no other erasure of the conversation is undecided. An erasure that remains undecided has crashed: its
/// entry is replaced. `None`: the commit before the tombstone is not the last one any more, so that the append will fail; the
/// entries of others remain.
async fn write_entry(writer: &Writer, key: &ConversationKey, last: Sequence) -> Result<Option<WrittenEntry>, Problem> {
    let started = Instant::now();
    loop {
        let earlier = writer.record.pending_erasure(key).await.map_err(problem::from_record)?;
        let stored = writer.heads.load_from_leader(key).await?.stored;
        if stored.is_none_or(|stored| stored.sequence != last) {
            return Ok(None);
        }
        // The entry has a time of the server.
        let now = writer.record.server_time(key).await.map_err(problem::from_record)?.earliest;
        let step = entry_step(is_decided(earlier.as_ref(), last, now), started.elapsed());
        if let EntryStep::Write { may_be_withdrawn } = step {
            let holder = writer.removals.holder();
            let entry = writer.record.replace_erasure(key, last, holder, now, earlier.as_ref());
            if let Some(entry) = entry.await.map_err(problem::from_record)? {
                return Ok(Some(WrittenEntry { entry, may_be_withdrawn }));
            }
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// What an erasure does about the entry of an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryStep {
    /// The earlier erasure may still append its tombstone.
    Wait,
    /// Replace the entry; `may_be_withdrawn`: see [`WrittenEntry`].
    Write { may_be_withdrawn: bool },
}

/// The step after a wait of `waited` for an earlier erasure; `earlier_is_decided`: see [`is_decided`].
fn entry_step(earlier_is_decided: bool, waited: Duration) -> EntryStep {
    if earlier_is_decided || waited >= DECISION_WAIT_MAX {
        return EntryStep::Write { may_be_withdrawn: earlier_is_decided };
    }
    EntryStep::Wait
}

/// Checks that the conversation has no forks, in rows that contain everything that was recorded before this call. Forks that
/// were erased since do not count.
async fn check_forks(writer: &Writer, intent: &Intent, expected: Option<&Owner>) -> Result<(), Problem> {
    let found = timeout(FORK_CHECK_MAX, find_forks(writer, intent)).await;
    let forks = found.unwrap_or_else(|_| Err(problem::rows_unavailable()))?;
    if forks.is_empty() {
        return Ok(());
    }
    Err(problem::has_forks(&forks, expected))
}

async fn find_forks(writer: &Writer, intent: &Intent) -> Result<Vec<ForkRow>, Problem> {
    let ends = writer.record.ends().await.map_err(problem::from_record)?;
    let model = &writer.read_model.of(&intent.key.tenant);
    let reached = wait_until_reached(model, &ends, ROWS_WAIT_MAX).await;
    if !reached.map_err(problem::from_fork_check)? {
        return Err(problem::rows_behind());
    }
    let (access, conversation) = (&intent.access.tenant, &intent.key.conversation);
    forks(model, access, conversation, FORKS_PER_READ_MAX).await.map_err(problem::from_fork_check)
}

/// Whether an earlier erasure can append no tombstone any more. An entry of this writer is undecided too, since the outcome of
/// its erasure is unknown.
fn is_decided(earlier: Option<&PendingErasure>, last: Sequence, now: Timestamp) -> bool {
    let earlier = earlier.map(|entry| (entry.behind, entry.age(now)));
    fork_step(earlier, Some((last, Status::Active))) == ForkStep::Acknowledge
}

/// Removes the entry. If that fails, the entry delays forks until it is old.
async fn withdraw(writer: &Writer, entry: &PendingErasure) {
    if let Err(unavailable) = writer.record.end_erasure(entry).await {
        tracing::warn!(tenant.id = %entry.key.tenant, conversation.id = %entry.key.conversation, %unavailable, "the entry of a rejected erasure cannot be removed");
    }
}

#[cfg(test)]
mod tests {
    use domain::{ConversationId, FORKS_HELD_MAX, TenantId};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn an_undecided_erasure_is_taken_over_after_a_wait() {
        let check = |earlier_is_decided: bool, waited_ms: u64, expected: EntryStep| {
            let step = entry_step(earlier_is_decided, Duration::from_millis(waited_ms));
            assert_eq!(step, expected, "{earlier_is_decided} {waited_ms}");
        };
        for waited_ms in [0, 2_999, 3_000, 3_001] {
            check(true, waited_ms, EntryStep::Write { may_be_withdrawn: true });
        }
        check(false, 0, EntryStep::Wait);
        check(false, 2_999, EntryStep::Wait);
        check(false, 3_000, EntryStep::Write { may_be_withdrawn: false });
    }

    /// A slow check for forks is not treated as a crashed one.
    #[test]
    fn a_check_ends_before_others_take_over() {
        assert!(FORK_CHECK_MAX < DECISION_WAIT_MAX && ROWS_WAIT_MAX < FORK_CHECK_MAX);
    }

    #[test]
    fn an_erasure_is_decided_when_no_tombstone_can_follow() {
        let entry = |written_at: i64| PendingErasure {
            key: ConversationKey {
                tenant: TenantId::parse("acme").unwrap(),
                conversation: ConversationId::parse("c").unwrap(),
            },
            behind: Sequence(7),
            begun_at: Timestamp(0),
            holder: Uuid::from_u128(1),
            written_at: Timestamp(written_at),
            revision: Sequence(1),
        };
        let held = i64::try_from(FORKS_HELD_MAX.as_nanos()).unwrap();
        let check = |earlier: Option<PendingErasure>, last: u64, expected: bool| {
            let decided = is_decided(earlier.as_ref(), Sequence(last), Timestamp(held));
            assert_eq!(decided, expected, "{earlier:?} {last}");
        };
        check(None, 7, true);
        check(Some(entry(0)), 7, true);
        check(Some(entry(1)), 7, false);
        check(Some(entry(1)), 8, true);
    }
}
