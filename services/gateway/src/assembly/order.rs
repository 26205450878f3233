//! What a caller asks of a context in a form.

use std::sync::Arc;

use context::MessageCount;
use context::stages::budget;
use domain::{Version, Violation};
use formats::{CallOutputs, Format, InstructionsRole, RenderOptions, Thoughts};
use wire::proto::read::v1 as proto;
use wire::status::Problem;

use crate::Gateway;
use crate::assembly::bounds::MESSAGES;
use crate::policies::ReadyPolicy;
use crate::request::{out_of_range, parse_enum};
use history::Target;

/// What a caller asks of a context in a form.
#[derive(Debug, Clone)]
pub struct Order {
    /// The version; none: the newest.
    pub at: Option<Version>,
    /// Most messages; none: as many as there is room for.
    pub messages_max: Option<MessageCount>,
    /// The form.
    pub format: Format,
    /// How it is made.
    pub policy: Arc<ReadyPolicy>,
    render: proto::RenderSettings,
}

impl Order {
    /// The order of a request; `None`: it asks for no form.
    ///
    /// # Errors
    /// A field breaks a rule.
    pub async fn of(
        gateway: &Gateway,
        target: &Target,
        request: proto::AssembleContextRequest,
    ) -> Result<Option<Self>, Problem> {
        let asked = parse_enum::<proto::ContextFormat>(request.format, "format")?;
        let Some(format) = format(asked) else {
            refuse_without_format(&request)?;
            return Ok(None);
        };
        let render = request.render.unwrap_or_default();
        parse_enum::<proto::InstructionsRole>(
            render.instructions_role,
            "render.instructions_role",
        )?;
        parse_enum::<proto::Thoughts>(render.thoughts, "render.thoughts")?;
        parse_enum::<proto::CallOutputs>(render.call_outputs, "render.call_outputs")?;
        let messages_max = match request.messages_max {
            0 => None,
            asked => Some(MESSAGES.take(asked).map_err(Problem::from)?),
        };
        let messages_max =
            messages_max.map(|count| MessageCount(usize::try_from(count).unwrap_or(usize::MAX)));
        let (tenant, agent) = (&target.key.tenant, &target.access.agent);
        let policies = &gateway.policies;
        let policy = policies.find(&gateway.registry, tenant, agent, request.policy);
        Ok(Some(Self {
            at: (request.at_version > 0).then_some(Version(request.at_version)),
            messages_max,
            format,
            policy: policy.await?,
            render,
        }))
    }

    /// The order for an agent's model: the newest, by the agent's policy.
    ///
    /// # Errors
    /// The policy cannot be had.
    pub async fn of_agent(
        gateway: &Gateway,
        target: &Target,
        format: Format,
    ) -> Result<Self, Problem> {
        let (tenant, agent) = (&target.key.tenant, &target.access.agent);
        let policy = gateway
            .policies
            .find(&gateway.registry, tenant, agent, None);
        Ok(Self {
            at: None,
            messages_max: None,
            format,
            policy: policy.await?,
            render: proto::RenderSettings::default(),
        })
    }

    /// The same with the outputs of calls where a model server wants them.
    #[must_use]
    pub fn with_outputs(mut self, outputs: CallOutputs) -> Self {
        let outputs = match outputs {
            CallOutputs::Together => proto::CallOutputs::Together,
            CallOutputs::Adjacent => proto::CallOutputs::Adjacent,
        };
        self.render.set_call_outputs(outputs);
        self
    }

    /// The version that is asked for, in a conversation that stands at `newest`.
    ///
    /// # Errors
    /// It is not there yet.
    pub fn version(&self, newest: Version) -> Result<Version, Violation> {
        match self.at {
            None => Ok(newest),
            Some(at) if at <= newest => Ok(at),
            Some(at) => Err(out_of_range(format!(
                "is {at}, and the conversation is at version {newest}: give that or less"
            ))
            .within("at_version")),
        }
    }

    /// What the form leaves open.
    #[must_use]
    pub fn options(&self, cache_key: &str) -> RenderOptions {
        let tokens = budget::context_tokens(&self.policy.policy);
        RenderOptions {
            instructions_role: match self.render.instructions_role() {
                proto::InstructionsRole::Unspecified | proto::InstructionsRole::System => {
                    InstructionsRole::System
                }
                proto::InstructionsRole::Developer => InstructionsRole::Developer,
            },
            thoughts: match self.render.thoughts() {
                proto::Thoughts::Unspecified | proto::Thoughts::Replay => Thoughts::Replay,
                proto::Thoughts::Omit => Thoughts::Omit,
            },
            call_outputs: match self.render.call_outputs() {
                proto::CallOutputs::Unspecified | proto::CallOutputs::Together => {
                    CallOutputs::Together
                }
                proto::CallOutputs::Adjacent => CallOutputs::Adjacent,
            },
            cache_key: Some(cache_key.to_owned()),
            context_tokens_max: Some(u32::try_from(tokens).unwrap_or(u32::MAX)),
        }
    }

    /// Writes into a receipt what was asked for.
    pub fn sign(&self, target: &Target, at: Version, receipt: &mut proto::Receipt) {
        target
            .key
            .conversation
            .as_str()
            .clone_into(&mut receipt.conversation_id);
        target
            .access
            .agent
            .as_str()
            .clone_into(&mut receipt.agent_id);
        receipt.version = at.0;
        receipt.policy_digest = self.policy.digest.0.to_vec().into();
        receipt.format = to_proto(self.format).into();
        receipt.render = Some(self.render);
        let count = self.messages_max.map_or(0, |count| count.0);
        receipt.messages_max = u32::try_from(count).unwrap_or(u32::MAX);
    }
}

fn refuse_without_format(request: &proto::AssembleContextRequest) -> Result<(), Violation> {
    let given = [
        ("at_version", request.at_version > 0),
        ("policy", request.policy.is_some()),
        ("render", request.render.is_some()),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        Some((field, _)) => {
            Err(out_of_range("needs a format: set `format` too".to_owned()).within(field))
        }
        None => Ok(()),
    }
}

fn format(format: proto::ContextFormat) -> Option<Format> {
    Some(match format {
        proto::ContextFormat::Unspecified => return None,
        proto::ContextFormat::Canonical => Format::Canonical,
        proto::ContextFormat::OpenaiChat => Format::OpenAiChat,
        proto::ContextFormat::OpenaiResponses => Format::OpenAiResponses,
        proto::ContextFormat::Anthropic => Format::Anthropic,
        proto::ContextFormat::Gemini => Format::Gemini,
        proto::ContextFormat::Ollama => Format::Ollama,
    })
}

fn to_proto(format: Format) -> proto::ContextFormat {
    match format {
        Format::Canonical => proto::ContextFormat::Canonical,
        Format::OpenAiChat => proto::ContextFormat::OpenaiChat,
        Format::OpenAiResponses => proto::ContextFormat::OpenaiResponses,
        Format::Anthropic => proto::ContextFormat::Anthropic,
        Format::Gemini => proto::ContextFormat::Gemini,
        Format::Ollama => proto::ContextFormat::Ollama,
    }
}
