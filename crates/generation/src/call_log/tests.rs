use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use context::Policy;
use domain::bounds::LOGGED_BODY_BYTES_MAX;
use redact::Rules;

use super::ship::entry;
use super::*;
use crate::run_key::test_run;

fn origin() -> CallOrigin {
    let RunKey { agent, key, run } = test_run();
    CallOrigin {
        agent,
        key,
        run,
        purpose: CallPurpose::Answer,
        server: ModelServerId::parse("s").unwrap(),
        model: Label::parse("m").unwrap(),
    }
}

fn exchange(request: &str, reply: &str) -> Exchange {
    Exchange {
        attempt: 1,
        started_at: SystemTime::now(),
        first_piece: None,
        took: Duration::from_millis(3),
        http_status: Some(200),
        outcome: "finished",
        finish_reason: None,
        usage: None,
        request_bytes: request.len(),
        reply_bytes: reply.len(),
        request: Some(Bytes::from(request.to_owned())),
        reply: Some(reply.to_owned()),
    }
}

/// The logged body of a request, and whether it is truncated.
fn logged(request: &str) -> (String, bool) {
    let rules = Rules::compile(&Policy::parse("{}").unwrap().redact).unwrap();
    let call = entry(&origin(), exchange(request, ""), Some(&rules)).unwrap();
    let body = call.request.unwrap();
    assert_eq!(call.request_bytes, u64::try_from(request.len()).unwrap());
    (body.text, body.is_cut)
}

#[test]
fn secrets_are_redacted_and_bodies_truncated() {
    let check = |request: &str, expected: &str| {
        assert_eq!(logged(request), (expected.to_owned(), false));
    };
    check(r#"{"content":"hello"}"#, r#"{"content":"hello"}"#);
    check(r#"{"password":"hunter22","a":1}"#, r#"{"password":"[redacted:password]","a":1}"#);
    for (bytes, expected) in [(0, false), (1, true)] {
        let (text, is_cut) = logged(&"x".repeat(LOGGED_BODY_BYTES_MAX + bytes));
        assert_eq!((text.len(), is_cut), (LOGGED_BODY_BYTES_MAX, expected));
    }
}

#[test]
fn a_secret_at_the_cut_is_redacted() {
    let secret = format!("sk-proj-{}", "Ab1".repeat(20));
    for before in 0..=secret.len() {
        let filler = "x ".repeat((LOGGED_BODY_BYTES_MAX - before) / 2);
        let (text, _) = logged(&format!("{filler} {secret}"));
        assert!(!text.contains("sk-proj-Ab1"), "{before}");
    }
}

#[test]
fn without_rules_no_body_is_kept() {
    let call = entry(&origin(), exchange("q", "a"), None).unwrap();
    assert_eq!((call.request, call.reply), (None, None));
    assert_eq!((call.request_bytes, call.reply_bytes), (1, 1));
}

fn listener(log: &CallLog, detail: Option<LogDetail>) -> Option<ExchangeListener> {
    let model = ModelChoice::of(None);
    let kept = detail.map(|detail| ProviderLogs { detail, days: 1 });
    log.listener(kept, &test_run(), &model, CallPurpose::Answer)
}

/// Calls the built-in model with a listener.
async fn call_model(log: &CallLog, calls: usize) {
    let servers = models::ModelServers::new(&models::ModelServersConfig::default()).unwrap();
    let body = formats::canonical::render(&context::Transcript::default()).body;
    for _ in 0..calls {
        let request = models::ModelRequest {
            model: "m".to_owned(),
            body: body.clone(),
            listener: listener(log, Some(LogDetail::Bodies)),
            ..models::ModelRequest::default()
        };
        let mut reply = servers.stream(models::ECHO, request).await.unwrap();
        while reply.next().await.is_some() {}
    }
}

#[tokio::test]
async fn a_full_queue_drops_calls_and_delays_no_answer() {
    let check = async |calls_max: usize, kib_max: usize, expected: usize| {
        let (log, mut queue) = CallLog::with_room(calls_max, kib_max);
        let began = Instant::now();
        call_model(&log, 10).await;
        assert!(began.elapsed() < Duration::from_secs(5));
        let queued = std::iter::from_fn(|| queue.try_recv().ok()).count();
        assert_eq!(queued, expected, "{calls_max} {kib_max}");
        // A received call frees its room.
        call_model(&log, 1).await;
        assert!(queue.try_recv().is_ok());
    };
    check(3, 1_000, 3).await;
    check(100, 4, 4).await;
    check(100, 1_000, 10).await;
}

#[tokio::test]
async fn a_closed_log_keeps_its_listeners() {
    let (log, mut queue) = CallLog::with_room(10, 10);
    assert!(listener(&log, None).is_none());
    let held = listener(&log, Some(LogDetail::Facts));
    log.close();
    assert!(listener(&log, Some(LogDetail::Facts)).is_none());
    assert!(queue.try_recv().is_err());
    drop(held);
    assert!(queue.recv().await.is_none());
}
