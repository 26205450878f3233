//! Listings, transcripts and usage for administrators.

use serde_json::{Value, json};
use tests::events::{answer_with_usage, assistant, user};
use tests::eventually::eventually;
use tests::http_client::HttpClient;
use wire::proto::event::v1::{MessageAppended, Part, Role, part};
use wire::proto::history::v1::{HistoryKey, RecordHistoryRequest};

use crate::fixture::{Fixture, begin, ids, list, text};

async fn list_ids(admin: &HttpClient, query: &str) -> Vec<String> {
    let page = admin.get(&format!("/v1/admin/conversations{query}")).await;
    ids(&page.ok(200))
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_are_found_by_agent_owner_status_and_time() {
    let fixture = Fixture::new().await;
    let sales = fixture.stack.http_client().with("x-api-key", &fixture.other_key.secret);
    let a = begin(&fixture.session("s"), &json!({})).await;
    let b = begin(&fixture.user("ada"), &json!({})).await;
    let c = begin(&sales.with("x-session-id", "s"), &json!({})).await;
    let archived = format!("/api/chats/{a}");
    fixture.session("s").patch(&archived, &json!({"archived": true})).await.ok(200);
    let admin = fixture.admin();
    eventually("rows", || async { (list_ids(&admin, "").await == [a.as_str(), &c, &b]).then_some(()) }).await;
    let check = async |query: String, expected: &[&String]| {
        let found = list_ids(&admin, &query).await;
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{query}");
    };
    check(format!("?agentId={}", fixture.agent_id), &[&a, &b]).await;
    check(format!("?agentId={}", fixture.other_agent_id), &[&c]).await;
    check(format!("?agentId={}", fixture.foreign_agent_id), &[]).await;
    check(format!("?agentId={}&userId=ada", fixture.agent_id), &[&b]).await;
    check(format!("?agentId={}&sessionId=s", fixture.agent_id), &[&a]).await;
    check("?status=archived".to_owned(), &[&a]).await;
    check("?status=active".to_owned(), &[&c, &b]).await;
    let page = admin.get("/v1/admin/conversations").await.ok(200);
    let time = text(&list(&page, "conversations")[1], "lastEventAt").to_owned();
    check(format!("?activeAfter={time}"), &[&a, &c]).await;
    check(format!("?activeBefore={time}"), &[&b]).await;
    let channel = channels_are_listed(&fixture, &check).await;
    assert_eq!(
        list_ids(&fixture.foreign_admin(), &format!("?agentId={}&channelId={channel}", fixture.agent_id)).await,
        [""; 0]
    );
    check_invalid_listings(&fixture, &channel).await;
}

async fn check_invalid_listings(fixture: &Fixture, channel: &str) {
    let admin = fixture.admin();
    let refused = async |query: &str, field: &str| {
        let path = format!("/v1/admin/conversations{query}");
        let answer = admin.get(&path).await;
        assert_eq!((answer.status, text(&answer.json(), "field")), (400, field), "{query}");
    };
    refused("?userId=ada", "agentId").await;
    refused("?sessionId=s", "agentId").await;
    refused(&format!("?channelId={channel}"), "agentId").await;
    refused(&format!("?agentId={}&channelId=telegram:42", fixture.agent_id), "channelId").await;
    refused(&format!("?agentId={}&userId=ada&channelId={channel}", fixture.agent_id), "channelId").await;
    refused(&format!("?agentId={}&userId=ada&sessionId=s", fixture.agent_id), "sessionId").await;
    refused("?activeAfter=yesterday", "activeAfter").await;
    refused("?limit=201", "limit").await;
    refused("?cursor=x", "cursor").await;
}

/// Records a history with a caller's key; returns its conversation and its channel.
async fn history(fixture: &Fixture, agent: &str, key: &str) -> (String, String) {
    let request = RecordHistoryRequest {
        key: Some(HistoryKey {
            agent_id: agent.to_owned(),
            history_key_candidates: vec![key.to_owned()],
            ..HistoryKey::default()
        }),
        messages: vec![MessageAppended {
            role: Role::User.into(),
            parts: vec![Part { kind: Some(part::Kind::Text("hello".to_owned())) }],
            ..MessageAppended::default()
        }],
        ..RecordHistoryRequest::default()
    };
    let mut service = fixture.agent.caller().history();
    let recorded = service.record_history(request).await.expect("a history").into_inner();
    (recorded.conversation_id, recorded.channel_id)
}

/// A channel belongs to a tenant, and its histories are listed by agent; returns the channel.
async fn channels_are_listed(fixture: &Fixture, check: &impl AsyncFn(String, &[&String])) -> String {
    let (ours, channel) = history(fixture, fixture.agent_id, "telegram:42").await;
    let (theirs, same) = history(fixture, fixture.other_agent_id, "telegram:42").await;
    let (beside, other) = history(fixture, fixture.agent_id, "telegram:43").await;
    assert!(channel == same && channel != other);
    let admin = fixture.admin();
    eventually("rows of histories", || async {
        let all = list_ids(&admin, "").await;
        let are_there = [&ours, &theirs, &beside].map(|id| all.contains(id));
        (are_there == [true; 3]).then_some(())
    })
    .await;
    for (agent, channel, expected) in [
        (fixture.agent_id, &channel, &ours),
        (fixture.other_agent_id, &channel, &theirs),
        (fixture.agent_id, &other, &beside),
    ] {
        check(format!("?agentId={agent}&channelId={channel}"), &[expected]).await;
    }
    check(format!("?agentId={}&channelId={other}", fixture.other_agent_id), &[]).await;
    let shown = admin.get(&format!("/v1/admin/conversations/{ours}")).await;
    assert_eq!(shown.ok(200)["owner"], json!({"channelId": channel}));
    channel
}

#[tokio::test(flavor = "multi_thread")]
async fn transcripts_have_every_event_in_pages() {
    let fixture = Fixture::new().await;
    let chat = begin(&fixture.session("s"), &json!({})).await;
    for turn in 0..4 {
        let events = vec![user(format!("q{turn}")), assistant(format!("a{turn}"))];
        fixture.agent.append(&chat, events).await;
    }
    let admin = fixture.admin();
    let path = format!("/v1/admin/conversations/{chat}");
    assert_eq!(admin.get(&path).await.ok(200)["version"], 9);
    let whole = admin.get(&format!("{path}/events?limit=1000")).await.ok(200);
    assert_eq!((list(&whole, "events").len(), &whole["nextAfter"]), (9, &Value::Null));
    for limit in [1, 2, 4, 9] {
        let (mut events, mut after) = (Vec::new(), Some(0));
        while let Some(version) = after {
            let path = format!("{path}/events?limit={limit}&after={version}");
            let page = admin.get(&path).await.ok(200);
            events.extend_from_slice(list(&page, "events"));
            after = page["nextAfter"].as_u64();
        }
        assert_eq!(events, list(&whole, "events"), "{limit}");
    }
    let answer = admin.get(&format!("{path}/events?limit=1001")).await;
    assert_eq!(answer.status_and_code(), (400, "FIELD_OUT_OF_RANGE".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_is_summed_by_day_agent_and_model() {
    let fixture = Fixture::new().await;
    let chat = begin(&fixture.session("s"), &json!({})).await;
    let events = vec![answer_with_usage("m1", 10), answer_with_usage("m1", 5), answer_with_usage("m2", 7)];
    fixture.agent.append(&chat, events).await;
    let admin = fixture.admin();
    let usage = async |client: &HttpClient, query: &str| client.get(&format!("/v1/admin/usage{query}")).await;
    let today =
        text(&admin.get(&format!("/v1/admin/conversations/{chat}")).await.ok(200), "updatedAt")[..10].to_owned();
    let query = format!("?from={today}&to={today}");
    let days = eventually("usage", || async {
        let page = usage(&admin, &query).await.ok(200);
        let days = list(&page, "days").to_vec();
        (days.len() == 2).then_some(days)
    })
    .await;
    let expected = json!({
        "day": today, "agentId": fixture.agent_id, "model": "m1", "messages": 2,
        "inputTokens": 15, "outputTokens": 4, "cachedTokens": 2, "reasoningTokens": 0,
    });
    assert_eq!(days[0], expected);
    let others = [
        usage(&admin, &format!("{query}&agentId={}", fixture.other_agent_id)).await,
        usage(&fixture.foreign_admin(), &query).await,
        usage(&admin, "?from=2001-01-01&to=2002-01-01").await,
    ];
    for answer in others {
        assert_eq!(answer.ok(200)["days"], json!([]));
    }
    for query in [
        "",
        "?from=2026-01-01",
        "?from=2026-1-1&to=2026-01-02",
        "?from=2026-01-02&to=2026-01-01",
        "?from=2001-01-01&to=2002-01-02",
    ] {
        assert_eq!(usage(&admin, query).await.status, 400, "{query}");
    }
}
