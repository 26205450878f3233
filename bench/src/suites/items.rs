//! Items of OpenAI's Conversations over HTTP, compared with events over gRPC: appends of a message, and pages of 20.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use wire::proto::read::v1::{Direction, EventKind, ListEventsRequest, ReadTarget};

use super::back_end::BackEnd;
use super::streams::model_server::ModelServer;
use super::streams::settings;
use crate::Plan;
use crate::latency::{Latencies, Measure};
use crate::report::{Comparison, Round, Threshold};
use crate::rounds::{alternate, p50_verdict};
use crate::setup::{self, Fill, append, messages};
use crate::target::Target;

/// The time of an item's call over that of an event's.
const P50: Threshold = Threshold::AtMost(1.3);
/// Calls of a side in a round.
const CALLS: usize = 500;
/// Messages of the listed conversation.
const MESSAGES: usize = 200;
const PAGE: u32 = 20;
const MESSAGE_BYTES: usize = 200;

pub(super) async fn measure(plan: &Plan, target: &Target) -> anyhow::Result<Vec<Comparison>> {
    let gateways = target.gateways.as_ref().context("this suite needs --own-stack")?;
    let model = ModelServer::start(1, Duration::ZERO).await?;
    let mut gateway = gateways.start(settings(&model))?;
    let back_end = BackEnd::of_gateway(target, &gateway).await?;
    let measured = async {
        back_end.wait_until_ready(&mut gateway).await?;
        let appends = appends(plan, target, &back_end).await?;
        let lists = lists(plan, target, &back_end).await?;
        anyhow::Ok(vec![appends, lists])
    }
    .await;
    gateway.process.stop().await;
    measured
}

/// The ids of two new conversations with messages: for events and for items.
async fn conversations(target: &Target, name: &'static str, messages: usize) -> anyhow::Result<(String, String)> {
    let ids = setup::conversations(
        target,
        Fill { name, conversations: 2, messages, per_commit: setup::IMPORT, event_bytes: MESSAGE_BYTES },
    );
    match ids.await?.as_ref() {
        [events, items] => Ok((events.clone(), items.clone())),
        _ => anyhow::bail!("two conversations are created"),
    }
}

/// The latencies of calls one after the other.
async fn serial(mut call: impl AsyncFnMut() -> anyhow::Result<()>) -> anyhow::Result<Measure> {
    let mut latencies = Latencies::new()?;
    for _ in 0..CALLS {
        let started = Instant::now();
        call().await?;
        latencies.add(started.elapsed());
    }
    Ok(latencies.measure_serial())
}

async fn appends(plan: &Plan, target: &Target, back_end: &BackEnd) -> anyhow::Result<Comparison> {
    let (events, items) = conversations(target, "item-appends", 1).await?;
    let path = format!("/conversations/{items}/items");
    let text = "x".repeat(MESSAGE_BYTES);
    let body = json!({"items": [{"role": "user", "content": text}]});
    let base = || {
        serial(async || {
            let mut writer = target.writer()?.writer();
            let request = append(target, &events, messages(1, MESSAGE_BYTES));
            writer.append_events(request).await?;
            Ok(())
        })
    };
    let system = || serial(async || call(back_end, Method::POST, &path, Some(&body)).await);
    let rounds = alternate(plan.rounds, base, system).await?;
    let load = format!("{CALLS} appends of a message, one after the other");
    Ok(comparison("appends", load, rounds))
}

async fn lists(plan: &Plan, target: &Target, back_end: &BackEnd) -> anyhow::Result<Comparison> {
    let (events, items) = conversations(target, "item-lists", MESSAGES).await?;
    target.caught_up().await?;
    let path = format!("/conversations/{items}/items?limit={PAGE}");
    let request = ListEventsRequest {
        target: Some(ReadTarget { agent_id: target.agent.clone(), conversation_id: events, ..ReadTarget::default() }),
        direction: Direction::Backward.into(),
        kinds: vec![EventKind::MessageAppended.into()],
        page_size: PAGE,
        ..ListEventsRequest::default()
    };
    let base = || {
        serial(async || {
            let mut reader = target.gateway.reader();
            let page = reader.list_events(request.clone()).await?.into_inner();
            anyhow::ensure!(page.events.len() == usize::try_from(PAGE)?, "a short page");
            Ok(())
        })
    };
    let system = || serial(async || call(back_end, Method::GET, &path, None).await);
    let rounds = alternate(plan.rounds, base, system).await?;
    let load = format!("{CALLS} pages of {PAGE} of {MESSAGES} messages, one after the other");
    Ok(comparison("pages", load, rounds))
}

fn comparison(unit: &'static str, load: String, rounds: Vec<Round>) -> Comparison {
    Comparison {
        title: format!("{unit} of items of OpenAI's Conversations"),
        load,
        unit,
        base: "gRPC",
        system: "items",
        verdicts: p50_verdict(&rounds, "p50 / gRPC", P50),
        rounds,
        ..Comparison::default()
    }
}

async fn call(back_end: &BackEnd, method: Method, path: &str, body: Option<&Value>) -> anyhow::Result<()> {
    let mut request = back_end.request(method, path)?;
    if let Some(body) = body {
        request = request.json(body);
    }
    let answer = request.send().await?;
    anyhow::ensure!(answer.status() == StatusCode::OK, "status {}", answer.status());
    let list: Value = answer.json().await?;
    anyhow::ensure!(list.get("data").is_some_and(Value::is_array), "an answer without items");
    Ok(())
}
