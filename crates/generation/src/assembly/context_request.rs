//! A request for a context in a format, checked.

use std::sync::Arc;

use context::MessageCount;
use context::stages::budget;
use domain::{Version, Violation};
use formats::{CallOutputs, Format, InstructionsRole, RenderOptions, Thoughts};
use registry::AgentAccess;
use wire::proto::read::v1 as proto;
use wire::status::Problem;

use crate::assembly::MESSAGES;
use history::Target;
use record_access::Gateway;
use record_access::policies::ReadyPolicy;
use record_access::request::{out_of_range, parse_enum};

/// A request for a context in a format.
#[derive(Debug, Clone)]
pub struct ContextRequest {
    /// The version; none: the newest.
    pub at: Option<Version>,
    /// Most messages; none: as many as the budget has room for.
    pub messages_max: Option<MessageCount>,
    /// The format.
    pub format: Format,
    /// The context policy.
    pub policy: Arc<ReadyPolicy>,
    /// Instructions of a request to a model, which follow those of the policy.
    pub instructions: Option<String>,
    /// Whether the response contains what the stages omitted or changed.
    pub with_outcomes: bool,
    pub(super) render: proto::RenderSettings,
}

impl ContextRequest {
    /// Checks a request; `None`: it has no format.
    ///
    /// # Errors
    /// A field is invalid, or the policy cannot be read.
    pub async fn from_proto(
        gateway: &Gateway,
        target: &Target,
        request: proto::AssembleContextRequest,
    ) -> Result<Option<Self>, Problem> {
        let format = parse_enum::<proto::ContextFormat>(request.format, "format")?;
        let Some(format) = Format::from_number(format.into()) else {
            refuse_without_format(&request)?;
            return Ok(None);
        };
        let render = request.render.unwrap_or_default();
        parse_enum::<proto::InstructionsRole>(render.instructions_role, "render.instructions_role")?;
        parse_enum::<proto::Thoughts>(render.thoughts, "render.thoughts")?;
        parse_enum::<proto::CallOutputs>(render.call_outputs, "render.call_outputs")?;
        let count = MESSAGES.take(request.messages_max).map_err(Problem::from)?;
        let messages_max =
            (request.messages_max > 0).then(|| MessageCount(usize::try_from(count).unwrap_or(usize::MAX)));
        let (tenant, agent) = (&target.key.tenant, &target.access.agent);
        let policies = &gateway.policies;
        let policy = policies.find(&gateway.registry, tenant, agent, request.policy);
        Ok(Some(Self {
            at: (request.at_version > 0).then_some(Version(request.at_version)),
            messages_max,
            format,
            policy: policy.await?,
            instructions: None,
            with_outcomes: request.with_outcomes,
            render,
        }))
    }

    /// The request of a run: the newest version, with the agent's policy. The outputs of calls are where the model server
    /// expects them.
    ///
    /// # Errors
    /// The policy cannot be read.
    pub async fn for_agent(
        gateway: &Gateway,
        access: &AgentAccess,
        format: Format,
        outputs: CallOutputs,
    ) -> Result<Self, Problem> {
        let (tenant, agent) = (access.tenant.tenant(), &access.agent);
        let policies = &gateway.policies;
        let policy = policies.find(&gateway.registry, tenant, agent, None);
        let mut render = proto::RenderSettings::default();
        render.set_call_outputs(match outputs {
            CallOutputs::Together => proto::CallOutputs::Together,
            CallOutputs::Adjacent => proto::CallOutputs::Adjacent,
        });
        Ok(Self {
            at: None,
            messages_max: None,
            format,
            policy: policy.await?,
            instructions: None,
            with_outcomes: false,
            render,
        })
    }

    /// The requested version of a conversation whose newest version is `newest`.
    ///
    /// # Errors
    /// It does not exist yet.
    pub fn version(&self, newest: Version) -> Result<Version, Violation> {
        match self.at {
            None => Ok(newest),
            Some(at) if at <= newest => Ok(at),
            Some(at) => {
                Err(out_of_range(format!("is {at}, and the conversation is at version {newest}: give that or less"))
                    .within("at_version"))
            }
        }
    }

    /// The options of the format.
    #[must_use]
    pub fn options(&self, cache_key: Option<String>) -> RenderOptions {
        let tokens = budget::context_tokens(&self.policy.policy);
        RenderOptions {
            instructions_role: match self.render.instructions_role() {
                proto::InstructionsRole::Unspecified | proto::InstructionsRole::System => InstructionsRole::System,
                proto::InstructionsRole::Developer => InstructionsRole::Developer,
            },
            thoughts: match self.render.thoughts() {
                proto::Thoughts::Unspecified | proto::Thoughts::Replay => Thoughts::Replay,
                proto::Thoughts::Omit => Thoughts::Omit,
            },
            call_outputs: match self.render.call_outputs() {
                proto::CallOutputs::Unspecified | proto::CallOutputs::Together => CallOutputs::Together,
                proto::CallOutputs::Adjacent => CallOutputs::Adjacent,
            },
            cache_key,
            context_tokens_max: Some(u32::try_from(tokens).unwrap_or(u32::MAX)),
        }
    }
}

fn refuse_without_format(request: &proto::AssembleContextRequest) -> Result<(), Violation> {
    let given = [
        ("at_version", request.at_version > 0),
        ("policy", request.policy.is_some()),
        ("render", request.render.is_some()),
        ("with_outcomes", request.with_outcomes),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        Some((field, _)) => Err(out_of_range("needs a format: set `format` too".to_owned()).within(field)),
        None => Ok(()),
    }
}
