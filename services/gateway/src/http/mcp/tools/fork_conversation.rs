//! `fork_conversation`: continues a conversation in a new one, from any of its versions.

use domain::{Version, ViolationReason};
use rmcp::model::Tool;
use rmcp::schemars::JsonSchema;
use runtime::http::HttpProblem;
use serde::{Deserialize, Serialize};
use wire::proto::event::v1::ForkPoint;

use super::new_conversation::{NewConversation, create, recorded_at};
use super::{ToolContext, ToolName, adds, define};
use crate::http::mcp::failure::Failure;
use crate::http::mcp::objects::ConversationObject;
use crate::http::mcp::time::iso8601;
use conversations::open::read_conversation;
use http_listener::not_found::not_found;

/// The arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The conversation to continue.
    conversation_id: String,
    /// The last event that the fork shares, from `export_conversation`; the newest one if it is left out.
    #[schemars(range(min = 1))]
    version: Option<u64>,
    /// The title of the fork, at most 1,024 bytes.
    title: Option<String>,
}

/// The fork.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct Fork {
    /// The fork.
    #[serde(flatten)]
    conversation: ConversationObject,
    /// Where it leaves its parent.
    forked_from: ForkOrigin,
}

/// The point of a fork.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct ForkOrigin {
    /// The parent.
    conversation_id: String,
    /// The last version that the fork shares with it.
    version: u64,
}

pub(super) fn definition() -> Tool {
    define::<Arguments, Fork>(
        ToolName::ForkConversation,
        "Fork conversation",
        "Continues a conversation in a new one of the same owner, and returns the new one. The original does not change. Use it to \
         try another answer without losing the first.",
        adds(),
    )
}

pub(super) async fn call(context: ToolContext<'_>, arguments: Arguments) -> Result<Fork, Failure> {
    let id = arguments.conversation_id.clone();
    fork(context, arguments).await.map_err(|problem| Failure::of(problem, &id))
}

/// The last version that the fork shares.
fn version(given: Option<u64>, last: Version) -> Result<u64, HttpProblem> {
    let version = given.unwrap_or(last.0);
    if (1..=last.0).contains(&version) {
        return Ok(version);
    }
    let detail = format!("must be between 1 and {last}, and is {version}");
    Err(HttpProblem::of_field(ViolationReason::OutOfRange, "version", detail))
}

async fn fork(context: ToolContext<'_>, arguments: Arguments) -> Result<Fork, HttpProblem> {
    let id = arguments.conversation_id;
    let target = context.caller.target(context.state, &id).await?;
    let (parent, _) = read_conversation(context.state, &target).await?;
    let version = version(arguments.version, parent.head.version)?;
    let title = arguments.title.filter(|title| !title.is_empty());
    let parent_object = ConversationObject::from(&parent);
    let new = NewConversation {
        agent: Some(parent.head.agent.as_str().to_owned()),
        owner: parent.head.owner.ok_or_else(not_found)?,
        title: title.clone().unwrap_or_default(),
        forked_from: Some(ForkPoint {
            conversation_id: target.key.conversation.as_str().to_owned(),
            version,
            depth: 0,
        }),
    };
    let commit = create(context, new).await?;
    let created_at = iso8601(recorded_at(&commit)?);
    Ok(Fork {
        conversation: ConversationObject {
            id: commit.conversation_id,
            user_id: parent_object.user_id,
            title,
            updated_at: created_at.clone(),
            created_at,
        },
        forked_from: ForkOrigin { conversation_id: id, version },
    })
}
