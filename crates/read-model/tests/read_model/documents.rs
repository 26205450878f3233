//! Rows of documents: the same for any batches of the same commits.

use domain::{ConversationId, DocumentNamespace, Fact, Lifecycle, Timestamp};
use read_model::queries::documents::{
    DocumentQuery, DocumentScope, ExpiryCursor, FoundDocument, expired_documents, find_document, search_documents,
};

use crate::fixture::{
    Author, Projection, START, access, document_deleted, document_name, document_put, execute, message,
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
    let mut found = search_documents(&projection.model, &access("acme"), &query).await.unwrap();
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
        vec![put("a", "1", None), put("b", "1", Some(2)), put("c", "1", None)],
        vec![put("a", "2", None), put("b", "2", Some(1)), message("x")],
        vec![document_deleted("c"), put("d", "1", Some(100))],
        vec![put("b", "3", None), put("c", "2", None), document_deleted("missing")],
        vec![put("a", "3", Some(100)), put("a", "4", Some(50)), document_deleted("d")],
        vec![put("d", "2", None), document_deleted("d"), put("d", "3", Some(1))],
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
        (one.key.as_str(), value.value_json.as_str(), created, updated)
    });
    let expected = [("a", "4", 2, 6), ("b", "3", 5, 5), ("c", "2", 5, 5), ("d", "3", 7, 7)];
    assert_eq!(values.collect::<Vec<_>>(), expected);
    for other in &seen[1..] {
        assert_eq!(other, &seen[0]);
    }
}

/// The documents that have expired at a second: of each conversation their keys, its version, and the second of its last event.
async fn expired(
    projection: &Projection,
    second: i64,
    after: Option<&ExpiryCursor>,
) -> Vec<(String, Vec<String>, u64, i64)> {
    let page = expired_documents(&projection.model, &access("acme"), at(second), after).await.unwrap();
    assert_eq!(page.next, None);
    let found = page.conversations.into_iter().map(|found| {
        let keys = found.names.into_iter().map(|name| name.key);
        (
            found.first.conversation.as_str().to_owned(),
            keys.collect(),
            found.version.0,
            found.last_event_at.seconds() - START.seconds(),
        )
    });
    found.collect()
}

fn of(conversation: &str, keys: &[&str], version: u64, second: i64) -> (String, Vec<String>, u64, i64) {
    let keys = keys.iter().map(|key| (*key).to_owned());
    (conversation.to_owned(), keys.collect(), version, second)
}

#[tokio::test]
async fn expired_documents_are_found_until_they_are_deleted() {
    let mut projection = Projection::new().await;
    let mut author = Author::new(CONVERSATION);
    let begun = author.begin(1);
    let put = author.commit(2, vec![document_put("k", "1", Some(3))]);
    projection.apply(vec![begun, put]).await;
    assert_eq!(expired(&projection, 4, None).await, []);
    assert_eq!(expired(&projection, 5, None).await, [of("c", &["k"], 2, 2)]);
    let foreign = expired_documents(&projection.model, &access("globex"), at(5), None).await;
    assert_eq!(foreign.unwrap().conversations, []);
    let said = author.say(6, "x");
    projection.apply(vec![said]).await;
    assert_eq!(expired(&projection, 6, None).await, [of("c", &["k"], 3, 6)]);
    let deleted = author.commit(7, vec![document_deleted("k")]);
    projection.apply(vec![deleted]).await;
    assert_eq!(expired(&projection, 9, None).await, []);
}

#[tokio::test]
async fn expired_documents_are_found_by_conversation_after_a_position() {
    let mut projection = Projection::new().await;
    let (mut one, mut other, mut archived) = (Author::new("one"), Author::new("other"), Author::new("archived"));
    let put = |key, ttl| document_put(key, "1", Some(ttl));
    let items = vec![
        one.begin(1),
        one.commit(2, vec![put("b", 1), put("a", 1), put("late", 5)]),
        archived.begin(3),
        archived.commit(4, vec![put("k", 1), Fact::Lifecycle(Lifecycle::ConversationArchived)]),
        other.begin(5),
        other.commit(6, vec![put("k", 1)]),
    ];
    projection.apply(items).await;
    let (late, of_other) = (of("one", &["late"], 4, 2), of("other", &["k"], 2, 6));
    let all = [of("one", &["a", "b", "late"], 4, 2), of_other.clone()];
    let rest = [late, of_other];
    assert_eq!(expired(&projection, 7, None).await, all);
    for (second, id, left) in [
        (2, "zero", &all[..]),
        (3, "one", &rest),
        (5, "archived", &rest),
        (7, "one", &rest[1..]),
        (7, "other", &[]),
        (8, "zero", &[]),
    ] {
        let after = ExpiryCursor { expires_at: at(second), conversation: ConversationId::parse(id).unwrap() };
        assert_eq!(expired(&projection, 7, Some(&after)).await, left, "{second} {id}");
    }
}

/// Many documents of an archived conversation are before that of another one.
#[tokio::test]
async fn documents_that_cannot_be_deleted_hide_no_others() {
    let url = devstack::test::database().await.url;
    let mut projection = Projection::at(&url).await;
    let (mut archived, mut active) = (Author::new("archived"), Author::new("active"));
    let items = vec![
        archived.begin(1),
        archived.commit(2, vec![Fact::Lifecycle(Lifecycle::ConversationArchived)]),
        active.begin(3),
        active.commit(4, vec![document_put("k", "1", Some(1))]),
    ];
    projection.apply(items).await;
    let documents = "
        INSERT INTO conversations_v1.document (
            version, created_at, updated_at, expires_at, tenant_id, conversation_id, agent_id, owner, namespace, key, value_json
        )
        SELECT 2, created_at, updated_at, expires_at - n * interval '1 s', tenant_id, 'archived', agent_id, owner, namespace, 'k' || n, '1'
        FROM conversations_v1.document, generate_series(1, 1500) AS n";
    execute(&url, documents).await;
    let (tenant, mut after, mut pages) = (access("acme"), None, Vec::new());
    loop {
        let page = expired_documents(&projection.model, &tenant, at(5), after.as_ref()).await.unwrap();
        pages.push(page.conversations.len());
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(pages, [0, 1]);
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
