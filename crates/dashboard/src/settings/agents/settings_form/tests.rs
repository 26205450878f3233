use axum::http::StatusCode;
use wire::proto::event::v1::Role;
use wire::proto::operate::v1 as proto;

use super::*;

fn typed(fields: &[(&str, &str)]) -> SettingsForm {
    let fields: Vec<(String, String)> =
        fields.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    SettingsForm::typed(&fields)
}

/// The error of a field after these fields were typed.
fn error(fields: &[(&str, &str)], name: &str) -> String {
    let mut form = typed(fields);
    assert_eq!(form.settings(), None, "{fields:?}");
    error_at(&form, name)
}

fn error_at(form: &SettingsForm, name: &str) -> String {
    let entry = form.0.iter().find(|entry| entry.definition.name == name);
    entry.unwrap().error.clone().unwrap_or_default()
}

fn every_setting() -> AgentSettings {
    let model = proto::ModelSettings {
        server: "openai".to_owned(),
        model: "gpt-4.1".to_owned(),
        output_tokens_max: 1_000,
        temperature: Some(0.3),
        steps_max: 4,
    };
    AgentSettings {
        identity_mode: proto::IdentityMode::Signed.into(),
        model: Some(model.clone()),
        tools: vec![proto::ToolSettings {
            tool_name: "read".to_owned(),
            input_schema_json: "{\"type\": \"object\"}".to_owned(),
            webhook_url: "https://a.example/b".to_owned(),
            needs_approval: true,
            timeout_ms: 5,
            ..proto::ToolSettings::default()
        }],
        retention: Some(proto::RetentionSettings {
            messages_max: 5_000_000_000,
            conversations_per_owner_max: 20,
            idle_seconds_max: 7,
        }),
        summaries: Some(proto::SummarySettings { model: Some(model), tokens_min: 20_000, tokens_kept: 0 }),
        provider_logs: Some(proto::ProviderLogSettings { detail: 2, days: 3 }),
        allowed_roles: vec![Role::System.into(), Role::Assistant.into()],
        approvers: proto::Approvers::Administrator.into(),
        quotas: Some(proto::Quotas {
            owner: Some(proto::QuotaLimits { runs: Some(0), ..proto::QuotaLimits::default() }),
            ..proto::Quotas::default()
        }),
        titles: Some(proto::TitleSettings::default()),
        output_schema_json: "{\n  \"type\": \"object\"\n}".to_owned(),
        other_models: vec!["a/b".to_owned(), "c".to_owned()],
        search: Some(proto::SearchSettings { disabled: true, language: "en".to_owned() }),
        frontend: Some(proto::FrontendSettings { tool_calls: 2, ..proto::FrontendSettings::default() }),
    }
}

#[test]
fn settings_survive_the_form() {
    for settings in [AgentSettings::default(), every_setting()] {
        let shown = SettingsForm::of(&settings);
        let sent: Vec<(String, String)> = shown
            .0
            .iter()
            .map(|entry| {
                let text = entry.text.replace('\n', "\r\n");
                (entry.definition.name.to_owned(), text)
            })
            .collect();
        let again = SettingsForm::typed(&sent).settings().unwrap();
        assert_eq!(again, settings);
        assert_eq!(changed(&settings, &again), Vec::<String>::new());
    }
    let names = changed(&AgentSettings::default(), &every_setting());
    assert_eq!(names.len(), 14, "{names:?}");
}

#[test]
fn errors_are_at_their_fields_with_line_and_column() {
    for (name, text, expected) in [
        ("tools", "[\n {\"toolName\": }]", "line 2, column 15: expected value"),
        ("tools", "[\n {\"none\": 1}]", "line 2"),
        ("tools", "[] []", "line 1, column 4: trailing characters"),
        ("titles", "[]", "line 1"),
        ("output_schema_json", "{\n", "line 2, column 0"),
        ("model.steps_max", "many", "is not a number"),
        ("model.steps_max", "99999999999", ""),
        ("model.steps_max", "-1", ""),
        ("approvers", "NOBODY", "is not one of the choices"),
        ("allowed_roles", "user", "is not one of the choices"),
    ] {
        let seen = error(&[(name, text)], name);
        assert!(!seen.is_empty() && seen.contains(expected), "{name}: {seen}");
    }
}

#[test]
fn rejections_are_at_their_fields() {
    for (path, expected) in [
        ("settings.model.server", Some("model.server")),
        ("settings.tools[2].tool_name", Some("tools")),
        ("settings.summaries.model.server", Some("summaries")),
        ("settings.output_schema_json", Some("output_schema_json")),
        ("settings.quotas.tenant", Some("quotas")),
        ("settings.retention", Some("retention.messages_max")),
        ("settings", None),
        ("agent_id", None),
    ] {
        let mut form = typed(&[]);
        let is_at_field = form.reject(&Rejection {
            status: StatusCode::BAD_REQUEST,
            field: path.into(),
            detail: format!("{path} is wrong"),
        });
        assert_eq!(is_at_field, expected.is_some(), "{path}");
        if let Some(name) = expected {
            let seen = error_at(&form, name);
            assert_eq!(seen, format!("{} is wrong", &path["settings.".len()..]));
        }
    }
}
