//! Invalid fields are errors, not warnings, with the path of the field.

use tests::errors::check_failure;
use tests::stack::Stack;
use tonic::Code::InvalidArgument;
use wire::proto::event::v1::MessageAppended;
use wire::proto::history::v1 as proto;

use super::calls::{key, load_request, messages, record_request, try_load, try_record};

/// A change of a valid key, and the path and reason of the error.
type KeyCase = (fn(&mut proto::HistoryKey), &'static str, &'static str);

const KEYS: [KeyCase; 8] = [
    (|key| key.agent_id.clear(), "key.agent_id", "FIELD_MISSING"),
    (|key| key.agent_id = "a b".to_owned(), "key.agent_id", "FIELD_MALFORMED"),
    (|key| key.namespace = "a:b".to_owned(), "key.namespace", "FIELD_MALFORMED"),
    (|key| key.namespace = "n".repeat(65), "key.namespace", "FIELD_TOO_LONG"),
    (|key| key.history_key_template = "x".repeat(1_025), "key.history_key_template", "FIELD_TOO_LONG"),
    (|key| key.history_key_candidates = vec!["x".to_owned(); 21], "key.history_key_candidates", "FIELD_OUT_OF_RANGE"),
    (|key| key.variables_json = "[]".to_owned(), "key.variables_json", "INVALID_JSON"),
    (
        |key| key.variables_json = format!("{{\"a\":\"{}\"}}", "x".repeat(64 * 1_024)),
        "key.variables_json",
        "FIELD_TOO_LONG",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn keys() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let good = key(&agent, "room");
    for (change, field, reason) in KEYS {
        let mut key = good.clone();
        change(&mut key);
        let expected = (InvalidArgument, reason, field);
        let outcome = try_load(&agent, load_request(&key, &[])).await;
        check_failure(field, outcome, expected);
        let outcome = try_record(&agent, record_request(&key, &[])).await;
        check_failure(field, outcome, expected);
    }
    let no_key = proto::LoadHistoryRequest { key: None, ..load_request(&good, &[]) };
    let expected = (InvalidArgument, "FIELD_MISSING", "key");
    check_failure("no key", try_load(&agent, no_key).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_of_messages() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let good = key(&agent, "room");
    let large = format!("u {}", "x".repeat(512 * 1_024));
    let nobody = vec![MessageAppended::default()];
    for (list, field, reason) in [
        (nobody, "messages[0].role", "FIELD_MISSING"),
        (messages(&["u x"; 1_001]), "messages", "FIELD_OUT_OF_RANGE"),
        (messages(&[&large]), "messages[0]", "EVENT_TOO_LARGE"),
    ] {
        let expected = (InvalidArgument, reason, field);
        let load = proto::LoadHistoryRequest { messages: list.clone(), ..load_request(&good, &[]) };
        check_failure(field, try_load(&agent, load).await, expected);
        let record = proto::RecordHistoryRequest { messages: list, ..record_request(&good, &[]) };
        check_failure(field, try_record(&agent, record).await, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_and_names() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let good = key(&agent, "room");
    let greedy = proto::LoadHistoryRequest { messages_max: 1_001, ..load_request(&good, &[]) };
    let expected = (InvalidArgument, "FIELD_OUT_OF_RANGE", "messages_max");
    check_failure("too many", try_load(&agent, greedy).await, expected);
    let unnamed = proto::RecordHistoryRequest { idempotency_key: "once".to_owned(), ..record_request(&good, &[]) };
    let expected = (InvalidArgument, "FIELD_MALFORMED", "idempotency_key");
    check_failure("no UUID", try_record(&agent, unnamed).await, expected);
}
