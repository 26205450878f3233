//! What a caller reads whose JSON or query does not fit: where, and what was expected; never what stood there.

use http::StatusCode;
use serde_json::error::Category;

use super::problem::HttpProblem;

/// The most bytes of a reason and of a path that are told.
const TOLD_BYTES_MAX: usize = 256;

/// A JSON body that does not fit.
pub(super) fn of_json(error: &serde_path_to_error::Error<serde_json::Error>) -> HttpProblem {
    let inner = error.inner();
    match inner.classify() {
        Category::Data => misfit(&error.path().to_string(), &inner.to_string()),
        Category::Syntax | Category::Eof | Category::Io => of_syntax(inner),
    }
}

/// A body that is no JSON.
pub(super) fn of_syntax(error: &serde_json::Error) -> HttpProblem {
    let (line, column) = (error.line(), error.column());
    let detail = format!("the body is no JSON: see line {line} column {column}");
    HttpProblem::new(StatusCode::BAD_REQUEST, "JSON_MALFORMED", detail)
}

/// A query that does not fit.
pub(super) fn of_query(
    error: &serde_path_to_error::Error<serde_urlencoded::de::Error>,
) -> HttpProblem {
    misfit(&error.path().to_string(), &error.inner().to_string())
}

fn misfit(path: &str, said: &str) -> HttpProblem {
    let said = said.split(" at line ").next().unwrap_or_default();
    if let Some(name) = named(said, "missing field ") {
        return HttpProblem::of_field("FIELD_MISSING", join(path, name), "is missing: add it");
    }
    if named(said, "unknown field ").is_some() {
        let known = said.split_once(", expected ").map(|(_, known)| known);
        let detail = known.map_or_else(
            || "is unknown: remove it".to_owned(),
            |known| format!("is unknown: remove it, or use {known}"),
        );
        return HttpProblem::of_field("FIELD_UNKNOWN", cut(path), cut(&detail));
    }
    // What stands before it quotes the value.
    let detail = match said.split_once(", expected ") {
        Some((_, expected)) => format!("must be {expected}"),
        None if said.starts_with("invalid ") || said.starts_with("unknown ") => {
            "does not fit".to_owned()
        }
        None => said.to_owned(),
    };
    let field = if path == "." { "body" } else { path };
    HttpProblem::of_field("FIELD_MALFORMED", cut(field), cut(&detail))
}

/// The name in backquotes after a prefix.
fn named<'a>(said: &'a str, prefix: &str) -> Option<&'a str> {
    said.strip_prefix(prefix)?
        .strip_prefix('`')?
        .split('`')
        .next()
}

fn join(path: &str, name: &str) -> String {
    if path == "." {
        return cut(name);
    }
    cut(&format!("{path}.{name}"))
}

fn cut(text: &str) -> String {
    let end = text.floor_char_boundary(TOLD_BYTES_MAX);
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

    fn check(json: &str, expected: (&str, Option<&str>, &str)) {
        let mut from = serde_json::Deserializer::from_str(json);
        let error = serde_path_to_error::deserialize::<_, Strict>(&mut from).unwrap_err();
        let problem = of_json(&error);
        let told = (&*problem.code, problem.field.as_deref(), &*problem.detail);
        assert_eq!(told, expected, "{json}");
    }

    #[test]
    fn the_field_is_named_and_its_value_is_not() {
        let malformed = "FIELD_MALFORMED";
        check(
            "{",
            (
                "JSON_MALFORMED",
                None,
                "the body is no JSON: see line 1 column 1",
            ),
        );
        check("{}", ("FIELD_MISSING", Some("title"), "is missing: add it"));
        check("[3]", (malformed, Some("[0]"), "must be a string"));
        check("3", (malformed, Some("body"), "must be struct Strict"));
        check(
            r#"{"title":["secret"]}"#,
            (malformed, Some("title"), "must be a string"),
        );
        check(
            r#"{"title":"","items":[{"count":1},{"count":"secret"}]}"#,
            (malformed, Some("items[1].count"), "must be u8"),
        );
        check(
            r#"{"title":"","items":[{"count":256}]}"#,
            (malformed, Some("items[0].count"), "must be u8"),
        );
        check(
            r#"{"title":"","items":[{}]}"#,
            (
                "FIELD_MISSING",
                Some("items[0].count"),
                "is missing: add it",
            ),
        );
        check(
            r#"{"title":"","items":[{"count":1,"kind":"secret"}]}"#,
            (malformed, Some("items[0].kind"), "must be `big` or `small`"),
        );
        check(
            r#"{"title":"","titel":"secret"}"#,
            (
                "FIELD_UNKNOWN",
                Some("titel"),
                "is unknown: remove it, or use `title` or `items`",
            ),
        );
    }

    #[test]
    fn what_is_told_is_bounded() {
        for (chars, kept) in [(256, 256), (257, 256)] {
            assert_eq!(cut(&"x".repeat(chars)).len(), kept);
        }
    }
}
