//! Settings of agents.

use domain::{TenantId, Violation};
use registry::{CheckedSettings, copy_quota};
use wire::proto::operate::v1::{AgentSettings, FrontendSettings, ModelSettings, ProviderLogSettings, SearchSettings};

use super::{Problem, Request, Writer, administrator, agents, copy_named, from_settings, proto};

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
    if paths.is_empty() {
        return Ok(given.clone());
    }
    let unknown = "is not a setting: use a field of AgentSettings, or a field of its `frontend`, `model`, `provider_logs`, `quotas` or `search`";
    copy_named(current, paths, unknown, |current, path| take(current, given, path))
}

/// Sets one field; `None` if there is no such field.
fn take(current: &mut AgentSettings, given: &AgentSettings, path: &str) -> Option<()> {
    match path {
        "identity_mode" => current.identity_mode = given.identity_mode,
        "allowed_roles" => current.allowed_roles.clone_from(&given.allowed_roles),
        "model" => current.model.clone_from(&given.model),
        "other_models" => current.other_models.clone_from(&given.other_models),
        "tools" => current.tools.clone_from(&given.tools),
        "retention" => current.retention = given.retention,
        "summaries" => current.summaries.clone_from(&given.summaries),
        "titles" => current.titles.clone_from(&given.titles),
        "output_schema_json" => {
            current.output_schema_json.clone_from(&given.output_schema_json);
        }
        "approvers" => current.approvers = given.approvers,
        "provider_logs" => current.provider_logs = given.provider_logs,
        "quotas" => current.quotas = given.quotas,
        "search" => current.search.clone_from(&given.search),
        "frontend" => current.frontend.clone_from(&given.frontend),
        _ => {
            return match path.split_once('.')? {
                ("model", field) => {
                    let model = current.model.get_or_insert_default();
                    take_of_model(model, given.model.as_ref(), field)
                }
                ("quotas", field) => {
                    let quotas = current.quotas.get_or_insert_default();
                    copy_quota(quotas, given.quotas.as_ref(), field)
                }
                ("frontend", field) => {
                    let frontend = current.frontend.get_or_insert_default();
                    take_of_frontend(frontend, given.frontend.as_ref(), field)
                }
                ("search", field) => {
                    let search = current.search.get_or_insert_default();
                    take_of_search(search, given.search.as_ref(), field)
                }
                ("provider_logs", field) => {
                    let logs = current.provider_logs.get_or_insert_default();
                    take_of_logs(logs, given.provider_logs.unwrap_or_default(), field)
                }
                _ => None,
            };
        }
    }
    Some(())
}

fn take_of_model(current: &mut ModelSettings, given: Option<&ModelSettings>, field: &str) -> Option<()> {
    let given = given.cloned().unwrap_or_default();
    match field {
        "server" => current.server = given.server,
        "model" => current.model = given.model,
        "output_tokens_max" => current.output_tokens_max = given.output_tokens_max,
        "temperature" => current.temperature = given.temperature,
        "steps_max" => current.steps_max = given.steps_max,
        _ => return None,
    }
    Some(())
}

fn take_of_search(current: &mut SearchSettings, given: Option<&SearchSettings>, field: &str) -> Option<()> {
    let given = given.cloned().unwrap_or_default();
    match field {
        "disabled" => current.disabled = given.disabled,
        "language" => current.language = given.language,
        _ => return None,
    }
    Some(())
}

fn take_of_frontend(current: &mut FrontendSettings, given: Option<&FrontendSettings>, field: &str) -> Option<()> {
    let given = given.cloned().unwrap_or_default();
    match field {
        "tool_calls" => current.tool_calls = given.tool_calls,
        "attachments" => current.attachments = given.attachments,
        "attachments.media_types" => {
            let types = given.attachments.unwrap_or_default().media_types;
            current.attachments.get_or_insert_default().media_types = types;
        }
        "client_context" => current.client_context = given.client_context,
        _ => return None,
    }
    Some(())
}

fn take_of_logs(current: &mut ProviderLogSettings, given: ProviderLogSettings, field: &str) -> Option<()> {
    match field {
        "detail" => current.detail = given.detail,
        "days" => current.days = given.days,
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
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
        assert_eq!(seen, expected.map_err(str::to_owned), "{paths:?}");
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
