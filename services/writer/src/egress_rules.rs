//! The servers that tenants may use in settings and signing keys. They are checked when they are set; gateways check again
//! before each call.

use domain::{TenantId, ViolationReason};
use egress::{EgressConfig, Policy, Refusal};
use wire::proto::operate::v1::{AgentSettings, ModelSettings};
use wire::status::{Problem, Reason};

#[derive(Debug)]
pub(crate) struct EgressRules {
    config: EgressConfig,
    policy: Policy,
}

impl EgressRules {
    pub(crate) fn new(config: EgressConfig) -> Self {
        let policy = Policy::new(&config);
        Self { config, policy }
    }

    /// Checks the webhook URLs and the model servers of settings.
    /// Errors: `DESTINATION_NOT_ALLOWED` or `MODEL_SERVER_NOT_ALLOWED`, with the field.
    pub(crate) fn check_settings(&self, tenant: &TenantId, settings: &AgentSettings) -> Result<(), Problem> {
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

    /// Checks a URL without resolving its host.
    /// Errors: `DESTINATION_NOT_ALLOWED` or `FIELD_MALFORMED`, with the field.
    pub(crate) fn check_url(&self, field: &str, url: &str) -> Result<(), Problem> {
        let checked = self.policy.check_url(url).map(drop);
        checked.map_err(|refusal| Problem::of_field(reason(refusal), field, refusal.to_string()))
    }

    fn check_model(&self, tenant: &TenantId, field: &str, model: Option<&ModelSettings>) -> Result<(), Problem> {
        let server = model.map_or("", |model| model.server.as_str());
        if self.config.may_use_model_server(tenant, server) {
            return Ok(());
        }
        let rule = "names a model server that only other tenants may use";
        Err(Problem::of_field(Reason::ModelServerNotAllowed, field, rule))
    }
}

fn reason(refusal: Refusal) -> Reason {
    match refusal {
        Refusal::Malformed | Refusal::Scheme => Reason::Field(ViolationReason::Malformed),
        Refusal::Plaintext | Refusal::InternalName | Refusal::SpecialAddress => Reason::DestinationNotAllowed,
    }
}
