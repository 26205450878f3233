//! `hansard partitions`: lists the partitions of the record, adds some, and spreads their leaders and replicas.

mod add;
mod balance;
mod list;

use clap::Subcommand;

use crate::exit::Exit;

/// List the partitions of the record, add partitions, or spread their leaders and replicas over the NATS servers.
///
/// Conversations are spread over the partitions, which are independent streams. Accesses NATS directly.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard partitions list
  hansard partitions add 24 --dry-run
  hansard partitions add 24
  hansard partitions balance --dry-run
  hansard partitions balance --replicas --nats-url nats://n1:4222,nats://n4:4222
  hansard partitions balance --drain n1 --nats-url nats://n2:4222,nats://n4:4222")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(list::Args),
    Add(add::Args),
    Balance(balance::Args),
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    match args.action {
        Action::List(args) => list::run(args).await,
        Action::Add(args) => add::run(args).await,
        Action::Balance(args) => balance::run(args).await,
    }
}
