//! Searches by namespace and by conditions on values.

use tests::agent::Agent;
use tests::errors::check_failure;
use tests::stack::{Setup, Stack};
use tonic::Code;
use wire::proto::document::v1 as proto;

use super::calls::{keys, put, search_request, try_search};

/// Puts documents and returns the position of the last one of each partition.
async fn put_all(agent: &Agent, documents: &[(&str, &str, &str)]) -> Vec<String> {
    let mut tokens = Vec::new();
    for (namespace, key, value) in documents {
        let put = put(agent, (namespace, key), value).await;
        tokens.push(put.position_token.clone());
        agent.wait_for_rows(&put.conversation_id, put.version).await;
    }
    tokens
}

async fn check(agent: &Agent, prefix: &str, filter: &str, expected: &str) {
    let mut found = keys(agent, search_request(agent, prefix, filter, &[])).await;
    found.sort_unstable();
    assert_eq!(found.join(" "), expected, "{prefix} {filter}");
}

#[tokio::test(flavor = "multi_thread")]
async fn values_match_by_all_conditions() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    put_all(
        &agent,
        &[
            ("n", "a", r#"{"n": 9, "s": "b", "t": true, "o": {"x": 1, "y": [1, 2]}, "l": [1, 2]}"#),
            ("n", "b", r#"{"n": 10.0, "s": "B", "t": false, "o": {"x": 2}, "l": [2, 1]}"#),
            ("n", "c", r#"{"n": "10", "s": null, "o": 1}"#),
            ("n", "d", "[1]"),
            ("n", "e", r#"{"n": 100, "\"]}": {"$x": 1}}"#),
        ],
    )
    .await;
    for (filter, expected) in [
        ("", "a b c d e"),
        ("{}", "a b c d e"),
        (r#"{"n": 10}"#, "b"),
        (r#"{"n": 1e1}"#, "b"),
        (r#"{"n": "10"}"#, "c"),
        (r#"{"n": {"$gt": 9}}"#, "b e"),
        (r#"{"n": {"$gte": 9, "$lt": 100}}"#, "a b"),
        (r#"{"n": {"$lte": 10}}"#, "a b"),
        (r#"{"n": {"$ne": 10}}"#, "a c d e"),
        (r#"{"s": {"$gt": "B"}}"#, "a"),
        (r#"{"s": {"$lte": "B"}}"#, "b"),
        (r#"{"t": true}"#, "a"),
        (r#"{"t": {"$lt": true}}"#, ""),
        (r#"{"s": null}"#, "c d e"),
        (r#"{"t": {"$eq": false}, "n": 10}"#, "b"),
        (r#"{"t": false, "n": 9}"#, ""),
        (r#"{"o": {"x": 1}}"#, "a"),
        (r#"{"o": {"x": {"$gte": 1}}}"#, "a b"),
        (r#"{"o": {"$eq": {"x": 2}}}"#, "b"),
        (r#"{"o": {"z": null}}"#, "a b"),
        (r#"{"o": {}}"#, "a b"),
        (r#"{"o": {"y": [1, 2.0]}}"#, "a"),
        (r#"{"l": [1, 2]}"#, "a"),
        (r#"{"\"]}": {"$ne": null}}"#, "e"),
    ] {
        check(&agent, "n", filter, expected).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn prefixes_are_of_whole_labels() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    put_all(
        &agent,
        &[
            ("foo", "a", "1"),
            ("foo/bar", "b", "1"),
            ("foobar", "c", "1"),
            ("foo\u{1}", "d", "1"),
            ("fo", "e", "1"),
            ("foo/bar/baz", "f", "1"),
            ("\u{10ffff}", "g", "1"),
        ],
    )
    .await;
    for (prefix, expected) in [
        ("", "a b c d e f g"),
        ("foo", "a b f"),
        ("foo/bar", "b f"),
        ("foo/bar/baz/x", ""),
        ("foob", ""),
        ("foobar", "c"),
        ("foo\u{1}", "d"),
        ("\u{10ffff}", "g"),
    ] {
        check(&agent, prefix, "", expected).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_updated_is_first_and_pages_have_no_gaps() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    for n in 0..7 {
        put(&agent, ("n", &n.to_string()), "{}").await;
    }
    let last = put(&agent, ("n", "2"), "{\"x\": 1}").await;
    agent.wait_for_rows(&last.conversation_id, last.version).await;
    let newest = put(&agent, ("n", "6"), "{}").await;
    agent.wait_for_rows(&newest.conversation_id, newest.version).await;
    let page = async |offset, limit| {
        let request = proto::SearchDocumentsRequest { offset, limit, ..search_request(&agent, "", "", &[]) };
        let answer = try_search(&agent, request).await.expect("a page");
        let found = answer.documents.into_iter().map(|one| one.key);
        (found.collect::<String>(), answer.has_more)
    };
    tests::eventually::eventually("all documents", async || (page(0, 100).await.0.len() == 7).then_some(())).await;
    assert_eq!(page(0, 100).await, ("6254310".to_owned(), false));
    assert_eq!(page(0, 3).await, ("625".to_owned(), true));
    assert_eq!(page(3, 3).await, ("431".to_owned(), true));
    assert_eq!(page(6, 3).await, ("0".to_owned(), false));
    assert_eq!(page(7, 3).await, (String::new(), false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_includes_the_writes_of_its_tokens() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    let put = put(&agent, ("n", "k"), "1").await;
    let request = || search_request(&agent, "", "", &[&put.position_token]);
    assert_eq!(keys(&agent, request()).await, ["k"]);
    stack.projector.stop().await;
    let later = super::calls::put(&agent, ("n", "l"), "1").await;
    let request = search_request(&agent, "", "", &[&later.position_token]);
    let outcome = try_search(&agent, request).await;
    let expected = (Code::Unavailable, "POSITION_NOT_REACHED", "");
    check_failure("rows that are behind", outcome, expected);
}
