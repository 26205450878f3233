//! The queue of reads, at its bounds and past them.

use super::*;

const HOUR: i64 = 490_000;

fn tenant() -> TenantId {
    TenantId::parse("acme").unwrap()
}

fn read(token: &str, conversation: usize, hour: i64) -> TokenRead {
    TokenRead {
        token_id: token.to_owned(),
        name: "a test".to_owned(),
        conversation: Some(ConversationId::parse(format!("c-{conversation}")).unwrap()),
        operation: "read",
        hour,
    }
}

fn new_key() -> CommitId {
    CommitId(uuid::Uuid::now_v7())
}

fn waiting(reads: &TokenReads) -> usize {
    reads.state().tenants.values().map(|reads| reads.queue.len()).sum()
}

#[test]
fn a_read_is_queued_once_for_each_token_conversation_and_hour() {
    let reads = TokenReads::default();
    let check = |read: TokenRead, expected: usize| {
        reads.queue(&tenant(), read.clone()).unwrap();
        assert_eq!(waiting(&reads), expected, "{read:?}");
        assert!(reads.is_remembered(&tenant(), &read));
    };
    check(read("t", 1, HOUR), 1);
    check(read("t", 1, HOUR), 1);
    check(read("u", 1, HOUR), 2);
    check(read("t", 2, HOUR), 3);
    check(read("t", 1, HOUR + 1), 4);
    check(TokenRead { conversation: None, operation: "search", ..read("t", 1, HOUR + 1) }, 5);
    assert!(!reads.is_remembered(&TenantId::parse("globex").unwrap(), &read("t", 1, HOUR + 1)));
}

#[test]
fn a_full_queue_refuses_reads_of_its_tenant_alone() {
    let reads = TokenReads::default();
    for conversation in 0..READS_QUEUED_MAX {
        reads.queue(&tenant(), read("t", conversation, HOUR)).unwrap();
    }
    let refused = reads.queue(&tenant(), read("t", READS_QUEUED_MAX, HOUR)).unwrap_err();
    assert_eq!(refused.reason(), Reason::RecordUnavailable);
    assert!(refused.retry_delay().is_some());
    // It was not remembered: a retry is not answered without an entry.
    assert!(!reads.is_remembered(&tenant(), &read("t", READS_QUEUED_MAX, HOUR)));
    reads.queue(&tenant(), read("t", 0, HOUR)).unwrap();
    reads.queue(&TenantId::parse("globex").unwrap(), read("t", 0, HOUR)).unwrap();
}

#[test]
fn a_bounded_number_of_reads_is_remembered() {
    let reads = TokenReads::default();
    for conversation in 0..READS_REMEMBERED_MAX {
        reads.queue(&tenant(), read("t", conversation, HOUR)).unwrap();
        while reads.state().tenants.values().any(|reads| reads.queue.len() == READS_QUEUED_MAX) {
            reads.requests(new_key);
            reads.sent(&tenant());
        }
    }
    assert!(reads.is_remembered(&tenant(), &read("t", 0, HOUR)));
    reads.queue(&tenant(), read("t", READS_REMEMBERED_MAX, HOUR)).unwrap();
    assert!(!reads.is_remembered(&tenant(), &read("t", 0, HOUR)));
}

#[test]
fn a_request_is_the_same_until_it_is_sent() {
    let reads = TokenReads::default();
    for conversation in 0..=BATCH_MAX {
        reads.queue(&tenant(), read("t", conversation, HOUR)).unwrap();
    }
    let first = reads.requests(new_key);
    assert_eq!(first[0].1.reads.len(), BATCH_MAX);
    assert_eq!(reads.requests(new_key), first);
    assert!(!reads.close_if_empty());
    reads.sent(&tenant());
    let second = reads.requests(new_key);
    assert_eq!(second[0].1.reads.len(), 1);
    assert_ne!(second[0].1.idempotency_key, first[0].1.idempotency_key);
    reads.sent(&tenant());
    assert!(reads.requests(new_key).is_empty());
    assert!(reads.close_if_empty());
    assert_eq!(reads.queue(&tenant(), read("t", 0, HOUR)).unwrap_err().reason(), Reason::Draining);
}
