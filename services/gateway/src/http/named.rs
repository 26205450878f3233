//! What callers call themselves, in headers and body. Never in the URL: logs, histories and other sites see that.

use axum::http::{HeaderMap, StatusCode};
use runtime::http::HttpProblem;
use serde::Deserialize;
use utoipa::IntoParams;

pub(super) const SESSION_HEADER: &str = "x-session-id";
const USER_HEADER: &str = "x-user-id";

/// What names a caller in a body, and nothing in a query.
const IDENTITY_FIELDS: [&str; 4] = ["sessionId", "session_id", "userId", "user_id"];

/// How callers say in headers who they are; what the body says must agree.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Header)]
pub struct CallerHeaders {
    /// The session that `POST /api/sessions` issued; also as `sessionId` in the body where it has such a member, or as the
    /// cookie. Where the agent's identity mode is `open`, also an id of the caller's own choice.
    #[param(rename = "x-session-id")]
    pub session: Option<String>,
    /// The user, by name: believed where the agent's settings say so; also as `userId` in the
    /// body where it has such a member.
    #[param(rename = "x-user-id")]
    pub user: Option<String>,
    /// Positions that the answer must hold: the header of the same name of earlier answers, at most 8 tokens, separated by
    /// commas. Without it, an answer may miss what the caller wrote a moment ago, unless the session is a cookie: then answers
    /// to writes set the cookie of positions, which counts where this header is absent.
    #[param(rename = "x-position-token")]
    pub position: Option<String>,
}

/// What a caller calls themselves.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Named {
    /// The session.
    #[serde(default)]
    pub session_id: Option<String>,
    /// The user.
    #[serde(default)]
    pub user_id: Option<String>,
}

impl Named {
    /// What the headers say.
    ///
    /// # Errors
    /// 400 `FIELD_MALFORMED` for one that is no text.
    pub(super) fn in_headers(headers: &HeaderMap) -> Result<Self, HttpProblem> {
        Ok(Self {
            session_id: header_text(headers, SESSION_HEADER)?,
            user_id: header_text(headers, USER_HEADER)?,
        })
    }

    /// What is said in several places; where several say something, it is the same.
    ///
    /// # Errors
    /// 400 `CALLER_AMBIGUOUS`.
    pub(super) fn agreed(said: &[Self]) -> Result<Self, HttpProblem> {
        Ok(Self {
            session_id: agreed("sessionId", said.iter().map(|named| &named.session_id))?,
            user_id: agreed("userId", said.iter().map(|named| &named.user_id))?,
        })
    }
}

/// The one value that is given; an empty one is none.
fn agreed<'a>(
    field: &str,
    given: impl Iterator<Item = &'a Option<String>>,
) -> Result<Option<String>, HttpProblem> {
    let mut given = given.flatten().filter(|value| !value.is_empty());
    let Some(first) = given.next() else {
        return Ok(None);
    };
    if given.all(|other| other == first) {
        return Ok(Some(first.clone()));
    }
    let detail = format!("{field} is given twice and differs: header and body must agree");
    Err(HttpProblem {
        field: Some(field.to_owned()),
        ..HttpProblem::new(StatusCode::BAD_REQUEST, "CALLER_AMBIGUOUS", detail)
    })
}

/// Refuses a query that says who calls.
///
/// # Errors
/// 400 `IDENTITY_IN_QUERY`.
pub(super) fn check_query(query: Option<&str>) -> Result<(), HttpProblem> {
    let mut pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let Some((field, _)) = pairs.find(|(name, _)| IDENTITY_FIELDS.contains(&name.as_ref())) else {
        return Ok(());
    };
    let detail = format!("{field} is in the query: send the headers x-session-id and x-user-id");
    Err(HttpProblem::of_field("IDENTITY_IN_QUERY", field, detail))
}

/// The text of a header; absent is none.
///
/// # Errors
/// 400 `FIELD_MALFORMED`.
pub(super) fn header_text(headers: &HeaderMap, name: &str) -> Result<Option<String>, HttpProblem> {
    let text = headers
        .get(name)
        .map(|value| value.to_str().map(str::to_owned));
    text.transpose().map_err(|_| {
        let detail =
            format!("the header {name} has bytes that are no visible ASCII: say it in the body");
        HttpProblem {
            field: Some(name.to_owned()),
            ..HttpProblem::new(StatusCode::BAD_REQUEST, "FIELD_MALFORMED", detail)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(given: [Option<&str>; 3], expected: Result<Option<&str>, &str>) {
        let given = given.map(|value| value.map(str::to_owned));
        let seen = agreed("sessionId", given.iter());
        let seen = seen.map_err(|problem| problem.code.into_owned());
        let expected = expected.map(|value| value.map(str::to_owned));
        assert_eq!(seen, expected.map_err(str::to_owned), "{given:?}");
    }

    #[test]
    fn a_query_names_nobody() {
        let check = |query: Option<&str>, expected: Option<&str>| {
            let seen = check_query(query).err().map(|problem| problem.field);
            assert_eq!(seen.flatten().as_deref(), expected, "{query:?}");
        };
        check(None, None);
        check(Some(""), None);
        check(Some("limit=1&session=s&cursor=sessionId"), None);
        check(Some("limit=1&sessionId=s"), Some("sessionId"));
        check(Some("session%49d="), Some("sessionId"));
        check(Some("user_id"), Some("user_id"));
    }

    #[test]
    fn who_is_named_twice_is_the_same() {
        check([None, None, None], Ok(None));
        check([Some(""), None, Some("")], Ok(None));
        check([None, Some("a"), None], Ok(Some("a")));
        check([Some("a"), Some(""), Some("a")], Ok(Some("a")));
        check([Some("a"), None, Some("b")], Err("CALLER_AMBIGUOUS"));
        check([Some("a"), Some("a"), Some("A")], Err("CALLER_AMBIGUOUS"));
    }
}
