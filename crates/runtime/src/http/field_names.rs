//! Names of fields: those of the services, and those of HTTP callers.

use super::problem::HttpProblem;

/// The services' name of a field, and the HTTP caller's.
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

/// Replaces the services' name of a field by the caller's.
pub(super) fn with_callers_field(problem: HttpProblem) -> HttpProblem {
    problem.rename_field(|field| {
        let known = NAMES.iter().find(|(services, _)| *services == field);
        known.map(|(_, callers)| (*callers).to_owned())
    })
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    fn check(field: &str, detail: &str, expected: (&str, &str)) {
        let mut problem = HttpProblem::new(StatusCode::BAD_REQUEST, "FIELD_TOO_LONG", detail);
        problem.field = Some(field.to_owned());
        let problem = with_callers_field(problem);
        let actual = (problem.field.as_deref().unwrap(), problem.detail.as_str());
        assert_eq!(actual, expected);
    }

    #[test]
    fn fields_have_the_callers_names() {
        check("metadata_json", "metadata_json is too long", ("metadata", "metadata is too long"));
        check(
            "client_context.page_url",
            "client_context.page_url is too long",
            ("context.pageUrl", "context.pageUrl is too long"),
        );
        check("title", "title is too long", ("title", "title is too long"));
    }
}
