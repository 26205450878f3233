//! The files of the chat widget: `/widget/1/…`. They are for every page of every site, and say nothing about a tenant.

pub mod get_loader;
pub mod get_widget_file;

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use widget::File;

const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// The file, compressed if the client accepts that; 304 if it has the file.
fn serve(file: &File, cache_control: &'static str, request: &HeaderMap) -> Response {
    let headers = [
        (header::CONTENT_TYPE, file.content_type),
        (header::CACHE_CONTROL, cache_control),
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (CROSS_ORIGIN_RESOURCE_POLICY, "cross-origin"),
        (header::VARY, "accept-encoding"),
    ];
    let etag = format!("\"{}\"", file.integrity);
    let mut response = if is_known(request, &etag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else if accepts_gzip(request) {
        let encoding = [(header::CONTENT_ENCODING, "gzip")];
        (encoding, file.gzip.clone()).into_response()
    } else {
        file.body.clone().into_response()
    };
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    if let Ok(etag) = HeaderValue::try_from(etag) {
        response.headers_mut().insert(header::ETAG, etag);
    }
    response
}

/// Whether `If-None-Match` lists the tag. Proxies that compress make tags weak.
fn is_known(request: &HeaderMap, etag: &str) -> bool {
    let mut tags = request
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|tags| tags.to_str().ok())
        .flat_map(|tags| tags.split(','));
    tags.any(|tag| tag.trim().trim_start_matches("W/") == etag)
}

/// Whether the client accepts gzip. A refusal is `q=0`.
fn accepts_gzip(request: &HeaderMap) -> bool {
    let mut codings = request
        .get_all(header::ACCEPT_ENCODING)
        .iter()
        .filter_map(|codings| codings.to_str().ok())
        .flat_map(|codings| codings.split(','));
    codings.any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let is_refused = weight.trim().strip_prefix("q=").is_some_and(|weight| weight.parse() == Ok(0.0));
        name.trim().eq_ignore_ascii_case("gzip") && !is_refused
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn gzip_is_sent_to_those_who_accept_it() {
        let check = |value: &str, expected: bool| {
            let headers = headers(header::ACCEPT_ENCODING, value);
            assert_eq!(accepts_gzip(&headers), expected, "{value}");
        };
        check("gzip, deflate, br", true);
        check("br;q=1.0, GZIP;q=0.5", true);
        check("br, gzip;q=0", false);
        check("gzip; q=0.0", false);
        check("identity", false);
        check("", false);
    }

    #[test]
    fn a_known_file_is_recognised() {
        let check = |value: &str, expected: bool| {
            let headers = headers(header::IF_NONE_MATCH, value);
            assert_eq!(is_known(&headers, "\"a\""), expected, "{value}");
        };
        check("\"a\"", true);
        check("\"b\", W/\"a\"", true);
        check("\"b\"", false);
        check("*", false);
    }
}
