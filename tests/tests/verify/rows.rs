//! Damaged rows: each is reported exactly, and repaired from the record.

use tests::events::{document_deleted, document_put};

use crate::fixture::Fixture;

/// Damage to the rows of the conversation `c`, and the expected differences.
const SPOILED: &[(&str, &[&str])] = &[
    ("UPDATE conversation SET title = 'x' WHERE conversation_id = 'c'", &["c conversation_differs - title"]),
    (
        "UPDATE conversation SET version = 5, created_nanos = (created_nanos + 1) % 1000
         WHERE conversation_id = 'c'",
        &["c conversation_differs - version,created_nanos"],
    ),
    (
        "UPDATE conversation SET head = set_byte(head, 20, (get_byte(head, 20) + 1) % 256),
                last_event_at = last_event_at + interval '1 microsecond'
         WHERE conversation_id = 'c'",
        &["c conversation_differs - last_event_at,head"],
    ),
    (
        "UPDATE event SET body = set_byte(body, 3, (get_byte(body, 3) + 1) % 256)
         WHERE conversation_id = 'c' AND version = 2",
        &["c event_differs 2 body"],
    ),
    (
        "UPDATE event SET role = 3, call_id = 'c2', request_digest = NULL
         WHERE conversation_id = 'c' AND version IN (2, 3)",
        &["c event_differs 2 role,call_id,request_digest", "c event_differs 3 role,call_id"],
    ),
    (
        "DELETE FROM event WHERE conversation_id = 'c' AND version IN (1, 4)",
        &["c event_missing 1", "c event_missing 4"],
    ),
    ("DELETE FROM conversation WHERE conversation_id = 'c'", &["c conversation_missing -"]),
    (
        "DELETE FROM conversation WHERE conversation_id = 'c';
         DELETE FROM event WHERE conversation_id = 'c' AND version > 1",
        &[
            "c conversation_missing -",
            "c event_missing 2",
            "c event_missing 3",
            "c event_missing 4",
            "c event_missing 5",
            "c event_missing 6",
        ],
    ),
    (
        "UPDATE conversation SET user_id = 'somebody', agent_id = 'other', title = 'x'
         WHERE conversation_id = 'erased'",
        &["erased conversation_differs - agent_id,user_id,title"],
    ),
];

/// Damage to the rows of the documents of the conversation `papers`.
const SPOILED_DOCUMENTS: &[&str] = &[
    "UPDATE document SET value_json = '{\"a\": 2}' WHERE conversation_id = 'papers' AND key = 'k'",
    "UPDATE document SET key = 'other' WHERE conversation_id = 'papers' AND key = 'k'",
    "UPDATE document SET created_at = created_at - interval '1 microsecond' WHERE conversation_id = 'papers'",
    "UPDATE document SET expires_at = now() WHERE conversation_id = 'papers' AND key = 'k'",
    "UPDATE document SET owner = 'user:ann' WHERE conversation_id = 'papers'",
    "DELETE FROM document WHERE conversation_id = 'papers'",
    "INSERT INTO document (version, created_at, updated_at, tenant_id, conversation_id, agent_id, owner, namespace, key,
                           value_json)
     SELECT version, created_at, updated_at, tenant_id, conversation_id, agent_id, owner, namespace, 'more', value_json
     FROM document WHERE conversation_id = 'papers' AND key = 'k'",
];

/// Rows that the record does not have, and the expected differences.
const UNFOUNDED: &[(&str, &[&str])] = &[
    (
        "INSERT INTO event (version, recorded_at, commit_id, recorded_nanos, commit_index, kind, tenant_id,
                            conversation_id, body)
         VALUES (9, now(), gen_random_uuid(), 0, 1, 1, 'acme', 'c', ''),
                (0, now(), gen_random_uuid(), 0, 1, 1, 'acme', 'c', ''),
                (2, now(), gen_random_uuid(), 0, 1, 1, 'acme', 'erased', '')",
        &["c event_unfounded 0", "c event_unfounded 9", "erased event_unfounded 2"],
    ),
    (
        "INSERT INTO conversation (version, sequence, created_at, last_event_at, partition, created_nanos, status,
                                   tenant_id, conversation_id, agent_id, head)
         SELECT version, sequence, created_at, last_event_at, partition, created_nanos, status,
                'zzz', conversation_id, agent_id, head
         FROM conversation WHERE conversation_id = 'c'",
        &["c conversation_unfounded -"],
    ),
];

async fn fixture() -> Fixture {
    let mut fixture = Fixture::start().await;
    for conversation in ["a", "c", "d", "erased"] {
        fixture.create_conversation(conversation).await;
    }
    let agent = &fixture.agent;
    agent.try_erase(agent.target("erased")).await.unwrap();
    fixture.settle().await;
    fixture
}

/// Damages rows, finds the differences, does a dry run, repairs them, and then finds none, twice.
async fn check(fixture: &mut Fixture, (sql, expected): (&str, &[&str]), repair: &str) {
    fixture.sql(sql).await;
    fixture.check_differences("", expected).await;
    fixture.check_differences("--sample 100%", expected).await;
    fixture.check_differences(&format!("{repair} --dry-run"), expected).await;
    let repaired = fixture.verify(repair).await;
    assert_eq!(repaired.ended.code, Some(0), "{repaired:?}");
    assert_eq!(repaired.repaired, expected.len(), "{repaired:?}");
    fixture.check_no_differences("").await;
    let again = fixture.check_no_differences(repair).await;
    assert_eq!(again.summary["repaired"], 0);
    fixture.check_no_differences("--digests").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_documents_are_reported_and_repaired() {
    let mut fixture = Fixture::start().await;
    fixture.create_conversation("papers").await;
    for (key, value) in [("k", "{\"a\": 1}"), ("gone", "1"), ("l", "[]")] {
        let put = document_put(key, value);
        fixture.agent.append("papers", vec![put]).await;
    }
    let deleted = document_deleted("gone");
    fixture.agent.append("papers", vec![deleted]).await;
    fixture.settle().await;
    fixture.check_no_differences("").await;
    for sql in SPOILED_DOCUMENTS {
        let expected = &["papers documents_differ -"][..];
        check(&mut fixture, (sql, expected), "--repair").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_rows_are_reported_and_repaired() {
    let mut fixture = fixture().await;
    for spoiled in SPOILED {
        check(&mut fixture, *spoiled, "--repair").await;
    }
    // The conversation continues from the repaired rows.
    fixture.agent.append("c", vec![tests::events::user("On.")]).await;
    fixture.settle().await;
    fixture.check_no_differences("").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unfounded_rows_are_removed_only_on_request() {
    let mut fixture = fixture().await;
    for (sql, expected) in UNFOUNDED {
        fixture.sql(sql).await;
        let kept = fixture.check_differences("--repair", expected).await;
        assert_eq!(kept.repaired, 0);
        let repair = "--repair --remove-unfounded";
        check(&mut fixture, ("SELECT", expected), repair).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_no_conversation_are_found_by_a_full_run() {
    let mut fixture = fixture().await;
    let orphan = "INSERT INTO event (version, recorded_at, commit_id, recorded_nanos, commit_index, kind, tenant_id,
                                     conversation_id, body)
                  SELECT 7, now(), gen_random_uuid(), 0, 1, 1, 'acme', name, ''
                  FROM unnest(array['0', 'b', 'zzz']) AS name";
    fixture.sql(orphan).await;
    let lines = ["0", "b", "zzz"].map(|name| format!("{name} event_unfounded 7"));
    let expected = lines.each_ref().map(String::as_str);
    fixture.check_differences("", &expected).await;
    fixture.check_differences("--conversations-at-once 1", &expected).await;
    let removed = fixture.verify("--repair --remove-unfounded").await;
    assert_eq!(removed.repaired, 3, "{removed:?}");
    fixture.check_no_differences("").await;
}
