//! Validation of agent settings.

use std::collections::HashSet;

use domain::bounds::LOG_DAYS_MAX;
use domain::violation::{check_length, check_text};
use domain::{JsonText, ModelServerId, ToolName, Violation, ViolationReason};
use prost::Message;
use wire::proto::event::v1::Role;
use wire::proto::operate::v1::{
    AgentSettings, Approvers, IdentityMode, ModelSettings, ProviderLogDetail, ProviderLogSettings, RetentionSettings,
    SummarySettings, TitleSettings, ToolSettings,
};

use crate::bounds::check_max;
use crate::check_url;
use crate::frontend_settings::check_frontend;
use crate::output_schema::OutputSchema;
use crate::quotas::check_agent_quotas;
use crate::search::check_search;

/// Maximum encoded bytes of an agent's settings, which are one entry of the bucket.
pub const SETTINGS_BYTES_MAX: usize = 512 * 1024;
/// Maximum tools.
pub const TOOLS_MAX: usize = 128;
/// Maximum bytes of a model's name.
pub const MODEL_BYTES_MAX: usize = 256;
/// Maximum number of other models that requests may name.
pub const OTHER_MODELS_MAX: usize = 32;
/// Maximum answers of a model in one run.
pub const STEPS_MAX: u32 = 32;
/// Maximum temperature; the minimum is 0.
pub const TEMPERATURE_MAX: f64 = 2.0;
/// Maximum bytes of a tool's description.
pub const TOOL_DESCRIPTION_BYTES_MAX: usize = 4 * 1024;
/// Maximum bytes of the JSON Schema of a tool's input.
pub const TOOL_SCHEMA_BYTES_MAX: usize = 64 * 1024;
/// Maximum timeout of a webhook, in milliseconds.
pub const TOOL_TIMEOUT_MS_MAX: u32 = 300_000;
/// Maximum value of the limit of conversations per owner: the read model counts no further.
pub const CONVERSATIONS_PER_OWNER_MAX: u32 = 10_000;
/// Maximum idle time, in seconds: 100 years.
pub const IDLE_SECONDS_MAX: u64 = 100 * 365 * 86_400;
/// Minimum tokens between two summaries.
pub const SUMMARY_TOKENS_MIN: u64 = 1_000;

/// Maximum characters of a derived title.
pub const TITLE_CHARS_MAX: u32 = 200;

/// The built-in model server, which needs no model name.
const ECHO: &str = "echo";

/// Validated settings.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedSettings(pub(crate) AgentSettings);

impl CheckedSettings {
    /// Validates settings whose output schema was validated before, which takes the most time.
    ///
    /// # Errors
    /// As [`CheckedSettings::parse`].
    pub fn parse_with_known_schema(settings: AgentSettings) -> Result<Self, Violation> {
        check(&settings)?;
        Ok(Self(settings))
    }

    /// Validates the settings.
    ///
    /// # Errors
    /// The first invalid setting, with its path.
    pub fn parse(settings: AgentSettings) -> Result<Self, Violation> {
        let checked = Self::parse_with_known_schema(settings)?;
        within("output_schema_json", check_output_schema(&checked.0))?;
        Ok(checked)
    }
}

fn check(settings: &AgentSettings) -> Result<(), Violation> {
    check_length(settings.encoded_len(), SETTINGS_BYTES_MAX)?;
    if IdentityMode::try_from(settings.identity_mode).is_err() {
        return Err(malformed("is not an identity mode").within("identity_mode"));
    }
    if Approvers::try_from(settings.approvers).is_err() {
        return Err(malformed("is not a kind of approvers").within("approvers"));
    }
    within("allowed_roles", check_roles(settings))?;
    within("model", settings.model.as_ref().map_or(Ok(()), check_model))?;
    within("other_models", check_other_models(settings))?;
    within("tools", check_tools(&settings.tools))?;
    let retention = settings.retention.as_ref();
    within("retention", retention.map_or(Ok(()), check_retention))?;
    let summaries = settings.summaries.as_ref();
    within("summaries", summaries.map_or(Ok(()), check_summaries))?;
    let titles = settings.titles.as_ref();
    within("titles", titles.map_or(Ok(()), check_titles))?;
    let logs = settings.provider_logs;
    within("provider_logs", logs.map_or(Ok(()), check_provider_logs))?;
    let search = settings.search.as_ref();
    within("search", search.map_or(Ok(()), check_search))?;
    let frontend = settings.frontend.as_ref();
    within("frontend", frontend.map_or(Ok(()), check_frontend))?;
    check_agent_quotas(settings)
}

fn within<T>(name: &str, checked: Result<T, Violation>) -> Result<T, Violation> {
    checked.map_err(|violation| violation.within(name))
}

fn check_output_schema(settings: &AgentSettings) -> Result<(), Violation> {
    match OutputSchema::text_of(settings)? {
        Some(schema) => OutputSchema::compile(&schema).map(drop),
        None => Ok(()),
    }
}

/// Each role may appear once, which bounds their number.
fn check_roles(settings: &AgentSettings) -> Result<(), Violation> {
    for (index, role) in settings.allowed_roles.iter().enumerate() {
        let is_grantable = matches!(Role::try_from(*role), Ok(Role::Assistant | Role::System | Role::Developer));
        if !is_grantable {
            let rule = "must be assistant, system or developer: user is always allowed";
            return Err(malformed(rule).at(index));
        }
        let mut earlier = settings.allowed_roles.iter().take(index);
        if earlier.any(|other| other == role) {
            return Err(malformed("is a duplicate: give each role once").at(index));
        }
    }
    Ok(())
}

fn check_model(model: &ModelSettings) -> Result<(), Violation> {
    let server = within("server", ModelServerId::parse(model.server.as_str()))?;
    within("model", check_text(&model.model, MODEL_BYTES_MAX))?;
    if model.model.is_empty() && server.as_str() != ECHO {
        return Err(missing().within("model"));
    }
    let is_temperature = |value: f64| (0.0..=TEMPERATURE_MAX).contains(&value);
    if !model.temperature.is_none_or(is_temperature) {
        return Err(out_of_range("is outside 0 to 2").within("temperature"));
    }
    check_max("steps_max", model.steps_max, STEPS_MAX)
}

fn check_other_models(settings: &AgentSettings) -> Result<(), Violation> {
    let models = &settings.other_models;
    if models.len() > OTHER_MODELS_MAX {
        let rule = format!("has {} entries, but must have at most {OTHER_MODELS_MAX}", models.len());
        return Err(out_of_range(rule));
    }
    if !models.is_empty() && settings.model.is_none() {
        return Err(malformed("needs a model, whose server has them: set the model"));
    }
    let mut names = HashSet::new();
    for (index, model) in models.iter().enumerate() {
        check_text(model, MODEL_BYTES_MAX).map_err(|violation| violation.at(index))?;
        if model.is_empty() {
            return Err(missing().at(index));
        }
        if model.chars().any(char::is_control) {
            return Err(malformed("has a control character").at(index));
        }
        if !names.insert(model) {
            return Err(malformed("is a duplicate: give each model once").at(index));
        }
    }
    Ok(())
}

fn check_tools(tools: &[ToolSettings]) -> Result<(), Violation> {
    if tools.len() > TOOLS_MAX {
        let rule = format!("has {} entries, but must have at most {TOOLS_MAX}", tools.len());
        return Err(out_of_range(rule));
    }
    let mut names = HashSet::new();
    for (index, tool) in tools.iter().enumerate() {
        check_tool(tool).map_err(|violation| violation.at(index))?;
        if !names.insert(tool.tool_name.as_str()) {
            let duplicate = malformed("is the name of another tool: give each tool its own name");
            return Err(duplicate.within("tool_name").at(index));
        }
    }
    Ok(())
}

fn check_tool(tool: &ToolSettings) -> Result<(), Violation> {
    within("tool_name", ToolName::parse(tool.tool_name.as_str()))?;
    within("description", check_text(&tool.description, TOOL_DESCRIPTION_BYTES_MAX))?;
    let schema = JsonText::parse_metadata(tool.input_schema_json.as_str(), TOOL_SCHEMA_BYTES_MAX);
    within("input_schema_json", schema)?;
    if !tool.webhook_url.is_empty() {
        within("webhook_url", check_url(&tool.webhook_url))?;
    }
    check_max("timeout_ms", tool.timeout_ms, TOOL_TIMEOUT_MS_MAX)
}

fn check_retention(retention: &RetentionSettings) -> Result<(), Violation> {
    let conversations = retention.conversations_per_owner_max;
    check_max("conversations_per_owner_max", conversations, CONVERSATIONS_PER_OWNER_MAX)?;
    check_max("idle_seconds_max", retention.idle_seconds_max, IDLE_SECONDS_MAX)
}

fn check_summaries(summaries: &SummarySettings) -> Result<(), Violation> {
    let model = summaries.model.as_ref();
    within("model", model.ok_or_else(missing).and_then(check_model))?;
    if summaries.tokens_min < SUMMARY_TOKENS_MIN {
        let given = summaries.tokens_min;
        let rule = format!("is {given}, but must be at least {SUMMARY_TOKENS_MIN}");
        return Err(out_of_range(rule).within("tokens_min"));
    }
    check_max("tokens_kept", summaries.tokens_kept, summaries.tokens_min - 1)
}

fn check_titles(titles: &TitleSettings) -> Result<(), Violation> {
    within("model", titles.model.as_ref().map_or(Ok(()), check_model))?;
    check_max("chars_max", titles.chars_max, TITLE_CHARS_MAX)
}

fn check_provider_logs(logs: ProviderLogSettings) -> Result<(), Violation> {
    if ProviderLogDetail::try_from(logs.detail).is_err() {
        return Err(malformed("is not a detail of provider logs").within("detail"));
    }
    check_max("days", logs.days, LOG_DAYS_MAX)
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
