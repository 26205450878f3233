//! The assignments that a database stores.
//!
//! So operators' commands need the URL of one database only, and know from it which tenants' rows it has.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::{TenantFilter, TenantId};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};

use crate::error::ReadModelError;
use crate::migrations::READ_MIGRATIONS;
use crate::model::ReadModel;

/// The first migration with assignments.
const SINCE: i64 = 22;

/// The tenants whose rows a database has.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn tenants(model: &ReadModel) -> Result<TenantFilter, ReadModelError> {
    Ok(stored(model).await?.filter())
}

/// The name of a shard, by its list; `None`: it is the first database, or has no tenants yet.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn name(model: &ReadModel) -> Result<Option<String>, ReadModelError> {
    Ok(stored(model).await?.shard().map(str::to_owned))
}

/// The name of the shard with the rows of a tenant, by the list of a database; `None`: that database has them.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn other_database(model: &ReadModel, tenant: &TenantId) -> Result<Option<String>, ReadModelError> {
    let stored = stored(model).await?;
    if stored.has(tenant, stored.shard()) {
        return Ok(None);
    }
    Ok(Some(database_name(stored.tenants.get(tenant).filter(|_| !stored.is_shard).map(String::as_str))))
}

/// The tenants whose rows are in none of these databases, by the list of the first one; `None`: it is a shard itself.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn missing_tenants(
    first: &ReadModel,
    shards: &[ReadModel],
) -> Result<Option<BTreeSet<TenantId>>, ReadModelError> {
    let listed = stored(first).await?;
    if listed.is_shard {
        return Ok(None);
    }
    let mut missing: BTreeSet<TenantId> = listed.tenants.into_keys().collect();
    for shard in shards {
        let own = stored(shard).await?;
        missing.retain(|tenant| !own.has(tenant, own.shard()));
    }
    Ok(Some(missing))
}

pub(super) const STORED: &str = "SELECT tenant_id, shard, is_here FROM hansard.shard_tenant";

pub(super) async fn stored(model: &ReadModel) -> Result<Stored, ReadModelError> {
    Stored::from_rows(&model.fetch(STORED, PgArguments::default).await?)
}

/// As [`stored`], for readers, who may not read the table. A database that is not migrated yet has none.
pub(super) async fn stored_by_reader(model: &ReadModel) -> Result<Stored, ReadModelError> {
    let sql = "SELECT tenant_id, shard, is_here FROM hansard.shard_tenants()";
    match model.fetch(sql, PgArguments::default).await {
        Ok(rows) => Stored::from_rows(&rows),
        Err(error) => {
            let rows = model.fetch(READ_MIGRATIONS, PgArguments::default).await?;
            let found: i64 = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
            if found < SINCE { Ok(Stored::default()) } else { Err(error) }
        }
    }
}

/// What a database is called in messages.
pub(super) fn database_name(shard: Option<&str>) -> String {
    shard.map_or_else(|| "the first database".to_owned(), |name| format!("shard {name}"))
}

/// The assignments that a database stores.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Stored {
    pub(super) tenants: BTreeMap<TenantId, String>,
    is_shard: bool,
}

impl Stored {
    pub(super) fn is_empty(&self) -> bool {
        self.tenants.is_empty()
    }

    /// The name of the shard; `None`: the database is the first one.
    pub(super) fn shard(&self) -> Option<&str> {
        let mut names = self.tenants.values().filter(|_| self.is_shard);
        names.next().map(String::as_str)
    }

    /// Whether the database with them, the first one or a shard, has the rows of a tenant.
    pub(super) fn has(&self, tenant: &TenantId, shard: Option<&str>) -> bool {
        let assigned = self.tenants.get(tenant);
        match shard {
            Some(_) => self.is_shard && assigned.map(String::as_str) == shard,
            None => !self.is_shard && assigned.is_none(),
        }
    }

    fn filter(self) -> TenantFilter {
        let tenants = Arc::new(self.tenants.into_keys().collect::<BTreeSet<_>>());
        if self.is_shard { TenantFilter::Only(tenants) } else { TenantFilter::Except(tenants) }
    }

    pub(super) fn from_rows(rows: &[PgRow]) -> Result<Self, ReadModelError> {
        let mut stored = Self::default();
        for row in rows {
            let tenant: &str = row.try_get("tenant_id")?;
            let corrupt = |_| ReadModelError::corrupt("shard_tenant", tenant, "tenant_id");
            let id = TenantId::parse(tenant).map_err(corrupt)?;
            stored.tenants.insert(id, row.try_get("shard")?);
            stored.is_shard = row.try_get("is_here")?;
        }
        Ok(stored)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn tenant(id: &str) -> TenantId {
        TenantId::parse(id).unwrap()
    }

    pub(crate) fn stored(is_shard: bool, tenants: &[(&str, &str)]) -> Stored {
        let tenants = tenants.iter().map(|(id, shard)| (tenant(id), (*shard).to_owned()));
        Stored { tenants: tenants.collect(), is_shard }
    }

    #[test]
    fn each_tenant_is_in_one_database() {
        let first = stored(false, &[("b1", "b")]);
        let shard = stored(true, &[("b1", "b")]);
        for (stored, name, id, expected) in [
            (&first, None, "b1", false),
            (&first, None, "acme", true),
            (&first, Some("b"), "b1", false),
            (&shard, Some("b"), "b1", true),
            (&shard, Some("c"), "b1", false),
            (&shard, Some("b"), "acme", false),
            (&shard, None, "acme", false),
            (&Stored::default(), None, "acme", true),
            (&Stored::default(), Some("b"), "b1", false),
        ] {
            assert_eq!(stored.has(&tenant(id), name), expected, "{name:?} {id}");
        }
        let in_both = |id: &str| [&first, &shard].map(|one| one.clone().filter().contains(&tenant(id)));
        assert_eq!(in_both("b1"), [false, true]);
        assert_eq!(in_both("acme"), [true, false]);
    }
}
