//! `hansard rebuild`: the rows of the read models, made anew from the record while everything goes on.

mod caught_up;
mod compare;
mod conversations;
mod copy;
mod drop;
mod following;
mod list;
mod plan;
mod report;
mod rollback;

use clap::Subcommand;
use read_model::ReadModel;
use read_model::schemas::SchemasLock;

use crate::exit::Exit;

/// Make the rows of the read models anew, with no downtime.
///
/// Rows live in a schema of Postgres. A rebuild fills the next one from the record, compares it with the live one, and has
/// readers and projectors go on in it. The one that was live is kept, for a way back. Whatever is stopped or killed goes on
/// where it was when it is run again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard rebuild conversations --dry-run
  hansard rebuild conversations
  hansard rebuild list
  hansard rebuild rollback
  hansard rebuild drop")]
pub struct Args {
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

/// Runs the command.
///
/// # Errors
/// The record or the read models cannot be reached, or another process changes the schemas.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    match args.action {
        Action::Conversations(args) => Box::pin(conversations::run(args)).await,
        Action::Rollback(args) => Box::pin(rollback::run(args)).await,
        Action::Drop(args) => drop::run(args).await,
        Action::List(args) => list::run(args).await,
    }
}

/// The right to change the schemas.
async fn lock(model: &ReadModel) -> anyhow::Result<SchemasLock> {
    let lock = SchemasLock::take(model).await?;
    lock.ok_or_else(|| {
        anyhow::anyhow!("another process is changing the schemas: wait for it to end")
    })
}
