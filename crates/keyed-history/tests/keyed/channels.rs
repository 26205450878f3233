//! The keys of real channels: each template with the payload of its channel's parser, and its failures.

use keyed_history::{HistoryKey, KeyRules, RefusedReason, Variables, resolve};

const EXPLICIT: &str = "{{results.resolve_history_key.session_key}}";
const CONFIGURED: &str = "{{configurable.history_key}}";
const GIVEN: &str = "{{inputs.history_key}}";
const TELEGRAM: &str = "telegram:{{results.telegram_events_parser.chat_id}}";
const WECOM_CS: &str = "wecom_cs:{{results.wecom_cs_sync.open_kf_id}}:{{results.wecom_cs_sync.external_userid}}";
const WECOM_AIBOT: &str =
    "wecom_aibot:{{results.wecom_ai_bot_events_parser.chat_type}}:{{results.wecom_ai_bot_events_parser.user}}";
const WECOM_DM: &str = "wecom_dm:{{results.wecom_events_parser.user}}";
const THREAD: &str = "{{thread_id}}";
/// Every candidate, in the order that bots declare them.
const ALL: [&str; 8] = [EXPLICIT, CONFIGURED, GIVEN, TELEGRAM, WECOM_CS, WECOM_AIBOT, WECOM_DM, THREAD];

const TELEGRAM_EVENT: &str = r#"{"results":{"telegram_events_parser":{"chat_id":-1001234567890,"text":"hi {{thread_id}}"}},"thread_id":"run-1"}"#;
const WECOM_CS_EVENT: &str = r#"{"results":{"wecom_cs_sync":{"open_kf_id":"wkAJ2GCAAASSm4_FhToWMFea0xAFfd3Q",
    "external_userid":"wmAJ2GCAAAme1XQRC-NI-q0_ZM9ukoAw","messages":[{"msgid":"1"}]}},"thread_id":"run-2"}"#;
const WECOM_AIBOT_EVENT: &str =
    r#"{"results":{"wecom_ai_bot_events_parser":{"chat_type":"single","user":"ZhangSan"}},"thread_id":"run-3"}"#;
const WECOM_DM_EVENT: &str = r#"{"results":{"wecom_events_parser":{"user":"张三"}},"thread_id":"run-4"}"#;

/// The key, and the number of refused candidates before it.
fn check(candidates: &[&str], variables: &str, expected: Option<&str>, refused: &[RefusedReason]) {
    let parsed = Variables::parse(variables).expect(variables);
    let rules = KeyRules { template: None, candidates };
    let resolution = resolve(&rules, &parsed);
    let key = resolution.key.as_ref().map(HistoryKey::as_str);
    assert_eq!(key, expected, "{candidates:?} of {variables}");
    let reasons: Vec<_> = resolution.refused.iter().map(|candidate| candidate.reason).collect();
    assert_eq!(reasons, refused, "{candidates:?} of {variables}");
    for (refused, candidate) in resolution.refused.iter().zip(candidates) {
        assert_eq!(refused.candidate, *candidate);
    }
}

#[test]
fn each_channel_has_its_key() {
    let unresolved = [RefusedReason::Unresolved; 8];
    for (event, before, expected) in [
        (TELEGRAM_EVENT, 3, "telegram:-1001234567890"),
        (WECOM_CS_EVENT, 4, "wecom_cs:wkAJ2GCAAASSm4_FhToWMFea0xAFfd3Q:wmAJ2GCAAAme1XQRC-NI-q0_ZM9ukoAw"),
        (WECOM_AIBOT_EVENT, 5, "wecom_aibot:single:ZhangSan"),
        (WECOM_DM_EVENT, 6, "wecom_dm:张三"),
        (r#"{"thread_id":"manual-7"}"#, 7, "manual-7"),
    ] {
        check(&ALL, event, Some(expected), &unresolved[..before]);
    }
    check(&ALL, "{}", None, &unresolved);
    check(&[], TELEGRAM_EVENT, None, &[]);
}

#[test]
fn an_explicit_key_comes_first() {
    let event = r#"{"results":{"resolve_history_key":{"session_key":"vip:1"},"telegram_events_parser":{"chat_id":7}},
        "configurable":{"history_key":"configured"},"inputs":{"history_key":"given"}}"#;
    check(&ALL, event, Some("vip:1"), &[]);
    check(&ALL[1..], event, Some("configured"), &[]);
    check(&ALL[2..], event, Some("given"), &[]);
    check(&ALL[3..], event, Some("telegram:7"), &[]);
}

#[test]
fn a_literal_stands_for_itself() {
    check(&["support-room-1", THREAD], TELEGRAM_EVENT, Some("support-room-1"), &[]);
    check(&["support room", "support-room-1"], "", Some("support-room-1"), &[RefusedReason::BadCharacters]);
}

#[test]
fn each_refusal_has_its_reason_and_the_next_one_is_tried() {
    let long = "x".repeat(257);
    let event = format!(
        r#"{{"inputs":{{"history_key":""}}, "long":"{long}", "evil":"{{{{thread_id}}}}", "spaced":"a b",
            "results":{{"telegram_events_parser":{{"chat_id":null}}}}, "thread_id":"t"}}"#
    );
    let candidates = ["", GIVEN, TELEGRAM, "{{evil}}", "{{long}}", &long, "{{spaced}}", THREAD];
    check(
        &candidates,
        &event,
        Some("t"),
        &[
            RefusedReason::Empty,
            RefusedReason::Empty,
            RefusedReason::Unresolved,
            RefusedReason::Unresolved,
            RefusedReason::TooLong,
            RefusedReason::TooLong,
            RefusedReason::BadCharacters,
        ],
    );
}

#[test]
fn the_template_comes_before_the_candidates() {
    let variables = Variables::parse(TELEGRAM_EVENT).expect("variables");
    let key = |template: &str| {
        let candidates = [TELEGRAM, THREAD];
        let rules = KeyRules { template: Some(template), candidates: &candidates };
        resolve(&rules, &variables).key.map(|key| key.to_string())
    };
    assert_eq!(key(THREAD).as_deref(), Some("run-1"));
    assert_eq!(key(EXPLICIT).as_deref(), Some("telegram:-1001234567890"));
}
