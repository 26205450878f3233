//! The stored amount of a subject: the count of the rows at the last read, and the appends of this process since.
//!
//! The further a count is from its limits, the longer it is valid. An append that the count allows does not wait for the rows:
//! an expired count is read again in the background. An append that the count would reject waits for the rows, and so does the
//! first conversation of a subject without a count.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use ::quotas::{Exceeded, Limits, Quota, Subject, check};
use domain::TenantAccess;
use quick_cache::sync::Cache;
use read_model::ReadModel;
use read_model::queries::{Storage, StorageScope, storage};
use tokio::sync::{Mutex, Semaphore};
use tokio::time::timeout;

use super::SUBJECTS_MAX;

/// The validity of a count: near a limit, below 90% of all limits, and below 50% of all limits.
const FRESH_MS: [u64; 3] = [10_000, 60_000, 300_000];
/// Maximum wait for the rows.
const READ_MAX: Duration = Duration::from_millis(500);
/// Maximum number of concurrent reads in the background; other counts are read with a later append.
const BACKGROUND_READS_MAX: usize = 8;

/// The stored amounts of subjects. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct StorageCounts(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    counts: Cache<Subject, Arc<Mutex<Count>>>,
    background: Arc<Semaphore>,
}

/// The amount of a commit.
#[derive(Debug)]
pub(super) struct Addition<'a> {
    pub(super) read_model: &'a ReadModel,
    pub(super) access: &'a TenantAccess,
    /// The conversations and bytes of the commit.
    pub(super) wanted: Storage,
    pub(super) now_ms: u64,
}

/// How the rows are read before an addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowsRead {
    /// Not at all: the count is valid, or is being read.
    None,
    /// The addition waits for them.
    Awaited,
    /// The addition does not wait for them.
    Background,
}

/// The stored amount of one subject.
#[derive(Debug, Default)]
struct Count {
    counted: Storage,
    /// Appended by this process since the last read.
    added: Storage,
    fresh_until_ms: u64,
    is_counted: bool,
    is_being_read: bool,
    updates: u64,
}

/// A count when a read of its rows begins.
#[derive(Debug, Clone, Copy)]
struct ReadStart {
    added: Storage,
    updates: u64,
}

impl StorageCounts {
    pub(super) fn new() -> Self {
        Self(Arc::new(Shared {
            counts: Cache::new(SUBJECTS_MAX),
            background: Arc::new(Semaphore::new(BACKGROUND_READS_MAX)),
        }))
    }

    /// Adds the amount of a commit if the limits allow it, and returns the new amount of the subject.
    /// Errors: the exceeded limit.
    pub(super) async fn add(
        &self,
        subject: &Subject,
        by: StorageScope,
        limits: &Limits,
        addition: &Addition<'_>,
    ) -> Result<Storage, Exceeded> {
        let Addition { wanted, now_ms, .. } = *addition;
        let shared = self.of(subject);
        let mut count = shared.lock().await;
        match count.read_before(subject, limits, wanted, now_ms) {
            RowsRead::None => {}
            RowsRead::Awaited => {
                let start = count.start_read();
                let read = read(addition.read_model, addition.access, &by).await;
                count.update(read, start, limits, now_ms);
            }
            RowsRead::Background => {
                count.is_being_read = self.read_in_background(&shared, by, *limits, addition);
            }
        }
        count.allows(subject, limits, wanted)?;
        count.added = sum(count.added, wanted);
        Ok(count.used())
    }

    /// Adds an amount without a check.
    pub(super) async fn add_allowed(&self, subject: &Subject, wanted: Storage) {
        let shared = self.of(subject);
        let mut count = shared.lock().await;
        count.added = sum(count.added, wanted);
    }

    /// Subtracts an amount that was added and not appended. A count that was read since is not reduced below the rows.
    pub(super) async fn subtract(&self, subject: &Subject, amount: Storage) {
        if let Some(count) = self.0.counts.get(subject) {
            let mut count = count.lock().await;
            count.added = each(count.added, amount, u64::saturating_sub);
        }
    }

    /// Makes the count expire after an erasure.
    pub(super) async fn expire(&self, subject: &Subject) {
        if let Some(count) = self.0.counts.get(subject) {
            count.lock().await.fresh_until_ms = 0;
        }
    }

    /// Starts to read a count in the background; `false` if too many reads run.
    fn read_in_background(
        &self,
        shared: &Arc<Mutex<Count>>,
        by: StorageScope,
        limits: Limits,
        addition: &Addition<'_>,
    ) -> bool {
        let Ok(permit) = Arc::clone(&self.0.background).try_acquire_owned() else {
            return false;
        };
        let (shared, now_ms) = (Arc::clone(shared), addition.now_ms);
        let (read_model, access) = (addition.read_model.clone(), addition.access.clone());
        tokio::spawn(async move {
            let start = shared.lock().await.start_read();
            let read = read(&read_model, &access, &by).await;
            let mut count = shared.lock().await;
            count.update(read, start, &limits, now_ms);
            count.is_being_read = false;
            drop(permit);
        });
        true
    }

    fn of(&self, subject: &Subject) -> Arc<Mutex<Count>> {
        let none = || Ok::<_, Infallible>(Arc::default());
        let Ok(count) = self.0.counts.get_or_insert_with(subject, none);
        count
    }
}

impl Count {
    fn used(&self) -> Storage {
        sum(self.counted, self.added)
    }

    /// How the rows are read before an addition. An expired count is read again; the addition waits if the count would reject it,
    /// and for the first conversation of a subject without a count.
    fn read_before(&self, subject: &Subject, limits: &Limits, wanted: Storage, now_ms: u64) -> RowsRead {
        let is_new = wanted.conversations > 0 && !self.is_counted;
        if now_ms < self.fresh_until_ms {
            RowsRead::None
        } else if is_new || self.allows(subject, limits, wanted).is_err() {
            RowsRead::Awaited
        } else if self.is_being_read {
            RowsRead::None
        } else {
            RowsRead::Background
        }
    }

    fn allows(&self, subject: &Subject, limits: &Limits, wanted: Storage) -> Result<(), Exceeded> {
        let used = self.used();
        for (quota, used, wanted) in [
            (Quota::Conversations, used.conversations, wanted.conversations),
            (Quota::StoredBytes, used.bytes, wanted.bytes),
        ] {
            // A limit that was lowered below the current amount does not reject a commit that adds none.
            let bound = limits.get(quota).filter(|_| wanted > 0);
            check(subject.scope, quota, bound, used, wanted, None)?;
        }
        Ok(())
    }

    fn start_read(&self) -> ReadStart {
        ReadStart { added: self.added, updates: self.updates }
    }

    /// Updates the count by the rows. At the first read, the rows may lack the latest appends of this process. Without an answer, the
    /// last count applies. A read that began before another update is older than it, and changes nothing.
    fn update(&mut self, read: Option<Storage>, start: ReadStart, limits: &Limits, now_ms: u64) {
        if start.updates != self.updates {
            return;
        }
        let before = start.added;
        if let Some(read) = read {
            self.counted = if self.is_counted { read } else { each(read, before, u64::max) };
            self.added = each(self.added, before, u64::saturating_sub);
            self.is_counted = true;
        }
        self.fresh_until_ms = now_ms + fresh_ms(self.counted, limits);
        self.updates += 1;
    }
}

async fn read(read_model: &ReadModel, access: &TenantAccess, by: &StorageScope) -> Option<Storage> {
    let reading = storage(read_model, access, by);
    timeout(READ_MAX, reading).await.ok()?.ok()
}

/// The validity of a count, by its nearest limit.
fn fresh_ms(counted: Storage, limits: &Limits) -> u64 {
    let [near, below, far] = FRESH_MS;
    let validity = |(counted, bound): (u64, Option<u64>)| match bound {
        Some(bound) if counted >= bound / 2 => {
            let is_near = bound.saturating_sub(counted) <= (bound / 10).max(1);
            if is_near { near } else { below }
        }
        _ => far,
    };
    validity((counted.conversations, limits.conversations)).min(validity((counted.bytes, limits.stored_bytes)))
}

fn sum(one: Storage, other: Storage) -> Storage {
    each(one, other, u64::saturating_add)
}

fn each(one: Storage, other: Storage, of: fn(u64, u64) -> u64) -> Storage {
    Storage { conversations: of(one.conversations, other.conversations), bytes: of(one.bytes, other.bytes) }
}

#[cfg(test)]
mod tests {
    use ::quotas::Scope;

    use super::*;

    fn stored(conversations: u64, bytes: u64) -> Storage {
        Storage { conversations, bytes }
    }

    #[test]
    fn a_count_is_valid_for_longer_far_from_its_limits() {
        for (counted, bound, expected) in [
            (0, 0, 10_000),
            (0, 1, 10_000),
            (49, 100, 300_000),
            (50, 100, 60_000),
            (89, 100, 60_000),
            (90, 100, 10_000),
            (100, 100, 10_000),
        ] {
            let check = |counted, limits: Limits| {
                let seen = fresh_ms(counted, &limits);
                assert_eq!(seen, expected, "{counted:?} of {bound}");
            };
            let limits = Limits::default();
            let conversations = Limits { conversations: Some(bound), stored_bytes: Some(1_000), ..limits };
            check(stored(counted, 0), conversations);
            let bytes = Limits { conversations: Some(1_000), stored_bytes: Some(bound), ..limits };
            check(stored(0, counted), bytes);
        }
        let most = stored(u64::MAX, u64::MAX);
        assert_eq!(fresh_ms(most, &Limits::default()), 300_000);
    }

    #[test]
    fn an_updated_count_keeps_later_additions() {
        let limits = Limits::default();
        let check = |is_counted: bool, read: Option<Storage>, expected: Storage| {
            let mut count = Count { counted: stored(5, 50), added: stored(3, 30), is_counted, ..Count::default() };
            count.update(read, ReadStart { added: stored(2, 20), updates: 0 }, &limits, 0);
            assert_eq!(count.used(), expected, "{is_counted} {read:?}");
        };
        check(true, None, stored(8, 80));
        check(true, Some(stored(1, 10)), stored(2, 20));
        check(false, Some(stored(1, 10)), stored(3, 30));
        check(false, Some(stored(4, 10)), stored(5, 30));
    }

    #[test]
    fn an_older_read_changes_nothing() {
        let limits = Limits::default();
        let mut count = Count { added: stored(1, 10), ..Count::default() };
        // Two first reads at once, of rows that lack the addition.
        let starts = [count.start_read(), count.start_read()];
        for start in starts {
            count.update(Some(Storage::default()), start, &limits, 0);
            assert_eq!(count.used(), stored(1, 10));
        }
    }

    fn subject() -> Subject {
        Subject { scope: Scope::Owner, tenant: "acme".to_owned(), name: "a".to_owned() }
    }

    #[test]
    fn an_addition_waits_for_the_rows_if_it_needs_them() {
        let limits = Limits { conversations: Some(2), stored_bytes: Some(100), ..Limits::default() };
        let check = |count: &Count, wanted: Storage, now_ms: u64, expected: RowsRead| {
            let read = count.read_before(&subject(), &limits, wanted, now_ms);
            assert_eq!(read, expected, "{count:?} {wanted:?} {now_ms}");
        };
        let (create, append, too_much) = (stored(1, 10), stored(0, 10), stored(0, 101));
        // After a restart no count is known: the first conversation waits, an append to an old one does not.
        let restarted = Count::default();
        check(&restarted, create, 0, RowsRead::Awaited);
        check(&restarted, append, 0, RowsRead::Background);
        check(&restarted, too_much, 0, RowsRead::Awaited);
        let counted = || Count { is_counted: true, fresh_until_ms: 50, ..Count::default() };
        for wanted in [create, append, too_much] {
            check(&counted(), wanted, 49, RowsRead::None);
        }
        check(&counted(), create, 50, RowsRead::Background);
        check(&counted(), append, 50, RowsRead::Background);
        check(&counted(), too_much, 50, RowsRead::Awaited);
        // One read of a subject at a time, but a rejection still waits for its own.
        let being_read = Count { is_being_read: true, ..counted() };
        check(&being_read, append, 50, RowsRead::None);
        check(&being_read, too_much, 50, RowsRead::Awaited);
    }

    #[test]
    fn an_updated_count_is_valid_for_a_while() {
        let mut count = Count::default();
        let limits = Limits { conversations: Some(100), ..Limits::default() };
        count.update(Some(stored(50, 0)), count.start_read(), &limits, 1_000);
        assert_eq!((count.fresh_until_ms, count.is_counted), (61_000, true));
        // Without an answer, the next addition waits again after a while.
        let mut unread = Count::default();
        unread.update(None, unread.start_read(), &limits, 1_000);
        assert_eq!((unread.fresh_until_ms, unread.is_counted), (301_000, false));
    }

    #[test]
    fn a_rejected_addition_names_no_time() {
        let limits = Limits { conversations: Some(0), ..Limits::default() };
        let exceeded = Count::default().allows(&subject(), &limits, stored(1, 0)).unwrap_err();
        assert_eq!(exceeded.retry_after, None);
    }

    #[tokio::test]
    async fn an_amount_that_was_not_appended_is_subtracted() {
        let counts = StorageCounts::new();
        counts.add_allowed(&subject(), stored(2, 20)).await;
        counts.subtract(&subject(), stored(1, 5)).await;
        let count = counts.of(&subject());
        assert_eq!(count.lock().await.used(), stored(1, 15));
        counts.subtract(&subject(), stored(9, 99)).await;
        assert_eq!(count.lock().await.used(), stored(0, 0));
        count.lock().await.fresh_until_ms = 9;
        counts.expire(&subject()).await;
        assert_eq!(count.lock().await.fresh_until_ms, 0);
    }

    #[test]
    fn limits_can_be_reached_and_not_exceeded() {
        let subject = subject();
        let limits = Limits { conversations: Some(2), stored_bytes: Some(100), ..Limits::default() };
        let check = |used: Storage, wanted: Storage, expected: Option<(Quota, u64)>| {
            let count = Count { counted: used, ..Count::default() };
            let exceeded = count.allows(&subject, &limits, wanted).err();
            let seen = exceeded.map(|exceeded| (exceeded.quota, exceeded.used));
            assert_eq!(seen, expected, "{used:?} {wanted:?}");
        };
        check(stored(1, 90), stored(1, 10), None);
        check(stored(1, 90), stored(1, 11), Some((Quota::StoredBytes, 90)));
        check(stored(2, 0), stored(1, 1), Some((Quota::Conversations, 2)));
        check(stored(3, 0), stored(0, 100), None);
        let over = Some((Quota::StoredBytes, 101));
        check(stored(3, 101), stored(0, 1), over);
    }
}
