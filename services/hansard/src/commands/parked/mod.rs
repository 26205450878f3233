//! `hansard parked`: conversations that cannot be projected: what they are, and what can be done for them.

mod drop;
mod list;
mod retry;
mod show;

use clap::Subcommand;
use domain::{ConversationId, ConversationKey, TenantId};
use read_model::projections::conversations::parking::ParkedConversation;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::ids::{conversation, tenant};

/// Show, try again or give up what cannot be projected.
///
/// A commit that cannot be projected parks its conversation: readers see it as it was before, its later commits wait behind
/// that one, and all other conversations go on. The record holds everything all the while. Reads NATS and Postgres themselves.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard parked list
  hansard parked show acme c-1
  hansard parked retry acme c-1
  hansard parked retry --all
  hansard parked drop acme c-1 --dry-run
  hansard parked drop acme c-1 --yes && hansard parked retry acme c-1")]
pub struct Args {
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

/// One parked conversation.
#[derive(Debug, Clone, clap::Args)]
struct Which {
    /// Its tenant.
    #[arg(value_parser = tenant)]
    tenant: TenantId,
    /// The conversation.
    #[arg(value_parser = conversation)]
    conversation: ConversationId,
}

impl Which {
    fn key(&self) -> ConversationKey {
        ConversationKey {
            tenant: self.tenant.clone(),
            conversation: self.conversation.clone(),
        }
    }
}

/// Runs the command.
///
/// # Errors
/// NATS or Postgres does not answer.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    match args.action {
        Action::List(args) => list::run(args).await,
        Action::Show(args) => show::run(args).await,
        Action::Retry(args) => retry::run(args).await,
        Action::Drop(args) => drop::run(args).await,
    }
}

/// A parked conversation for machines.
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

/// What is said of a conversation that is not parked.
fn not_parked(which: &Which) -> anyhow::Error {
    let (tenant, conversation) = (&which.tenant, &which.conversation);
    anyhow::anyhow!("{tenant} / {conversation} is not parked")
}
