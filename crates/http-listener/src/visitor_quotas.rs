//! What visitors learn of quotas: the bounds of their own, not those that they share with others.

use std::collections::BTreeMap;

use ::quotas::Scope;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use runtime::http::HttpProblem;
use wire::status::Reason;

/// The member of a problem's metadata with the scope of the quota.
const SCOPE: &str = "scope";

/// Whether anybody may know the quotas of a scope.
#[must_use]
pub fn is_shown(scope: Scope) -> bool {
    match scope {
        Scope::Owner | Scope::Address => true,
        Scope::Tenant | Scope::Agent | Scope::Key => false,
    }
}

/// Removes bound and use of a shared quota from the answer.
pub async fn layer(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    match response.extensions().get::<HttpProblem>() {
        Some(problem) if is_shared(problem) => without_bound(problem.clone()).into_response(),
        _ => response,
    }
}

/// The problem, as visitors get it.
#[must_use]
pub fn for_visitor(problem: HttpProblem) -> HttpProblem {
    if is_shared(&problem) { without_bound(problem) } else { problem }
}

fn is_shared(problem: &HttpProblem) -> bool {
    let is_shown = |name: &String| Scope::ALL.iter().any(|scope| is_shown(*scope) && scope.as_str() == name);
    problem.reason() == Some(Reason::QuotaExceeded) && !problem.metadata.get(SCOPE).is_some_and(is_shown)
}

fn without_bound(problem: HttpProblem) -> HttpProblem {
    let detail = "the service has reached a quota that its callers share: try again later, or tell its operator";
    HttpProblem { detail: detail.to_owned(), metadata: BTreeMap::default(), ..problem }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ::quotas::{Exceeded, Quota};
    use registry::quota_problem;

    use super::*;

    #[test]
    fn shared_bounds_are_hidden() {
        for scope in Scope::ALL {
            let retry_after = Some(Duration::from_secs(9));
            let exceeded = Exceeded { scope, quota: Quota::Runs, bound: 4_711, used: 4_712, retry_after };
            let problem = HttpProblem::from(quota_problem(&exceeded));
            let shown = for_visitor(problem.clone());
            assert_eq!((shown.status, shown.retry_after), (problem.status, problem.retry_after));
            if matches!(scope, Scope::Owner | Scope::Address) {
                assert_eq!(shown, problem);
            } else {
                assert!(!format!("{shown:?}").contains("471"), "{shown:?}");
            }
        }
    }

    #[test]
    fn other_problems_are_unchanged() {
        let problem = HttpProblem::of_field("FIELD_TOO_LONG", "id", "is too long").with("bound", "128");
        assert_eq!(for_visitor(problem.clone()), problem);
    }
}
