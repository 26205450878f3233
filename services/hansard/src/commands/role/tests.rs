use serde_json::json;

use super::*;

fn check_setting(text: &str, expected: Option<(&str, Value)>) {
    let setting = setting(text).ok();
    assert_eq!(setting, expected.map(|(key, value)| (key.to_owned(), value)), "{text}");
}

#[test]
fn settings_are_parsed() {
    check_setting("a.b=nats://x=y", Some(("a.b", json!("nats://x=y"))));
    check_setting("a=5", Some(("a", json!(5))));
    check_setting("a=\"5\"", Some(("a", json!("5"))));
    check_setting("a=true", Some(("a", json!(true))));
    check_setting("a=", Some(("a", json!(""))));
    check_setting("a", None);
    check_setting("=a", None);
}

#[test]
fn dotted_keys_become_nested_objects() {
    let settings = ["a.b=1", "a.c=2", "d=3", "a.b=4"].map(|text| setting(text).unwrap());
    assert_eq!(nested(&settings), json!({"a": {"b": 4, "c": 2}, "d": 3}));
    let settings = ["a=1", "a.b=2"].map(|text| setting(text).unwrap());
    assert_eq!(nested(&settings), json!({"a": {"b": 2}}));
}

fn settings(set: &[&str]) -> Settings {
    Settings {
        keys: MasterKeyArgs::default(),
        config: None,
        set: set.iter().map(|text| setting(text).unwrap()).collect(),
        check: true,
        end_with_stdin: false,
    }
}

fn check_load(set: &[&str], expected: Result<u16, &[&str]>) {
    let settings = settings(set);
    let loaded = load::<writer::WriterConfig>(&settings, Sources::new()).map(|process| process.role.record.partitions);
    let keys = loaded.map_err(|errors| errors.0.into_iter().map(|error| error.key).collect::<Vec<String>>());
    assert_eq!(keys, expected.map_err(|keys| keys.iter().map(ToString::to_string).collect()));
}

#[test]
fn all_errors_of_the_settings_are_reported_together() {
    check_load(&[], Ok(8));
    check_load(&["record.partitions=4", "telemetry.log_filter=debug"], Ok(4));
    check_load(
        &["record.partitions=0", "telemetry.log_formt=json", "grpc.calls_max=many"],
        Err(&["telemetry.log_formt", "grpc.calls_max", "record.partitions"]),
    );
}

#[test]
fn a_process_is_named_after_its_role() {
    let process = load::<gateway::GatewayConfig>(&settings(&[]), Sources::new()).unwrap();
    assert_eq!(process.telemetry.service_name, "hansard-gateway");
}

#[test]
fn former_settings_are_refused_also_with_the_former_default() {
    let set = ["grpc.retry_after_ms=100", "stream_commands_max=256", "telemetry.service_name=writer"];
    let errors = load::<writer::WriterConfig>(&settings(&set), Sources::new()).unwrap_err();
    assert_eq!(
        errors.to_string(),
        "`grpc.retry_after_ms` (flag) is gone: its value is fixed at 100; remove the line\n\
         `stream_commands_max` (flag) is gone: its value is fixed at 256; remove the line\n\
         `telemetry.service_name` (flag) is gone: its value is fixed at hansard-ROLE; remove the line"
    );
    let variable = ("HANSARD_MODELS__OPENAI__WAITING_MAX", "256");
    let errors = load::<gateway::GatewayConfig>(&settings(&[]), Sources::new().variables([variable])).unwrap_err();
    assert_eq!(
        errors.to_string(),
        "`models.openai.waiting_max` (environment variable HANSARD_MODELS__OPENAI__WAITING_MAX) is gone: its value is fixed at \
         256; remove the line"
    );
}

fn check_deployed<T>(file: &str)
where
    T: Default + RoleConfig + Validate + Serialize + DeserializeOwned,
{
    let deploy = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    let settings = Settings {
        keys: MasterKeyArgs::default(),
        config: Some(deploy.join(file)),
        set: Vec::new(),
        check: true,
        end_with_stdin: false,
    };
    if let Err(errors) = load::<T>(&settings, Sources::new()) {
        panic!("{errors}");
    }
}

#[test]
fn the_deployed_files_are_valid() {
    check_deployed::<writer::WriterConfig>("writer.toml");
    check_deployed::<projector::ProjectorConfig>("projector.toml");
    check_deployed::<gateway::GatewayConfig>("gateway.toml");
}
