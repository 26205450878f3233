//! `hansard rebuild`: computes the rows of the read models again while everything runs.

mod catch_up;
mod compare;
mod conversations;
mod copy;
mod drop;
mod from_record;
mod list;
mod losses;
mod plan;
mod report;
mod rollback;
mod search;

use anyhow::Context as _;
use archive::Archive;
use clap::Subcommand;
use divergence::find_in_schema;
use event_log::Record;
use projector::{ProjectionDependencies, ProjectionKind, ProjectorConfig, project};
use read_model::ReadModel;
use read_model::schemas::SchemasLock;
use runtime::failure_log::FailureLog;
use runtime::shutdown::Shutdown;
use tokio::task::JoinHandle;

use crate::exit::Exit;

/// Compute the rows of the read models again, without downtime.
///
/// The rows are in a schema of Postgres. A rebuild fills a new schema from the record, compares it with the live one, and
/// switches readers and projectors to it. The previous schema is kept for a rollback. After an interruption, run the same
/// command again: it resumes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard rebuild conversations --dry-run
  hansard rebuild conversations
  hansard rebuild list
  hansard rebuild rollback
  hansard rebuild drop
  hansard rebuild search --tenant acme
  hansard rebuild from-record --dry-run")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Conversations(conversations::Args),
    Rollback(rollback::Args),
    Drop(drop::Args),
    List(list::Args),
    Search(search::Args),
    FromRecord(from_record::Args),
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    match args.action {
        Action::Conversations(args) => Box::pin(conversations::run(args)).await,
        Action::Rollback(args) => Box::pin(rollback::run(args)).await,
        Action::Drop(args) => drop::run(args).await,
        Action::List(args) => list::run(args).await,
        Action::Search(args) => search::run(args).await,
        Action::FromRecord(args) => Box::pin(from_record::run(args)).await,
    }
}

/// Takes the lock for changes of the schemas.
async fn lock(model: &ReadModel) -> anyhow::Result<SchemasLock> {
    SchemasLock::take(model).await?.context("another process is changing the schemas: wait until it ends")
}

/// Checks that a schema that is not live was computed from this record.
async fn check_continued(record: &Record, schema: &ReadModel) -> anyhow::Result<()> {
    let diverged = find_in_schema(record, schema, None).await?;
    if let Some(first) = diverged.first() {
        anyhow::bail!("the schema cannot be continued ({first}): drop it with `hansard rebuild drop`");
    }
    Ok(())
}

/// A running projector of this process, which writes a schema that is not live.
#[derive(Debug)]
struct TemporaryProjector {
    shutdown: Shutdown,
    task: JoinHandle<()>,
}

impl TemporaryProjector {
    /// Starts to project into the schema of `model`.
    fn start(archive: &Archive, model: &ReadModel, shutdown: &Shutdown) -> Self {
        let shutdown = shutdown.child();
        let means = ProjectionDependencies {
            config: ProjectorConfig::default(),
            archive: archive.clone(),
            model: model.clone(),
            kind: ProjectionKind::Conversations,
            outages: FailureLog::default(),
        };
        let until = shutdown.clone();
        let task = tokio::spawn(async move { project(means, &until).await });
        Self { shutdown, task }
    }

    /// Stops it and releases its leases.
    async fn stop(self) -> anyhow::Result<()> {
        self.shutdown.begin();
        self.task.await?;
        Ok(())
    }
}
