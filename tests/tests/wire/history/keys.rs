//! Keys: the candidate that counts, invalid keys, and histories without a key.

use tests::agent::Agent;
use tests::stack::{Setup, Stack};
use wire::proto::history::v1 as proto;

use super::calls::{codes, load, load_request, record, record_request, short, try_load, try_record};

const TELEGRAM: &str = "telegram:{{results.telegram_events_parser.chat_id}}";
const EVENT: &str = r#"{"results":{"telegram_events_parser":{"chat_id":-1001234567890123456789}},"thread_id":"run-1"}"#;

fn key_of(agent: &Agent, candidates: &[&str]) -> proto::HistoryKey {
    proto::HistoryKey {
        agent_id: agent.id().to_owned(),
        history_key_candidates: candidates.iter().map(|text| (*text).to_owned()).collect(),
        variables_json: EVENT.to_owned(),
        ..proto::HistoryKey::default()
    }
}

fn rejected_keys(keys: &[proto::RefusedKey]) -> Vec<(&str, &str)> {
    let keys = keys.iter();
    keys.map(|refused| (refused.candidate.as_str(), refused.reason.as_str())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_valid_candidate_counts() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let candidates = ["{{inputs.history_key}}", "two words", TELEGRAM, "{{thread_id}}"];
    let key = key_of(&agent, &candidates);
    let recorded = record(&agent, &key, &["u 1"]).await;
    assert_eq!(recorded.history_key, "telegram:-1001234567890123456789");
    let expected = [("{{inputs.history_key}}", "UNRESOLVED"), ("two words", "BAD_CHARACTERS")];
    assert_eq!(rejected_keys(&recorded.refused_keys), expected);
    let loaded = load(&agent, &key_of(&agent, &[TELEGRAM]), &[]).await;
    assert_eq!(short(&loaded.messages), ["u 1"]);
    assert_eq!(loaded.conversation_id, recorded.conversation_id);
    assert_eq!(loaded.refused_keys, []);
    let template = proto::HistoryKey { history_key_template: "{{thread_id}}".to_owned(), ..key };
    let loaded = load(&agent, &template, &[]).await;
    assert_eq!((loaded.history_key.as_str(), loaded.messages.len()), ("run-1", 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn histories_are_kept_apart() {
    let stack = Setup::tasks().start().await;
    let (agent, other) = (stack.agent("acme", "one").await, stack.agent("acme", "two").await);
    let key =
        |agent, namespace: &str| proto::HistoryKey { namespace: namespace.to_owned(), ..key_of(agent, &["room"]) };
    record(&agent, &key(&agent, ""), &["u 1"]).await;
    record(&agent, &key(&agent, "support"), &["u 2"]).await;
    for (key, agent, expected) in [
        (key(&agent, "default"), &agent, &["u 1"][..]),
        (key(&agent, "support"), &agent, &["u 2"]),
        (key(&agent, "sales"), &agent, &[]),
        (key(&other, ""), &other, &[]),
    ] {
        let loaded = load(agent, &key, &[]).await;
        assert_eq!(short(&loaded.messages), expected, "{key:?}");
    }
}

/// Without a key nothing is stored: the caller's own messages are returned, trimmed.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_key() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    for candidates in [&[][..], &[""], &["{{missing}}", "a b"]] {
        let key = key_of(&agent, candidates);
        let request = proto::LoadHistoryRequest { messages_max: 2, ..load_request(&key, &["u 1", "a 2", "u 3"]) };
        let loaded = try_load(&agent, request).await.expect("a history");
        assert_eq!(short(&loaded.messages), ["a 2", "u 3"]);
        assert_eq!((loaded.truncated, loaded.version), (true, 0));
        assert_eq!(codes(&loaded.warnings), ["NO_VALID_KEY"]);
        assert_eq!(loaded.refused_keys.len(), candidates.len());
        assert_eq!((loaded.history_key.as_str(), loaded.conversation_id.as_str()), ("", ""));
        let recorded = try_record(&agent, record_request(&key, &["u 1"])).await.expect("an answer");
        assert_eq!(codes(&recorded.warnings), ["NO_VALID_KEY"]);
        assert_eq!((recorded.appended_count, recorded.version), (0, 0));
        assert_eq!(recorded.conversation_id, "");
    }
}
