//! Checks a use against its quota.

use std::time::Duration;

use thiserror::Error;

use crate::{Quota, Scope};

/// A quota that does not allow a use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the {} quota `{}` of {bound} is exhausted: {used} in use; {}", scope.as_str(), quota.as_str(), remedy(*retry_after))]
pub struct Exceeded {
    /// The scope of the quota.
    pub scope: Scope,
    /// The quota.
    pub quota: Quota,
    /// The value of the quota.
    pub bound: u64,
    /// The amount in use.
    pub used: u64,
    /// Delay before a retry; `None`: time frees nothing, since what is stored stays.
    pub retry_after: Option<Duration>,
}

fn remedy(retry_after: Option<Duration>) -> String {
    match retry_after {
        Some(delay) => format!("try again after {} s", delay.as_secs().max(1)),
        None => "erase conversations, or have the quota raised".to_owned(),
    }
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
    retry_after: Option<Duration>,
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
            let seen = check(scope, quota, bound, used, wanted, Some(Duration::from_secs(9)));
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

    #[test]
    fn a_rejection_names_what_helps() {
        let text = |retry_after| {
            let (scope, quota) = (Scope::Owner, Quota::Conversations);
            Exceeded { scope, quota, bound: 2, used: 2, retry_after }.to_string()
        };
        let exhausted = "the owner quota `conversations` of 2 is exhausted: 2 in use; ";
        assert_eq!(text(Some(Duration::from_millis(200))), format!("{exhausted}try again after 1 s"));
        assert_eq!(text(None), format!("{exhausted}erase conversations, or have the quota raised"));
    }
}
