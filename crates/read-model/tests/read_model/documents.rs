//! Rows of documents: the same for any batches of the same commits.

use domain::{ConversationId, DocumentNamespace, Fact, Lifecycle, Timestamp};
use read_model::queries::documents::{
    DocumentQuery, DocumentScope, FoundDocument, expired_documents, find_document, search_documents,
};

use crate::fixture::{
    Author, Projection, START, access, document_deleted, document_name, document_put, message,
};

const CONVERSATION: &str = "c";

/// The documents of the conversation at a second after the start, by key.
async fn found(projection: &Projection, second: i64) -> Vec<FoundDocument> {
    let query = DocumentQuery {
        scope: DocumentScope::Conversation(ConversationId::parse(CONVERSATION).unwrap()),
        agent: domain::AgentId::parse("support").unwrap(),
        prefix: DocumentNamespace::default(),
        conditions: Vec::new(),
        now: at(second),
        offset: 0,
        limit: 100,
    };
    let found = search_documents(&projection.model, &access("acme"), &query).await;
    let mut found = found.unwrap();
    found.sort_by(|one, other| one.key.cmp(&other.key));
    found
}

fn at(second: i64) -> Timestamp {
    Timestamp(START.0 + second * 1_000_000_000)
}

/// Commits a second apart, from second 2 on.
fn commits() -> Vec<Vec<Fact>> {
    let put = |key, value, ttl| document_put(key, value, ttl);
    vec![
        vec![
            put("a", "1", None),
            put("b", "1", Some(2)),
            put("c", "1", None),
        ],
        vec![put("a", "2", None), put("b", "2", Some(1)), message("x")],
        vec![document_deleted("c"), put("d", "1", Some(100))],
        vec![
            put("b", "3", None),
            put("c", "2", None),
            document_deleted("missing"),
        ],
        vec![
            put("a", "3", Some(100)),
            put("a", "4", Some(50)),
            document_deleted("d"),
        ],
        vec![
            put("d", "2", None),
            document_deleted("d"),
            put("d", "3", Some(1)),
        ],
        vec![message("y")],
    ]
}

#[tokio::test]
async fn rows_are_the_same_for_any_batches() {
    let mut seen: Vec<Vec<FoundDocument>> = Vec::new();
    for batch in [1, 2, 3, 4, 8] {
        let mut projection = Projection::new().await;
        let mut author = Author::new(CONVERSATION);
        let mut items = vec![author.begin(1)];
        for (second, facts) in (2..).zip(commits()) {
            items.push(author.commit(second, facts));
        }
        for items in items.chunks(batch) {
            projection.apply(items.to_vec()).await;
        }
        seen.push(found(&projection, 7).await);
        let expired = found(&projection, 8).await;
        assert_eq!(expired.len() + 1, seen[0].len(), "d ends");
    }
    let values = seen[0].iter().map(|one| {
        let value = &one.value;
        let seconds = |time: Timestamp| time.seconds() - START.seconds();
        let (created, updated) = (seconds(value.created_at), seconds(value.updated_at));
        (
            one.key.as_str(),
            value.value_json.as_str(),
            created,
            updated,
        )
    });
    let expected = [
        ("a", "4", 2, 6),
        ("b", "3", 5, 5),
        ("c", "2", 5, 5),
        ("d", "3", 7, 7),
    ];
    assert_eq!(values.collect::<Vec<_>>(), expected);
    for other in &seen[1..] {
        assert_eq!(other, &seen[0]);
    }
}

#[tokio::test]
async fn expired_documents_are_found_until_they_are_deleted() {
    let mut projection = Projection::new().await;
    let mut author = Author::new(CONVERSATION);
    let begun = author.begin(1);
    let put = author.commit(2, vec![document_put("k", "1", Some(3))]);
    projection.apply(vec![begun, put]).await;
    let expired = async |projection: &Projection, second| {
        let found = expired_documents(&projection.model, &access("acme"), at(second)).await;
        let found = found.unwrap().into_iter();
        found
            .map(|one| (one.name.key, one.version.0))
            .collect::<Vec<_>>()
    };
    assert_eq!(expired(&projection, 4).await, []);
    assert_eq!(expired(&projection, 5).await, [("k".to_owned(), 2)]);
    let foreign = expired_documents(&projection.model, &access("globex"), at(5)).await;
    assert_eq!(foreign.unwrap(), []);
    let said = author.say(6, "x");
    projection.apply(vec![said]).await;
    assert_eq!(expired(&projection, 6).await, [("k".to_owned(), 3)]);
    let deleted = author.commit(7, vec![document_deleted("k")]);
    projection.apply(vec![deleted]).await;
    assert_eq!(expired(&projection, 9).await, []);
}

#[tokio::test]
async fn an_erasure_removes_documents() {
    for batch in [1, 8] {
        let mut projection = Projection::new().await;
        let mut author = Author::new(CONVERSATION);
        let items = [
            author.begin(1),
            author.commit(2, vec![document_put("k", "\"secret\"", None)]),
            author.commit(3, vec![Fact::Lifecycle(Lifecycle::ConversationErased)]),
        ];
        for items in items.chunks(batch) {
            projection.apply(items.to_vec()).await;
        }
        assert_eq!(found(&projection, 4).await, []);
        let id = ConversationId::parse(CONVERSATION).unwrap();
        let (tenant, name) = (access("acme"), document_name("k"));
        let state = find_document(&projection.model, &tenant, &id, &name).await;
        assert_eq!(state.unwrap().document, None);
    }
}
