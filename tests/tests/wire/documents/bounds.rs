//! Values, names and pages at their bounds and one past them.

use domain::bounds::{
    DOCUMENT_KEY_BYTES_MAX, DOCUMENT_LABEL_BYTES_MAX, DOCUMENT_LABELS_MAX, DOCUMENT_TTL_SECONDS_MAX,
    DOCUMENT_VALUE_BYTES_MAX,
};
use tests::agent::Agent;
use tests::errors::{Expected, check_failure};
use tests::stack::Stack;
use tonic::Code;
use wire::proto::document::v1 as proto;

use super::calls::{put_request, search_request, try_put, try_search};

const TOO_LONG: &str = "FIELD_TOO_LONG";
const OUT_OF_RANGE: &str = "FIELD_OUT_OF_RANGE";

async fn check_put(
    agent: &Agent,
    change: impl FnOnce(&mut proto::PutDocumentRequest),
    expected: Option<(&'static str, &'static str)>,
) {
    let mut request = put_request(agent, ("n", "k"), "1");
    change(&mut request);
    let outcome = try_put(agent, request).await;
    match expected {
        Some((reason, field)) => {
            let expected: Expected = (Code::InvalidArgument, reason, field);
            drop(check_failure(field, outcome, expected));
        }
        None => drop(outcome.expect("a recorded value")),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn values_at_their_bounds() {
    let stack = Stack::shared().await;
    let agent = &stack.any_agent().await;
    let text = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
    let value = "value_json";
    let most = text(DOCUMENT_VALUE_BYTES_MAX);
    check_put(agent, |put| put.value_json = most, None).await;
    let over = text(DOCUMENT_VALUE_BYTES_MAX + 1);
    check_put(agent, |put| put.value_json = over, Some((TOO_LONG, value))).await;
    for (json, reason) in [
        ("", "FIELD_MISSING"),
        ("{", "INVALID_JSON"),
        ("\"\\u0000\"", "NUL_CHARACTER"),
        ("\"\\ud800\"", "INVALID_JSON"),
        ("1e1001", OUT_OF_RANGE),
    ] {
        check_put(agent, |put| put.value_json = json.to_owned(), Some((reason, value))).await;
    }
    let ttl = "ttl_seconds";
    check_put(agent, |put| put.ttl_seconds = DOCUMENT_TTL_SECONDS_MAX, None).await;
    let over = DOCUMENT_TTL_SECONDS_MAX + 1;
    check_put(agent, |put| put.ttl_seconds = over, Some((OUT_OF_RANGE, ttl))).await;
    let found = super::calls::try_get(agent, super::calls::scope(agent, None), ("n", "k")).await;
    assert!(found.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn names_at_their_bounds() {
    let stack = Stack::shared().await;
    let agent = &stack.any_agent().await;
    let key = |bytes| "k".repeat(bytes);
    check_put(agent, |put| put.key = key(DOCUMENT_KEY_BYTES_MAX), None).await;
    let over = key(DOCUMENT_KEY_BYTES_MAX + 1);
    check_put(agent, |put| put.key = over, Some((TOO_LONG, "key"))).await;
    check_put(agent, |put| put.key.clear(), Some(("FIELD_MISSING", "key"))).await;
    let labels = |count| vec!["n".to_owned(); count];
    check_put(agent, |put| put.namespace = labels(DOCUMENT_LABELS_MAX), None).await;
    let over = labels(DOCUMENT_LABELS_MAX + 1);
    check_put(agent, |put| put.namespace = over, Some((TOO_LONG, "namespace"))).await;
    check_put(agent, |put| put.namespace.clear(), Some(("FIELD_MISSING", "namespace"))).await;
    let label = |bytes| vec!["n".repeat(bytes)];
    check_put(agent, |put| put.namespace = label(DOCUMENT_LABEL_BYTES_MAX), None).await;
    let over = label(DOCUMENT_LABEL_BYTES_MAX + 1);
    check_put(agent, |put| put.namespace = over, Some((TOO_LONG, "namespace[0]"))).await;
    // The longest name is in every index.
    let longest = || vec!["\u{1}".repeat(127), "n".repeat(256), "n".repeat(256), "n".repeat(253)];
    check_put(agent, |put| (put.namespace, put.key) = (longest(), key(DOCUMENT_KEY_BYTES_MAX)), None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn searches_at_their_bounds() {
    let stack = Stack::shared().await;
    let agent = &stack.any_agent().await;
    let check = async |change: fn(&mut proto::SearchDocumentsRequest),
                       expected: Option<(&'static str, &'static str)>| {
        let mut request = search_request(agent, "", "", &[]);
        change(&mut request);
        let outcome = try_search(agent, request).await;
        match expected {
            Some((reason, field)) => {
                let expected: Expected = (Code::InvalidArgument, reason, field);
                drop(check_failure(field, outcome, expected));
            }
            None => drop(outcome.expect("an answer")),
        }
    };
    check(|search| search.limit = 100, None).await;
    check(|search| search.limit = 101, Some((OUT_OF_RANGE, "limit"))).await;
    check(|search| search.offset = 10_000, None).await;
    check(|search| search.offset = 10_001, Some((OUT_OF_RANGE, "offset"))).await;
    let malformed = Some(("FIELD_MALFORMED", "filter_json"));
    check(|search| search.filter_json = "{\"a\": {\"$in\": 1}}".to_owned(), malformed).await;
    let not_json = Some(("INVALID_JSON", "filter_json"));
    check(|search| search.filter_json = "[]".to_owned(), not_json).await;
    check(|search| search.scope = None, Some(("FIELD_MISSING", "scope"))).await;
}
