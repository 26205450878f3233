//! Problems for JSON and queries that cannot be deserialized: the field and the expected type, never the value.

use domain::ViolationReason;
use http::StatusCode;
use serde_json::error::Category;

use super::problem::HttpProblem;

/// Maximum size of a detail and of a field path, in bytes.
const TEXT_BYTES_MAX: usize = 256;

/// The problem of a JSON body that does not match its type.
pub(super) fn from_json(error: &serde_path_to_error::Error<serde_json::Error>) -> HttpProblem {
    let inner = error.inner();
    match inner.classify() {
        Category::Data => mismatch(&error.path().to_string(), &inner.to_string()),
        Category::Syntax | Category::Eof | Category::Io => from_syntax(inner),
    }
}

/// The problem of a body that is not JSON.
pub(super) fn from_syntax(error: &serde_json::Error) -> HttpProblem {
    let (line, column) = (error.line(), error.column());
    let detail = format!("the body is not valid JSON: see line {line} column {column}");
    HttpProblem::new(StatusCode::BAD_REQUEST, "JSON_MALFORMED", detail)
}

/// The problem of a body whose bytes are no text, for example because a character was cut.
pub(super) fn not_utf8() -> HttpProblem {
    let detail = "the body is not UTF-8: encode whole characters, and write half of a surrogate pair as U+FFFD";
    HttpProblem::new(StatusCode::BAD_REQUEST, "JSON_MALFORMED", detail)
}

/// The problem of a query that does not match its type.
pub(super) fn from_query(error: &serde_path_to_error::Error<serde_urlencoded::de::Error>) -> HttpProblem {
    mismatch(&error.path().to_string(), &error.inner().to_string())
}

fn mismatch(path: &str, message: &str) -> HttpProblem {
    let message = message.split(" at line ").next().unwrap_or_default();
    if let Some(name) = field_name(message, "missing field ") {
        return HttpProblem::of_field(ViolationReason::Missing, join(path, name), "is missing: add it");
    }
    if field_name(message, "unknown field ").is_some() {
        let known = message.split_once(", expected ").map(|(_, known)| known);
        let detail = known.map_or_else(
            || "is unknown: remove it".to_owned(),
            |known| format!("is unknown: remove it, or use {known}"),
        );
        return HttpProblem::of_field(ViolationReason::Unknown, cut(path), cut(&detail));
    }
    // The text before it contains the value.
    let detail = match message.split_once(", expected ") {
        Some((_, expected)) => format!("must be {expected}"),
        None if message.starts_with("invalid ") || message.starts_with("unknown ") => "is invalid".to_owned(),
        None => message.to_owned(),
    };
    let field = if path == "." { "body" } else { path };
    HttpProblem::of_field(ViolationReason::Malformed, cut(field), cut(&detail))
}

/// The name in backquotes after a prefix.
fn field_name<'a>(message: &'a str, prefix: &str) -> Option<&'a str> {
    let rest = message.strip_prefix(prefix)?.strip_prefix('`')?;
    rest.split('`').next()
}

fn join(path: &str, name: &str) -> String {
    if path == "." {
        return cut(name);
    }
    cut(&format!("{path}.{name}"))
}

fn cut(text: &str) -> String {
    let end = text.floor_char_boundary(TEXT_BYTES_MAX);
    text.get(..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read from JSON")]
    struct Strict {
        title: String,
        #[serde(default)]
        items: Vec<Item>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only read from JSON")]
    struct Item {
        count: u8,
        #[serde(default)]
        kind: Kind,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        #[default]
        Big,
        Small,
    }

    fn check(code: &str, json: &str, field: &str, detail: &str) {
        let mut from = serde_json::Deserializer::from_str(json);
        let error = serde_path_to_error::deserialize::<_, Strict>(&mut from).unwrap_err();
        let problem = from_json(&error);
        let field = Some(field).filter(|field| !field.is_empty());
        let seen = (&*problem.code, problem.field.as_deref(), &*problem.detail);
        assert_eq!(seen, (code, field, detail), "{json}");
    }

    #[test]
    fn the_problem_names_the_field_and_not_its_value() {
        let syntax = "the body is not valid JSON: see line 1 column 1";
        check("JSON_MALFORMED", "{", "", syntax);
        let malformed = |json, field, detail| check("FIELD_MALFORMED", json, field, detail);
        malformed("[3]", "[0]", "must be a string");
        malformed("3", "body", "must be struct Strict");
        malformed(r#"{"title":["secret"]}"#, "title", "must be a string");
        let json = r#"{"title":"","items":[{"count":1},{"count":"secret"}]}"#;
        malformed(json, "items[1].count", "must be u8");
        let json = r#"{"title":"","items":[{"count":256}]}"#;
        malformed(json, "items[0].count", "must be u8");
        let json = r#"{"title":"","items":[{"count":1,"kind":"secret"}]}"#;
        malformed(json, "items[0].kind", "must be `big` or `small`");
        let missing = |json, field| check("FIELD_MISSING", json, field, "is missing: add it");
        missing("{}", "title");
        missing(r#"{"title":"","items":[{}]}"#, "items[0].count");
        let unknown = "is unknown: remove it, or use `title` or `items`";
        let json = r#"{"title":"","titel":"secret"}"#;
        check("FIELD_UNKNOWN", json, "titel", unknown);
    }

    #[test]
    fn texts_are_bounded() {
        for (chars, kept) in [(256, 256), (257, 256)] {
            assert_eq!(cut(&"x".repeat(chars)).len(), kept);
        }
    }
}
