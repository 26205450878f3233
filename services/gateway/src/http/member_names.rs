//! Names of the writer's fields as callers who send events or messages know them.

use runtime::http::HttpProblem;

/// Names in the writer's paths of fields that JSON does not have: the fact of an event, and the kind of a part.
const WRAPPERS: [&str; 15] = [
    "message_appended",
    "tool_called",
    "tool_returned",
    "system_noted",
    "error_occurred",
    "history_summarised",
    "history_rewound",
    "document_put",
    "document_deleted",
    "image",
    "file",
    "thinking",
    "provider_item",
    "source",
    "fact",
];

/// Replaces the writer's path of an event's field by the caller's: `events[0].tool_called.call_id` by `events[0].callId`.
pub(in crate::http) fn with_member_names(problem: impl Into<HttpProblem>) -> HttpProblem {
    problem.into().rename_field(|field| Some(member_path(field)))
}

fn member_path(field: &str) -> String {
    let names: Vec<String> = field.split('.').filter(|name| !WRAPPERS.contains(name)).map(member).collect();
    names.join(".")
}

/// `input_json` is `input`, `to_version` is `to`, `call_id` is `callId`.
fn member(field: &str) -> String {
    let field = field.strip_suffix("_json").unwrap_or(field);
    let field = match field {
        "through_version" | "to_version" => field.trim_end_matches("_version"),
        _ => field,
    };
    let mut words = field.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |mut name, word| {
        let mut letters = word.chars();
        name.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        name.push_str(letters.as_str());
        name
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_the_names_of_members() {
        for (field, expected) in [
            ("events", "events"),
            ("events[3].tool_called.call_id", "events[3].callId"),
            ("events[0].metadata_json", "events[0].metadata"),
            ("events[1].message_appended.parts[2].image.source.url", "events[1].parts[2].url"),
            ("events[0].tool_returned.output_parts[1].text", "events[0].outputParts[1].text"),
            ("events[0].history_rewound.to_version", "events[0].to"),
            ("idempotency-key", "idempotency-key"),
        ] {
            assert_eq!(member_path(field), expected);
        }
    }
}
