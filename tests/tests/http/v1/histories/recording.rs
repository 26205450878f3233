//! What is recorded is loaded at once, without duplicates; retries and races record nothing twice.

use futures::future::join_all;
use serde_json::{Value, json};
use tests::http_client::HttpClient;
use uuid::Uuid;

use super::{bot, load, messages, path, record, short};
use crate::fixture::{Fixture, text};

/// Records, and checks the number of new messages and the whole history.
async fn check(bot: &HttpClient, key: &str, current: &[&str], new: u64, whole: &[&str]) {
    let recorded = record(bot, key, current).await;
    assert_eq!(recorded["appendedCount"], new, "{current:?}");
    let loaded = load(bot, key).await;
    assert_eq!(short(&loaded), whole, "{current:?}");
    assert_eq!(loaded["version"], recorded["version"], "{current:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_new_messages_are_recorded() {
    let fixture = Fixture::new().await;
    let bot = bot(&fixture).await;
    let missing = load(&bot, "room").await;
    assert_eq!((&missing["version"], short(&missing).len()), (&json!(0), 0));
    check(&bot, "room", &["u 1"], 1, &["u 1"]).await;
    check(&bot, "room", &["u 1"], 0, &["u 1"]).await;
    check(&bot, "room", &["a 2"], 1, &["u 1", "a 2"]).await;
    let thread = ["s be kind", "u 1", "a 2", "u 3"];
    check(&bot, "room", &thread, 1, &["u 1", "a 2", "u 3"]).await;
    check(&bot, "room", &[], 0, &["u 1", "a 2", "u 3"]).await;
    check(&bot, "nothing", &["s be kind"], 0, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn loads_are_merged_and_bounded() {
    let fixture = Fixture::new().await;
    let bot = bot(&fixture).await;
    record(&bot, "room", &["u 1", "a 2", "u 3", "a 4"]).await;
    for (limit, current, expected, truncated) in [
        (0, &["u 5"][..], &["u 1", "a 2", "u 3", "a 4", "u 5"][..], false),
        (4, &[], &["u 1", "a 2", "u 3", "a 4"], false),
        (3, &["u 5"], &["u 3", "a 4", "u 5"], true),
        (2, &["s kind", "u 3", "a 4", "u 5"], &["s kind", "u 5"], true),
        (1_000, &["u 3", "a 4"], &["u 1", "a 2", "u 3", "a 4"], false),
    ] {
        let query = format!("?limit={limit}");
        let to = format!("{}/load{query}", path("room"));
        let loaded = bot.post(&to, &messages(current)).await.ok(200);
        assert_eq!(short(&loaded), expected, "{limit} {current:?}");
        assert_eq!(loaded["truncated"], truncated, "{limit} {current:?}");
        if current.is_empty() {
            let same = bot.get(&format!("{}{query}", path("room"))).await.ok(200);
            assert_eq!(same, loaded);
        }
    }
    let refused = bot.get(&format!("{}?limit=1001", path("room"))).await;
    let expected = (400, "FIELD_OUT_OF_RANGE".to_owned());
    assert_eq!(refused.status_and_code(), expected);
    assert_eq!(text(&refused.json(), "field"), "limit");
    assert_eq!(load(&bot, "room").await["version"], 5, "a load records nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_records_nothing_twice() {
    let fixture = Fixture::new().await;
    let bot = bot(&fixture).await;
    let keyed = bot.with("idempotency-key", &Uuid::now_v7().to_string());
    assert_eq!(record(&keyed, "room", &["u 1"]).await["appendedCount"], 1);
    assert_eq!(record(&keyed, "room", &["u 1"]).await["appendedCount"], 0);
    // After messages of others, the same message could be a new one; the key identifies it as a retry.
    record(&bot, "room", &["a 2"]).await;
    let path = format!("{}/messages", path("room"));
    let reused = keyed.post(&path, &messages(&["u 1"])).await.ok(200);
    assert_eq!(reused["warnings"][0]["code"], "IDEMPOTENCY_KEY_REUSED");
    assert_eq!(reused["appendedCount"], 0);
    assert_eq!(short(&load(&bot, "room").await), ["u 1", "a 2"]);
    let malformed = bot.with("idempotency-key", "mine").post(&path, &messages(&["u 1"])).await;
    let expected = (400, "IDEMPOTENCY_KEY_MALFORMED".to_owned());
    assert_eq!(malformed.status_and_code(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_loaded_version_identifies_old_messages() {
    let fixture = Fixture::new().await;
    let bot = bot(&fixture).await;
    let version = record(&bot, "room", &["u 1", "a 2"]).await["version"].clone();
    record(&bot, "room", &["u x", "a y"]).await;
    let mut body = messages(&["u 1", "a 2", "u 3"]);
    body["loadedVersion"] = version;
    let path = format!("{}/messages", path("room"));
    for appended in [1, 0] {
        let recorded = bot.post(&path, &body).await.ok(200);
        assert_eq!(recorded["appendedCount"], appended);
    }
    let whole = short(&load(&bot, "room").await);
    assert_eq!(whole, ["u 1", "a 2", "u x", "a y", "u 3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn racing_records_lose_nothing() {
    let fixture = Fixture::new().await;
    let bot = bot(&fixture).await;
    let texts = ["u 1", "u 2", "u 3"];
    let racers = texts.map(|text| {
        let bot = bot.clone();
        async move { record(&bot, "room", &[text]).await }
    });
    for recorded in join_all(racers).await {
        assert_eq!(recorded["appendedCount"], 1, "{recorded}");
    }
    let mut whole = short(&load(&bot, "room").await);
    whole.sort();
    assert_eq!(whole, texts);
}

/// The position of a record makes reads of other endpoints include it.
#[tokio::test(flavor = "multi_thread")]
async fn answers_carry_positions() {
    let fixture = Fixture::new().await;
    let bot = bot(&fixture).await;
    let to = format!("{}/messages", path("room"));
    let answer = bot.post(&to, &messages(&["u 1"])).await;
    let recorded = answer.ok(200);
    let token = text(&recorded, "positionToken");
    assert_eq!(answer.headers["x-position-token"], token);
    let loaded = bot.get(&path("room")).await;
    assert_eq!(loaded.headers["x-position-token"], token);
    let events = format!("/v1/conversations/{}/events", text(&recorded, "conversationId"));
    let events = bot.with("x-position-token", token).get(&events).await.ok(200);
    assert_eq!(events["version"], 2);
    let nothing = record(&bot, "room", &["u 1"]).await;
    assert_eq!(nothing.get("positionToken"), None::<&Value>);
    let foreign = bot.with("x-position-token", "x").get(&path("room")).await;
    let expected = (400, "POSITION_TOKEN_MALFORMED".to_owned());
    assert_eq!(foreign.status_and_code(), expected);
}
