//! The quotas, their scopes and their effective values.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The maximum value of a quota: that of a signed 64-bit column.
pub const LIMIT_MAX: u64 = i64::MAX.cast_unsigned();

const GIB: u64 = 1 << 30;

/// A resource that is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quota {
    /// Concurrent runs and stateless turns, per gateway process.
    Runs,
    /// Input and output tokens of models on one UTC day.
    ModelTokensPerDay,
    /// Conversations that are not erased; of a key or an address, those that its frontends create on one UTC day.
    Conversations,
    /// Bytes of conversations that are not erased; of a key or an address, the bodies that its frontends send on one UTC day.
    StoredBytes,
    /// Bytes of appended commits, per writer process; a full bucket contains the bytes of one minute.
    AppendedBytesPerMinute,
}

/// What a quota applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// A tenant.
    Tenant,
    /// An agent.
    Agent,
    /// All callers with one API key.
    Key,
    /// One user or session of a tenant.
    Owner,
    /// One client address; of IPv6, one /64 network.
    Address,
}

impl Quota {
    /// All quotas.
    pub const ALL: [Self; 5] =
        [Self::Runs, Self::ModelTokensPerDay, Self::Conversations, Self::StoredBytes, Self::AppendedBytesPerMinute];

    /// The name in settings, errors and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::ModelTokensPerDay => "model_tokens_per_day",
            Self::Conversations => "conversations",
            Self::StoredBytes => "stored_bytes",
            Self::AppendedBytesPerMinute => "appended_bytes_per_minute",
        }
    }

    /// Whether the quota applies to a scope.
    #[must_use]
    pub fn applies_to(self, scope: Scope) -> bool {
        match self {
            Self::Runs | Self::ModelTokensPerDay | Self::Conversations | Self::StoredBytes => true,
            Self::AppendedBytesPerMinute => matches!(scope, Scope::Tenant | Scope::Agent | Scope::Owner),
        }
    }
}

impl Scope {
    /// All scopes, the widest first.
    pub const ALL: [Self; 5] = [Self::Tenant, Self::Agent, Self::Key, Self::Owner, Self::Address];

    /// The name in settings, errors and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tenant => "tenant",
            Self::Agent => "agent",
            Self::Key => "key",
            Self::Owner => "owner",
            Self::Address => "address",
        }
    }
}

/// The quotas of one scope. `None`: not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// See [`Quota::Runs`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<u64>,
    /// See [`Quota::ModelTokensPerDay`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_tokens_per_day: Option<u64>,
    /// See [`Quota::Conversations`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversations: Option<u64>,
    /// See [`Quota::StoredBytes`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored_bytes: Option<u64>,
    /// See [`Quota::AppendedBytesPerMinute`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub appended_bytes_per_minute: Option<u64>,
}

/// Of a tenant's and an agent's conversations and stored bytes, one part of so many is kept for users and back ends: anonymous sessions
/// cannot use it.
pub const KEPT_FROM_SESSIONS: u64 = 10;

impl Limits {
    /// The quotas of a tenant or an agent, as they apply to what anonymous sessions store.
    #[must_use]
    pub fn of_sessions(&self) -> Self {
        let part = |bound: Option<u64>| bound.map(|bound| bound - bound / KEPT_FROM_SESSIONS);
        Self { conversations: part(self.conversations), stored_bytes: part(self.stored_bytes), ..*self }
    }

    /// The value of a quota.
    #[must_use]
    pub fn get(&self, quota: Quota) -> Option<u64> {
        match quota {
            Quota::Runs => self.runs,
            Quota::ModelTokensPerDay => self.model_tokens_per_day,
            Quota::Conversations => self.conversations,
            Quota::StoredBytes => self.stored_bytes,
            Quota::AppendedBytesPerMinute => self.appended_bytes_per_minute,
        }
    }

    /// Sets a quota.
    pub fn set(&mut self, quota: Quota, value: Option<u64>) {
        let field = match quota {
            Quota::Runs => &mut self.runs,
            Quota::ModelTokensPerDay => &mut self.model_tokens_per_day,
            Quota::Conversations => &mut self.conversations,
            Quota::StoredBytes => &mut self.stored_bytes,
            Quota::AppendedBytesPerMinute => &mut self.appended_bytes_per_minute,
        };
        *field = value;
    }
}

/// The quotas of all scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QuotaSet {
    /// Quotas of the tenant.
    pub tenant: Limits,
    /// Quotas of each agent.
    pub agent: Limits,
    /// Quotas of each API key.
    pub key: Limits,
    /// Quotas of each user or session.
    pub owner: Limits,
    /// Quotas of each client address.
    pub address: Limits,
}

/// Why the value of a quota is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LimitError {
    /// The quota does not apply to the scope: leave it out.
    #[error("is not a quota of this scope: leave it out")]
    NotApplicable,
    /// The settings of an agent cannot limit its tenant: set the quotas of the tenant.
    #[error("cannot be set for an agent: set it for the tenant")]
    NotForAgents,
    /// The value is too high.
    #[error("is above the maximum of {LIMIT_MAX}")]
    TooHigh,
}

/// A quota that is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScopedQuota {
    /// Its scope.
    pub scope: Scope,
    /// What it bounds.
    pub quota: Quota,
    /// The bound.
    pub value: u64,
}

/// The first invalid value of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{}.{} {error}", .scope.as_str(), .quota.as_str())]
pub struct InvalidQuota {
    /// Its scope.
    pub scope: Scope,
    /// Its quota.
    pub quota: Quota,
    /// Why it is invalid.
    pub error: LimitError,
}

impl QuotaSet {
    /// The default quotas of a deployment: every quota has a value.
    #[must_use]
    pub fn deployment() -> Self {
        let calls = |runs, tokens| Limits { runs: Some(runs), model_tokens_per_day: Some(tokens), ..Limits::default() };
        let stored = |calls: Limits, conversations, bytes| Limits {
            conversations: Some(conversations),
            stored_bytes: Some(bytes),
            ..calls
        };
        let appended = |stored: Limits, bytes| Limits { appended_bytes_per_minute: Some(bytes), ..stored };
        Self {
            tenant: appended(stored(calls(500, 2_000_000_000), 1_000_000, 1_024 * GIB), 16 * GIB),
            agent: appended(stored(calls(400, 1_000_000_000), 1_000_000, 1_024 * GIB), 8 * GIB),
            key: stored(calls(400, 1_000_000_000), 200_000, 256 * GIB),
            owner: appended(stored(calls(32, 20_000_000), 10_000, 16 * GIB), GIB),
            address: stored(calls(128, 100_000_000), 5_000, 4 * GIB),
        }
    }

    /// The quotas of a scope.
    #[must_use]
    pub fn of(&self, scope: Scope) -> &Limits {
        match scope {
            Scope::Tenant => &self.tenant,
            Scope::Agent => &self.agent,
            Scope::Key => &self.key,
            Scope::Owner => &self.owner,
            Scope::Address => &self.address,
        }
    }

    /// The quotas of a scope, mutable.
    pub fn of_mut(&mut self, scope: Scope) -> &mut Limits {
        match scope {
            Scope::Tenant => &mut self.tenant,
            Scope::Agent => &mut self.agent,
            Scope::Key => &mut self.key,
            Scope::Owner => &mut self.owner,
            Scope::Address => &mut self.address,
        }
    }

    /// All quotas that are set, the widest scope first.
    pub fn iter(&self) -> impl Iterator<Item = ScopedQuota> {
        Scope::ALL.into_iter().flat_map(|scope| {
            let limits = *self.of(scope);
            Quota::ALL
                .into_iter()
                .filter_map(move |quota| Some(ScopedQuota { scope, quota, value: limits.get(quota)? }))
        })
    }

    /// Validates all values.
    ///
    /// # Errors
    /// [`InvalidQuota`].
    pub fn validate(&self) -> Result<(), InvalidQuota> {
        for ScopedQuota { scope, quota, value } in self.iter() {
            if !quota.applies_to(scope) {
                return Err(InvalidQuota { scope, quota, error: LimitError::NotApplicable });
            }
            if value > LIMIT_MAX {
                return Err(InvalidQuota { scope, quota, error: LimitError::TooHigh });
            }
        }
        Ok(())
    }

    /// Like [`QuotaSet::validate`], for the settings of an agent, which cannot limit its tenant.
    ///
    /// # Errors
    /// As [`QuotaSet::validate`].
    pub fn validate_for_agent(&self) -> Result<(), InvalidQuota> {
        match self.iter().find(|set| set.scope == Scope::Tenant) {
            Some(ScopedQuota { scope, quota, .. }) => {
                Err(InvalidQuota { scope, quota, error: LimitError::NotForAgents })
            }
            None => self.validate(),
        }
    }

    /// The effective quotas: the value of the agent, else of the tenant, else of the deployment.
    #[must_use]
    pub fn resolve(deployment: &Self, tenant: Option<&Self>, agent: Option<&Self>) -> Self {
        let mut resolved = *deployment;
        for given in [tenant, agent].into_iter().flatten() {
            for set in given.iter() {
                resolved.of_mut(set.scope).set(set.quota, Some(set.value));
            }
        }
        resolved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrower_setting_is_effective() {
        let set = |scope: Scope, value| {
            let mut set = QuotaSet::default();
            set.of_mut(scope).runs = Some(value);
            set
        };
        let check = |deployment: u64, tenant: Option<u64>, agent: Option<u64>, expected: u64| {
            let deployment = set(Scope::Owner, deployment);
            let tenant = tenant.map(|value| set(Scope::Owner, value));
            let agent = agent.map(|value| set(Scope::Owner, value));
            let resolved = QuotaSet::resolve(&deployment, tenant.as_ref(), agent.as_ref());
            assert_eq!(resolved, set(Scope::Owner, expected));
        };
        check(1, None, None, 1);
        check(1, Some(2), None, 2);
        check(1, None, Some(3), 3);
        check(1, Some(2), Some(3), 3);
        check(1, Some(0), None, 0);
    }

    #[test]
    fn sessions_leave_a_part_to_others() {
        let check = |bound: Option<u64>, expected: Option<u64>| {
            let limits = Limits {
                runs: bound,
                model_tokens_per_day: bound,
                conversations: bound,
                stored_bytes: bound,
                appended_bytes_per_minute: bound,
            };
            assert_eq!(limits.of_sessions(), Limits { conversations: expected, stored_bytes: expected, ..limits });
        };
        assert_eq!(KEPT_FROM_SESSIONS, 10);
        check(None, None);
        check(Some(0), Some(0));
        check(Some(9), Some(9));
        check(Some(10), Some(9));
        check(Some(1_000_000), Some(900_000));
        check(Some(LIMIT_MAX), Some(LIMIT_MAX - LIMIT_MAX / 10));
    }

    #[test]
    fn nothing_is_unlimited_by_default() {
        let deployment = QuotaSet::deployment();
        assert_eq!(deployment.validate(), Ok(()));
        for scope in Scope::ALL {
            for quota in Quota::ALL {
                let is_set = deployment.of(scope).get(quota).is_some();
                assert_eq!(is_set, quota.applies_to(scope), "{scope:?} {quota:?}");
            }
        }
    }

    #[test]
    fn values_are_checked_by_scope_and_quota() {
        for scope in Scope::ALL {
            for quota in Quota::ALL {
                let check = |value, expected, for_agent| {
                    let mut set = QuotaSet::default();
                    set.of_mut(scope).set(quota, Some(value));
                    let seen = set.validate().err().map(|invalid| invalid.error);
                    assert_eq!(seen, expected, "{scope:?} {quota:?} {value}");
                    let seen = set.validate_for_agent().err().map(|invalid| invalid.error);
                    assert_eq!(seen, for_agent, "{scope:?} {quota:?} {value} of an agent");
                };
                let applies = quota.applies_to(scope);
                let rejected = (!applies).then_some(LimitError::NotApplicable);
                let for_agent = |otherwise| match scope {
                    Scope::Tenant => Some(LimitError::NotForAgents),
                    Scope::Agent | Scope::Key | Scope::Owner | Scope::Address => otherwise,
                };
                check(0, rejected, for_agent(rejected));
                check(LIMIT_MAX, rejected, for_agent(rejected));
                let too_high = rejected.or(Some(LimitError::TooHigh));
                check(LIMIT_MAX + 1, too_high, for_agent(too_high));
            }
        }
    }
}
