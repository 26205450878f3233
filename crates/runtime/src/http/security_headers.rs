//! What every response tells browsers: keep no copy, guess no type, and say nothing of the address to others.

use http::header::{
    CACHE_CONTROL, Entry, HeaderMap, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};

/// Adds the headers; a response that says itself how it may be cached keeps its word.
pub(super) fn insert(headers: &mut HeaderMap) {
    if let Entry::Vacant(cache_control) = headers.entry(CACHE_CONTROL) {
        cache_control.insert(HeaderValue::from_static("no-store"));
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
}
