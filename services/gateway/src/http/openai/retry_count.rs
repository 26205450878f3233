//! The header with which OpenAI's libraries count the attempts of a request.

use axum::http::HeaderMap;

/// The header with the number of earlier attempts of a request.
const RETRY_COUNT_HEADER: &str = "x-stainless-retry-count";

/// Whether the client says that it has sent the request before.
pub(super) fn is_retry(headers: &HeaderMap) -> bool {
    let count = headers.get(RETRY_COUNT_HEADER).and_then(|count| count.to_str().ok()?.parse::<u32>().ok());
    count.is_some_and(|count| count > 0)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn only_counted_attempts_are_retries() {
        let headers = |count: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_COUNT_HEADER, HeaderValue::from_static(count));
            headers
        };
        assert!(!is_retry(&HeaderMap::new()));
        for (count, expected) in [("0", false), ("1", true), ("2", true), ("x", false)] {
            assert_eq!(is_retry(&headers(count)), expected, "{count}");
        }
    }
}
