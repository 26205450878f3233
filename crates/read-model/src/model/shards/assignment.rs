//! The projector of a database compares its configuration with the stored assignments, and adds new ones.

use std::collections::BTreeMap;

use domain::{TenantFilter, TenantId};
use sqlx::postgres::PgConnection;
use sqlx::{Executor as _, Row as _};
use thiserror::Error;

use super::stored::{STORED, Stored, database_name, stored, tenants};
use crate::arguments::{arguments, execute};
use crate::config::ReadModelConfig;
use crate::error::ReadModelError;
use crate::model::{Durability, ReadModel};

/// Why the projector of a database does not accept its configuration. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AssignmentError {
    /// The database is another one.
    #[error("the database is {found}, but read_model.shards has it as {expected}: correct the URLs")]
    OtherDatabase {
        /// Its own name.
        found: String,
        /// The name in the configuration.
        expected: String,
    },
    /// A tenant was assigned, and the configuration has it in another database.
    #[error(
        "the rows of tenant {tenant} are in shard {shard}: list it there in read_model.shards, since rows are not moved"
    )]
    Moved {
        /// The tenant.
        tenant: TenantId,
        /// Its shard.
        shard: String,
    },
    /// A tenant was not assigned before its first commit.
    #[error(
        "tenant {0} has commits already: remove it from read_model.shards, since a tenant is assigned before its first commit"
    )]
    HasCommits(TenantId),
    /// A new shard has the rows of others.
    #[error("the database of shard {0} has rows already: give the shard a new database")]
    InUse(String),
    /// The first database does not list a tenant of a shard yet: retry.
    #[error("the first database does not list tenant {0} yet: start its projector with the same read_model.shards")]
    NotListed(TenantId),
    /// The database cannot be read or written.
    #[error(transparent)]
    ReadModel(#[from] ReadModelError),
}

/// The assignments that a configuration has for one database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// `None`: the first database.
    shard: Option<String>,
    /// The assigned tenants and their shards: all of them for the first database, its own for a shard.
    tenants: BTreeMap<TenantId, String>,
}

impl Assignment {
    /// Those of the first database, or of a shard.
    ///
    /// # Errors
    /// [`ReadModelError::Misconfigured`]: the id of a tenant is invalid.
    pub fn of(config: &ReadModelConfig, shard: Option<&str>) -> Result<Self, ReadModelError> {
        let mut tenants = BTreeMap::new();
        let shards = config.shards.iter();
        for listed in shards.filter(|listed| shard.is_none_or(|shard| listed.name == shard)) {
            for tenant in &listed.tenants {
                let tenant = TenantId::parse(tenant.as_str()).map_err(|_| ReadModelError::Misconfigured)?;
                tenants.insert(tenant, listed.name.clone());
            }
        }
        Ok(Self { shard: shard.map(str::to_owned), tenants })
    }

    /// Whether none of them is stored yet, if these are to be added.
    #[must_use]
    pub fn is_new(&self, additions: &[TenantId]) -> bool {
        additions.len() == self.tenants.len()
    }

    /// Compares them with the stored ones. Returns the tenants to add.
    fn additions(&self, stored: &Stored) -> Result<Vec<TenantId>, AssignmentError> {
        let expected = self.shard.as_deref();
        if !stored.is_empty() && stored.shard() != expected {
            return Err(AssignmentError::OtherDatabase {
                found: database_name(stored.shard()),
                expected: database_name(expected),
            });
        }
        for (tenant, shard) in &stored.tenants {
            if self.tenants.get(tenant) != Some(shard) {
                let (tenant, shard) = (tenant.clone(), shard.clone());
                return Err(AssignmentError::Moved { tenant, shard });
            }
        }
        let added = self.tenants.keys().filter(|tenant| !stored.tenants.contains_key(*tenant));
        Ok(added.cloned().collect())
    }
}

/// The tenants of an assignment that the database does not store yet.
///
/// # Errors
/// [`AssignmentError`]: the stored assignments contradict it.
pub async fn additions(model: &ReadModel, assignment: &Assignment) -> Result<Vec<TenantId>, AssignmentError> {
    assignment.additions(&stored(model).await?)
}

impl AssignmentError {
    /// Whether a retry can help.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        match self {
            Self::NotListed(_) => true,
            Self::ReadModel(error) => error.is_unavailable(),
            Self::OtherDatabase { .. } | Self::Moved { .. } | Self::HasCommits(_) | Self::InUse(_) => false,
        }
    }
}

/// Checks that the first database lists these tenants, so that its projector writes no rows of them.
///
/// # Errors
/// [`AssignmentError::NotListed`], [`AssignmentError::ReadModel`].
pub async fn check_listed(first: &ReadModel, tenants: &[TenantId]) -> Result<(), AssignmentError> {
    let stored = stored(first).await?;
    let mut unlisted = tenants.iter();
    match unlisted.find(|tenant| stored.has(tenant, None)) {
        Some(tenant) => Err(AssignmentError::NotListed(tenant.clone())),
        None => Ok(()),
    }
}

/// One of these tenants with rows in the database.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn any_with_rows(model: &ReadModel, tenants: &[TenantId]) -> Result<Option<TenantId>, ReadModelError> {
    let ids: Vec<&str> = tenants.iter().map(TenantId::as_str).collect();
    let sql = "SELECT id FROM unnest($1::text[]) AS id WHERE EXISTS (
                   SELECT FROM conversation WHERE tenant_id = id
                   UNION ALL SELECT FROM parked_conversation WHERE tenant_id = id)
               LIMIT 1";
    let rows = model.fetch(sql, || arguments![ids.clone()]).await?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    let id: &str = row.try_get(0)?;
    Ok(tenants.iter().find(|tenant| tenant.as_str() == id).cloned())
}

/// Stores an assignment, of which no tenant may have commits, see [`additions`]. Returns the tenants whose rows the database has.
///
/// # Errors
/// [`AssignmentError`].
pub async fn assign(model: &ReadModel, assignment: &Assignment) -> Result<TenantFilter, AssignmentError> {
    let work = async |connection: &mut PgConnection| {
        let lock = "LOCK TABLE hansard.shard_tenant IN SHARE ROW EXCLUSIVE MODE";
        let failed = ReadModelError::from;
        connection.execute(lock).await.map_err(failed)?;
        let rows = connection.fetch_all(STORED).await.map_err(failed)?;
        let added = assignment.additions(&Stored::from_rows(&rows)?)?;
        let (tenants, shards): (Vec<&str>, Vec<&str>) =
            added.iter().filter_map(|tenant| Some((tenant.as_str(), assignment.tenants.get(tenant)?.as_str()))).unzip();
        let sql = "INSERT INTO hansard.shard_tenant (tenant_id, shard, is_here)
                   SELECT tenant_id, shard, $3 FROM unnest($1::text[], $2::text[]) AS added (tenant_id, shard)";
        let arguments = arguments![tenants, shards, assignment.shard.is_some()];
        execute(connection, sql, arguments).await.map_err(failed)?;
        Ok::<_, AssignmentError>(())
    };
    model.transaction(Durability::Durable, work).await?;
    Ok(tenants(model).await?)
}

#[cfg(test)]
mod tests {
    use super::super::stored::tests::stored;
    use super::*;

    fn assignment(shard: Option<&str>) -> Assignment {
        let shard_config = |name: &str, tenants: &[&str]| crate::config::ShardConfig {
            name: name.to_owned(),
            database_url: String::new(),
            tenants: tenants.iter().map(|id| (*id).to_owned()).collect(),
            replica_urls: Vec::new(),
        };
        let config = ReadModelConfig {
            shards: vec![shard_config("b", &["b1", "b2"]), shard_config("c", &["c1"])],
            ..ReadModelConfig::default()
        };
        Assignment::of(&config, shard).unwrap()
    }

    #[track_caller]
    fn check(shard: Option<&str>, stored: &Stored, expected: Result<&[&str], &str>) {
        let accepted = assignment(shard).additions(stored).map_err(|error| error.to_string());
        let added = accepted.as_ref().map(|added| added.iter().map(TenantId::as_str).collect());
        let expected: Result<Vec<&str>, &str> = expected.map(<[&str]>::to_vec);
        assert_eq!(added.map_err(String::as_str), expected);
    }

    #[test]
    fn tenants_are_added_and_stay() {
        check(None, &stored(false, &[]), Ok(&["b1", "b2", "c1"]));
        check(Some("b"), &stored(false, &[]), Ok(&["b1", "b2"]));
        check(Some("b"), &stored(true, &[("b2", "b")]), Ok(&["b1"]));
        check(None, &stored(false, &[("b1", "b"), ("c1", "c")]), Ok(&["b2"]));
        let moved =
            "the rows of tenant b1 are in shard c: list it there in read_model.shards, since rows are not moved";
        check(None, &stored(false, &[("b1", "c")]), Err(moved));
        let lost = "the rows of tenant b3 are in shard b: list it there in read_model.shards, since rows are not moved";
        check(Some("b"), &stored(true, &[("b3", "b")]), Err(lost));
        let other = "the database is shard c, but read_model.shards has it as shard b: correct the URLs";
        check(Some("b"), &stored(true, &[("c1", "c")]), Err(other));
        let first = "the database is the first database, but read_model.shards has it as shard b: correct the URLs";
        check(Some("b"), &stored(false, &[("b1", "b")]), Err(first));
        let shard = "the database is shard b, but read_model.shards has it as the first database: correct the URLs";
        check(None, &stored(true, &[("b1", "b")]), Err(shard));
    }
}
