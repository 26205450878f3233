//! The form of the answer, as the Responses API writes it.

use std::collections::BTreeMap;

use domain::{JsonText, Violation, ViolationReason};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::wrong_field::{not_supported, wrong};

/// The member `text` of a request.
#[derive(Debug, Deserialize)]
struct TextBody {
    format: Option<Box<RawValue>>,
    verbosity: Option<String>,
}

/// The members of an object, each verbatim: a model writes the members of its answer in the order of the schema.
type Members = BTreeMap<String, Box<RawValue>>;

/// The form as chat completions write it: the members of a schema are nested.
#[derive(Debug, Serialize)]
struct ChatFormat {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    json_schema: Option<Members>,
}

/// The form of the answer as chat completions write it; `None`: any text.
///
/// # Errors
/// 400 with the field.
pub(super) fn response_format(given: &RawValue) -> Result<Option<JsonText>, Violation> {
    let text = serde_json::from_str::<Option<TextBody>>(given.get())
        .map_err(|_| wrong(ViolationReason::Malformed, "text", "is not an object with `format`"))?;
    let Some(text) = text else {
        return Ok(None);
    };
    if text.verbosity.is_some_and(|verbosity| verbosity != "medium") {
        return Err(not_supported("text.verbosity"));
    }
    let Some(format) = text.format else {
        return Ok(None);
    };
    let mut members = serde_json::from_str::<Members>(format.get()).unwrap_or_default();
    let kind = members.remove("type").and_then(|kind| serde_json::from_str::<String>(kind.get()).ok());
    let (kind, json_schema) = match kind.as_deref() {
        Some("text") => return Ok(None),
        Some("json_object") => ("json_object", None),
        Some("json_schema") => ("json_schema", Some(schema(members)?)),
        _ => {
            let rule = "must be `text`, `json_object` or `json_schema`";
            return Err(wrong(ViolationReason::Malformed, "text.format.type", rule));
        }
    };
    let in_chat_form = ChatFormat { r#type: kind, json_schema };
    // Documents in a struct always serialize.
    let format = JsonText::parse(serde_json::to_string(&in_chat_form).unwrap_or_default())
        .map_err(|violation| violation.within("text.format"));
    format.map(Some)
}

/// The members of a schema, which has a name.
fn schema(members: Members) -> Result<Members, Violation> {
    let member = |name: &str| members.get(name).map_or("", |value| value.get());
    if !member("name").starts_with('"') || !member("schema").starts_with('{') {
        return Err(wrong(ViolationReason::Malformed, "text.format", "needs `name` and `schema`"));
    }
    Ok(members)
}

#[cfg(test)]
mod tests {
    use serde_json::value::to_raw_value;
    use serde_json::{Value, json};

    use super::*;

    fn check(given: &Value, expected: Result<Option<Value>, &str>) {
        let found = response_format(&to_raw_value(given).unwrap())
            .map(|format| format.map(|json| json.as_str().parse::<Value>().unwrap()))
            .map_err(|violation| violation.field);
        assert_eq!(found, expected.map_err(domain::FieldPath::from), "{given}");
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
            (format(json!({"type": "json_schema", "name": "n"})), "text.format"),
        ] {
            check(&given, Err(field));
        }
    }
}
