use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::*;

const CALLS: Bounds<u32> = Bounds::new(1..=100, "calls");

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Grpc {
    addr: SocketAddr,
    calls_max: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Shape {
    Pretty,
    Json,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Config {
    name: String,
    shape: Shape,
    endpoint: Option<String>,
    port: Option<u16>,
    password: Option<Secret>,
    origins: Vec<String>,
    labels: BTreeMap<String, String>,
    grpc: Grpc,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            name: "dev".to_owned(),
            shape: Shape::Pretty,
            endpoint: None,
            port: None,
            password: None,
            origins: vec!["*".to_owned()],
            labels: BTreeMap::new(),
            grpc: Grpc { addr: "127.0.0.1:7101".parse().unwrap(), calls_max: 10 },
        }
    }
}

impl Validate for Config {
    fn validate(&self, checks: &mut Checks<'_>) {
        if self.name.is_empty() {
            checks.invalid("name", "is empty; give the service a name");
        }
        checks.section("grpc", &self.grpc);
    }
}

impl Validate for Grpc {
    fn validate(&self, checks: &mut Checks<'_>) {
        checks.bounds("calls_max", self.calls_max, &CALLS);
    }
}

fn load_from(file: &str, variables: &[(&str, &str)]) -> Result<Config, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hansard.toml");
    std::fs::write(&path, file).unwrap();
    let sources = Sources::new().file(Some(path.clone())).variables(variables.iter().copied());
    load(&sources).map_err(|e| e.to_string().replace(path.to_str().unwrap(), "FILE"))
}

fn check(file: &str, variables: &[(&str, &str)], change: impl FnOnce(&mut Config)) {
    let mut expected = Config::default();
    change(&mut expected);
    assert_eq!(load_from(file, variables), Ok(expected), "file {file:?}, variables {variables:?}");
}

fn check_lines(file: &str, variables: &[(&str, &str)], expected: &[&str]) {
    let error = load_from(file, variables).expect_err(file);
    assert_eq!(error.lines().collect::<Vec<_>>(), expected, "file {file:?}, {variables:?}");
}

#[test]
fn a_later_layer_wins() {
    check("", &[], |_| {});
    check("[grpc]\ncalls_max = 7\n", &[], |c| c.grpc.calls_max = 7);
    check("[grpc]\ncalls_max = 7\n", &[("HANSARD_GRPC__CALLS_MAX", "8")], |c| {
        c.grpc.calls_max = 8;
    });
    check("", &[("HANSARD_GRPC__ADDR", "[::1]:80"), ("OTHER", "x")], |c| {
        c.grpc.addr = "[::1]:80".parse().unwrap();
    });
    check("", &[("HANSARD_PASSWORD", "0123")], |c| {
        c.password = Some(Secret::new("0123"));
    });
    check("", &[("HANSARD_NAME", "true")], |c| {
        c.name = "true".to_owned();
    });
    check("shape = 'json'", &[], |c| c.shape = Shape::Json);
    check("", &[("HANSARD_ORIGINS", r#"["a", "b"]"#)], |c| {
        c.origins = vec!["a".to_owned(), "b".to_owned()];
    });
    check("[labels]\nzone = 'a'\n", &[], |c| {
        c.labels.insert("zone".to_owned(), "a".to_owned());
    });
    check("", &[(CONFIG_PATH_VARIABLE, "/x.toml")], |_| {});
}

#[test]
fn reserved_variables_that_are_keys_are_settings() {
    let variables = ["HANSARD_NAME", "HANSARD_OTHER"];
    let sources = Sources::new().variables(variables.map(|name| (name, "env"))).reserved(&variables);
    let config: Config = load(&sources).unwrap();
    assert_eq!(config.name, "env");
}

#[test]
fn service_links_are_neither_settings_nor_errors() {
    check(
        "",
        &[
            ("HANSARD_SERVICE_HOST", "10.0.0.1"),
            ("HANSARD_GATEWAY_PORT", "tcp://10.0.0.1:7302"),
            ("HANSARD_GATEWAY_SERVICE_PORT_GRPC", "7302"),
            ("HANSARD_GATEWAY_PORT_7302_TCP_ADDR", "10.0.0.1"),
        ],
        |_| {},
    );
    check("", &[("HANSARD_PORT", "7303")], |config| config.port = Some(7303));
    check_lines(
        "",
        &[("HANSARD_GATEWAY_PORT", "7303")],
        &["`gateway_port` (environment variable HANSARD_GATEWAY_PORT) is not a setting; \
           remove it, or use one of: endpoint, grpc, labels, name, origins, password, port, shape"],
    );
}

#[test]
fn flags_are_the_top_layer() {
    #[derive(Serialize)]
    struct Flags {
        name: Option<&'static str>,
        endpoint: Option<&'static str>,
    }
    let flags = Flags { name: None, endpoint: Some("http://x") };
    let sources = Sources::new().variables([("HANSARD_NAME", "env"), ("HANSARD_ENDPOINT", "env")]).flags(&flags);
    let config: Config = load(&sources).unwrap();
    assert_eq!((config.name.as_str(), config.endpoint.as_deref()), ("env", Some("http://x")));
}

#[test]
fn five_errors_are_five_lines() {
    check_lines(
        "nmae = 'x'\nport = 70000\npassword = 12345\n[grpc]\naddr = 'here'\ncalls_max = 101\n",
        &[],
        &[
            "`nmae` (file FILE) is not a setting; did you mean `name`?",
            "`grpc.addr` (file FILE) is invalid: invalid socket address syntax; correct it",
            "`password` (file FILE) is a number; write a string",
            "`port` (file FILE) is a number; write a whole number from 0 to 65535",
            "`grpc.calls_max` (file FILE) is 101; write a value from 1 to 100 calls",
        ],
    );
}

#[test]
fn errors_of_every_kind_and_layer() {
    check_lines(
        "shape = 'xml'\n",
        &[("HANSARD_GRPC__CALLS_MAX", "0"), ("HANSARD_GRPC__COLOUR_OF_IT", "red")],
        &[
            "`grpc.colour_of_it` (environment variable HANSARD_GRPC__COLOUR_OF_IT) is not a setting; \
             remove it, or use one of: addr, calls_max",
            "`shape` (file FILE) is an unknown word; write one of [\"pretty\", \"json\"]",
            "`grpc.calls_max` (environment variable HANSARD_GRPC__CALLS_MAX) is 0; write a value from \
             1 to 100 calls",
        ],
    );
    check_lines("name = ''", &[], &["`name` (file FILE) is empty; give the service a name"]);
    check_lines("grpc = 3", &[], &["`grpc` (file FILE) is a number; write struct Grpc"]);
}

#[test]
fn former_settings_are_refused_in_every_layer_also_with_the_former_default() {
    let gone = "is gone: its value is fixed at 100; remove the line";
    check_lines("[grpc]\nretry_after_ms = 100\n", &[], &[&format!("`grpc.retry_after_ms` (file FILE) {gone}")]);
    check_lines(
        "",
        &[("HANSARD_GRPC__RETRY_AFTER_MS", "7")],
        &[&format!("`grpc.retry_after_ms` (environment variable HANSARD_GRPC__RETRY_AFTER_MS) {gone}")],
    );
    check_lines(
        "",
        &[("HANSARD_GRPC", "{retry_after_ms=7}")],
        &[&format!("`grpc.retry_after_ms` (environment variable HANSARD_GRPC) {gone}")],
    );
    let flags = serde_json::json!({ "grpc": { "retry_after_ms": 100 } });
    let error = load::<Config>(&Sources::new().flags(&flags)).unwrap_err();
    assert_eq!(error.to_string(), format!("`grpc.retry_after_ms` (flag) {gone}"));
}

#[test]
fn former_settings_are_refused_in_maps() {
    #[derive(Debug, Default, Serialize, Deserialize)]
    struct Named {
        models: BTreeMap<String, BTreeMap<String, BTreeMap<String, u32>>>,
    }
    impl Validate for Named {
        fn validate(&self, _: &mut Checks<'_>) {}
    }
    let gone = "is gone: its value is fixed at 10000; remove the line";
    for (name, value) in [("HANSARD_MODELS__A__BREAKER__OPEN_MS", "5"), ("HANSARD_MODELS", "{a={breaker={open_ms=5}}}")]
    {
        let error = load::<Named>(&Sources::new().variables([(name, value)])).unwrap_err();
        let expected = format!("`models.a.breaker.open_ms` (environment variable {name}) {gone}");
        assert_eq!(error.to_string(), expected);
    }
    let taken = load::<Named>(&Sources::new().variables([("HANSARD_MODELS__A__BREAKER__OPEN", "5")]));
    assert_eq!(taken.unwrap().models["a"]["breaker"]["open"], 5);
}

#[test]
fn a_broken_file_hides_no_other_layer() {
    check_lines(
        "name = 'x'\npassword = 'hunter2\n",
        &[("HANSARD_GRPC__CALLS_MAX", "many")],
        &[
            "file FILE is not valid TOML at line 2: invalid literal string; correct the line",
            "`grpc.calls_max` (environment variable HANSARD_GRPC__CALLS_MAX) is a text; \
             write a whole number from 0 to 4294967295",
        ],
    );
    let missing = Sources::new().file(Some("/nowhere/hansard.toml".into()));
    assert_eq!(
        load::<Config>(&missing).unwrap_err().to_string(),
        "file /nowhere/hansard.toml cannot be read: entity not found; correct the path or its \
         access"
    );
}

#[test]
fn the_bounds_are_inclusive() {
    for (value, fits) in [(0, false), (1, true), (100, true), (101, false)] {
        let file = format!("[grpc]\ncalls_max = {value}\n");
        assert_eq!(load_from(&file, &[]).is_ok(), fits, "calls_max = {value}");
    }
}

#[test]
fn a_file_over_the_bound_is_refused() {
    let bytes = usize::try_from(CONFIG_FILE_BYTES_MAX).unwrap();
    check(&format!("#{}", "x".repeat(bytes - 1)), &[], |_| {});
    check_lines(&format!("#{}", "x".repeat(bytes)), &[], &["file FILE is larger than 1048576 bytes; shorten it"]);
}

#[test]
fn a_secret_is_never_printed() {
    let config = Config { password: Some(Secret::new("hunter2")), ..Config::default() };
    let sources = Sources::new().variables([("HANSARD_PASSWORD", "hunter2")]);
    let printed = format!("{config:?} {} {sources:?} {:?}", serde_json::to_string(&config).unwrap(), Secret::default());
    assert!(!printed.contains("hunter2"), "{printed}");
    assert_eq!(config.password.unwrap().expose(), "hunter2");
}
