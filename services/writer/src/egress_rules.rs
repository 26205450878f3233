//! Which servers tenants may name in settings and signing keys: checked when they are set. Gateways check again when they call.

use domain::{TenantId, ViolationReason};
use egress::{EgressConfig, Policy, Refusal};
use wire::proto::operate::v1::{AgentSettings, ModelSettings};
use wire::status::{Problem, Reason};

/// The deployment's rules.
#[derive(Debug)]
pub struct EgressRules {
    config: EgressConfig,
    policy: Policy,
}

impl EgressRules {
    /// The rules of settings.
    #[must_use]
    pub fn new(config: EgressConfig) -> Self {
        let policy = Policy::new(&config);
        Self { config, policy }
    }

    /// Checks what a request sets: webhooks by what their URLs say, and the model servers.
    ///
    /// # Errors
    /// `DESTINATION_NOT_ALLOWED` or `MODEL_SERVER_NOT_ALLOWED`, with the field.
    pub fn check_settings(
        &self,
        tenant: &TenantId,
        settings: &AgentSettings,
    ) -> Result<(), Problem> {
        for (index, tool) in settings.tools.iter().enumerate() {
            if tool.webhook_url.is_empty() {
                continue;
            }
            let field = format!("settings.tools[{index}].webhook_url");
            self.check_url(&field, &tool.webhook_url)?;
        }
        self.check_model(tenant, "settings.model.server", settings.model.as_ref())?;
        let summaries = settings.summaries.as_ref();
        let model = summaries.and_then(|summaries| summaries.model.as_ref());
        self.check_model(tenant, "settings.summaries.model.server", model)
    }

    /// Checks a URL by what it says: its host is not resolved.
    ///
    /// # Errors
    /// `DESTINATION_NOT_ALLOWED` or `FIELD_MALFORMED`, with the field.
    pub fn check_url(&self, field: &str, url: &str) -> Result<(), Problem> {
        let checked = self.policy.check_url(url).map(drop);
        checked.map_err(|refusal| Problem::of_field(reason(refusal), field, refusal.to_string()))
    }

    fn check_model(
        &self,
        tenant: &TenantId,
        field: &str,
        model: Option<&ModelSettings>,
    ) -> Result<(), Problem> {
        let server = model.map_or("", |model| model.server.as_str());
        if self.config.may_use_model_server(tenant, server) {
            return Ok(());
        }
        let rule = "names a model server that the deployment keeps for other tenants";
        Err(Problem::of_field(
            Reason::ModelServerNotAllowed,
            field,
            rule,
        ))
    }
}

fn reason(refusal: Refusal) -> Reason {
    match refusal {
        Refusal::Malformed | Refusal::Scheme => Reason::Field(ViolationReason::Malformed),
        Refusal::Plaintext | Refusal::InternalName | Refusal::SpecialAddress => {
            Reason::DestinationNotAllowed
        }
    }
}
