//! Where the record and the read models are, as operators' commands take it: they read both themselves, with no service
//! in between.

use std::fmt;

use archive::{Archive, ArchiveError, StoreUrl};
use event_log::{ArchiveEntry, Record, RecordConfig};
use read_model::{ReadModel, ReadModelConfig, ReadModelError, TIMEOUT_MS_MAX};

use super::master_key_args::MasterKeyArgs;
use crate::exit::UsageError;

/// How to reach NATS.
#[derive(Clone, clap::Args)]
pub struct NatsAddress {
    /// NATS, as writers reach it.
    #[arg(
        long,
        value_name = "URL",
        env = "HANSARD_RECORD__NATS_URL",
        hide_env_values = true,
        default_value = "nats://127.0.0.1:4222"
    )]
    pub nats_url: String,
    /// The keys of secrets.
    #[command(flatten)]
    pub keys: MasterKeyArgs,
}

/// How to reach the record.
#[derive(Clone, clap::Args)]
pub struct RecordAddress {
    #[command(flatten)]
    nats: NatsAddress,
    /// Partitions of the record.
    #[arg(long, env = "HANSARD_RECORD__PARTITIONS", hide_env_values = true, default_value_t = RecordConfig::default().partitions)]
    pub partitions: u16,
}

impl RecordAddress {
    /// The record, which must be there.
    ///
    /// # Errors
    /// It cannot be reached, or is another than the one described.
    pub async fn open(&self, client_name: &str) -> anyhow::Result<Record> {
        Ok(Record::open(self.config(client_name)?).await?)
    }

    /// How the record is reached.
    ///
    /// # Errors
    /// A master key is none.
    pub(super) fn config(&self, client_name: &str) -> Result<RecordConfig, UsageError> {
        Ok(RecordConfig {
            partitions: self.partitions,
            client_name: client_name.to_owned(),
            master_keys: self.nats.keys.read()?,
            ..RecordConfig::new(self.nats.nats_url.clone())
        })
    }
}

/// How to reach the read models.
#[derive(Clone, clap::Args)]
pub struct ReadModelAddress {
    /// Postgres, as projectors reach it.
    #[arg(
        long,
        value_name = "URL",
        env = "HANSARD_READ_MODEL__DATABASE_URL",
        hide_env_values = true,
        default_value_t = ReadModelConfig::default().database_url
    )]
    pub database_url: String,
}

impl ReadModelAddress {
    /// The read models; connected when they are first used.
    ///
    /// # Errors
    /// The URL is none.
    pub fn open(&self) -> Result<ReadModel, ReadModelError> {
        ReadModel::connect_lazy(&ReadModelConfig::new(self.database_url.clone()))
    }

    /// The same for work on many rows at a time: a statement may take as long as it may be configured to.
    ///
    /// # Errors
    /// The URL is none.
    pub fn open_for_long_statements(&self) -> Result<ReadModel, ReadModelError> {
        ReadModel::connect_lazy(&ReadModelConfig {
            statement_timeout_ms: TIMEOUT_MS_MAX,
            ..ReadModelConfig::new(self.database_url.clone())
        })
    }
}

/// How to reach the record, the read models, and what of the record is elsewhere.
#[derive(Debug, Clone, clap::Args)]
pub struct Stores {
    /// The record.
    #[command(flatten)]
    pub record: RecordAddress,
    /// The read models.
    #[command(flatten)]
    pub read_model: ReadModelAddress,
    /// The archive.
    #[command(flatten)]
    pub archive: ArchiveAddress,
}

impl Stores {
    /// The record with its archive.
    ///
    /// # Errors
    /// As [`RecordAddress::open`].
    pub async fn open_archive(&self, client_name: &str) -> anyhow::Result<Archive> {
        Ok(self.archive.of(&self.record.open(client_name).await?))
    }
}

/// How a store of segments is named.
pub const STORE: &str = "file:///FOLDER|s3://BUCKET/PREFIX";

/// Where archived segments are.
#[derive(Debug, Clone, clap::Args)]
pub struct ArchiveAddress {
    /// Where archived segments are, when they are not where the record's catalogue says.
    #[arg(id = "archive_url", long = "archive", value_name = STORE, value_parser = store_url)]
    url: Option<StoreUrl>,
}

impl ArchiveAddress {
    /// The archive of a record.
    #[must_use]
    pub fn of(&self, record: &Record) -> Archive {
        Archive::of(record).moved_to(self.url.clone())
    }

    /// Looks for the segments of a catalogue; how many there are.
    ///
    /// # Errors
    /// One is not there.
    pub async fn look_for(&self, catalogue: &[ArchiveEntry]) -> Result<usize, ArchiveError> {
        archive::look_for(catalogue, self.url.as_ref()).await
    }
}

/// A store, as it is named on the command line.
///
/// # Errors
/// What is wrong with it.
pub fn store_url(text: &str) -> Result<StoreUrl, String> {
    StoreUrl::parse(text).map_err(|error| error.to_string())
}

// URLs may hold passwords.
impl fmt::Debug for NatsAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsAddress").finish_non_exhaustive()
    }
}

impl fmt::Debug for RecordAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordAddress")
            .field("partitions", &self.partitions)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ReadModelAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadModelAddress").finish_non_exhaustive()
    }
}
