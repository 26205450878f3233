//! What an agent's settings may say.

use std::collections::HashSet;

use domain::bounds::LOG_DAYS_MAX;
use domain::violation::{check_length, check_text};
use domain::{JsonText, ModelServerId, ToolName, Violation, ViolationReason};
use prost::Message;
use wire::proto::event::v1::Role;
use wire::proto::operate::v1::{
    AgentSettings, Approvers, IdentityMode, ModelSettings, ProviderLogDetail, ProviderLogSettings,
    RetentionSettings, SummarySettings, ToolSettings,
};

use super::quotas::check_of_agent;
use super::urls::check_url;

/// Most bytes of all settings of an agent, encoded: they are one entry of the bucket.
pub const SETTINGS_BYTES_MAX: usize = 512 * 1024;
/// Most tools.
pub const TOOLS_MAX: usize = 128;
/// Most bytes of a model's name.
pub const MODEL_BYTES_MAX: usize = 256;
/// Most answers of a model in one run.
pub const STEPS_MAX: u32 = 32;
/// The highest temperature; the lowest is 0.
pub const TEMPERATURE_MAX: f64 = 2.0;
/// Most bytes of a tool's description.
pub const TOOL_DESCRIPTION_BYTES_MAX: usize = 4 * 1024;
/// Most bytes of the JSON Schema of a tool's input.
pub const TOOL_SCHEMA_BYTES_MAX: usize = 64 * 1024;
/// The longest that a webhook may take, ms.
pub const TOOL_TIMEOUT_MS_MAX: u32 = 300_000;
/// Most conversations that a rule can let an owner have: the read model counts no further.
pub const CONVERSATIONS_PER_OWNER_MAX: u32 = 10_000;
/// The longest time without an event, seconds: 100 years.
pub const IDLE_SECONDS_MAX: u64 = 100 * 365 * 86_400;
/// Fewest tokens between two summaries.
pub const SUMMARY_TOKENS_MIN: u64 = 1_000;

/// The built-in model server, whose models need no name.
const ECHO: &str = "echo";

/// Settings within their bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedSettings(AgentSettings);

impl CheckedSettings {
    /// Takes the settings if each is within its bound.
    ///
    /// # Errors
    /// The first that is not, with its path.
    pub fn parse(settings: AgentSettings) -> Result<Self, Violation> {
        check_length(settings.encoded_len(), SETTINGS_BYTES_MAX)?;
        if IdentityMode::try_from(settings.identity_mode).is_err() {
            return Err(malformed("is no identity mode").within("identity_mode"));
        }
        if Approvers::try_from(settings.approvers).is_err() {
            return Err(malformed("is no kind of approvers").within("approvers"));
        }
        check_roles(&settings).map_err(|violation| violation.within("allowed_roles"))?;
        within("model", settings.model.as_ref(), check_model)?;
        check_tools(&settings.tools).map_err(|violation| violation.within("tools"))?;
        within("retention", settings.retention.as_ref(), check_retention)?;
        within("summaries", settings.summaries.as_ref(), check_summaries)?;
        let logs = settings.provider_logs.as_ref();
        within("provider_logs", logs, |logs| check_provider_logs(*logs))?;
        check_of_agent(&settings)?;
        Ok(Self(settings))
    }

    pub(super) fn into_proto(self) -> AgentSettings {
        self.0
    }
}

fn within<T>(
    name: &str,
    part: Option<&T>,
    check: impl Fn(&T) -> Result<(), Violation>,
) -> Result<(), Violation> {
    part.map_or(Ok(()), check)
        .map_err(|violation| violation.within(name))
}

/// The roles are few and each stands once, so that their number has a bound.
fn check_roles(settings: &AgentSettings) -> Result<(), Violation> {
    for (index, role) in settings.allowed_roles.iter().enumerate() {
        let is_grantable = matches!(
            Role::try_from(*role),
            Ok(Role::Assistant | Role::System | Role::Developer)
        );
        if !is_grantable {
            let rule = "is none of assistant, system, developer: user is always allowed";
            return Err(malformed(rule).at(index));
        }
        if settings
            .allowed_roles
            .iter()
            .take(index)
            .any(|other| other == role)
        {
            return Err(malformed("is there twice: give each role once").at(index));
        }
    }
    Ok(())
}

fn check_model(model: &ModelSettings) -> Result<(), Violation> {
    let of_name = |violation: Violation| violation.within("model");
    let server = ModelServerId::parse(model.server.as_str());
    let server = server.map_err(|violation| violation.within("server"))?;
    check_text(&model.model, MODEL_BYTES_MAX).map_err(of_name)?;
    if model.model.is_empty() && server.as_str() != ECHO {
        return Err(of_name(missing()));
    }
    let is_temperature = |value: f64| (0.0..=TEMPERATURE_MAX).contains(&value);
    if !model.temperature.is_none_or(is_temperature) {
        return Err(out_of_range("is outside 0 to 2").within("temperature"));
    }
    check_max("steps_max", model.steps_max.into(), STEPS_MAX.into())
}

fn check_tools(tools: &[ToolSettings]) -> Result<(), Violation> {
    if tools.len() > TOOLS_MAX {
        let rule = format!("has {} entries, at most {TOOLS_MAX} are taken", tools.len());
        return Err(out_of_range(rule));
    }
    let mut names = HashSet::new();
    for (index, tool) in tools.iter().enumerate() {
        check_tool(tool).map_err(|violation| violation.at(index))?;
        if !names.insert(tool.tool_name.as_str()) {
            let twice = malformed("is another tool's too: give each a name of its own");
            return Err(twice.within("tool_name").at(index));
        }
    }
    Ok(())
}

fn check_tool(tool: &ToolSettings) -> Result<(), Violation> {
    ToolName::parse(tool.tool_name.as_str()).map_err(|violation| violation.within("tool_name"))?;
    check_text(&tool.description, TOOL_DESCRIPTION_BYTES_MAX)
        .map_err(|violation| violation.within("description"))?;
    JsonText::parse_metadata(tool.input_schema_json.as_str(), TOOL_SCHEMA_BYTES_MAX)
        .map_err(|violation| violation.within("input_schema_json"))?;
    if !tool.webhook_url.is_empty() {
        check_url(&tool.webhook_url).map_err(|violation| violation.within("webhook_url"))?;
    }
    check_max(
        "timeout_ms",
        tool.timeout_ms.into(),
        TOOL_TIMEOUT_MS_MAX.into(),
    )
}

fn check_retention(retention: &RetentionSettings) -> Result<(), Violation> {
    check_max(
        "conversations_per_owner_max",
        retention.conversations_per_owner_max.into(),
        CONVERSATIONS_PER_OWNER_MAX.into(),
    )?;
    check_max(
        "idle_seconds_max",
        retention.idle_seconds_max,
        IDLE_SECONDS_MAX,
    )
}

fn check_summaries(summaries: &SummarySettings) -> Result<(), Violation> {
    let model = summaries
        .model
        .as_ref()
        .ok_or_else(|| missing().within("model"))?;
    check_model(model).map_err(|violation| violation.within("model"))?;
    if summaries.tokens_min < SUMMARY_TOKENS_MIN {
        let rule = format!(
            "is {}, at least {SUMMARY_TOKENS_MIN} are taken",
            summaries.tokens_min
        );
        return Err(out_of_range(rule).within("tokens_min"));
    }
    check_max(
        "tokens_kept",
        summaries.tokens_kept,
        summaries.tokens_min - 1,
    )
}

fn check_provider_logs(logs: ProviderLogSettings) -> Result<(), Violation> {
    if ProviderLogDetail::try_from(logs.detail).is_err() {
        return Err(malformed("is no detail of provider logs").within("detail"));
    }
    check_max("days", logs.days.into(), LOG_DAYS_MAX.into())
}

fn check_max(name: &str, value: u64, max: u64) -> Result<(), Violation> {
    if value > max {
        return Err(out_of_range(format!("is {value}, at most {max} is taken")).within(name));
    }
    Ok(())
}

fn missing() -> Violation {
    Violation::new(ViolationReason::Missing, "is required")
}

fn malformed(rule: &str) -> Violation {
    Violation::new(ViolationReason::Malformed, rule)
}

fn out_of_range(rule: impl Into<String>) -> Violation {
    Violation::new(ViolationReason::OutOfRange, rule)
}

#[cfg(test)]
mod tests;
