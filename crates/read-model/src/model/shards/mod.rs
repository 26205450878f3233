//! Several databases. Each tenant's rows are in one of them: in a shard that the configuration assigns it to, or in the first
//! database. So a request reads one database, and an unavailable one fails only the requests for its tenants.
//!
//! A tenant is assigned before its first commit, and stays: rows are not moved. Each database has the list of the assigned tenants
//! (see [`assignment`]), so that a process with another configuration reads nothing instead of too little.

pub mod assignment;
mod known;
mod stored;

use std::collections::HashMap;

use domain::{TenantAccess, TenantId};
use tokio::time::Instant;

use self::known::Assigned;
pub(crate) use self::known::KnownAssignments;
use self::stored::stored_by_reader;
pub use self::stored::{other_database, tenants, tenants_elsewhere};
use crate::config::ReadModelConfig;
use crate::error::ReadModelError;
use crate::model::ReadModel;

/// The shards of a process, beside the first database.
#[derive(Debug)]
pub(crate) struct Shards {
    /// In the order of the configuration.
    all: Vec<ReadModel>,
    /// The index of each assigned tenant.
    by_tenant: HashMap<TenantId, usize>,
}

impl Shards {
    /// The shards of a configuration; `None`: it has none.
    pub(crate) fn new(config: &ReadModelConfig) -> Result<Option<Self>, ReadModelError> {
        if config.shards.is_empty() {
            return Ok(None);
        }
        let mut shards = Self {
            all: Vec::new(),
            by_tenant: HashMap::new(),
        };
        for (index, shard) in config.shards.iter().enumerate() {
            for tenant in &shard.tenants {
                let tenant = TenantId::parse(tenant.as_str());
                let tenant = tenant.map_err(|_| ReadModelError::Misconfigured)?;
                shards.by_tenant.insert(tenant, index);
            }
            let database = ReadModelConfig {
                database_url: shard.database_url.clone(),
                shards: Vec::new(),
                ..config.clone()
            };
            let model = ReadModel::connect_lazy(&database)?;
            shards.all.push(model.named(&shard.name));
        }
        Ok(Some(shards))
    }
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
        let mut all = self.databases().into_iter();
        all.find(|model| model.shard_name() == Some(name))
    }

    /// The name of the database; `None`: it is the first one.
    #[must_use]
    pub fn shard_name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// All databases: the first one, and the shards in the order of the configuration.
    #[must_use]
    pub fn databases(&self) -> Vec<Self> {
        let shards = self.shards.iter().flat_map(|shards| &shards.all).cloned();
        let first = Self {
            shards: None,
            ..self.clone()
        };
        std::iter::once(first).chain(shards).collect()
    }

    /// The index of a tenant's database in [`ReadModel::databases`].
    #[must_use]
    pub fn database_index(&self, tenant: &TenantId) -> usize {
        let shards = self.shards.as_ref();
        let index = shards.and_then(|shards| shards.by_tenant.get(tenant));
        index.map_or(0, |index| index.saturating_add(1))
    }

    /// The shard with the rows of a tenant; `None`: this database has them.
    pub(crate) fn shard_of(&self, tenant: &TenantId) -> Option<Self> {
        let shards = self.shards.as_ref()?;
        let shard = shards.all.get(*shards.by_tenant.get(tenant)?)?;
        Some(Self {
            tables: self.tables,
            ..shard.clone()
        })
    }

    /// Checks that this database has the rows of a tenant, by its own list, which is read again when it is old.
    pub(crate) async fn check_has_rows_of(
        &self,
        access: &TenantAccess,
    ) -> Result<(), ReadModelError> {
        let assigned = || self.known.of(access.tenant(), self.shard_name());
        // One call reads the list for all; others use the old one meanwhile, or wait if they cannot.
        let _reading = match assigned() {
            Assigned::Here => return Ok(()),
            Assigned::HereBefore => match self.known.try_lock() {
                Some(reading) => reading,
                None => return Ok(()),
            },
            Assigned::Elsewhere => return Err(self.with_name(has_no_rows())),
            Assigned::Unknown => self.known.lock().await,
        };
        match assigned() {
            Assigned::Here => return Ok(()),
            Assigned::Elsewhere => return Err(self.with_name(has_no_rows())),
            Assigned::HereBefore | Assigned::Unknown => {}
        }
        let read_at = Instant::now();
        // Boxed: a rare future.
        self.known
            .set(Box::pin(stored_by_reader(self)).await?, read_at);
        if matches!(assigned(), Assigned::Here | Assigned::HereBefore) {
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
