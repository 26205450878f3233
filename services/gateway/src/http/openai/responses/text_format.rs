//! The form of the answer, as the Responses API writes it.

use domain::JsonText;
use runtime::http::HttpProblem;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::http::openai::chat::completions::failure::not_supported;
use crate::http::problem;

/// The member `text` of a request.
#[derive(Debug, Deserialize)]
struct TextBody {
    format: Option<Value>,
    verbosity: Option<String>,
}

/// The form of the answer as chat completions write it; `None`: any text.
///
/// # Errors
/// 400 with the field.
pub(super) fn response_format(given: &RawValue) -> Result<Option<JsonText>, HttpProblem> {
    let text = serde_json::from_str::<Option<TextBody>>(given.get());
    let text = text.map_err(|_| malformed("text", "is not an object with `format`"))?;
    let Some(text) = text else {
        return Ok(None);
    };
    if text
        .verbosity
        .is_some_and(|verbosity| verbosity != "medium")
    {
        return Err(not_supported("text.verbosity"));
    }
    let Some(format) = text.format else {
        return Ok(None);
    };
    let in_chat_form = match format.get("type").and_then(Value::as_str) {
        Some("text") => return Ok(None),
        Some("json_object") => json!({"type": "json_object"}),
        Some("json_schema") => schema(format)?,
        _ => {
            let rule = "must be `text`, `json_object` or `json_schema`";
            return Err(malformed("text.format.type", rule));
        }
    };
    let format = JsonText::parse(in_chat_form.to_string());
    let format = format.map_err(|violation| violation.within("text.format"));
    format.map(Some).map_err(problem::from_violation)
}

fn schema(mut format: Value) -> Result<Value, HttpProblem> {
    let named = format.get("name").is_some_and(Value::is_string);
    let has_schema = format.get("schema").is_some_and(Value::is_object);
    if !named || !has_schema {
        return Err(malformed("text.format", "needs `name` and `schema`"));
    }
    if let Some(members) = format.as_object_mut() {
        members.remove("type");
    }
    Ok(json!({"type": "json_schema", "json_schema": format}))
}

fn malformed(field: &str, rule: &str) -> HttpProblem {
    HttpProblem::of_field("FIELD_MALFORMED", field, format!("{field} {rule}"))
}

#[cfg(test)]
mod tests {
    use serde_json::value::to_raw_value;

    use super::*;

    fn check(given: &Value, expected: Result<Option<Value>, &str>) {
        let found = response_format(&to_raw_value(given).unwrap());
        let found = found.map(|format| format.map(|json| json.as_str().parse::<Value>().unwrap()));
        let found = found.map_err(|problem| problem.field.unwrap());
        assert_eq!(found, expected.map_err(str::to_owned), "{given}");
    }

    #[test]
    fn forms_of_answers() {
        let format = |format: Value| json!({"format": format, "verbosity": "medium"});
        for any in [json!(null), json!({}), format(json!({"type": "text"}))] {
            check(&any, Ok(None));
        }
        let object = json!({"type": "json_object"});
        check(&format(object.clone()), Ok(Some(object)));
        check(
            &format(json!({"type": "json_schema", "name": "n", "schema": {}, "strict": true})),
            Ok(Some(json!({
                "type": "json_schema",
                "json_schema": {"name": "n", "schema": {}, "strict": true},
            }))),
        );
        for (given, field) in [
            (json!("text"), "text"),
            (json!({"verbosity": "low"}), "text.verbosity"),
            (format(json!({"type": "xml"})), "text.format.type"),
            (
                format(json!({"type": "json_schema", "name": "n"})),
                "text.format",
            ),
        ] {
            check(&given, Err(field));
        }
    }
}
