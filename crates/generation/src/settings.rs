//! The settings of an agent's runs, parsed from its settings in the registry. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::{JsonText, Label, ToolName, Violation};
use formats::Tool;
use models::{ECHO, ModelRequest};
use registry::{OutputSchema, ProviderLogs};
use wire::proto::operate::v1 as operate;

use crate::assembly::ModelContext;

/// Maximum number of model answers in a run, if the settings do not set it.
pub const STEPS_MAX_DEFAULT: u32 = 8;
/// The timeout of a webhook, if the settings do not set it.
pub const WEBHOOK_TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);

/// The model that answers.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelChoice {
    /// The name of the model server in the configuration.
    pub server: String,
    /// The name of the model on the server.
    pub model: String,
    /// Maximum number of tokens of an answer.
    pub output_tokens_max: Option<u32>,
    /// The sampling temperature.
    pub temperature: Option<f64>,
    /// Maximum number of answers in a run.
    pub steps_max: u32,
}

/// The webhook of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// The URL to which calls are posted.
    pub url: String,
    /// Maximum duration of a call.
    pub timeout: Duration,
}

/// The settings of a tool that the model does not read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolRule {
    /// Where calls are posted; `None`: the client answers them.
    pub webhook: Option<Webhook>,
    /// Whether a person must approve each call.
    pub needs_approval: bool,
}

/// The settings of an agent's runs.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSettings {
    /// The model.
    pub model: ModelChoice,
    /// The tools, as the model reads them.
    pub tools: Vec<Tool>,
    /// How calls of each tool are answered.
    pub rules: BTreeMap<ToolName, ToolRule>,
    /// What answers must match; `None`: they are any text.
    pub output_schema: Option<JsonText>,
    /// What the provider log keeps; `None`: nothing.
    pub logs: Option<ProviderLogs>,
}

impl RunSettings {
    /// Parses the settings of an agent.
    ///
    /// # Errors
    /// A field is invalid. The registry accepts no such settings.
    pub fn of(settings: &operate::AgentSettings) -> Result<Self, Violation> {
        let mut parsed = Self {
            model: ModelChoice::of(settings.model.as_ref()),
            tools: Vec::with_capacity(settings.tools.len()),
            rules: BTreeMap::new(),
            output_schema: OutputSchema::text_of(settings)?,
            logs: ProviderLogs::from_settings(Some(settings)),
        };
        for tool in &settings.tools {
            let name = ToolName::parse(tool.tool_name.as_str())?;
            parsed.tools.push(Tool {
                name: name.clone(),
                description: tool.description.clone(),
                input_schema: JsonText::parse(tool.input_schema_json.as_str())?,
                strict: false,
            });
            let timeout = Duration::from_millis(tool.timeout_ms.into());
            let webhook = (!tool.webhook_url.is_empty()).then(|| Webhook {
                url: tool.webhook_url.clone(),
                timeout: if timeout.is_zero() { WEBHOOK_TIMEOUT_DEFAULT } else { timeout },
            });
            let rule = ToolRule { webhook, needs_approval: tool.needs_approval };
            parsed.rules.insert(name, rule);
        }
        Ok(parsed)
    }

    /// The webhook of a call that needs no approval.
    #[must_use]
    pub fn webhook_without_approval(&self, tool: &ToolName) -> Option<&Webhook> {
        let rule = self.rules.get(tool).filter(|rule| !rule.needs_approval)?;
        rule.webhook.as_ref()
    }

    /// The webhook of a call that a person has approved.
    #[must_use]
    pub fn webhook_of_approved(&self, tool: &ToolName) -> Option<&Webhook> {
        self.rules.get(tool)?.webhook.as_ref()
    }
}

impl ModelChoice {
    /// The model of the settings; without settings, the built-in one.
    #[must_use]
    pub fn of(settings: Option<&operate::ModelSettings>) -> Self {
        let settings = settings.cloned().unwrap_or_default();
        let or = |text: String, default: &str| {
            if text.is_empty() { default.to_owned() } else { text }
        };
        let server = or(settings.server, ECHO);
        let output_tokens_max = settings.output_tokens_max;
        Self {
            model: or(settings.model, &server),
            server,
            output_tokens_max: (output_tokens_max > 0).then_some(output_tokens_max),
            temperature: settings.temperature,
            steps_max: match settings.steps_max {
                0 => STEPS_MAX_DEFAULT,
                steps_max => steps_max,
            },
        }
    }

    /// The request for a rendered context, without tools.
    pub(super) fn request(&self, context: ModelContext) -> ModelRequest {
        ModelRequest {
            model: self.model.clone(),
            body: context.body,
            media_parts: context.media_parts,
            max_output_tokens: self.output_tokens_max,
            temperature: self.temperature,
            names: context.names,
            ..ModelRequest::default()
        }
    }

    /// The name of the model in events.
    #[must_use]
    pub fn label(&self) -> Option<Label> {
        Label::parse(self.model.as_str()).ok()
    }
}
