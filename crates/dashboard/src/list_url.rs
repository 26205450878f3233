//! URLs of lists, which contain the query.

/// The URL of a page of a list. `token`: the token of the page; `None`: the first page.
pub(super) fn list_url(path: &str, query: &str, token: Option<&str>) -> String {
    let mut pairs = form_urlencoded::Serializer::new(String::new());
    if !query.is_empty() {
        pairs.append_pair("q", query);
    }
    if let Some(token) = token {
        pairs.append_pair("page", token);
    }
    let pairs = pairs.finish();
    if pairs.is_empty() {
        return path.to_owned();
    }
    format!("{path}?{pairs}")
}
