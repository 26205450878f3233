//! Names of fields: those of the services, and those of HTTP callers.

use domain::FieldPath;
use wire::status::Problem;

/// The services' path of a field, and the HTTP caller's.
const NAMES: [(&str, &str); 15] = [
    ("metadata_json", "metadata"),
    ("client_context.page_url", "context.pageUrl"),
    ("client_context.referrer", "context.referrer"),
    ("client_context.user_agent", "context.userAgent"),
    ("client_context.locale", "context.locale"),
    ("client_context.timezone", "context.timezone"),
    ("client_context.custom_metadata_json", "context.customMetadata"),
    ("conversation_id", "id"),
    ("target.conversation_id", "id"),
    ("idempotency_key", "idempotency-key"),
    ("target.idempotency_key", "idempotency-key"),
    ("forked_from.version", "version"),
    ("forked_from.conversation_id", "id"),
    ("owner.session_id", "sessionId"),
    ("owner.user_id", "userId"),
];

/// Names in the services' paths of fields that JSON does not have: the fact of an event, and the kind of a part.
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

/// The caller's path of a field of a service; `None`: the same.
pub(super) fn callers_path(field: &FieldPath) -> Option<FieldPath> {
    let known = NAMES.iter().find(|(services, _)| field == services);
    known.map(|(_, callers)| FieldPath::from(*callers))
}

/// Names fields of events and messages as their members in JSON: `events[0].tool_called.call_id` is `events[0].callId`.
#[must_use]
pub fn with_member_names(problem: impl Into<Problem>) -> Problem {
    problem.into().rename_field(|field| Some(member_path(field)))
}

fn member_path(field: &FieldPath) -> FieldPath {
    let known = callers_path(field);
    known.unwrap_or_else(|| field.map_names(|name| (!WRAPPERS.contains(&name)).then(|| member(name))))
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
    use domain::{Violation, ViolationReason};

    use super::*;
    use crate::http::HttpProblem;

    #[test]
    fn fields_have_the_callers_names() {
        for (field, expected) in
            [("metadata_json", "metadata"), ("client_context.page_url", "context.pageUrl"), ("title", "title")]
        {
            let problem = HttpProblem::from(Violation::new(ViolationReason::TooLong, "is too long").within(field));
            let actual = (problem.field.as_deref().unwrap(), problem.detail.as_str());
            assert_eq!(actual, (expected, format!("{expected} is too long").as_str()));
        }
    }

    #[test]
    fn fields_of_events_have_the_names_of_members() {
        for (field, expected) in [
            ("events", "events"),
            ("events[3].tool_called.call_id", "events[3].callId"),
            ("events[0].metadata_json", "events[0].metadata"),
            ("events[1].message_appended.parts[2].image.source.url", "events[1].parts[2].url"),
            ("events[0].tool_returned.output_parts[1].text", "events[0].outputParts[1].text"),
            ("events[0].history_rewound.to_version", "events[0].to"),
            ("idempotency-key", "idempotency-key"),
            ("target.idempotency_key", "idempotency-key"),
        ] {
            assert_eq!(member_path(&FieldPath::from(field)), expected);
        }
    }
}
