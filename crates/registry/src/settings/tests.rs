use domain::bounds::{LABEL_BYTES_MAX, SCOPE_ID_CHARS_MAX};

use wire::proto::operate::v1::{AttachmentSettings, ClientContextSettings, FrontendSettings};

use super::super::{ATTACHMENT_BYTES_MAX, ATTACHMENTS_MAX};
use super::*;

const SCHEMA: &str = r#"{"type": "object"}"#;

fn model() -> ModelSettings {
    ModelSettings { server: "local".to_owned(), model: "smol".to_owned(), ..ModelSettings::default() }
}

fn tool(name: &str) -> ToolSettings {
    ToolSettings { tool_name: name.to_owned(), input_schema_json: SCHEMA.to_owned(), ..ToolSettings::default() }
}

fn summaries() -> SummarySettings {
    SummarySettings { model: Some(model()), tokens_min: SUMMARY_TOKENS_MIN, tokens_kept: 0 }
}

/// `expected` is the field of the violation; empty: none.
#[track_caller]
fn check(change: impl FnOnce(&mut AgentSettings), expected: &str) {
    let mut settings = AgentSettings {
        model: Some(model()),
        tools: vec![tool("search")],
        retention: Some(RetentionSettings::default()),
        summaries: Some(summaries()),
        ..AgentSettings::default()
    };
    change(&mut settings);
    let field =
        CheckedSettings::parse(settings).map_or_else(|violation| violation.field, |_| domain::FieldPath::default());
    assert_eq!(field, expected);
}

#[track_caller]
fn check_model(change: impl FnOnce(&mut ModelSettings), expected: &str) {
    check(|settings| change(settings.model.as_mut().unwrap()), expected);
}

#[track_caller]
fn check_tool(change: impl FnOnce(&mut ToolSettings), expected: &str) {
    check(|settings| change(&mut settings.tools[0]), expected);
}

#[track_caller]
fn check_summaries(change: impl FnOnce(&mut SummarySettings), expected: &str) {
    check(|settings| change(settings.summaries.as_mut().unwrap()), expected);
}

#[test]
fn nothing_is_required() {
    assert!(CheckedSettings::parse(AgentSettings::default()).is_ok());
    check(|_| {}, "");
}

#[test]
fn identity_modes() {
    for mode in [0, 2, 3, 4, 5] {
        check(|settings| settings.identity_mode = mode, "");
    }
    check(|settings| settings.identity_mode = 1, "identity_mode");
    check(|settings| settings.identity_mode = 6, "identity_mode");
    check(|settings| settings.identity_mode = -1, "identity_mode");
}

#[test]
fn models() {
    check_model(|model| model.server = "a".repeat(SCOPE_ID_CHARS_MAX), "");
    check_model(|model| model.server = "a".repeat(SCOPE_ID_CHARS_MAX + 1), "model.server");
    check_model(|model| model.server.clear(), "model.server");
    check_model(|model| model.server = "a/b".to_owned(), "model.server");
    check_model(|model| model.model = "m".repeat(MODEL_BYTES_MAX), "");
    check_model(|model| model.model = "m".repeat(MODEL_BYTES_MAX + 1), "model.model");
    check_model(|model| model.model.clear(), "model.model");
    check_model(|model| (model.server, model.model) = (ECHO.to_owned(), String::new()), "");
    check_model(|model| model.steps_max = STEPS_MAX, "");
    check_model(|model| model.steps_max = STEPS_MAX + 1, "model.steps_max");
    for temperature in [0.0, TEMPERATURE_MAX] {
        check_model(|model| model.temperature = Some(temperature), "");
    }
    for temperature in [-0.001, 2.001, f64::NAN, f64::INFINITY] {
        check_model(|model| model.temperature = Some(temperature), "model.temperature");
    }
}

#[test]
fn other_models() {
    let check = |models: Vec<String>, expected: &str| {
        check(|settings| settings.other_models = models, expected);
    };
    let many = |count: usize| (0..count).map(|number| number.to_string()).collect();
    check(many(OTHER_MODELS_MAX), "");
    check(many(OTHER_MODELS_MAX + 1), "other_models");
    check(vec!["m".repeat(MODEL_BYTES_MAX)], "");
    check(vec!["m".repeat(MODEL_BYTES_MAX + 1)], "other_models[0]");
    for invalid in ["", "a\nb", "a"] {
        let models = vec!["a".to_owned(), invalid.to_owned()];
        check(models, "other_models[1]");
    }
}

#[test]
fn other_models_are_those_of_the_models_server() {
    let without_model = |settings: &mut AgentSettings| {
        settings.model = None;
        settings.other_models = vec!["a".to_owned()];
    };
    check(without_model, "other_models");
}

#[test]
fn tools() {
    let many = |count: usize| (0..count).map(|number| tool(&number.to_string())).collect();
    check(|settings| settings.tools = many(TOOLS_MAX), "");
    check(|settings| settings.tools = many(TOOLS_MAX + 1), "tools");
    check(|settings| settings.tools = vec![tool("a"), tool("b"), tool("a")], "tools[2].tool_name");
    check_tool(|tool| tool.tool_name = "n".repeat(LABEL_BYTES_MAX), "");
    check_tool(|tool| tool.tool_name = "n".repeat(LABEL_BYTES_MAX + 1), "tools[0].tool_name");
    check_tool(|tool| tool.description = "d".repeat(TOOL_DESCRIPTION_BYTES_MAX), "");
    check_tool(|tool| tool.description = "d".repeat(TOOL_DESCRIPTION_BYTES_MAX + 1), "tools[0].description");
    let schema = |bytes: usize| format!("{SCHEMA}{}", " ".repeat(bytes - SCHEMA.len()));
    check_tool(|tool| tool.input_schema_json = schema(TOOL_SCHEMA_BYTES_MAX), "");
    for wrong in [schema(TOOL_SCHEMA_BYTES_MAX + 1), String::new(), "[]".to_owned(), "{".to_owned()] {
        check_tool(|tool| tool.input_schema_json = wrong, "tools[0].input_schema_json");
    }
    check_tool(|tool| tool.webhook_url = "http://tools.internal/x".to_owned(), "");
    check_tool(|tool| tool.webhook_url = "x".to_owned(), "tools[0].webhook_url");
    check_tool(|tool| tool.timeout_ms = TOOL_TIMEOUT_MS_MAX, "");
    check_tool(|tool| tool.timeout_ms = TOOL_TIMEOUT_MS_MAX + 1, "tools[0].timeout_ms");
}

#[test]
fn retention_and_summaries() {
    let idle = |seconds: u64| {
        move |settings: &mut AgentSettings| {
            settings.retention.as_mut().unwrap().idle_seconds_max = seconds;
        }
    };
    check(idle(IDLE_SECONDS_MAX), "");
    check(idle(IDLE_SECONDS_MAX + 1), "retention.idle_seconds_max");
    let per_owner = |conversations: u32| {
        move |settings: &mut AgentSettings| {
            let retention = settings.retention.as_mut().unwrap();
            retention.conversations_per_owner_max = conversations;
        }
    };
    check(per_owner(CONVERSATIONS_PER_OWNER_MAX), "");
    check(per_owner(CONVERSATIONS_PER_OWNER_MAX + 1), "retention.conversations_per_owner_max");
    check_summaries(|summaries| summaries.model = None, "summaries.model");
    check_summaries(|summaries| summaries.model = Some(ModelSettings::default()), "summaries.model.server");
    check_summaries(|summaries| summaries.tokens_min -= 1, "summaries.tokens_min");
    check_summaries(|summaries| summaries.tokens_kept = SUMMARY_TOKENS_MIN - 1, "");
    check_summaries(|summaries| summaries.tokens_kept = SUMMARY_TOKENS_MIN, "summaries.tokens_kept");
}

#[test]
fn provider_logs() {
    let logs = |detail: i32, days: u32| {
        move |settings: &mut AgentSettings| {
            settings.provider_logs = Some(ProviderLogSettings { detail, days });
        }
    };
    check(logs(3, 0), "");
    check(logs(3, LOG_DAYS_MAX), "");
    check(logs(3, LOG_DAYS_MAX + 1), "provider_logs.days");
    check(logs(4, 1), "provider_logs.detail");
    check(logs(-1, 1), "provider_logs.detail");
}

#[test]
fn encoded_size_at_its_bound_and_one_past() {
    let sized = |bytes: usize| {
        let mut settings = AgentSettings::default();
        let full = ToolSettings { input_schema_json: format!("{SCHEMA}{}", " ".repeat(60_000)), ..tool("x") };
        settings.tools = (0..8).map(|number| ToolSettings { tool_name: number.to_string(), ..full.clone() }).collect();
        let mut last = tool("last");
        last.input_schema_json = format!("{SCHEMA}{}", " ".repeat(40_000));
        settings.tools.push(last);
        let spare = bytes - settings.encoded_len();
        settings.tools[8].input_schema_json.push_str(&" ".repeat(spare));
        settings
    };
    let fits = sized(SETTINGS_BYTES_MAX);
    assert_eq!(fits.encoded_len(), SETTINGS_BYTES_MAX);
    assert_eq!(CheckedSettings::parse(fits).map(drop), Ok(()));
    let past = CheckedSettings::parse(sized(SETTINGS_BYTES_MAX + 1));
    assert_eq!(past.unwrap_err().reason, ViolationReason::TooLong);
}

#[test]
fn allowed_roles() {
    let (user, assistant, system, developer) = (1, 2, 3, 4);
    let all = [developer, assistant, system];
    check(|settings| settings.allowed_roles = all.to_vec(), "");
    let refused = "allowed_roles[1]";
    for role in [0, user, assistant, 5, -1] {
        check(|settings| settings.allowed_roles = vec![assistant, role], refused);
    }
}

#[test]
fn titles() {
    let check = |titles: TitleSettings, expected: &str| {
        check(|settings| settings.titles = Some(titles), expected);
    };
    check(TitleSettings::default(), "");
    for (chars_max, expected) in [(TITLE_CHARS_MAX, ""), (TITLE_CHARS_MAX + 1, "titles.chars_max")] {
        let titles = TitleSettings { chars_max, model: Some(model()) };
        check(titles, expected);
    }
    let no_model = TitleSettings { model: Some(ModelSettings::default()), ..TitleSettings::default() };
    check(no_model, "titles.model.server");
}

#[test]
fn output_schemas() {
    for (schema, expected) in [("", ""), (SCHEMA, ""), ("[]", "output_schema_json")] {
        check(|settings| settings.output_schema_json = schema.to_owned(), expected);
    }
}

#[track_caller]
fn check_frontend(frontend: FrontendSettings, expected: &str) {
    check(|settings| settings.frontend = Some(frontend), expected);
}

#[test]
fn details_of_tool_calls() {
    for (tool_calls, expected) in [(0, ""), (3, ""), (4, "frontend.tool_calls"), (-1, "frontend.tool_calls")] {
        let frontend = FrontendSettings { tool_calls, ..FrontendSettings::default() };
        check_frontend(frontend, expected);
    }
}

#[test]
fn attachments_have_known_types_and_bounds() {
    let check = |types: &[&str], file_bytes_max, files_max, expected: &str| {
        let attachments = AttachmentSettings {
            media_types: types.iter().map(|name| (*name).to_owned()).collect(),
            file_bytes_max,
            files_max,
        };
        let frontend = FrontendSettings { attachments: Some(attachments), ..FrontendSettings::default() };
        check_frontend(frontend, expected);
    };
    check(&[], 0, 0, "");
    check(&["image/png", "text/plain"], ATTACHMENT_BYTES_MAX, ATTACHMENTS_MAX, "");
    let types = "frontend.attachments.media_types";
    check(&["text/plain", "image/svg+xml"], 0, 0, &format!("{types}[1]"));
    check(&["text/plain", "text/plain"], 0, 0, &format!("{types}[1]"));
    let bytes = "frontend.attachments.file_bytes_max";
    check(&[], ATTACHMENT_BYTES_MAX + 1, 0, bytes);
    let files = "frontend.attachments.files_max";
    check(&[], 0, ATTACHMENTS_MAX + 1, files);
}

#[test]
fn fields_of_the_context() {
    for (fields, expected) in [
        (vec![], ""),
        (vec![1, 2, 3, 4, 5, 6], ""),
        (vec![1, 0], "frontend.client_context.fields[1]"),
        (vec![7], "frontend.client_context.fields[0]"),
        (vec![5, 5], "frontend.client_context.fields[1]"),
    ] {
        let frontend =
            FrontendSettings { client_context: Some(ClientContextSettings { fields }), ..FrontendSettings::default() };
        check_frontend(frontend, expected);
    }
}
