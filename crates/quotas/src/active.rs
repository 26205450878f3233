//! Active runs, by subject.

use std::collections::HashMap;
use std::time::Duration;

use crate::{Consumer, Exceeded, Quota, QuotaSet, Subject, check};

/// Delay before a retry: an active run may end at any time.
pub const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Numbers of active runs, only of subjects that have any.
#[derive(Debug, Default)]
pub struct ActiveRuns(HashMap<Subject, u64>);

impl ActiveRuns {
    /// Counts a run for all subjects of the consumer, or for none.
    ///
    /// # Errors
    /// [`Exceeded`], for the widest scope that is exhausted.
    pub fn enter(&mut self, consumer: &Consumer, quotas: &QuotaSet) -> Result<(), Exceeded> {
        for subject in consumer.subjects() {
            let bound = quotas.of(subject.scope).runs;
            let used = self.used(&subject);
            check(subject.scope, Quota::Runs, bound, used, 1, Some(RETRY_AFTER))?;
        }
        for subject in consumer.subjects() {
            *self.0.entry(subject).or_default() += 1;
        }
        Ok(())
    }

    /// Ends a counted run.
    pub fn leave(&mut self, consumer: &Consumer) {
        for subject in consumer.subjects() {
            if let Some(count) = self.0.get_mut(&subject) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    self.0.remove(&subject);
                }
            }
        }
    }

    /// The number of active runs of a subject.
    #[must_use]
    pub fn used(&self, subject: &Subject) -> u64 {
        self.0.get(subject).copied().unwrap_or_default()
    }

    /// Whether no run is active.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
