//! The databases of an archive run: which conversations are idle is asked of the rows of their tenants.

use anyhow::Context as _;
use domain::{ConversationKey, TenantFilter, Timestamp};
use event_log::Record;
use read_model::ReadModel;
use read_model::projections::conversations::verification::RowPosition;
use read_model::projections::conversations::{ErasedConversations, idle_conversations};
use read_model::schemas::SchemasLock;
use read_model::shards::{missing_tenants, tenants};

use crate::commands::stores::check_belong;
use crate::console;
use crate::exit::UsageError;

/// The databases, and the tenants whose rows each has.
pub(super) struct Databases(Vec<(TenantFilter, ReadModel)>);

impl Databases {
    /// The first database and its shards. Without the URL of a shard, the conversations of its tenants are not archived.
    pub(super) async fn open(first: ReadModel, shards: Vec<ReadModel>) -> anyhow::Result<Self> {
        check_first(&first).await?;
        for shard in &shards {
            shard.check().await?;
        }
        let missing = missing_tenants(&first, &shards).await?.unwrap_or_default();
        if !missing.is_empty() {
            console::print_error(&format!(
                "the conversations of {} tenants are not archived: give the URLs of their shards with --shard-url",
                missing.len()
            ));
        }
        let mut all = vec![(tenants(&first).await?, first)];
        for shard in shards {
            let own = tenants(&shard).await?;
            if !matches!(own, TenantFilter::Only(_)) {
                return Err(UsageError(
                    "--shard-url names a database that is no shard: give the URL of a shard that has tenants"
                        .to_owned(),
                )
                .into());
            }
            all.push((own, shard));
        }
        Ok(Self(all))
    }

    /// Takes the locks of all of them.
    pub(super) async fn lock(&self) -> anyhow::Result<Vec<SchemasLock>> {
        let mut locks = Vec::new();
        for (_, model) in &self.0 {
            locks.push(lock(model).await?);
        }
        Ok(locks)
    }

    /// Fails if the rows of one of them and the record do not belong together.
    pub(super) async fn check_belong(&self, record: &Record) -> anyhow::Result<()> {
        for (_, model) in &self.0 {
            check_belong(record, model).await?;
        }
        Ok(())
    }

    /// The conversations among `keys` that are idle, by the rows of their tenants.
    pub(super) async fn idle(
        &self,
        keys: &[&ConversationKey],
        before: Timestamp,
        erased: ErasedConversations,
    ) -> anyhow::Result<Vec<RowPosition>> {
        let mut idle = Vec::new();
        for (tenants, model) in &self.0 {
            let own: Vec<&ConversationKey> = keys.iter().copied().filter(|key| tenants.contains(&key.tenant)).collect();
            if !own.is_empty() {
                idle.extend(idle_conversations(model, &own, before, erased).await?);
            }
        }
        Ok(idle)
    }
}

/// Fails if a database is a shard.
async fn check_first(model: &ReadModel) -> anyhow::Result<()> {
    model.check().await?;
    if missing_tenants(model, &[]).await?.is_some() {
        return Ok(());
    }
    Err(UsageError(
        "the database is a shard: give the URL of the first database with --database-url, and those of shards with --shard-url"
            .to_owned(),
    )
    .into())
}

/// Takes the lock of the first database, which excludes other archive runs and rebuilds.
pub(super) async fn lock_first(model: &ReadModel) -> anyhow::Result<SchemasLock> {
    check_first(model).await?;
    lock(model).await
}

async fn lock(model: &ReadModel) -> anyhow::Result<SchemasLock> {
    SchemasLock::take(model).await?.context("a rebuild or another archive run is running: wait until it ends")
}
