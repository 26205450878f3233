//! What a request sets instead of its agent's settings. Pure.

use domain::{Violation, ViolationReason};
use formats::RequestSettings;
use models::{ModelRequest, ModelServers};

use super::settings::ModelChoice;

/// Replaces the agent's model by that of the request.
pub(super) fn choose(request: &RequestSettings, model: &mut ModelChoice) {
    if let Some(name) = &request.model {
        model.model.clone_from(name);
    }
}

/// Checks that the model's server has the options.
///
/// # Errors
/// The first option that it does not have.
pub(super) fn check(request: &RequestSettings, models: &ModelServers, model: &ModelChoice) -> Result<(), Violation> {
    match models.unsupported_option(&model.server, &request.options) {
        None => Ok(()),
        Some(option) => {
            let rule = "is not supported by the agent's model server: leave it out";
            Err(Violation::new(ViolationReason::Malformed, rule).within(option))
        }
    }
}

/// Completes a request of the agent's model.
pub(super) fn complete(settings: &RequestSettings, request: ModelRequest) -> ModelRequest {
    let own = settings.output_tokens_max;
    ModelRequest {
        tools: settings.tools.clone(),
        max_output_tokens: own.into_iter().chain(request.max_output_tokens).min(),
        temperature: settings.temperature.or(request.temperature),
        options: settings.options.clone(),
        ..request
    }
}
