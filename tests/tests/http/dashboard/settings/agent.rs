//! The form of an agent's settings.

use tests::dashboard::Browser;
use tests::eventually::eventually;
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::DashboardRole;

use super::{SCRIPT, administrator, agent_path, check_shown, input};
use crate::fixture::Fixture;

async fn settings(fixture: &Fixture) -> proto::AgentSettings {
    let request = proto::ListAgentsRequest { tenant_id: fixture.tenant.to_owned() };
    let listed = fixture.operator.registry().list_agents(request).await;
    let mut agents = listed.unwrap().into_inner().agents.into_iter();
    let agent = agents.find(|agent| agent.agent_id == fixture.agent_id);
    agent.unwrap().settings.unwrap()
}

/// The page once this gateway knows the settings of the writer: its form is of their revision.
async fn current_page(fixture: &Fixture, browser: &Browser, text: &str) -> String {
    eventually("the current settings", || async {
        let page = browser.get(&agent_path(fixture)).await.text();
        page.contains(text).then_some(page)
    })
    .await
}

/// The fields of the settings of the fixture, with these instead.
fn fields<'a>(revision: &'a str, changed: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let current = [
        ("revision", revision),
        ("model.server", "echo"),
        ("identity_mode", "IDENTITY_MODE_OPEN"),
        ("frontend", r#"{"toolCalls": "TOOL_CALL_DETAIL_FULL"}"#),
    ];
    let is_kept = |(name, _): &(&str, &str)| changed.iter().all(|(other, _)| other != name);
    let kept = current.into_iter().filter(is_kept);
    kept.chain(changed.iter().copied()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_settings_are_saved_and_audited_by_name() {
    let (fixture, browser) = administrator().await;
    let page = current_page(&fixture, &browser, "value=\"IDENTITY_MODE_OPEN\" selected").await;
    let before = settings(&fixture).await;
    let tools = r#"[{"toolName": "secret-tool", "inputSchemaJson": "{}", "webhookUrl": "https://a.example/"}]"#;
    let changed = [
        ("model.temperature", "0.5"),
        ("tools", tools),
        ("titles", "{}"),
        ("output_schema_json", "{\"type\": \"object\"}"),
        ("retention.idle_seconds_max", "7776000"),
        ("allowed_roles", "ROLE_SYSTEM"),
        ("allowed_roles", "ROLE_ASSISTANT"),
    ];
    let revision = input(&page, "revision");
    let saved = browser.post(&agent_path(&fixture), &fields(&revision, &changed)).await;
    let names = "allowed_roles, model, output_schema_json, retention, titles, tools";
    let saved = check_shown(&saved, 200, &format!("Saved: {names}."));
    let after = settings(&fixture).await;
    assert_eq!(after.identity_mode, before.identity_mode);
    assert_eq!(after.model.unwrap().temperature, Some(0.5));
    assert_eq!(after.tools[0].tool_name, "secret-tool");
    assert_eq!(after.retention.unwrap().idle_seconds_max, 7_776_000);
    assert_eq!(after.allowed_roles.len(), 2);
    assert_eq!(after.titles, Some(proto::TitleSettings::default()));
    let log = browser.get("/dashboard/audit").await.text();
    assert!(log.contains(&format!("agent {}: {names}", fixture.agent_id)), "{log}");
    assert!(!log.contains("secret-tool"), "{log}");
    // The form of the answer is of the new revision, and empty fields have their defaults.
    current_page(&fixture, &browser, "secret-tool").await;
    let revision = input(&saved, "revision");
    let again = browser.post(&agent_path(&fixture), &fields(&revision, &[])).await;
    check_shown(&again, 200, "Saved: ");
    assert_eq!(settings(&fixture).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_at_their_fields_and_the_text_stays() {
    let (fixture, browser) = administrator().await;
    let page = current_page(&fixture, &browser, "value=\"IDENTITY_MODE_OPEN\" selected").await;
    let revision = input(&page, "revision");
    let before = settings(&fixture).await;
    let hostile = format!("[{{\"{SCRIPT}\": 1}}]");
    for (name, text, status, expected) in [
        ("tools", "[\n {]", 400, "line 2, column 3: "),
        ("tools", r#"[{"toolName": "a"}]"#, 400, "tools[0].input_schema_json is required"),
        ("tools", hostile.as_str(), 400, "line 1, column "),
        ("model.server", SCRIPT, 400, "model.server"),
        ("model.steps_max", "33", 400, "model.steps_max is 33"),
        ("quotas", r#"{"tenant": {"runs": "1"}}"#, 400, "quotas"),
        ("titles", r#"{"none": 1}"#, 400, "line 1"),
        ("search.language", "xx", 400, "search.language"),
        (
            "tools",
            r#"[{"toolName": "a", "inputSchemaJson": "{}", "webhookUrl": "http://10.0.0.1/"}]"#,
            400,
            "tools[0].webhook_url",
        ),
    ] {
        let answer = browser.post(&agent_path(&fixture), &fields(&revision, &[(name, text)])).await;
        let page = check_shown(&answer, status, expected);
        assert!(page.contains("aria-invalid=\"true\""), "{name}: {page}");
        assert!(page.contains("Nothing was saved"), "{name}: {page}");
        let typed = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
        assert!(page.contains(&typed), "{name}: {page}");
    }
    assert_eq!(settings(&fixture).await, before);
    let unchanged = browser.post(&agent_path(&fixture), &fields(&revision, &[])).await;
    check_shown(&unchanged, 200, "Nothing was changed.");
    let log = browser.get("/dashboard/audit").await.text();
    assert!(!log.contains(&format!("agent {}", fixture.agent_id)), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_by_others_is_not_overwritten_unseen() {
    let (fixture, browser) = administrator().await;
    let page = current_page(&fixture, &browser, "value=\"IDENTITY_MODE_OPEN\" selected").await;
    let revision = input(&page, "revision");
    let before = settings(&fixture).await;
    let changed = proto::AgentSettings { identity_mode: proto::IdentityMode::Signed.into(), ..before };
    fixture.operator.settings(fixture.agent_id, changed).await;
    current_page(&fixture, &browser, "value=\"IDENTITY_MODE_SIGNED\" selected").await;
    let typed = [("model.steps_max", "7")];
    let conflict = browser.post(&agent_path(&fixture), &fields(&revision, &typed)).await;
    let conflict = check_shown(&conflict, 409, "the settings were changed after");
    assert_eq!(input(&conflict, "model.steps_max"), "7");
    let revision = input(&conflict, "revision");
    let saved = browser.post(&agent_path(&fixture), &fields(&revision, &typed)).await;
    check_shown(&saved, 200, "Saved: identity_mode, model.");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_session_saves_nothing() {
    let (fixture, browser) = administrator().await;
    let page = current_page(&fixture, &browser, "value=\"IDENTITY_MODE_OPEN\" selected").await;
    let revision = input(&page, "revision");
    let before = settings(&fixture).await;
    browser.post("/dashboard/sign-out", &[]).await;
    eventually("the end of the session", || async {
        let answer = browser.get(&agent_path(&fixture)).await;
        (answer.status != 200).then_some(())
    })
    .await;
    let fields = fields(&revision, &[("model.steps_max", "7")]);
    let answer = browser.post(&agent_path(&fixture), &fields).await;
    check_shown(&answer, 401, "SIGN_IN_REQUIRED");
    assert_eq!(settings(&fixture).await, before);
    let viewer = super::person(&fixture, DashboardRole::Viewer).await;
    let answer = viewer.post(&agent_path(&fixture), &fields).await;
    check_shown(&answer, 403, "ROLE_TOO_LOW");
}
