//! Settings of agents.

use domain::{TenantId, Violation};
use registry::CheckedSettings;
use wire::proto::operate::v1::AgentSettings;

use super::{Problem, Request, Writer, administrator, agents, from_settings, masked, proto};

pub(super) async fn set(
    writer: &Writer,
    request: Request<proto::SetAgentSettingsRequest>,
) -> Result<proto::Agent, Problem> {
    let (by, request) = administrator(writer, request).await?;
    let agent = agents::visible(writer, &by.principal, &request.agent_id)?;
    let given = request.settings.unwrap_or_default();
    let paths = request.update_mask.unwrap_or_default().paths;
    let named = changed(AgentSettings::default(), &given, &paths)?;
    let current = writer.registry.agent(&agent).unwrap_or_default();
    let tenant = TenantId::parse(current.tenant_id)?;
    // Other fields remain, also if their servers are not allowed any more: the gateway does not call them.
    writer.egress.check_settings(&tenant, &named)?;
    let settings = changed(current.settings.unwrap_or_default(), &given, &paths)?;
    let checked = writer.check(tenant.as_str(), || CheckedSettings::parse(settings)).await?;
    checked.map_err(|violation| violation.within("settings"))?;
    // The schema was checked now, or when another caller set it.
    let changed = |current| {
        let settings = changed(current, &given, &paths)?;
        CheckedSettings::parse_with_known_schema(settings).map_err(|violation| violation.within("settings"))
    };
    let what = if paths.is_empty() { "all settings".to_owned() } else { paths.join(", ") };
    by.record_change(writer, format!("agent {agent}: {what}")).await?;
    writer.registry.change_agent_settings(&agent, changed).await.map_err(from_settings("agent_id"))
}

/// Sets the named fields; without names, all fields.
fn changed(current: AgentSettings, given: &AgentSettings, paths: &[String]) -> Result<AgentSettings, Violation> {
    let unknown = "is not a setting: use a field of AgentSettings, such as `tools` or `model.server`";
    masked("hansard.operate.v1.AgentSettings", current, given, paths, unknown)
}

#[cfg(test)]
mod tests {
    use wire::proto::operate::v1::{ModelSettings, ProviderLogSettings};

    use super::super::PATHS_MAX;
    use super::*;

    fn model(server: &str, model: &str, output_tokens_max: u32) -> ModelSettings {
        ModelSettings {
            server: server.to_owned(),
            model: model.to_owned(),
            output_tokens_max,
            ..ModelSettings::default()
        }
    }

    fn check(paths: &[&str], expected: Result<AgentSettings, &str>) {
        let current = AgentSettings {
            identity_mode: 3,
            model: Some(model("a", "b", 7)),
            provider_logs: Some(ProviderLogSettings { detail: 2, days: 5 }),
            ..AgentSettings::default()
        };
        let given = AgentSettings {
            model: Some(model("c", "d", 0)),
            provider_logs: Some(ProviderLogSettings { detail: 3, days: 0 }),
            allowed_roles: vec![2],
            ..AgentSettings::default()
        };
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        let seen = changed(current, &given, &paths).map_err(|violation| violation.field);
        assert_eq!(seen, expected.map_err(domain::FieldPath::from), "{paths:?}");
    }

    #[test]
    fn other_fields_remain() {
        let logs = |detail, days| Some(ProviderLogSettings { detail, days });
        let settings = |identity_mode, model, provider_logs| {
            Ok(AgentSettings { identity_mode, model: Some(model), provider_logs, ..AgentSettings::default() })
        };
        let given =
            settings(0, model("c", "d", 0), logs(3, 0)).map(|given| AgentSettings { allowed_roles: vec![2], ..given });
        check(&[], given);
        check(&["model.server", "model.model"], settings(3, model("c", "d", 7), logs(2, 5)));
        check(&["model", "provider_logs.detail"], settings(3, model("c", "d", 0), logs(3, 5)));
        check(&["identity_mode", "provider_logs"], settings(0, model("a", "b", 7), logs(3, 0)));
        let with_roles = settings(3, model("a", "b", 7), logs(2, 5))
            .map(|unchanged| AgentSettings { allowed_roles: vec![2], ..unchanged });
        check(&["allowed_roles"], with_roles);
        let unchanged = || settings(3, model("a", "b", 7), logs(2, 5));
        check(&["tools", "retention", "summaries"], unchanged());
        check(&["titles", "output_schema_json"], unchanged());
        check(&["tools"; PATHS_MAX], unchanged());
        check(&["tools"; PATHS_MAX + 1], Err("update_mask.paths"));
        for path in ["name", "model.name", "tools.tool_name", "model.", ""] {
            check(&["tools", path], Err("update_mask.paths[1]"));
        }
    }
}
