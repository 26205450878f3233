//! Several databases. Each tenant's rows are in one of them: in a shard that the configuration assigns it to, or in the first
//! database. So a request reads one database, and an unavailable one fails only the requests for its tenants.
//!
//! A tenant is assigned before its first commit, and stays: rows are not moved. Each database has the list of the assigned tenants
//! (see [`assignment`]), so that a process with another configuration reads nothing instead of too little.

pub mod assignment;
mod known;
mod stored;

use std::collections::BTreeSet;
use std::iter;
use std::sync::Arc;

use domain::{TenantAccess, TenantFilter, TenantId};
use tokio::time::Instant;

use self::known::HasRows;
pub(crate) use self::known::KnownAssignments;
use self::stored::stored_by_reader;
pub use self::stored::{missing_tenants, name, other_database, tenants};
use crate::config::{ReadModelConfig, ShardConfig};
use crate::error::ReadModelError;
use crate::model::{ReadModel, ReplicatedReadModelConfig};

/// The shards of a configuration, in its order.
pub(super) fn connect_lazy(config: &ReadModelConfig) -> Result<Arc<[ReadModel]>, ReadModelError> {
    let shards = config.shards.iter();
    shards.map(|shard| of(shard, ReadModel::connect_lazy(&database(shard, config))?)).collect()
}

/// As [`connect_lazy`], with the replicas of each.
pub(super) fn connect_replicated(config: &ReplicatedReadModelConfig) -> Result<Arc<[ReadModel]>, ReadModelError> {
    let connect = |shard: &ShardConfig| {
        let replicated = ReplicatedReadModelConfig {
            primary: database(shard, &config.primary),
            replica_urls: shard.replica_urls.clone(),
            ..config.clone()
        };
        of(shard, ReadModel::connect_replicated(&replicated)?)
    };
    config.primary.shards.iter().map(connect).collect()
}

/// The configuration of the database of a shard.
fn database(shard: &ShardConfig, config: &ReadModelConfig) -> ReadModelConfig {
    ReadModelConfig { database_url: shard.database_url.clone(), shards: Vec::new(), ..config.clone() }
}

/// The handle of a shard.
fn of(shard: &ShardConfig, model: ReadModel) -> Result<ReadModel, ReadModelError> {
    Ok(ReadModel {
        name: Some(shard.name.as_str().into()),
        tenants: TenantFilter::Only(Arc::new(tenants_of([shard])?)),
        ..model
    })
}

/// The tenants of the first database: those of no shard.
pub(super) fn tenants_of_first(config: &ReadModelConfig) -> Result<TenantFilter, ReadModelError> {
    Ok(TenantFilter::Except(Arc::new(tenants_of(&config.shards)?)))
}

fn tenants_of<'s>(shards: impl IntoIterator<Item = &'s ShardConfig>) -> Result<BTreeSet<TenantId>, ReadModelError> {
    let ids = shards.into_iter().flat_map(|shard| &shard.tenants);
    ids.map(|id| TenantId::parse(id.as_str())).collect::<Result<_, _>>().map_err(|_| ReadModelError::Misconfigured)
}

impl ReadModel {
    /// The database with the rows of a tenant.
    #[must_use]
    pub fn of(&self, tenant: &TenantId) -> Self {
        self.shard_of(tenant).unwrap_or_else(|| self.clone())
    }

    /// A shard by its name; `None`: the configuration has no such shard.
    #[must_use]
    pub fn shard(&self, name: &str) -> Option<Self> {
        let mut shards = self.shards.iter();
        let shard = shards.find(|shard| shard.shard_name() == Some(name));
        shard.cloned()
    }

    /// The shards, in the order of the configuration.
    #[must_use]
    pub fn shards(&self) -> &[Self] {
        &self.shards
    }

    /// The name of the database; `None`: it is the first one.
    #[must_use]
    pub fn shard_name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// All databases: the first one, and the shards in the order of the configuration.
    #[must_use]
    pub fn databases(&self) -> Vec<Self> {
        let first = Self { shards: Arc::default(), ..self.clone() };
        let shards = self.shards.iter().cloned();
        iter::once(first).chain(shards).collect()
    }

    /// Whether the database has the rows of a tenant, by the configuration. A handle with shards says so of the first database.
    #[must_use]
    pub fn serves(&self, tenant: &TenantId) -> bool {
        self.tenants.contains(tenant)
    }

    /// The shard with the rows of a tenant; `None`: this database has them.
    pub(crate) fn shard_of(&self, tenant: &TenantId) -> Option<Self> {
        let shard = self.shards.iter().find(|shard| shard.serves(tenant))?;
        Some(Self { tables: self.tables, ..shard.clone() })
    }

    /// Checks that this database has the rows of a tenant, by its own list, which is read again when it is old.
    pub(crate) async fn check_has_rows_of(&self, access: &TenantAccess) -> Result<(), ReadModelError> {
        let has_rows = || self.known.has_rows(access.tenant(), self.shard_name());
        // One call reads the list for all; others use the old one meanwhile, or wait if they cannot.
        let _reading = match has_rows() {
            HasRows::Yes => return Ok(()),
            HasRows::YesBefore => match self.known.try_lock() {
                Some(reading) => reading,
                None => return Ok(()),
            },
            HasRows::No => return Err(self.with_name(has_no_rows())),
            HasRows::Unknown => self.known.lock().await,
        };
        match has_rows() {
            HasRows::Yes => return Ok(()),
            HasRows::No => return Err(self.with_name(has_no_rows())),
            HasRows::YesBefore | HasRows::Unknown => {}
        }
        let read_at = Instant::now();
        // Boxed: a rare future.
        self.known.set(Box::pin(stored_by_reader(self)).await?, read_at);
        if matches!(has_rows(), HasRows::Yes | HasRows::YesBefore) {
            return Ok(());
        }
        tracing::error!(
            tenant.id = access.tenant().as_str(),
            shard = self.shard_name().unwrap_or_default(),
            "read_model.shards differs from the assignments in the database: use the same list for all roles, and start the projector of each shard"
        );
        Err(self.with_name(has_no_rows()))
    }
}

fn has_no_rows() -> ReadModelError {
    ReadModelError::unavailable("the database does not have the rows of the tenant")
}
