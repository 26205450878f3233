//! Lists of namespaces.

use tests::stack::Stack;
use wire::proto::document::v1 as proto;

use super::calls::{labels, put, scope, try_delete};

#[tokio::test(flavor = "multi_thread")]
async fn namespaces_match_by_prefix_suffix_and_depth() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    for namespace in ["a/b/c", "a/b/d", "a/x/c", "ab/b", "a", "z\u{1}/c"] {
        for key in ["1", "2"] {
            let put = put(&agent, (namespace, key), "{}").await;
            agent.wait_for_rows(&put.conversation_id, put.version).await;
        }
    }
    let list = async |prefix: &str, suffix: &str, (max_depth, limit, offset): (u32, u32, u32)| {
        let request = proto::ListDocumentNamespacesRequest {
            scope: Some(scope(&agent, None)),
            prefix: labels(prefix),
            suffix: labels(suffix),
            max_depth,
            limit,
            offset,
            position_tokens: Vec::new(),
        };
        let mut documents = agent.caller().documents();
        let answer = documents.list_document_namespaces(request).await;
        let page = answer.expect("namespaces").into_inner();
        let found = page.namespaces.iter().map(|one| one.labels.join("/"));
        (found.collect::<Vec<_>>().join(" "), page.has_more)
    };
    for (prefix, suffix, page, expected) in [
        ("", "", (0, 0, 0), ("a a/b/c a/b/d a/x/c ab/b z\u{1}/c", false)),
        ("a", "", (0, 0, 0), ("a a/b/c a/b/d a/x/c", false)),
        ("a/*", "", (0, 0, 0), ("a/b/c a/b/d a/x/c", false)),
        ("*/b", "", (0, 0, 0), ("a/b/c a/b/d ab/b", false)),
        ("", "c", (0, 0, 0), ("a/b/c a/x/c z\u{1}/c", false)),
        ("a", "*/c", (0, 0, 0), ("a/b/c a/x/c", false)),
        ("a/b", "b/c", (0, 0, 0), ("a/b/c", false)),
        ("", "", (1, 0, 0), ("a ab z\u{1}", false)),
        ("a", "", (2, 0, 0), ("a a/b a/x", false)),
        ("", "", (0, 2, 1), ("a/b/c a/b/d", true)),
        ("", "", (0, 2, 4), ("ab/b z\u{1}/c", false)),
        ("q", "", (0, 0, 0), ("", false)),
    ] {
        let seen = list(prefix, suffix, page).await;
        let expected = (expected.0.to_owned(), expected.1);
        assert_eq!(seen, expected, "{prefix} {suffix} {page:?}");
    }
    for key in ["1", "2"] {
        let deleted = try_delete(&agent, ("a", key), None).await.expect("a deletion");
        let conversation = super::calls::versions(&agent, scope(&agent, None), ("a", key), (0, 1));
        assert_eq!(conversation.await.0, [(deleted.version, String::new())]);
    }
    tests::eventually::eventually("a namespace without documents is gone", async || {
        (list("a", "", (1, 0, 0)).await == ("a".to_owned(), false)
            && list("a", "", (0, 0, 0)).await.0 == "a/b/c a/b/d a/x/c")
            .then_some(())
    })
    .await;
}
