//! Settings as the fields of a form, and back. Pure.

use pages::components::indented_json;
use pages::dashboard::settings::Field;
use pages::dashboard::settings::agent::FieldGroup;
use serde_json::{Map, Number, Value};
use wire::json::{self, JsonError};
use wire::proto::operate::v1::AgentSettings;

use super::definitions::{DEFINITIONS, Definition, Kind, camel_case};
use crate::settings::json_errors::split_position;
use crate::settings::rejection::Rejection;
use crate::settings::with_plain_breaks;

const SETTINGS: &str = "hansard.operate.v1.AgentSettings";

/// The text of every field, and its error.
#[derive(Debug, Clone)]
pub(super) struct SettingsForm(Vec<Entry>);

#[derive(Debug, Clone)]
struct Entry {
    definition: &'static Definition,
    text: String,
    error: Option<String>,
}

impl SettingsForm {
    /// The fields of settings.
    pub(super) fn of(settings: &AgentSettings) -> Self {
        let json = json::of(SETTINGS, settings).unwrap_or_default();
        let text = |definition: &Definition| {
            let mut path = definition.json_path();
            let value = path.try_fold(&json, |value, key| value.get(&key));
            value.map_or_else(String::new, |value| text_of(definition.kind, value))
        };
        Self::with(text)
    }

    /// The fields as they were typed. A field that was not sent is empty.
    pub(super) fn typed(fields: &[(String, String)]) -> Self {
        let text = |definition: &Definition| {
            let named = fields.iter().filter(|(name, _)| name == definition.name);
            let texts: Vec<&str> = named.map(|(_, text)| text.as_str()).collect();
            with_plain_breaks(&texts.join("\n"))
        };
        Self::with(text)
    }

    fn with(text: impl Fn(&Definition) -> String) -> Self {
        let entries = DEFINITIONS.iter().map(|definition| Entry { definition, text: text(definition), error: None });
        Self(entries.collect())
    }

    /// The settings that were typed. `None`: a field has an error now.
    pub(super) fn settings(&mut self) -> Option<AgentSettings> {
        let mut settings = Value::Object(Map::new());
        for entry in &mut self.0 {
            match checked(entry.definition, &entry.text) {
                Ok(Some(value)) => insert(&mut settings, entry.definition, value),
                Ok(None) => {}
                Err(error) => entry.error = Some(error),
            }
        }
        if self.0.iter().any(|entry| entry.error.is_some()) {
            return None;
        }
        json::read(SETTINGS, &settings.to_string()).ok()
    }

    /// Puts a rejection at its field. Returns whether it has one.
    pub(super) fn reject(&mut self, rejection: &Rejection) -> bool {
        let path = rejection.field.relative_to("settings").unwrap_or_default();
        let is_at = |name: &str| path.relative_to(name).is_some();
        // A whole message that is missing has its error at its first field.
        let exact = self.0.iter().position(|entry| is_at(entry.definition.name));
        let within = || {
            let of = |entry: &Entry| !path.is_empty() && path == entry.definition.setting();
            self.0.iter().position(of)
        };
        let entry = exact.or_else(within).and_then(|index| self.0.get_mut(index));
        let Some(entry) = entry else {
            return false;
        };
        entry.error = Some(rejection.detail.replacen("settings.", "", 1));
        true
    }

    /// The fields as the page shows them.
    pub(super) fn groups(&self) -> Vec<FieldGroup> {
        let mut groups: Vec<FieldGroup> = Vec::new();
        for entry in &self.0 {
            let definition = entry.definition;
            let field = Field {
                name: definition.name,
                label: definition.label,
                help: definition.help,
                control: definition.kind.control(),
                value: entry.text.clone(),
                error: entry.error.clone(),
            };
            match groups.last_mut() {
                Some(last) if last.title == definition.group => last.fields.push(field),
                _ => groups.push(FieldGroup { title: definition.group, fields: vec![field] }),
            }
        }
        groups
    }
}

/// The settings that differ, as update masks name them.
pub(super) fn changed(current: &AgentSettings, typed: &AgentSettings) -> Vec<String> {
    let [current, typed] = [current, typed].map(|settings| json::of(SETTINGS, settings).unwrap_or_default());
    let mut names: Vec<&str> = DEFINITIONS.iter().map(Definition::setting).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| {
        let key = camel_case(name);
        current.get(&key) != typed.get(&key)
    });
    names.into_iter().map(str::to_owned).collect()
}

fn text_of(kind: Kind, value: &Value) -> String {
    match (kind, value) {
        (Kind::Json, value) => indented_json(&value.to_string()),
        (_, Value::Array(values)) => {
            let texts: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            texts.join("\n")
        }
        (_, Value::String(text)) => text.clone(),
        (_, value) => value.to_string(),
    }
}

/// The JSON of a text that the setting accepts. `None`: the setting has its default.
fn checked(definition: &Definition, text: &str) -> Result<Option<Value>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    // Documents stay as they were typed, for the positions of errors.
    let text = match definition.kind {
        Kind::Json | Kind::JsonText => text,
        Kind::Text | Kind::Number | Kind::Choice(_) | Kind::Choices(_) | Kind::Lines => text.trim(),
    };
    let value = value_of(definition.kind, text)?;
    let whole = if definition.kind == Kind::Json {
        // The text is kept as it was typed, from line 2, for the positions of errors.
        format!("{{\"{}\":\n{text}\n}}", camel_case(definition.name))
    } else {
        let mut whole = Value::Object(Map::new());
        insert(&mut whole, definition, value.clone());
        whole.to_string()
    };
    match json::read::<AgentSettings>(SETTINGS, &whole) {
        Ok(_) => Ok(Some(value)),
        Err(JsonError::Malformed { error, .. }) => {
            let message = error.to_string();
            let (text, position) = split_position(&message);
            let position = position
                .filter(|_| definition.kind == Kind::Json)
                .map(|(line, column)| (line.saturating_sub(1), column));
            Err(located(text, position))
        }
        Err(error) => Err(error.to_string()),
    }
}

fn value_of(kind: Kind, text: &str) -> Result<Value, String> {
    match kind {
        Kind::Text => Ok(Value::from(text)),
        Kind::Number => {
            let number: Result<Number, _> = text.parse();
            let number = number.map_err(|_| "is not a number: use digits".to_owned());
            number.map(Value::Number)
        }
        Kind::Choice(choices) => choice(choices, text),
        Kind::Choices(choices) => {
            let chosen = text.lines().map(|line| choice(choices, line));
            chosen.collect::<Result<Vec<Value>, _>>().map(Value::Array)
        }
        Kind::Lines => {
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            Ok(lines.map(Value::from).collect())
        }
        Kind::Json => document(text),
        Kind::JsonText => document(text).map(|_| Value::from(text.trim())),
    }
}

fn choice(choices: &[(&str, &str)], text: &str) -> Result<Value, String> {
    if !choices.iter().any(|(value, _)| *value == text) {
        return Err("is not one of the choices".to_owned());
    }
    Ok(match text {
        "true" => Value::Bool(true),
        _ => Value::from(text),
    })
}

fn document(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        let (text, position) = split_position(&message);
        located(text, position)
    })
}

fn located(text: &str, position: Option<(usize, usize)>) -> String {
    position.map_or_else(|| text.to_owned(), |(line, column)| format!("line {line}, column {column}: {text}"))
}

/// Sets a value in an object; `definition` has its path.
fn insert(settings: &mut Value, definition: &Definition, value: Value) {
    let whole = definition.json_path().rev().fold(value, |value, key| {
        let entry = (key, value);
        Value::Object(Map::from_iter([entry]))
    });
    merge(settings, whole);
}

/// Adds the entries of an object to another, also those of objects within.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

#[cfg(test)]
mod tests;
