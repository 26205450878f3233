//! `hansard rebuild`: computes the rows of the read models again while everything runs.

mod catch_up;
mod compare;
mod conversations;
mod copy;
mod drop;
mod list;
mod plan;
mod report;
mod rollback;
mod temporary_projector;

use clap::Subcommand;
use read_model::ReadModel;
use read_model::schemas::SchemasLock;

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
  hansard rebuild drop")]
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
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    match args.action {
        Action::Conversations(args) => Box::pin(conversations::run(args)).await,
        Action::Rollback(args) => Box::pin(rollback::run(args)).await,
        Action::Drop(args) => drop::run(args).await,
        Action::List(args) => list::run(args).await,
    }
}

/// Takes the lock for changes of the schemas.
async fn lock(model: &ReadModel) -> anyhow::Result<SchemasLock> {
    let lock = SchemasLock::take(model).await?;
    lock.ok_or_else(|| {
        anyhow::anyhow!("another process is changing the schemas: wait until it ends")
    })
}
