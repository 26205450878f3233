//! `hansard erase`: conversations, users and tenants, for good. Reads and writes NATS itself, with no service in between.

mod again;
mod conversation_names;
mod ledger;
mod plan;
mod run;
mod verify_receipt;

use std::path::PathBuf;

use crate::commands::stores::Stores;
use crate::erase::ForkRule;
use crate::exit::Exit;

/// Erase conversations for good: of an id, of a user, of a channel, or of a whole tenant.
///
/// What was said is overwritten in the record; a tombstone without a name stays in its place, so that no rebuild, replay
/// or restore brings anything back. What is archived is written anew without it. Rows go as the projector comes to the tombstones. What is left in Postgres's own
/// files and log, and for how long, is told in docs/how-to/erase.md.
///
/// Safe on a live system. Can be stopped and run again: it goes on, and its receipt names all of it. What the record knows
/// nothing of, not even as erased, is told and signed by no receipt; then the command ends with 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard erase conversation c-1 --tenant acme --dry-run
  hansard erase conversation c-1 --tenant acme --forks erase --receipt c-1.json
  hansard erase user ada --tenant acme --receipt receipts/ada.json
  hansard erase channel CHANNEL_ID --tenant acme --receipt receipts/chat.json
  hansard erase tenant acme --receipt receipts/acme.json
  hansard erase ledger receipts/all.json
  hansard erase verify-receipt receipts/ada.json
  hansard erase again --dry-run")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Erase conversations by their ids.
    Conversation {
        /// The conversations.
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        /// Their tenant.
        #[arg(long)]
        tenant: String,
        #[command(flatten)]
        how: How,
    },
    /// Erase every conversation that belongs to a user, with whichever agent, those begun meanwhile among them.
    User {
        /// The user.
        id: String,
        /// The user's tenant.
        #[arg(long)]
        tenant: String,
        #[command(flatten)]
        how: How,
    },
    /// Erase every history under a caller's key that belongs to a channel, with whichever agent.
    Channel {
        /// The channel, as `hansard history load --json` prints it: `channelId`.
        id: String,
        /// The channel's tenant.
        #[arg(long)]
        tenant: String,
        #[command(flatten)]
        how: How,
    },
    /// Shut out a tenant's callers, remove its agents, keys, tokens and policies, and erase all its conversations.
    Tenant {
        /// The tenant.
        id: String,
        #[command(flatten)]
        how: How,
    },
    /// Write a signed list of all that is erased, whoever erased it: keep it away from the record, for the restore of a
    /// backup that is older.
    Ledger(ledger::Args),
    /// Check the signature of a receipt, and that the record holds nothing of what it says is erased.
    ///
    /// Exit code 0: all is as it says; 5: it is not.
    VerifyReceipt(verify_receipt::Args),
    /// Erase once more, on every server, what is erased: after a server of several was restarted, which can keep what the
    /// others removed meanwhile.
    Again(again::Args),
}

/// How to erase.
#[derive(Debug, clap::Args)]
struct How {
    /// What becomes of forks that read through what is erased.
    #[arg(long, value_enum, default_value_t = ForkRule::Refuse)]
    forks: ForkRule,
    /// Say what would be erased, and what would refuse it; erase nothing.
    #[arg(long)]
    dry_run: bool,
    /// Write the signed receipt to this file.
    #[arg(long, value_name = "FILE")]
    receipt: Option<PathBuf>,
    /// Do not wait until the rows are gone.
    #[arg(long)]
    no_rows: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    stores: Stores,
}

/// Runs the command.
///
/// # Errors
/// The arguments are wrong, or the record or Postgres does not answer: run again.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    match args.action {
        Action::Conversation { ids, tenant, how } => {
            run::run(run::conversations(&tenant, &ids)?, how).await
        }
        Action::User { id, tenant, how } => run::run(run::user(&tenant, &id)?, how).await,
        Action::Channel { id, tenant, how } => run::run(run::channel(&tenant, &id)?, how).await,
        Action::Tenant { id, how } => run::run(run::tenant(&id)?, how).await,
        Action::Ledger(args) => ledger::run(args).await,
        Action::VerifyReceipt(args) => verify_receipt::run(args).await,
        Action::Again(args) => again::run(args).await,
    }
}
