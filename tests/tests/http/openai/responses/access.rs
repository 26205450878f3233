//! Attacks: responses, items and conversations of others.

use serde_json::{Value, json};
use tests::http_client::HttpClient;
use tests::model::{Model, Reply};
use wire::proto::operate::v1::Scope;

use super::{ALL, PATH, client, create, error, id, setup};

/// Everything that a caller could try with the id of a response and of one of its items.
async fn attempts(caller: &HttpClient, model: &str, response: &Value) -> Vec<(u16, String)> {
    let path = format!("{PATH}/{}", id(response));
    let mut answers = vec![
        caller.get(&path).await,
        caller.get(&format!("{path}?stream=true")).await,
        caller.get(&format!("{path}/input_items")).await,
        caller.post(&format!("{path}/cancel"), &json!({})).await,
        caller.delete(&path).await,
    ];
    for more in [
        json!({"input": "x", "previous_response_id": id(response)}),
        json!({"input": "x", "previous_response_id": id(response), "store": false}),
        json!({"input": [{"type": "item_reference", "id": response["output"][0]["id"]}]}),
    ] {
        let mut body = json!({"model": model});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        answers.push(caller.post(PATH, &body).await);
    }
    answers.iter().map(|answer| (answer.status, error(answer).1)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_responses_look_missing() {
    let model = Model::start(|before| Reply::Text(format!("answer {before}"))).await;
    let (stack, owner) = setup(&model).await;
    let whole = create(&owner, json!({"input": "secret"})).await.ok(200);
    // The same form, and no such response.
    let mut missing = whole.clone();
    for place in ["/id", "/output/0/id"] {
        let text = missing.pointer_mut(place).unwrap();
        let forged = text.as_str().unwrap().replace("conv_channel_", "conv_channel_0");
        *text = json!(forged);
    }
    let operator = stack.operator().await;
    operator.agent("other", "theirs").await;
    operator.settings("theirs", tests::operator::echo()).await;
    for (agent, name) in [("sales", "another agent"), ("theirs", "another tenant")] {
        let caller = client(&stack, &ALL, &[agent]).await;
        let foreign = attempts(&caller, agent, &whole).await;
        assert_eq!(foreign, attempts(&caller, agent, &missing).await, "{name}");
        assert!(foreign.iter().all(|(status, _)| *status == 404 || *status == 400), "{foreign:?}");
    }
    let as_eve = owner.with("x-hansard-user", "eve");
    let foreign = attempts(&as_eve, "support", &whole).await;
    assert_eq!(foreign, attempts(&as_eve, "support", &missing).await);
    let path = format!("{PATH}/{}", id(&whole));
    assert_eq!(owner.get(&path).await.ok(200), whole);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_id_finds_nothing() {
    let model = Model::start(|_| Reply::Text("Hello.".to_owned())).await;
    let (_stack, client) = setup(&model).await;
    let whole = create(&client, json!({"input": "one"})).await.ok(200);
    let real = id(&whole);
    let (run, rest) = real.split_at(37);
    let (started, conversation) = rest.split_at(12);
    for forged in [
        // Another run, another version, the end of the run, a version that does not exist.
        format!("resp_{}{started}{conversation}", "0".repeat(32)),
        format!("{run}000000000001{conversation}"),
        format!("{run}000000000006{conversation}"),
        format!("{run}0000000fffff{conversation}"),
        format!("{run}{started}_../../secret"),
        "resp_1".to_owned(),
    ] {
        let answer = client.get(&format!("{PATH}/{forged}")).await;
        assert_eq!(answer.status, 404, "{forged}");
    }
    assert_eq!(client.get(&format!("{PATH}/{real}")).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn scopes_of_keys() {
    let model = Model::start(|_| Reply::Text("Hello.".to_owned())).await;
    let (stack, owner) = setup(&model).await;
    let whole = create(&owner, json!({"input": "one"})).await.ok(200);
    let path = format!("{PATH}/{}", id(&whole));
    let reader = client(&stack, &[Scope::Read], &["support"]).await;
    assert_eq!(reader.get(&path).await.ok(200), whole);
    assert_eq!(create(&reader, json!({"input": "x"})).await.status, 403);
    assert_eq!(reader.post(&format!("{path}/cancel"), &json!({})).await.status, 403);
    let writer = client(&stack, &[Scope::Append, Scope::Read], &["support"]).await;
    assert_eq!(writer.delete(&path).await.status, 403);
    let appender = client(&stack, &[Scope::Append], &["support"]).await;
    create(&appender, json!({"input": "x"})).await.ok(200);
    assert_eq!(appender.get(&path).await.status, 403);
}
