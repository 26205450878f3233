//! What goes before a tombstone: the entry into the list of erasures in progress, and the look for forks.
//!
//! The order makes the look sufficient. The entry is written first; then everything that is recorded is awaited in the rows,
//! and the rows are asked for forks. (They are asked before the entry, too: most erasures that are refused enter nothing.) A fork is acknowledged only while the list has no entry of what it reads through
//! ([`crate::fork`]). So each acknowledged fork was appended before the entry, and is seen; one that is not seen is undone.

use std::time::Duration;

use domain::{
    Action, ConversationKey, ForkRule, ForkStep, Owner, Sequence, Status, Timestamp, fork_step,
};
use event_log::PendingErasure;
use read_model::projections::conversations::wait_until_reached;
use read_model::{FORKS_PER_READ_MAX, ForkRow, forks};
use tokio::time::{Instant, sleep, timeout};
use wire::status::Problem;

use crate::base::Base;
use crate::fork::{DECISION_WAIT_MAX, LOOK_EVERY};
use crate::intent::Intent;
use crate::{Writer, problem};

/// The longest wait for the rows to hold what was recorded before an erasure.
pub const ROWS_WAIT_MAX: Duration = Duration::from_secs(2);
/// The longest that a look for forks takes, the wait for the rows included; [`domain::FORKS_HELD_MAX`] rests on it. Less than
/// [`DECISION_WAIT_MAX`], so that nobody who waits takes a slow erasure for one that has crashed.
pub const LOOK_MAX: Duration = Duration::from_millis(2_500);

/// Enters an erasure into the list of those in progress, before its tombstone: whatever ends this process, what the
/// tombstone leaves to remove is found. Then looks for forks, if the erasure refuses them. `previous` is the commit that
/// the tombstone is to follow. Any other command passes.
///
/// # Errors
/// `HAS_FORKS`; or record or rows do not answer, or the rows are behind. Append no tombstone.
pub async fn enter(
    writer: &Writer,
    intent: &Intent,
    previous: Option<&Base>,
) -> Result<(), Problem> {
    let (Action::Erase { expected, forks }, Some(previous)) = (&intent.command.action, previous)
    else {
        return Ok(());
    };
    let (key, last) = (&intent.key, previous.sequence);
    if *forks != ForkRule::Refuse {
        let (holder, now) = (writer.removals.holder(), writer.now());
        let begun = writer.record.begin_erasure(key, last, holder, now);
        return begun.await.map_err(problem::of_record);
    }
    let look = Look {
        writer,
        intent,
        expected: expected.as_ref(),
    };
    // Nearly every refusal is found here, and holds no fork up.
    look.carry_out().await?;
    let Some(begun) = begin(writer, key, last).await? else {
        return Ok(());
    };
    let free = look.carry_out().await;
    if free.is_err() && begun.may_be_withdrawn {
        withdraw(writer, &begun.entry).await;
    }
    free
}

/// An entry of an erasure that may be given up.
struct Begun {
    entry: PendingErasure,
    /// Whether no tombstone can come any more once this erasure is given up.
    may_be_withdrawn: bool,
}

/// Writes the entry, once no other erasure of the conversation is undecided. One that stays undecided has crashed: its entry is
/// replaced, and so is its hold on forks. `None`: the commit that the tombstone is to follow is not the last any more, so that
/// its append fails; what others have entered stays.
async fn begin(
    writer: &Writer,
    key: &ConversationKey,
    last: Sequence,
) -> Result<Option<Begun>, Problem> {
    let deadline = Instant::now() + DECISION_WAIT_MAX;
    loop {
        let earlier = writer.record.pending_erasure(key).await;
        let earlier = earlier.map_err(problem::of_record)?;
        let base = writer.bases.load_certain(key).await?.base;
        if base.is_none_or(|base| base.sequence != last) {
            return Ok(None);
        }
        let now = writer.now();
        let may_be_withdrawn = is_decided(earlier.as_ref(), last, now);
        if may_be_withdrawn || Instant::now() >= deadline {
            let holder = writer.removals.holder();
            let entry = writer
                .record
                .replace_erasure(key, last, holder, now, earlier.as_ref());
            if let Some(entry) = entry.await.map_err(problem::of_record)? {
                return Ok(Some(Begun {
                    entry,
                    may_be_withdrawn,
                }));
            }
        }
        sleep(LOOK_EVERY).await;
    }
}

/// A look for forks of what is to be erased.
struct Look<'a> {
    writer: &'a Writer,
    intent: &'a Intent,
    expected: Option<&'a Owner>,
}

impl Look<'_> {
    /// By rows that hold all that was recorded before this call: a fork that was erased since does not count, either.
    async fn carry_out(&self) -> Result<(), Problem> {
        let looked = timeout(LOOK_MAX, self.at_rows()).await;
        let forks = looked.unwrap_or_else(|_| Err(problem::rows_silent()))?;
        if forks.is_empty() {
            return Ok(());
        }
        Err(problem::has_forks(&forks, self.expected))
    }

    async fn at_rows(&self) -> Result<Vec<ForkRow>, Problem> {
        let ends = self.writer.record.ends().await;
        let ends = ends.map_err(problem::of_record)?;
        let model = &self.writer.read_model;
        let reached = wait_until_reached(model, &ends, ROWS_WAIT_MAX).await;
        if !reached.map_err(problem::of_look)? {
            return Err(problem::rows_behind());
        }
        let (access, conversation) = (&self.intent.access.tenant, &self.intent.key.conversation);
        let found = forks(model, access, conversation, FORKS_PER_READ_MAX).await;
        found.map_err(problem::of_look)
    }
}

/// Whether no tombstone of an earlier erasure can come any more. One of this writer's own can: its outcome was not known.
fn is_decided(earlier: Option<&PendingErasure>, last: Sequence, now: Timestamp) -> bool {
    let earlier = earlier.map(|entry| (entry.behind, entry.age(now)));
    fork_step(earlier, Some((last, Status::Active))) == ForkStep::Acknowledge
}

/// Takes the erasure off the list. Where that fails, the entry keeps forks from being acknowledged until it is old.
async fn withdraw(writer: &Writer, entry: &PendingErasure) {
    if let Err(unavailable) = writer.record.end_erasure(entry).await {
        tracing::warn!(tenant.id = %entry.key.tenant, conversation.id = %entry.key.conversation, %unavailable, "a refused erasure stays listed");
    }
}

#[cfg(test)]
mod tests {
    use domain::{ConversationId, FORKS_HELD_MAX, TenantId};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn an_erasure_is_decided_once_its_tombstone_cannot_come() {
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
