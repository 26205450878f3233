//! `docs/reference/configuration.md`: every setting of each role, with its default, range and meaning.
//!
//! Keys and defaults are those that the roles serialize; ranges and meanings are read from the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use tests::generated;

use super::source;

/// The files with the structs of settings, each with its bounds.
const FILES: [&str; 15] = [
    "crates/egress/src/config.rs",
    "crates/event-log/src/connection/config.rs",
    "crates/models/src/config.rs",
    "crates/read-model/src/config.rs",
    "crates/read-model/src/model/replicas/config.rs",
    "crates/runtime/src/grpc/config.rs",
    "crates/runtime/src/http/config.rs",
    "crates/runtime/src/net/config.rs",
    "crates/runtime/src/telemetry/config.rs",
    "crates/runtime/src/tls/config.rs",
    "services/gateway/src/config.rs",
    "crates/generation/src/config.rs",
    "crates/http-listener/src/config.rs",
    "crates/http-listener/src/openid/config.rs",
    "services/gateway/src/retention/config.rs",
];
/// The other roles' files, and shared bounds.
const OTHERS: [&str; 3] =
    ["crates/runtime/src/net/bounds.rs", "services/projector/src/config.rs", "services/writer/src/config.rs"];
/// Structs that the reference describes in one row.
const QUOTAS: &str = "QuotaSet";

/// Maximum number of different settings of all roles. What no operator has a reason to change is a constant.
const SETTINGS_MAX: usize = 100;

/// A field of a struct of settings.
struct Field {
    name: String,
    of: String,
    meaning: String,
    range: String,
}

/// The structs of settings, by name.
type Structs = BTreeMap<String, Vec<Field>>;

/// `const NAME: Bounds<…> = Bounds::new(min..=max, "unit")`, by name, as a range.
fn ranges(text: &str, ranges: &mut BTreeMap<String, String>) {
    for rest in text.split("const ").skip(1) {
        let Some((name, rest)) = rest.split_once(": Bounds<") else {
            continue;
        };
        let arguments = rest.split_once("Bounds::new(").map(|(_, rest)| rest);
        let Some((range, unit)) = arguments.and_then(|rest| rest.split_once(", \"")) else {
            continue;
        };
        let Some((min, max)) = range.split_once("..=") else {
            continue;
        };
        let unit = unit.split('"').next().unwrap_or_default();
        let (min, max) = (source::number(min), source::number(max));
        ranges.insert(name.to_owned(), format!("{min} to {max} {unit}"));
    }
}

/// The name of the bounds that `checks.bounds("field", …, &NAME)` applies to a field.
fn bounds_of<'a>(text: &'a str, field: &str) -> Option<&'a str> {
    let mut calls = text.split("checks.bounds(").skip(1);
    let call = calls.find(|call| {
        let quoted = call.trim_start().strip_prefix('"');
        quoted.and_then(|rest| rest.split('"').next()) == Some(field)
    })?;
    let name = call.split(')').next()?.rsplit('&').next()?;
    Some(name.trim().trim_end_matches(','))
}

/// `Option<Vec<a::B>>` is a `B`.
fn innermost(of: &str) -> String {
    let inner = of.rsplit('<').next().unwrap_or(of).trim_end_matches('>');
    inner.rsplit("::").next().unwrap_or(inner).trim().to_owned()
}

fn structs_of(text: &str, ranges: &BTreeMap<String, String>, structs: &mut Structs) {
    let mut current: Option<(String, Vec<Field>)> = None;
    let mut comment = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(words) = line.strip_prefix("/// ") {
            comment.push(words);
        } else if let Some(rest) = line.strip_prefix("pub struct ") {
            let name = rest.split([' ', '(', '<', ';']).next().unwrap_or_default();
            current = Some((name.to_owned(), Vec::new()));
            comment.clear();
        } else if line == "}" {
            structs.extend(current.take());
        } else if let (Some(field), Some((_, fields))) = (line.strip_prefix("pub "), &mut current)
            && let Some((name, of)) = field.split_once(": ")
        {
            let range = bounds_of(text, name).and_then(|bounds| ranges.get(bounds));
            fields.push(Field {
                name: name.to_owned(),
                of: innermost(of.trim_end_matches(',')),
                meaning: source::with_constants(&source::cell(&comment), text),
                range: range.cloned().unwrap_or_default(),
            });
            comment.clear();
        }
    }
}

/// The rows of a struct, including those of nested structs.
fn rows(structs: &Structs, (name, value): (&str, &Value), path: &str, text: &mut String) {
    let fields = structs.get(name).unwrap_or_else(|| panic!("no struct {name}"));
    for field in fields {
        let key = format!("{path}{}", field.name);
        if field.of == QUOTAS {
            writeln!(text, "| `{key}.SCOPE.QUOTA` | see [Quotas](limits.md#quotas) | | {} |", field.meaning)
                .expect("text");
        } else if field.of == "ModelServersConfig" {
            writeln!(text, "| `{key}.NAME` | none | | {} See [below](#model-servers). |", field.meaning).expect("text");
        } else if value.get(&field.name).is_none() && structs.contains_key(&field.of) {
            // Its settings are those of the struct itself.
            rows(structs, (&field.of, value), path, text);
        } else if let Some(value) = value.get(&field.name) {
            if structs.contains_key(&field.of) && value.is_object() {
                rows(structs, (&field.of, value), &format!("{key}."), text);
            } else {
                let default = match value {
                    Value::Null => "none".to_owned(),
                    Value::String(value) if value.is_empty() => "empty".to_owned(),
                    Value::String(value) => format!("`{value}`"),
                    Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                        format!("`{value}`")
                    }
                };
                writeln!(text, "| `{key}` | {default} | {} | {} |", field.range, field.meaning).expect("text");
            }
        }
    }
}

fn check(name: &str, struct_name: &str, value: &Value) {
    let texts: Vec<String> = FILES.iter().chain(&OTHERS).map(|file| source::read(file)).collect();
    let (mut all_ranges, mut structs) = (BTreeMap::new(), Structs::new());
    for text in &texts {
        ranges(text, &mut all_ranges);
    }
    for text in &texts {
        let mut own = all_ranges.clone();
        ranges(text, &mut own);
        structs_of(text, &own, &mut structs);
    }
    let mut text = "\n| key | default | range | meaning |\n|---|---|---|---|\n".to_owned();
    rows(&structs, (struct_name, value), "", &mut text);
    generated::check("docs/reference/configuration.md", name, &format!("{text}\n"));
}

fn defaults<T: Default + Serialize>() -> Value {
    serde_json::to_value(T::default()).expect("settings")
}

/// A model server with every setting at its default.
fn model_server() -> Value {
    fn read<T: DeserializeOwned + Serialize>(_: T, settings: Value) -> Value {
        let read: T = serde_json::from_value(settings).expect("settings");
        serde_json::to_value(read).expect("settings")
    }
    let config = gateway::GatewayConfig::default();
    let servers = read(config.models, json!({"NAME": {}}));
    servers.get("NAME").cloned().expect("the server")
}

#[test]
fn settings_of_every_role() {
    check("writer", "WriterConfig", &defaults::<writer::WriterConfig>());
    check("projector", "ProjectorConfig", &defaults::<projector::ProjectorConfig>());
    check("gateway", "GatewayConfig", &defaults::<gateway::GatewayConfig>());
    check("telemetry", "TelemetryConfig", &defaults::<runtime::telemetry::TelemetryConfig>());
    check("model server", "ModelServerConfig", &model_server());
}

#[test]
fn the_number_of_settings_is_bounded() {
    let text = source::read("docs/reference/configuration.md");
    let (_, tables) = text.split_once("<!-- generated: writer -->").expect("the tables");
    let keys = tables.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let keys: BTreeSet<&str> = keys.collect();
    assert!((50..=SETTINGS_MAX).contains(&keys.len()), "{}: {keys:?}", keys.len());
}
