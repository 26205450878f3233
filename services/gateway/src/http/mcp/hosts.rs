//! The names of the server: a page that makes a browser resolve its own name to this server (DNS rebinding) is rejected by the
//! header `Host`.

use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{StatusCode, Uri, header};
use runtime::http::HttpProblem;

use http_listener::config::McpSection;

/// Names that are always accepted.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Checks the `Host` of a request; over HTTP/2, the authority.
///
/// # Errors
/// 403 `HOST_NOT_ALLOWED`.
pub(super) fn check(parts: &Parts, section: &McpSection) -> Result<(), HttpProblem> {
    let header = parts.headers.get(header::HOST);
    let given = match header {
        Some(value) => value.to_str().ok().and_then(|text| text.parse().ok()),
        None => parts.uri.authority().cloned(),
    };
    if given.is_some_and(|given| is_allowed(&given, section)) {
        return Ok(());
    }
    let detail = "the host of the request is not a name of this server: add it to the setting http.mcp.hosts";
    Err(HttpProblem::new(StatusCode::FORBIDDEN, "HOST_NOT_ALLOWED", detail))
}

fn is_allowed(given: &Authority, section: &McpSection) -> bool {
    let name = bare(given.host());
    let public = section.url.as_deref().and_then(|url| url.parse::<Uri>().ok());
    let of_url = public.as_ref().and_then(Uri::host);
    LOOPBACK
        .into_iter()
        .chain(section.hosts.iter().map(String::as_str))
        .chain(of_url)
        .any(|allowed| bare(allowed).eq_ignore_ascii_case(name))
}

/// The address of an IPv6 authority without its brackets.
fn bare(host: &str) -> &str {
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    inner.unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_names_and_configured_names_are_allowed() {
        let section = McpSection {
            hosts: vec!["gateway.internal".to_owned()],
            url: Some("https://chat.example.org/mcp".to_owned()),
            authorization_servers: Vec::new(),
        };
        for (host, expected) in [
            ("localhost:7303", true),
            ("127.0.0.1", true),
            ("[::1]:7303", true),
            ("gateway.internal:80", true),
            ("GATEWAY.internal", true),
            ("chat.example.org", true),
            ("example.org", false),
            ("evil.example:7303", false),
            ("localhost.evil.example", false),
        ] {
            let given: Authority = host.parse().unwrap();
            assert_eq!(is_allowed(&given, &section), expected, "{host}");
        }
    }
}
