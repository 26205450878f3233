//! How callers name themselves: in headers and bodies, never in the URL, which appears in logs, histories and other
//! sites.

use axum::http::HeaderMap;
use domain::ViolationReason;
use runtime::http::HttpProblem;
use serde::Deserialize;
use utoipa::IntoParams;

/// The name of the header with the session.
pub(crate) const SESSION_HEADER: &str = "x-session-id";
const USER_HEADER: &str = "x-user-id";

/// Names of callers, in bodies; rejected in queries.
const IDENTITY_FIELDS: [&str; 4] = ["sessionId", "session_id", "userId", "user_id"];

/// Headers that name the caller; the body must agree.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Header)]
pub struct CallerHeaders {
    /// The session that `POST /api/sessions` issued. Alternatives: `sessionId` in bodies with such a member, or the
    /// cookie. In the agent's identity mode `open`, also an id of the caller's choice.
    #[param(rename = "x-session-id")]
    pub session: Option<String>,
    /// The user's name, if the agent's settings allow names without a token; also as `userId` in bodies with such a
    /// member.
    #[param(rename = "x-user-id")]
    pub user: Option<String>,
    /// Positions that the answer must include: the header of the same name of earlier answers, at most 8 tokens,
    /// separated by commas. Without it, an answer may miss a write of the caller a moment ago. If the session is a
    /// cookie, answers to writes set the cookie of positions, which is used if this header is absent.
    #[param(rename = "x-position-token")]
    pub position: Option<String>,
}

/// The names of a caller.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallerIds {
    /// The session.
    #[serde(default)]
    pub session_id: Option<String>,
    /// The user.
    #[serde(default)]
    pub user_id: Option<String>,
}

impl CallerIds {
    /// The names in the headers.
    ///
    /// # Errors
    /// 400 `FIELD_MALFORMED` if a value is not text.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Result<Self, HttpProblem> {
        Ok(Self { session_id: header_text(headers, SESSION_HEADER)?, user_id: header_text(headers, USER_HEADER)? })
    }

    /// Merges names from several places, which must be equal.
    ///
    /// # Errors
    /// 400 `CALLER_AMBIGUOUS`.
    pub(crate) fn merged(names: &[Self]) -> Result<Self, HttpProblem> {
        Ok(Self {
            session_id: only_value("sessionId", names.iter().map(|ids| &ids.session_id))?,
            user_id: only_value("userId", names.iter().map(|ids| &ids.user_id))?,
        })
    }
}

/// The only value that is given; an empty one is absent.
fn only_value<'a>(field: &str, given: impl Iterator<Item = &'a Option<String>>) -> Result<Option<String>, HttpProblem> {
    let mut given = given.flatten().filter(|value| !value.is_empty());
    let Some(first) = given.next() else {
        return Ok(None);
    };
    if given.all(|other| other == first) {
        return Ok(Some(first.clone()));
    }
    let detail = format!("{field} is given twice and differs: header and body must agree");
    Err(HttpProblem::of_field("CALLER_AMBIGUOUS", field, detail))
}

/// Rejects a query that names the caller.
///
/// # Errors
/// 400 `IDENTITY_IN_QUERY`.
pub(crate) fn check_query(query: Option<&str>) -> Result<(), HttpProblem> {
    let mut pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let Some((field, _)) = pairs.find(|(name, _)| IDENTITY_FIELDS.contains(&name.as_ref())) else {
        return Ok(());
    };
    let detail = format!("{field} is in the query: send the headers x-session-id and x-user-id");
    Err(HttpProblem::of_field("IDENTITY_IN_QUERY", field, detail))
}

/// The text of a header; `None` if it is absent.
///
/// # Errors
/// 400 `FIELD_MALFORMED`.
pub fn header_text(headers: &HeaderMap, name: &str) -> Result<Option<String>, HttpProblem> {
    let text = headers.get(name).map(|value| value.to_str().map(str::to_owned));
    text.transpose().map_err(|_| {
        let detail = format!("the header {name} has bytes that are not visible ASCII: send it in the body");
        HttpProblem::of_field(ViolationReason::Malformed, name, detail)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(given: [Option<&str>; 3], expected: Result<Option<&str>, &str>) {
        let given = given.map(|value| value.map(str::to_owned));
        let actual = only_value("sessionId", given.iter()).map_err(|problem| problem.code.into_owned());
        let expected = expected.map(|value| value.map(str::to_owned));
        assert_eq!(actual, expected.map_err(str::to_owned), "{given:?}");
    }

    #[test]
    fn a_query_with_a_caller_is_rejected() {
        let check = |query: Option<&str>, expected: Option<&str>| {
            let actual = check_query(query).err().map(|problem| problem.field);
            assert_eq!(actual.flatten().as_deref(), expected, "{query:?}");
        };
        check(None, None);
        check(Some(""), None);
        check(Some("limit=1&session=s&cursor=sessionId"), None);
        check(Some("limit=1&sessionId=s"), Some("sessionId"));
        check(Some("session%49d="), Some("sessionId"));
        check(Some("user_id"), Some("user_id"));
    }

    #[test]
    fn names_from_several_places_must_be_equal() {
        check([None, None, None], Ok(None));
        check([Some(""), None, Some("")], Ok(None));
        check([None, Some("a"), None], Ok(Some("a")));
        check([Some("a"), Some(""), Some("a")], Ok(Some("a")));
        check([Some("a"), None, Some("b")], Err("CALLER_AMBIGUOUS"));
        check([Some("a"), Some("a"), Some("A")], Err("CALLER_AMBIGUOUS"));
    }
}
