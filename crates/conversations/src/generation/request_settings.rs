//! What a request sets instead of its agent's settings. Pure.

use domain::{Violation, ViolationReason};
use models::{ModelRequest, ModelServers, RequestOptions, Tool};

use super::settings::ModelChoice;

/// What a request to a model sets. Its tools replace those of the agent, and the caller runs them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestSettings {
    /// The model, on the server of the agent's model; `None`: the agent's. The caller checks that the agent allows it.
    pub model: Option<String>,
    /// Instructions, after those of the agent's context policy.
    pub instructions: Option<String>,
    /// The tools that the model may call.
    pub tools: Vec<Tool>,
    /// Maximum number of tokens of the answer, in addition to the agent's.
    pub output_tokens_max: Option<u32>,
    /// The sampling temperature; `None`: the agent's.
    pub temperature: Option<f64>,
    /// Options that not every model server has.
    pub options: RequestOptions,
}

impl RequestSettings {
    /// Replaces the agent's model by that of the request.
    pub(super) fn choose(&self, model: &mut ModelChoice) {
        if let Some(name) = &self.model {
            model.model.clone_from(name);
        }
    }

    /// Checks that the model's server has the options.
    ///
    /// # Errors
    /// The first option that it does not have.
    pub(super) fn check(&self, models: &ModelServers, model: &ModelChoice) -> Result<(), Violation> {
        match models.unsupported_option(&model.server, &self.options) {
            None => Ok(()),
            Some(option) => {
                let rule = "is not supported by the agent's model server: leave it out";
                Err(Violation::new(ViolationReason::Malformed, rule).within(option))
            }
        }
    }

    /// Completes a request of the agent's model.
    pub(super) fn complete(&self, request: ModelRequest) -> ModelRequest {
        let own = self.output_tokens_max;
        ModelRequest {
            tools: self.tools.clone(),
            max_output_tokens: own.into_iter().chain(request.max_output_tokens).min(),
            temperature: self.temperature.or(request.temperature),
            options: self.options.clone(),
            ..request
        }
    }
}
