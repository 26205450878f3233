//! Names of fields: the writer's, and those of HTTP callers.

use runtime::http::HttpProblem;

/// The writer's name of a field, and the HTTP caller's.
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

/// Replaces the writer's name of a field by the caller's.
pub(in crate::http) fn with_callers_field(problem: HttpProblem) -> HttpProblem {
    let known = |field: &String| NAMES.iter().find(|(writers, _)| writers == field);
    match problem.field.as_ref().and_then(known) {
        Some((_, callers)) => with_field(problem, callers),
        None => problem,
    }
}

/// Replaces the name of the field, also where the detail begins with it.
pub(in crate::http) fn with_field(mut problem: HttpProblem, name: &str) -> HttpProblem {
    let field = problem.field.replace(name.to_owned()).unwrap_or_default();
    if let Some(rest) = problem.detail.strip_prefix(&field) {
        problem.detail = format!("{name}{rest}");
    }
    problem
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

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
