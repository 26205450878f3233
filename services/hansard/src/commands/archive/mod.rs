//! `hansard archive`: old commits leave the record's streams for sealed segments elsewhere. Reads NATS, Postgres and the
//! segments' store itself, with no service in between.

mod age;
mod filling;
mod gather;
mod leftovers;
mod list;
mod plan;
mod read;
mod report;
mod run;
mod run_scope;
mod sweep;
mod verify;

use read_model::ReadModel;
use read_model::schemas::SchemasLock;

use crate::exit::Exit;

/// Move old commits out of the record into sealed segments, in a folder or in S3.
///
/// A conversation's last commit stays, and with it all that appending needs; rows stay, and with them all that reading needs.
/// What is in segments is read when rows are made anew, verified, or erased, so the segments' store must be kept as safe as
/// the record. The record itself knows which segments there are.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard archive run --older-than 90d --to file:///srv/archive --dry-run
  hansard archive run --older-than 90d --to file:///srv/archive
  hansard archive list
  hansard archive verify
  hansard archive read --tenant acme --conversation c-1 --format transcript")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Run(run::Args),
    List(list::Args),
    Verify(verify::Args),
    Sweep(sweep::Args),
    Read(read::Args),
}

/// Runs the command.
///
/// # Errors
/// The arguments are wrong, or the record, Postgres or the segments' store does not answer: run again.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    match args.action {
        Action::Run(args) => Box::pin(run::run(args)).await,
        Action::List(args) => list::run(args).await,
        Action::Verify(args) => verify::run(args).await,
        Action::Sweep(args) => sweep::run(args).await,
        Action::Read(args) => read::run(args).await,
    }
}

/// The right to take commits out of the record: nobody makes rows anew meanwhile, and nobody else archives.
async fn lock(model: &ReadModel) -> anyhow::Result<SchemasLock> {
    let lock = SchemasLock::take(model).await?;
    lock.ok_or_else(|| {
        anyhow::anyhow!("a rebuild or another archive run is under way: wait for it to end")
    })
}
