//! The writers' endorsement of people who sign in to the dashboard with a link.
//!
//! Gateways have the keys that sign links and sessions: a stolen gateway signs any. The secret of endorsements is in a bucket that gateways
//! cannot read. So a session changes settings and keys only if a writer has created a link for the same person. Without an endorsement,
//! people who signed in at a provider change nothing unless `provider_sign_ins` is set: gateways vouch for them.

use identity::{DASHBOARD_RANDOM_BYTES, DashboardKey, DashboardUse, NewPerson, dashboard_tenant};
use registry::PersonAccess;
use wire::status::{Problem, Reason};

use crate::{Writer, problem};

/// The person with an endorsement.
///
/// # Errors
/// The record does not answer.
pub(crate) async fn endorse(writer: &Writer, person: NewPerson) -> Result<NewPerson, Problem> {
    let now = writer.now();
    let keys = writer.record.receipt_keys(now).await.map_err(problem::from_record)?;
    let key = DashboardKey::new(&keys.endorsement_secret());
    let random: [u8; DASHBOARD_RANDOM_BYTES] = rand::random();
    let endorsed = key.issue(DashboardUse::Endorsement, person, random, now);
    let endorsement = key.sign(DashboardUse::Endorsement, &endorsed);
    Ok(NewPerson { endorsement: Some(endorsement), ..endorsed.to_new() })
}

/// Checks that the person of a session may change settings and keys.
///
/// # Errors
/// No writer endorsed the person, or the record does not answer.
pub(crate) async fn require(writer: &Writer, session: &PersonAccess) -> Result<(), Problem> {
    if writer.provider_sign_ins || is_endorsed(writer, session).await? {
        return Ok(());
    }
    Err(Problem::new(
        Reason::MissingScope,
        "the session is of no link of a writer: sign in with a link, or set `provider_sign_ins` of the writers",
    ))
}

async fn is_endorsed(writer: &Writer, session: &PersonAccess) -> Result<bool, Problem> {
    let keys = writer.record.existing_receipt_keys().await.map_err(problem::from_record)?;
    let Some((keys, endorsement)) = keys.zip(session.person.endorsement()) else {
        return Ok(false);
    };
    let Ok(tenant) = dashboard_tenant(endorsement) else {
        return Ok(false);
    };
    let revoked = writer.registry.token_rules(&tenant).revoked;
    let key = DashboardKey::new(&keys.endorsement_secret());
    let endorsed = key.verify(endorsement, DashboardUse::Endorsement, &tenant, revoked, writer.now());
    Ok(endorsed.is_ok_and(|person| person.endorses(&session.person)))
}
