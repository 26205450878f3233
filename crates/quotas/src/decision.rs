//! Checks a use against its quota.

use std::time::Duration;

use thiserror::Error;

use crate::{Quota, Scope};

/// A quota that does not allow a use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "the {} quota `{}` of {bound} is exhausted: {used} in use; try again after {} s",
    scope.as_str(), quota.as_str(), retry_after.as_secs().max(1)
)]
pub struct Exceeded {
    /// The scope of the quota.
    pub scope: Scope,
    /// The quota.
    pub quota: Quota,
    /// The value of the quota.
    pub bound: u64,
    /// The amount in use.
    pub used: u64,
    /// Delay before a retry.
    pub retry_after: Duration,
}

/// Checks that `wanted` more are within the bound; `None` is unlimited.
///
/// # Errors
/// [`Exceeded`], with the given `retry_after`.
pub fn check(
    scope: Scope,
    quota: Quota,
    bound: Option<u64>,
    used: u64,
    wanted: u64,
    retry_after: Duration,
) -> Result<(), Exceeded> {
    match bound {
        Some(bound) if used.saturating_add(wanted) > bound => Err(Exceeded { scope, quota, bound, used, retry_after }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_can_be_reached_and_not_exceeded() {
        let check = |bound, used, wanted, allowed: bool| {
            let (scope, quota) = (Scope::Key, Quota::Conversations);
            let seen = check(scope, quota, bound, used, wanted, Duration::from_secs(9));
            assert_eq!(seen.is_ok(), allowed, "{used} + {wanted} of {bound:?}");
        };
        check(None, u64::MAX, u64::MAX, true);
        check(Some(0), 0, 1, false);
        check(Some(0), 0, 0, true);
        check(Some(3), 2, 1, true);
        check(Some(3), 3, 1, false);
        check(Some(3), 2, 2, false);
        check(Some(u64::MAX - 1), u64::MAX, 1, false);
    }
}
