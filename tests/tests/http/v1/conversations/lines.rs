//! Events in lines, in and out.

use std::convert::Infallible;

use futures::{StreamExt as _, stream};
use gateway::GatewayConfig;
use reqwest::Method;
use serde_json::{Value, json};
use tests::eventually::within;
use tests::http_client::{Answer, HttpClient};
use uuid::Uuid;
use wire::proto::operate::v1::Scope;

use super::{created, message, service};
use crate::fixture::Fixture;

const BOTH: [Scope; 2] = [Scope::Append, Scope::Read];

async fn append(client: &HttpClient, path: &str, lines: &[String]) -> Answer {
    let client = client.with("content-type", "application/x-ndjson");
    let request = client.request(Method::POST, path);
    let answer = within(path, request.body(lines.join("\n")).send()).await.unwrap();
    let status = answer.status().as_u16();
    Answer { status, headers: std::collections::BTreeMap::new(), body: within(path, answer.bytes()).await.unwrap() }
}

/// The lines of an answer as JSON, and the last one.
async fn read(client: &HttpClient, path: &str) -> (Vec<Value>, Value) {
    let answer = client.with("accept", "application/x-ndjson").get(path).await;
    assert_eq!(answer.headers["content-type"], "application/x-ndjson");
    let text = String::from_utf8(answer.body.to_vec()).unwrap();
    assert!(text.ends_with('\n'));
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let end = lines.pop().unwrap();
    (lines, end)
}

fn lines(count: usize) -> Vec<String> {
    (1..=count).map(|number| message(&number.to_string()).to_string()).collect()
}

fn texts(events: &[Value]) -> Vec<&str> {
    let texts = events.iter().map(|event| event["parts"][0]["text"].as_str());
    texts.flatten().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_go_in_and_come_out() {
    let fixture = Fixture::new().await;
    let service = service(&fixture, &BOTH).await;
    let path = format!("{}/events", created(&fixture, &service).await);
    let keyed = service.with("idempotency-key", &Uuid::now_v7().to_string());
    let mut body = lines(1_203);
    body.insert(700, "  ".to_owned());
    let first = append(&keyed, &path, &body).await.ok(200);
    let summary = |answer: &Value| {
        let member = |name: &str| answer[name].as_u64().unwrap();
        (member("events"), member("commits"), member("replayedCommits"), member("version"))
    };
    assert_eq!(summary(&first), (1_203, 3, 0, 1_204));
    let again = append(&keyed, &path, &body).await.ok(200);
    assert_eq!(summary(&again), (1_203, 3, 3, 1_204));
    let (events, end) = read(&service, &path).await;
    assert_eq!(end, json!({"end": {"version": 1_204}}));
    let numbers: Vec<String> = (1..=1_203).map(|number| number.to_string()).collect();
    assert_eq!(texts(&events), numbers);
    let commits = events.chunk_by(|event, next| event["commitId"] == next["commitId"]);
    let sizes: Vec<usize> = commits.map(<[Value]>::len).collect();
    assert_eq!(sizes, [1, 500, 500, 203]);
    for (query, expected, version) in [
        ("?from=3&to=4", vec!["2", "3"], 4),
        ("?from=1204", vec!["1203"], 1_204),
        ("?from=1205", vec![], 1_204),
        ("?to=3&kinds=MessageAppended", vec!["1", "2"], 3),
    ] {
        let (events, end) = read(&service, &format!("{path}{query}")).await;
        assert_eq!(texts(&events), expected, "{query}");
        assert_eq!(end["end"]["version"], version, "{query}");
    }
    for field in ["limit=1", "order=desc"] {
        let paged = format!("{path}?{field}");
        let lines = service.with("accept", "application/x-ndjson");
        let refused = lines.get(&paged).await;
        assert_eq!(refused.status_and_code(), (400, "FIELD_CONFLICT".to_owned()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_continues_where_the_first_request_stopped() {
    let fixture = Fixture::new().await;
    let service = service(&fixture, &BOTH).await;
    let path = format!("{}/events", created(&fixture, &service).await);
    let keyed = service.with("idempotency-key", &Uuid::now_v7().to_string());
    let mut body = lines(1_100);
    for (line, code, field, status) in [
        ("{\"type\"", "JSON_MALFORMED", Value::Null, 400),
        ("{\"type\": \"Unknown\"}", "FIELD_MALFORMED", json!("type"), 400),
        ("{\"type\": \"ToolReturned\", \"callId\": \"c\", \"output\": 1}", "TOOL_CALL_NOT_OPEN", json!("callId"), 409),
    ] {
        body[699] = line.to_owned();
        let failed = append(&keyed, &path, &body).await;
        let problem = failed.json();
        assert_eq!(failed.status_and_code(), (status, code.to_owned()));
        assert_eq!(problem["field"], field, "{problem}");
        let expected = json!({"line": "700", "recorded_lines": "500", "recorded_events": "500",
            "recorded_commits": "1", "version": "501"});
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(problem["metadata"][name], *value, "{name} in {problem}");
        }
        assert!(problem["detail"].as_str().unwrap().starts_with("line 700"), "{problem}");
    }
    body[699] = message("700").to_string();
    let whole = append(&keyed, &path, &body).await.ok(200);
    assert_eq!((&whole["commits"], &whole["replayedCommits"]), (&json!(3), &json!(1)));
    let (events, _) = read(&service, &path).await;
    let numbers: Vec<String> = (1..=1_100).map(|number| number.to_string()).collect();
    assert_eq!(texts(&events), numbers);
    let other = append(&keyed, &path, &lines(3)).await;
    assert_eq!(other.status_and_code(), (409, "IDEMPOTENCY_KEY_REUSED".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_lines_are_checked() {
    let fixture = Fixture::new().await;
    let service = service(&fixture, &BOTH).await;
    let path = format!("{}/events", created(&fixture, &service).await);
    let empty = append(&service, &path, &[" \n".to_owned()]).await;
    assert_eq!(empty.status_and_code(), (400, "NO_EVENTS".to_owned()));
    let expected = format!("{path}?expectedVersion=1");
    let appended = append(&service, &expected, &lines(501)).await.ok(200);
    assert_eq!(appended["version"], 502);
    let stale = append(&service, &expected, &lines(1)).await;
    assert_eq!(stale.status_and_code(), (409, "VERSION_CONFLICT".to_owned()));
    let document = json!({"events": [message("x")]});
    let conflict = service.post(&expected, &document).await;
    assert_eq!(conflict.status_and_code(), (400, "FIELD_CONFLICT".to_owned()));
    let long = append(&service, &path, &["x".repeat(1024 * 1024 + 1)]).await;
    assert_eq!(long.status_and_code(), (400, "LINE_TOO_LONG".to_owned()));
    // A recorded document with line breaks stays in its line.
    let body = "{\"events\": [{\"type\": \"ToolCalled\", \"callId\": \"c\", \"toolName\": \"t\", \"input\": {\n\"a\":\r\n1}}]}";
    let request = service.request(Method::POST, &path).header("content-type", "application/json");
    let answer = within("an append", request.body(body).send()).await;
    assert_eq!(answer.unwrap().status().as_u16(), 200);
    let (events, _) = read(&service, &format!("{path}?from=503")).await;
    assert_eq!(events[0]["input"], json!({"a": 1}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_takes_too_long_says_what_is_recorded() {
    let short = |config: &mut GatewayConfig| config.http.server.request_timeout_ms = 2_500;
    let fixture = Fixture::with(short).await;
    let service = service(&fixture, &BOTH).await;
    let path = format!("{}/events", created(&fixture, &service).await);
    // The rest of the body never comes.
    let arrived = lines(600).join("\n");
    let body = stream::iter([Ok::<_, Infallible>(arrived)]).chain(stream::pending());
    let lines = service.with("content-type", "application/x-ndjson");
    let request = lines.request(Method::POST, &path).body(reqwest::Body::wrap_stream(body));
    let answer = within("a late request", request.send()).await.unwrap();
    assert_eq!(answer.status().as_u16(), 504);
    let problem: Value = answer.json().await.unwrap();
    assert_eq!(problem["code"], "DEADLINE_EXCEEDED");
    let metadata = &problem["metadata"];
    assert_eq!((&metadata["line"], &metadata["recorded_lines"]), (&json!("600"), &json!("500")));
    let (events, _) = read(&service, &path).await;
    assert_eq!(texts(&events).len(), 500);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_incomplete_export_has_no_last_line() {
    let fixture = Fixture::new().await;
    let service = service(&fixture, &BOTH).await;
    let conversation = created(&fixture, &service).await;
    let path = format!("{conversation}/events");
    // More bytes than the buffers between the gateway and the client hold.
    let large = message(&"x".repeat(400_000)).to_string();
    for _ in 0..6 {
        let lines = vec![large.clone(); 10];
        append(&service, &path, &lines).await.ok(200);
    }
    let lines = service.with("accept", "application/x-ndjson");
    let answer = within("an export", lines.request(Method::GET, &path).send());
    let mut body = answer.await.unwrap().bytes_stream();
    let first = within("the first bytes", body.next()).await;
    let mut received = first.unwrap().unwrap().to_vec();
    let id = conversation.rsplit('/').next().unwrap();
    let target = fixture.agent.target(id);
    fixture.agent.try_erase(target).await.unwrap();
    let is_broken = loop {
        match within("the rest", body.next()).await {
            Some(Ok(bytes)) => received.extend_from_slice(&bytes),
            Some(Err(_)) => break true,
            None => break false,
        }
    };
    assert!(is_broken, "{} bytes", received.len());
    let text = String::from_utf8(received).unwrap();
    assert!(!text.lines().last().unwrap().contains("\"end\""));
}
