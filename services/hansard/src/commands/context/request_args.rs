//! Arguments of a context request.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use formats::Format;
use wire::proto::read::v1 as proto;
use wire::proto::read::v1::assemble_context_request::Policy;

use super::super::input_file;

/// The maximum size of a policy file; the limit of a policy is lower.
const POLICY_FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The arguments of a context request, except the conversation.
#[derive(Debug, clap::Args)]
pub(super) struct ContextRequestArgs {
    /// Agent of the conversation.
    #[arg(long, env = "HANSARD_AGENT", hide_env_values = true)]
    pub(super) agent: String,
    /// Maximum number of messages, 1 to 1,000; a turn and its tool results are never split. Default: 20 without a format,
    /// with a format as many as the budget allows.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    messages: Option<u32>,
    /// Read only the rows, even if they lag behind the record.
    #[arg(long)]
    eventual: bool,
    /// Format of the context.
    #[arg(long, value_parser = format_parser())]
    pub(super) format: Option<Format>,
    /// Version of the conversation; by default the newest.
    #[arg(long, value_name = "VERSION", requires = "format")]
    pub(super) at: Option<u64>,
    /// File with a context policy, as JSON; by default the agent's policy.
    #[arg(long, value_name = "FILE", requires = "format")]
    policy: Option<PathBuf>,
    #[command(flatten)]
    render: Render,
}

/// Options of a format.
#[derive(Debug, Clone, Copy, clap::Args)]
struct Render {
    /// Give instructions the role `developer`, as newer models of `OpenAI` require.
    #[arg(long, requires = "format")]
    developer: bool,
    /// Omit thoughts, also those that the provider accepts back.
    #[arg(long, requires = "format")]
    omit_thoughts: bool,
    /// Write each output directly after its call, as some servers with the Responses format of `OpenAI` require.
    #[arg(long, requires = "format")]
    adjacent_outputs: bool,
}

/// The default number of messages without a format.
const MESSAGES_SHOWN: u32 = 20;

impl ContextRequestArgs {
    pub(super) fn target(&self, conversation: &str) -> proto::ReadTarget {
        let consistency = if self.eventual { proto::Consistency::Eventual } else { proto::Consistency::Fresh };
        proto::ReadTarget {
            agent_id: self.agent.clone(),
            conversation_id: conversation.to_owned(),
            consistency: consistency.into(),
            position_token: String::new(),
        }
    }

    pub(super) fn request(&self, conversation: &str) -> anyhow::Result<proto::AssembleContextRequest> {
        let policy = self.policy.as_deref().map(policy_json).transpose()?;
        let shown = self.format.map_or(MESSAGES_SHOWN, |_| 0);
        Ok(proto::AssembleContextRequest {
            target: Some(self.target(conversation)),
            messages_max: self.messages.unwrap_or(shown),
            at_version: self.at.unwrap_or_default(),
            format: self.format.map_or(0, Format::number),
            policy: policy.map(Policy::PolicyJson),
            render: self.format.map(|_| self.render.settings()),
            ..proto::AssembleContextRequest::default()
        })
    }
}

impl Render {
    fn settings(self) -> proto::RenderSettings {
        let instructions_role =
            if self.developer { proto::InstructionsRole::Developer } else { proto::InstructionsRole::System };
        let thoughts = if self.omit_thoughts { proto::Thoughts::Omit } else { proto::Thoughts::Replay };
        let call_outputs =
            if self.adjacent_outputs { proto::CallOutputs::Adjacent } else { proto::CallOutputs::Together };
        proto::RenderSettings {
            instructions_role: instructions_role.into(),
            thoughts: thoughts.into(),
            call_outputs: call_outputs.into(),
        }
    }
}

/// Reads a policy file.
pub(in crate::commands) fn policy_json(file: &Path) -> anyhow::Result<String> {
    input_file::text(file, POLICY_FILE_BYTES_MAX)
}

/// Reads the name of a format; help texts list the names.
fn format_parser() -> impl TypedValueParser<Value = Format> {
    let values = Format::ALL.iter().map(|format| PossibleValue::new(format.as_str()).help(format.description()));
    PossibleValuesParser::new(values).try_map(|name| Format::parse(&name).ok_or("is not a format"))
}
