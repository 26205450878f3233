//! `hansard erase`: erases conversations, users, channels and tenants. Accesses NATS directly, without a service.

mod again;
mod ledger;
mod plan;
mod run;
mod verify_receipt;

use std::path::PathBuf;

use domain::{ChannelId, ConversationId, TenantId, UserId};

use crate::commands::stores::Stores;
use crate::erase::{ForkRule, Subject};
use crate::exit::Exit;
use crate::ids::{channel, conversation, tenant, user};

/// Erase conversations permanently: by id, of a user, of a channel, or of a whole tenant.
///
/// The content is overwritten in the record. An anonymous tombstone remains, so that no rebuild, replay or restore brings the
/// content back. Archived segments are rewritten without it. The projector deletes the rows when it reads the tombstones.
/// docs/how-to/erase.md lists what remains in Postgres's own files and log, and for how long.
///
/// Safe on a live system. After an interruption, run the same command again: it resumes, and its receipt covers everything.
/// Ids that the record does not contain, not even as erased, are reported and are not in the receipt; the exit code is then 1.
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
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Erase conversations by their ids.
    Conversation {
        /// Ids of the conversations.
        #[arg(required = true, value_name = "ID", value_parser = conversation)]
        ids: Vec<ConversationId>,
        /// Tenant of the conversations.
        #[arg(long, value_parser = tenant)]
        tenant: TenantId,
        #[command(flatten)]
        options: EraseArgs,
    },
    /// Erase every conversation of a user, of all agents, including conversations that start meanwhile.
    User {
        /// Id of the user.
        #[arg(value_parser = user)]
        id: UserId,
        /// Tenant of the user.
        #[arg(long, value_parser = tenant)]
        tenant: TenantId,
        #[command(flatten)]
        options: EraseArgs,
    },
    /// Erase every keyed history of a channel, of all agents.
    Channel {
        /// Id of the channel: the `channelId` of `hansard history load --json`.
        #[arg(value_parser = channel)]
        id: ChannelId,
        /// Tenant of the channel.
        #[arg(long, value_parser = tenant)]
        tenant: TenantId,
        #[command(flatten)]
        options: EraseArgs,
    },
    /// Lock out the callers of a tenant, remove its agents, keys, tokens and policies, and erase all its conversations.
    Tenant {
        /// Id of the tenant.
        #[arg(value_parser = tenant)]
        id: TenantId,
        #[command(flatten)]
        options: EraseArgs,
    },
    /// Write a signed list of everything that is erased, by operators and by callers. Keep it apart from the record: the restore
    /// of an older backup needs it.
    Ledger(ledger::Args),
    /// Check the signature of a receipt, and that the record contains nothing that the receipt lists as erased.
    ///
    /// Exit code 0: the receipt is genuine and true; 5: it is not.
    VerifyReceipt(verify_receipt::Args),
    /// Repeat all erasures on every NATS server. Run it after one of several servers was restarted: that server may still hold
    /// what the others removed meanwhile.
    Again(again::Args),
}

/// The options of an erasure.
#[derive(Debug, clap::Args)]
struct EraseArgs {
    /// What happens to forks that read through an erased conversation.
    #[arg(long, value_enum, default_value_t = ForkRule::Refuse)]
    forks: ForkRule,
    /// Print what would be erased and what would prevent it, and erase nothing.
    #[arg(long)]
    dry_run: bool,
    /// File for the signed receipt.
    #[arg(long, value_name = "FILE")]
    receipt: Option<PathBuf>,
    /// Do not wait until the rows are deleted.
    #[arg(long)]
    no_rows: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    stores: Stores,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    let (subject, options) = match args.action {
        Action::Conversation { ids, tenant, options } => {
            let ids = ids.into_iter().collect();
            (Subject::Conversations { tenant, ids }, options)
        }
        Action::User { id: user, tenant, options } => (Subject::User { tenant, user }, options),
        Action::Channel { id: channel, tenant, options } => (Subject::Channel { tenant, channel }, options),
        Action::Tenant { id, options } => (Subject::Tenant(id), options),
        Action::Ledger(args) => return ledger::run(args).await,
        Action::VerifyReceipt(args) => return verify_receipt::run(args).await,
        Action::Again(args) => return again::run(args).await,
    };
    run::run(subject, options).await
}

/// The ids as strings.
fn names(ids: &[ConversationId]) -> Vec<&str> {
    ids.iter().map(ConversationId::as_str).collect()
}

/// The ids as part of a sentence.
fn listed(ids: &[ConversationId]) -> String {
    let plural = if ids.len() == 1 { "" } else { "s" };
    format!("conversation{plural} {}", names(ids).join(", "))
}
