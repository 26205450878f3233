//! The headers that name the end user of a back end's request.

use axum::http::HeaderMap;
use conversations::end_user::EndUser;
use runtime::http::HttpProblem;

use super::headers::header_text;

/// The header that names the end user.
pub const USER_HEADER: &str = "x-hansard-user";
/// The header in which Open WebUI forwards its user; read if [`USER_HEADER`] is absent.
const OPEN_WEBUI_USER_HEADER: &str = "x-openwebui-user-id";

/// The end user whom the headers name.
///
/// # Errors
/// 400 if the name is not 1 to 256 bytes without control characters.
pub fn end_user(headers: &HeaderMap) -> Result<EndUser, HttpProblem> {
    for header in [USER_HEADER, OPEN_WEBUI_USER_HEADER] {
        if let Some(user) = header_text(headers, header)? {
            return Ok(EndUser::named(user, header)?);
        }
    }
    Ok(EndUser::default())
}
