//! Checks of the claims of every token.

use std::time::Duration;

use domain::Timestamp;
use serde::Deserialize;
use serde_json::{Number, Value};

use crate::{TokenError, TokenRules, token_id_digest};

/// Maximum clock skew of token issuers.
pub const LEEWAY: Duration = Duration::from_secs(30);
/// The audience that is accepted for every token.
pub const AUDIENCE: &str = "hansard";

const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// The claims that are checked. No `Debug`, because they are content.
#[derive(Deserialize)]
pub(crate) struct Claims {
    sub: Option<Value>,
    exp: Option<Value>,
    nbf: Option<Value>,
    iat: Option<Value>,
    aud: Option<Value>,
    iss: Option<Value>,
    jti: Option<Value>,
    tenant: Option<Value>,
    agent: Option<Value>,
    role: Option<Value>,
    tenants: Option<Value>,
    endorsement: Option<Value>,
}

impl Claims {
    /// Checks that the token is valid now: `exp` is required; `nbf` and `iat` are optional and must not be in the future.
    pub(crate) fn check_time(&self, now: Timestamp) -> Result<(), TokenError> {
        let now = i128::from(now.0);
        let leeway = i128::try_from(LEEWAY.as_nanos()).unwrap_or(i128::MAX);
        let missing = TokenError::Claim { claim: "exp" };
        let expiry = nanos("exp", self.exp.as_ref())?.ok_or(missing)?;
        if now >= expiry.saturating_add(leeway) {
            return Err(TokenError::Expired);
        }
        for (claim, value) in [("nbf", &self.nbf), ("iat", &self.iat)] {
            let start = nanos(claim, value.as_ref())?;
            if start.is_some_and(|start| start > now.saturating_add(leeway)) {
                return Err(TokenError::NotYetValid);
            }
        }
        Ok(())
    }

    /// Checks the rules of the tenant. Without `iat`, the lifetime of a token starts now.
    pub(crate) fn check_rules(&self, rules: &TokenRules, now: Timestamp) -> Result<(), TokenError> {
        if let Some(issuer) = &rules.issuer {
            let missing = TokenError::Claim { claim: "iss" };
            if text("iss", self.iss.as_ref())?.ok_or(missing)? != issuer {
                return Err(TokenError::WrongIssuer);
            }
        }
        let missing = TokenError::Claim { claim: "exp" };
        let expiry = nanos("exp", self.exp.as_ref())?.ok_or(missing)?;
        let start = nanos("iat", self.iat.as_ref())?.unwrap_or_else(|| i128::from(now.0));
        let lifetime_max = i128::try_from(rules.lifetime_max.as_nanos()).unwrap_or(i128::MAX);
        if expiry.saturating_sub(start) > lifetime_max {
            return Err(TokenError::TooLongLived);
        }
        let id = text("jti", self.jti.as_ref())?;
        if id.is_some_and(|id| rules.revoked.contains(&token_id_digest(id))) {
            return Err(TokenError::Revoked);
        }
        Ok(())
    }

    /// Checks the audience. It must be the tenant's if the tenant has one; otherwise it may be missing or must be accepted.
    pub(crate) fn check_audience(&self, rules: &TokenRules, accepted: &[&str]) -> Result<(), TokenError> {
        let Some(audience) = &rules.audience else {
            return self.check_audiences(accepted);
        };
        if self.aud.is_none() {
            return Err(TokenError::Claim { claim: "aud" });
        }
        self.check_audiences(&[audience])
    }

    /// Checks that the audience is missing or accepted.
    fn check_audiences(&self, accepted: &[&str]) -> Result<(), TokenError> {
        let is_accepted = |value: &Value| value.as_str().is_some_and(|one| accepted.contains(&one));
        match &self.aud {
            None => Ok(()),
            Some(Value::Array(several)) if several.iter().any(is_accepted) => Ok(()),
            Some(one) if is_accepted(one) => Ok(()),
            Some(_) => Err(TokenError::WrongAudience),
        }
    }

    pub(crate) fn subject(&self) -> Result<&str, TokenError> {
        let subject = text("sub", self.sub.as_ref())?;
        subject.ok_or(TokenError::Claim { claim: "sub" })
    }

    pub(crate) fn token_id(&self) -> Result<Option<&str>, TokenError> {
        text("jti", self.jti.as_ref())
    }

    pub(crate) fn issued_at(&self) -> Result<Option<Timestamp>, TokenError> {
        timestamp("iat", self.iat.as_ref())
    }

    pub(crate) fn expires_at(&self) -> Result<Option<Timestamp>, TokenError> {
        timestamp("exp", self.exp.as_ref())
    }

    pub(crate) fn tenant(&self) -> Result<Option<&str>, TokenError> {
        text("tenant", self.tenant.as_ref())
    }

    pub(crate) fn agent(&self) -> Result<Option<&str>, TokenError> {
        text("agent", self.agent.as_ref())
    }

    pub(crate) fn role(&self) -> Result<Option<&str>, TokenError> {
        text("role", self.role.as_ref())
    }

    pub(crate) fn tenants(&self) -> Result<Option<&str>, TokenError> {
        text("tenants", self.tenants.as_ref())
    }

    pub(crate) fn endorsement(&self) -> Result<Option<&str>, TokenError> {
        text("endorsement", self.endorsement.as_ref())
    }
}

fn text<'a>(claim: &'static str, value: Option<&'a Value>) -> Result<Option<&'a str>, TokenError> {
    match value {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(TokenError::Claim { claim }),
    }
}

/// Nanoseconds since the epoch of a `NumericDate` (RFC 7519, 2), which may have a fraction.
fn nanos(claim: &'static str, value: Option<&Value>) -> Result<Option<i128>, TokenError> {
    match value {
        None => Ok(None),
        Some(Value::Number(seconds)) => {
            let nanos = whole(seconds).or_else(|| fraction(seconds));
            nanos.map(Some).ok_or(TokenError::Claim { claim })
        }
        Some(_) => Err(TokenError::Claim { claim }),
    }
}

fn timestamp(claim: &'static str, value: Option<&Value>) -> Result<Option<Timestamp>, TokenError> {
    let Some(nanos) = nanos(claim, value)? else {
        return Ok(None);
    };
    let nanos = i64::try_from(nanos).map_err(|_| TokenError::Claim { claim })?;
    Ok(Some(Timestamp(nanos)))
}

fn whole(seconds: &Number) -> Option<i128> {
    let whole = seconds.as_i64().map(i128::from).or_else(|| seconds.as_u64().map(i128::from));
    whole.map(|whole| whole.saturating_mul(NANOS_PER_SECOND))
}

/// Times before the epoch and outside of the range of `Duration` are invalid.
fn fraction(seconds: &Number) -> Option<i128> {
    let since_epoch = Duration::try_from_secs_f64(seconds.as_f64()?).ok()?;
    i128::try_from(since_epoch.as_nanos()).ok()
}
