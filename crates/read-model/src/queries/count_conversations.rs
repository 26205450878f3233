//! How many conversations a tenant, an agent or an owner has, up to a bound.

use domain::{AgentId, Owner, TenantAccess};
use sqlx::Row as _;
use sqlx::postgres::PgArguments;

use super::{bind, signed};
use crate::error::ReadModelError;
use crate::model::ReadModel;

/// Whose conversations are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountedBy<'q> {
    /// All of the tenant.
    Tenant,
    /// All of an agent.
    Agent(&'q AgentId),
    /// Those of one owner with an agent.
    Owner(&'q AgentId, &'q Owner),
}

/// How many conversations there are that are not erased; counting ends at `most`. Reads that many entries of an index.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn count_conversations(
    model: &ReadModel,
    access: &TenantAccess,
    by: CountedBy<'_>,
    most: u64,
) -> Result<u64, ReadModelError> {
    let arguments = || {
        let arguments = bind(PgArguments::default(), access.tenant().as_str());
        let arguments = bind(arguments, signed(most));
        match by {
            CountedBy::Tenant => arguments,
            CountedBy::Agent(agent) => bind(arguments, agent.as_str()),
            CountedBy::Owner(agent, Owner::User(user)) => {
                bind(bind(arguments, agent.as_str()), user.as_str())
            }
            CountedBy::Owner(agent, Owner::Channel(channel)) => {
                bind(bind(arguments, agent.as_str()), channel.as_str())
            }
            CountedBy::Owner(agent, Owner::Session(session)) => {
                bind(bind(arguments, agent.as_str()), session.as_str())
            }
        }
    };
    let sql = match by {
        CountedBy::Tenant => include_str!("count_by_tenant.sql"),
        CountedBy::Agent(_) => include_str!("count_by_agent.sql"),
        CountedBy::Owner(_, Owner::User(_)) => include_str!("count_by_user.sql"),
        CountedBy::Owner(_, Owner::Channel(_)) => include_str!("count_by_channel.sql"),
        CountedBy::Owner(_, Owner::Session(_)) => include_str!("count_by_session.sql"),
    };
    let rows = model.read(access, sql, arguments).await?;
    let count = rows
        .first()
        .map(|row| row.try_get::<i64, _>(0))
        .transpose()?;
    Ok(count
        .and_then(|count| u64::try_from(count).ok())
        .unwrap_or_default())
}
