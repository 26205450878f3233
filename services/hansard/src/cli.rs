//! The command line: one variant per command, whose arguments are in the command's file.

use clap::{Parser, Subcommand};
use rustix::fs::Mode;

use crate::commands::{
    agent, archive, audit, backup, bootstrap, capacity, chat, completions, context, dashboard, dev, erase, history,
    import, key, man, master_key, mcp, migrate, parked, partitions, policy, rebuild, receipt_key, replay, restore,
    role, search, signing_key, status, tail, tenant, token, usage, verify, verify_receipt, watch, widget,
};
use crate::exit::{self, Exit};

/// Hansard stores the conversations of AI agents and builds the context for the next model call.
#[derive(Debug, Parser)]
#[command(name = "hansard", version, after_help = exit::HELP, propagate_version = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// A command. Its help is the documentation of its arguments.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Dev(dev::Args),
    /// Run a writer, which appends to the record and serves the registry.
    #[command(after_help = "\
Environment variables: HANSARD_ and the setting in upper case, with two underscores for each dot.

Examples:
  hansard writer --config /etc/hansard/writer.toml
  HANSARD_RECORD__NATS_URL=nats://nats:4222 hansard writer --set grpc.addr=0.0.0.0:7301")]
    Writer(role::Settings),
    /// Run a projector, which writes the rows of the read models.
    #[command(after_help = "\
Environment variables: HANSARD_ and the setting in upper case, with two underscores for each dot.

Examples:
  hansard projector --config /etc/hansard/projector.toml
  hansard projector --set read_model.database_url=postgres://hansard@db/hansard")]
    Projector(role::Settings),
    /// Run a gateway, which answers reads, assembles contexts, runs models and serves HTTP.
    #[command(after_help = "\
Environment variables: HANSARD_ and the setting in upper case, with two underscores for each dot.

Examples:
  hansard gateway --config /etc/hansard/gateway.toml
  HANSARD_TELEMETRY__LOG_FORMAT=json hansard gateway --set grpc.addr=0.0.0.0:7302")]
    Gateway(role::Settings),
    Bootstrap(bootstrap::Args),
    Tenant(tenant::Args),
    Agent(agent::Args),
    Policy(policy::Args),
    Key(key::Args),
    SigningKey(signing_key::Args),
    MasterKey(master_key::Args),
    Migrate(migrate::Args),
    ReceiptKey(receipt_key::Args),
    Token(token::Args),
    Usage(usage::Args),
    Dashboard(dashboard::Args),
    Import(import::Args),
    Context(context::Args),
    VerifyReceipt(verify_receipt::Args),
    History(history::Args),
    Search(search::Args),
    Audit(audit::Args),
    Chat(chat::Args),
    Mcp(mcp::Args),
    Widget(widget::Args),
    Tail(tail::Args),
    Archive(archive::Args),
    Erase(erase::Args),
    Backup(backup::Args),
    Restore(restore::Args),
    Status(status::Args),
    Watch(watch::Args),
    Parked(parked::Args),
    Partitions(partitions::Args),
    Replay(replay::Args),
    Verify(verify::Args),
    Rebuild(rebuild::Args),
    Capacity(capacity::Args),
    Completions(completions::Args),
    Man(man::Args),
}

impl Command {
    pub(crate) async fn run(self) -> anyhow::Result<Exit> {
        if self.has_private_files() {
            // Backups, receipts and archives contain messages.
            rustix::process::umask(Mode::RWXG | Mode::RWXO);
        }
        match self {
            // Boxed, to keep the future of every command small.
            Self::Dev(args) => Box::pin(dev::run(args)).await,
            Self::Writer(args) => role::run::<writer::WriterConfig>(args).await,
            Self::Projector(args) => role::run::<projector::ProjectorConfig>(args).await,
            Self::Gateway(args) => Box::pin(role::run::<gateway::GatewayConfig>(args)).await,
            Self::Bootstrap(args) => bootstrap::run(args).await,
            Self::Tenant(args) => tenant::run(args).await,
            Self::Agent(args) => agent::run(args).await,
            Self::Policy(args) => policy::run(args).await,
            Self::Key(args) => key::run(args).await,
            Self::SigningKey(args) => signing_key::run(args).await,
            Self::MasterKey(args) => master_key::run(args).await,
            Self::Migrate(args) => migrate::run(args).await,
            Self::ReceiptKey(args) => receipt_key::run(args).await,
            Self::Token(args) => token::run(args).await,
            Self::Usage(args) => usage::run(args).await,
            Self::Dashboard(args) => dashboard::run(args).await,
            Self::Import(args) => import::run(args).await,
            Self::Context(args) => context::run(args).await,
            Self::VerifyReceipt(args) => verify_receipt::run(args).await,
            Self::History(args) => history::run(args).await,
            Self::Search(args) => search::run(args).await,
            Self::Audit(args) => audit::run(args).await,
            Self::Chat(args) => Box::pin(chat::run(args)).await,
            Self::Mcp(args) => mcp::run(args).await,
            Self::Widget(args) => widget::run(args),
            Self::Tail(args) => tail::run(args).await,
            Self::Archive(args) => archive::run(args).await,
            Self::Erase(args) => erase::run(args).await,
            Self::Backup(args) => backup::run(args).await,
            Self::Restore(args) => restore::run(args).await,
            Self::Status(args) => status::run(args).await,
            Self::Watch(args) => watch::run(args).await,
            Self::Parked(args) => parked::run(args).await,
            Self::Partitions(args) => partitions::run(args).await,
            Self::Replay(args) => replay::run(args).await,
            Self::Verify(args) => verify::run(args).await,
            Self::Rebuild(args) => rebuild::run(args).await,
            Self::Capacity(args) => capacity::run(&args),
            Self::Completions(args) => completions::run(args),
            Self::Man(args) => man::run(args),
        }
    }

    /// Whether only their owner may read the files that the command creates. The servers of `dev` run as other users, and manuals
    /// are public.
    fn has_private_files(&self) -> bool {
        !matches!(self, Self::Dev(_) | Self::Man(_))
    }
}

#[cfg(test)]
mod tests;
