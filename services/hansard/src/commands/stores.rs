//! Arguments with the addresses of NATS, Postgres and the archive, for operator commands that access them directly.

use std::fmt;
use std::time::Duration;

use archive::{Archive, StoreUrl};
use domain::TenantId;
use event_log::{Record, RecordConfig};
use read_model::shards;
use read_model::{ReadModel, ReadModelConfig, ReadModelError, TIMEOUT_MS_MAX, server_name};
use runtime::config::Secret;

use super::master_key_args::MasterKeyArgs;
use crate::exit::UsageError;
use crate::ids::secret;

/// Timeout of one call of the record. A server that restarts, or the election of a leader, takes less, and a command continues.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The address of NATS.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct NatsAddress {
    /// URL of NATS.
    #[arg(
        long, value_name = "URL", env = "HANSARD_RECORD__NATS_URL", hide_env_values = true,
        default_value = "nats://127.0.0.1:4222", value_parser = secret()
    )]
    pub(crate) nats_url: Secret,
    /// The master keys.
    #[command(flatten)]
    pub(crate) keys: MasterKeyArgs,
}

/// The address of the record.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RecordAddress {
    #[command(flatten)]
    nats: NatsAddress,
    /// Number of partitions of the record.
    #[arg(long, env = "HANSARD_RECORD__PARTITIONS", hide_env_values = true, default_value_t = RecordConfig::default().partitions)]
    partitions: u16,
}

impl RecordAddress {
    /// Opens the record, which must exist.
    pub(crate) async fn open(&self, client_name: &str) -> anyhow::Result<Record> {
        let request_timeout_ms = u64::try_from(REQUEST_TIMEOUT.as_millis()).unwrap_or(u64::MAX);
        Ok(Record::open(RecordConfig { request_timeout_ms, ..self.config(client_name)? }).await?)
    }

    /// The configuration of the record.
    pub(super) fn config(&self, client_name: &str) -> Result<RecordConfig, UsageError> {
        Ok(RecordConfig {
            partitions: self.partitions,
            client_name: client_name.to_owned(),
            master_keys: self.nats.keys.read()?,
            ..RecordConfig::new(self.nats.nats_url.expose())
        })
    }
}

/// The address of the read models.
#[derive(Clone, clap::Args)]
pub(crate) struct ReadModelAddress {
    /// URL of Postgres.
    #[arg(
        long, value_name = "URL", env = "HANSARD_READ_MODEL__DATABASE_URL", hide_env_values = true,
        default_value_t = ReadModelConfig::default().database_url
    )]
    database_url: String,
}

impl ReadModelAddress {
    /// The read models. The connection opens with the first use.
    pub(crate) fn open(&self) -> Result<ReadModel, ReadModelError> {
        ReadModel::connect_lazy(&ReadModelConfig::new(self.database_url.clone()))
    }

    /// The read models with the longest statement timeout, for statements over many rows.
    pub(crate) fn open_for_long_statements(&self) -> Result<ReadModel, ReadModelError> {
        ReadModel::connect_lazy(&ReadModelConfig {
            statement_timeout_ms: TIMEOUT_MS_MAX,
            ..ReadModelConfig::new(self.database_url.clone())
        })
    }
}

/// Fails if the rows of a database and the record do not belong together.
pub(crate) async fn check_belong(record: &Record, model: &ReadModel) -> anyhow::Result<()> {
    let diverged = divergence::find(record, model).await?;
    if let Some(first) = diverged.first() {
        let others = diverged.len() - 1;
        anyhow::bail!(
            "rows and record do not belong together ({first}, and {others} more): see `hansard rebuild from-record --dry-run`"
        );
    }
    Ok(())
}

/// Fails if the rows of a tenant are in another database than that of a command.
pub(crate) async fn check_has_rows_of(model: &ReadModel, tenant: &TenantId) -> anyhow::Result<()> {
    match shards::other_database(model, tenant).await? {
        None => Ok(()),
        Some(database) => Err(other_database(tenant, &database).into()),
    }
}

/// The rows of a tenant are in another database than that of a command.
pub(crate) fn other_database(tenant: &TenantId, database: &str) -> UsageError {
    UsageError(format!("the rows of tenant {tenant} are in {database}: give its URL with --database-url"))
}

/// The addresses of replicas of Postgres.
#[derive(Clone, clap::Args)]
pub(crate) struct ReplicaAddresses {
    /// URL of a streaming replica of Postgres. Repeat the option for several.
    #[arg(long = "replica-url", value_name = "URL")]
    urls: Vec<String>,
}

impl ReplicaAddresses {
    /// Name and read models of each replica. The connection opens with the first use.
    pub(crate) fn open(&self) -> Result<Vec<(String, ReadModel)>, ReadModelError> {
        open_servers(&self.urls)
    }
}

/// Address and read models of each server.
fn open_servers(urls: &[String]) -> Result<Vec<(String, ReadModel)>, ReadModelError> {
    let servers = urls.iter().map(|url| {
        let model = ReadModel::connect_lazy(&ReadModelConfig::new(url))?;
        Ok((server_name(url)?, model))
    });
    servers.collect()
}

/// The addresses of shards.
#[derive(Clone, clap::Args)]
pub(crate) struct ShardAddresses {
    /// URL of the database of a shard. Repeat the option for each shard.
    #[arg(id = "shard_urls", long = "shard-url", value_name = "URL")]
    urls: Vec<String>,
}

impl ShardAddresses {
    /// Address and read models of each shard. The connection opens with the first use.
    pub(crate) fn open(&self) -> Result<Vec<(String, ReadModel)>, ReadModelError> {
        open_servers(&self.urls)
    }

    /// The read models of each shard, with the longest statement timeout. The connection opens with the first use.
    pub(crate) fn open_for_long_statements(&self) -> Result<Vec<ReadModel>, ReadModelError> {
        let urls = self.urls.iter().cloned();
        let addresses = urls.map(|database_url| ReadModelAddress { database_url });
        addresses.map(|address| address.open_for_long_statements()).collect()
    }
}

/// The addresses of the record, the read models and the archive.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Stores {
    /// The record.
    #[command(flatten)]
    pub(crate) record: RecordAddress,
    /// The read models.
    #[command(flatten)]
    pub(crate) read_model: ReadModelAddress,
    /// The archive.
    #[command(flatten)]
    pub(crate) archive: ArchiveAddress,
}

impl Stores {
    /// Opens the record with its archive.
    pub(crate) async fn open_archive(&self, client_name: &str) -> anyhow::Result<Archive> {
        Ok(self.archive.of(&self.record.open(client_name).await?))
    }
}

/// The form of a store URL.
pub(crate) const STORE: &str = "file:///FOLDER|s3://BUCKET/PREFIX";

/// The store of archived segments.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ArchiveAddress {
    /// Store of the archived segments, if it is not the one in the record's catalogue.
    #[arg(id = "archive_url", long = "archive", value_name = STORE, value_parser = store_url)]
    pub(super) url: Option<StoreUrl>,
}

impl ArchiveAddress {
    /// The archive of a record.
    pub(crate) fn of(&self, record: &Record) -> Archive {
        Archive::of(record).moved_to(self.url.clone())
    }
}

/// Parses the URL of a store.
pub(crate) fn store_url(text: &str) -> Result<StoreUrl, String> {
    StoreUrl::parse(text).map_err(|error| error.to_string())
}

// URLs may contain a password.
impl fmt::Debug for ReplicaAddresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplicaAddresses").finish_non_exhaustive()
    }
}

impl fmt::Debug for ShardAddresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShardAddresses").finish_non_exhaustive()
    }
}

impl fmt::Debug for ReadModelAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadModelAddress").finish_non_exhaustive()
    }
}
