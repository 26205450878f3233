//! How an agent's runs are made, as its settings in the registry say. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::{JsonText, Label, ToolName, Violation};
use event_log::registry::ProviderLogs;
use models::{ECHO, Tool};
use wire::proto::operate::v1 as operate;

/// Most answers of a model in one run where the settings say nothing.
pub const STEPS_MAX_DEFAULT: u32 = 8;
/// How long a webhook may take where the settings say nothing.
pub const WEBHOOK_TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);

/// The model that answers.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelChoice {
    /// The model server, as the configuration names it.
    pub server: String,
    /// The model, as the server names it.
    pub model: String,
    /// Most tokens of an answer.
    pub output_tokens_max: Option<u32>,
    /// How freely it picks its words.
    pub temperature: Option<f64>,
    /// Most answers in one run.
    pub steps_max: u32,
}

/// Who answers a call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// Where the call is posted.
    pub url: String,
    /// How long it may take.
    pub timeout: Duration,
}

/// A tool's part beside what the model is told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolRule {
    /// Who answers; none: the client.
    pub webhook: Option<Webhook>,
    /// Whether a person must approve each call.
    pub needs_approval: bool,
}

/// How an agent's runs are made.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSettings {
    /// The model.
    pub model: ModelChoice,
    /// The tools, as the model is told of them.
    pub tools: Vec<Tool>,
    /// What becomes of their calls.
    pub rules: BTreeMap<ToolName, ToolRule>,
    /// What is kept of the calls of the model; none: nothing.
    pub logs: Option<ProviderLogs>,
}

impl RunSettings {
    /// The settings of an agent.
    ///
    /// # Errors
    /// A field that the registry should not have taken.
    pub fn of(settings: &operate::AgentSettings) -> Result<Self, Violation> {
        let mut taken = Self {
            model: ModelChoice::of(settings.model.as_ref()),
            tools: Vec::with_capacity(settings.tools.len()),
            rules: BTreeMap::new(),
            logs: ProviderLogs::of(Some(settings)),
        };
        for tool in &settings.tools {
            let name = ToolName::parse(tool.tool_name.as_str())?;
            taken.tools.push(Tool {
                name: name.clone(),
                description: tool.description.clone(),
                input_schema: JsonText::parse(tool.input_schema_json.as_str())?,
            });
            let timeout = Duration::from_millis(tool.timeout_ms.into());
            let webhook = (!tool.webhook_url.is_empty()).then(|| Webhook {
                url: tool.webhook_url.clone(),
                timeout: if timeout.is_zero() {
                    WEBHOOK_TIMEOUT_DEFAULT
                } else {
                    timeout
                },
            });
            let rule = ToolRule {
                webhook,
                needs_approval: tool.needs_approval,
            };
            taken.rules.insert(name, rule);
        }
        Ok(taken)
    }

    /// Who answers a call by itself, without a person's leave.
    #[must_use]
    pub fn answering(&self, tool: &ToolName) -> Option<&Webhook> {
        let rule = self.rules.get(tool).filter(|rule| !rule.needs_approval)?;
        rule.webhook.as_ref()
    }

    /// Who answers a call that a person has approved.
    #[must_use]
    pub fn answering_approved(&self, tool: &ToolName) -> Option<&Webhook> {
        self.rules.get(tool)?.webhook.as_ref()
    }
}

impl ModelChoice {
    /// The model of settings; none: the built-in one.
    #[must_use]
    pub fn of(given: Option<&operate::ModelSettings>) -> Self {
        let given = given.cloned().unwrap_or_default();
        let or = |text: String, default: &str| {
            if text.is_empty() {
                default.to_owned()
            } else {
                text
            }
        };
        let server = or(given.server, ECHO);
        Self {
            model: or(given.model, &server),
            server,
            output_tokens_max: (given.output_tokens_max > 0).then_some(given.output_tokens_max),
            temperature: given.temperature,
            steps_max: match given.steps_max {
                0 => STEPS_MAX_DEFAULT,
                given => given,
            },
        }
    }

    /// The model as events name it.
    #[must_use]
    pub fn label(&self) -> Option<Label> {
        Label::parse(self.model.as_str()).ok()
    }
}
