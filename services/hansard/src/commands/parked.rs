//! `hansard parked`: shows and repairs conversations that cannot be projected.

mod drop;
mod list;
mod retry;
mod show;

use anyhow::Context as _;
use clap::Subcommand;
use domain::{ConversationId, ConversationKey, TenantId};
use read_model::ReadModel;
use read_model::projections::conversations::parking::{self, ParkedConversation};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::ids::{conversation, key, tenant};

/// Show conversations that cannot be projected, retry them, or drop their commits.
///
/// A commit that cannot be projected parks its conversation: readers see the state before that commit, and its later commits
/// wait. All other conversations continue. The record keeps everything. Accesses NATS and Postgres directly.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard parked list
  hansard parked show acme c-1
  hansard parked retry acme c-1
  hansard parked retry --all
  hansard parked drop acme c-1 --dry-run
  hansard parked drop acme c-1 --yes && hansard parked retry acme c-1")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(list::Args),
    Show(show::Args),
    Retry(retry::Args),
    Drop(drop::Args),
}

/// The arguments that name a conversation.
#[derive(Debug, Clone, clap::Args)]
struct ConversationArgs {
    /// Tenant of the conversation.
    #[arg(value_parser = tenant)]
    tenant: TenantId,
    /// Id of the conversation.
    #[arg(value_parser = conversation)]
    conversation: ConversationId,
}

impl ConversationArgs {
    fn key(&self) -> ConversationKey {
        key(&self.tenant, &self.conversation)
    }
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    match args.action {
        Action::List(args) => list::run(args).await,
        Action::Show(args) => show::run(args).await,
        Action::Retry(args) => retry::run(args).await,
        Action::Drop(args) => drop::run(args).await,
    }
}

/// A parked conversation as JSON.
fn json_of(parked: &ParkedConversation) -> Value {
    json!({
        "tenantId": parked.key.tenant.as_str(),
        "conversationId": parked.key.conversation.as_str(),
        "partition": parked.position.partition.0,
        "sequence": parked.position.sequence.0,
        "attempts": parked.attempts,
        "commits": parked.commits,
        "reason": parked.reason,
    })
}

/// Finds a parked conversation; an error if it is not parked.
async fn find_parked(model: &ReadModel, key: &ConversationKey) -> anyhow::Result<ParkedConversation> {
    let (tenant, conversation) = (&key.tenant, &key.conversation);
    let missing = || format!("{tenant} / {conversation} is not parked: see `hansard parked list`");
    parking::find(model, key).await?.with_context(missing)
}
