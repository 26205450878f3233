//! The writer's fields as HTTP callers know them.

use runtime::http::HttpProblem;

/// The writer's name of a field, and the name that HTTP callers gave it.
const NAMES: [(&str, &str); 15] = [
    ("metadata_json", "metadata"),
    ("client_context.page_url", "context.pageUrl"),
    ("client_context.referrer", "context.referrer"),
    ("client_context.user_agent", "context.userAgent"),
    ("client_context.locale", "context.locale"),
    ("client_context.timezone", "context.timezone"),
    (
        "client_context.custom_metadata_json",
        "context.customMetadata",
    ),
    ("conversation_id", "id"),
    ("target.conversation_id", "id"),
    ("idempotency_key", "idempotency-key"),
    ("target.idempotency_key", "idempotency-key"),
    ("forked_from.version", "version"),
    ("forked_from.conversation_id", "id"),
    ("owner.session_id", "sessionId"),
    ("owner.user_id", "userId"),
];

/// The problem with its field, where it names one, under the name that the caller gave it.
pub(super) fn renamed(mut problem: HttpProblem) -> HttpProblem {
    let known = |field: &String| NAMES.iter().find(|(theirs, _)| theirs == field);
    if let Some((theirs, ours)) = problem.field.as_ref().and_then(known) {
        if let Some(rest) = problem.detail.strip_prefix(theirs) {
            problem.detail = format!("{ours}{rest}");
        }
        problem.field = Some((*ours).to_owned());
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
        let problem = renamed(problem);
        let told = (problem.field.as_deref().unwrap(), problem.detail.as_str());
        assert_eq!(told, expected);
    }

    #[test]
    fn fields_have_the_callers_names() {
        check(
            "metadata_json",
            "metadata_json is too long",
            ("metadata", "metadata is too long"),
        );
        check(
            "client_context.page_url",
            "client_context.page_url is too long",
            ("context.pageUrl", "context.pageUrl is too long"),
        );
        check("title", "title is too long", ("title", "title is too long"));
    }
}
