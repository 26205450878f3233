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

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use wire::proto::operate::v1::{SummarySettings, ToolSettings};

    use super::*;

    fn rules() -> EgressRules {
        let tenants = BTreeSet::from(["acme".to_owned()]);
        let model_tenants = BTreeMap::from([("own".to_owned(), tenants)]);
        EgressRules::new(EgressConfig { model_tenants, ..EgressConfig::default() })
    }

    fn model(server: &str) -> ModelSettings {
        ModelSettings { server: server.to_owned(), ..ModelSettings::default() }
    }

    #[test]
    fn a_tenant_uses_its_own_model_servers_and_shared_ones() {
        let check = |tenant: &str, settings: &AgentSettings, expected: Option<&str>| {
            let checked = rules().check_settings(&TenantId::parse(tenant).unwrap(), settings);
            let seen = checked.as_ref().err().map(|problem| (problem.reason(), problem.field().unwrap().to_string()));
            assert_eq!(seen, expected.map(|field| (Reason::ModelServerNotAllowed, field.to_owned())), "{tenant}");
        };
        let turns = |server| AgentSettings { model: Some(model(server)), ..AgentSettings::default() };
        let summaries = |server| {
            let summaries = SummarySettings { model: Some(model(server)), ..SummarySettings::default() };
            AgentSettings { summaries: Some(summaries), ..AgentSettings::default() }
        };
        check("other", &AgentSettings::default(), None);
        check("acme", &turns("own"), None);
        check("other", &turns("shared"), None);
        check("other", &turns("own"), Some("settings.model.server"));
        check("acme", &summaries("own"), None);
        check("other", &summaries("own"), Some("settings.summaries.model.server"));
    }

    #[test]
    fn webhooks_are_called_on_the_public_internet() {
        let check = |urls: &[&str], expected: Option<(Reason, &str)>| {
            let tool = |url: &&str| ToolSettings { webhook_url: (*url).to_owned(), ..ToolSettings::default() };
            let settings = AgentSettings { tools: urls.iter().map(tool).collect(), ..AgentSettings::default() };
            let checked = rules().check_settings(&TenantId::parse("acme").unwrap(), &settings);
            let seen = checked.as_ref().err().map(|problem| (problem.reason(), problem.field().unwrap().to_string()));
            assert_eq!(seen, expected.map(|(reason, field)| (reason, field.to_owned())), "{urls:?}");
        };
        let public = "https://hooks.example.com/x";
        let malformed = Reason::Field(ViolationReason::Malformed);
        check(&["", public], None);
        check(&[public, "https://10.0.0.1/x"], Some((Reason::DestinationNotAllowed, "settings.tools[1].webhook_url")));
        check(&["http://hooks.example.com/x"], Some((Reason::DestinationNotAllowed, "settings.tools[0].webhook_url")));
        check(&["ftp://hooks.example.com/x"], Some((malformed, "settings.tools[0].webhook_url")));
    }
}
